//! Consumes jobs, drives sessions, reports outcomes and usage.
//!
//! A worker holds no database connection and keeps nothing: everything it knows comes from the job, from Blobs and from the
//! coordinator's broadcasts, and everything it learns leaves as a report. That is why it may be killed at any moment.

mod attempts;
mod batch;
mod cast;
mod checkpoints;
mod config;
mod external;
mod holdings;
mod judging;
mod metrics;
mod opener;
mod opening;
mod policy;
mod publisher;
mod route;
mod routes;
mod running;
mod session;
mod stores;
mod telling;
mod traced;
mod unserved;
mod verdicts;
mod void;
mod worker;

pub use checkpoints::readdressed_checkpoint;
pub use config::{AgentAuthorities, Environment, WorkerConfig};
pub use external::check_agent;
pub use metrics::WorkerMetrics;
pub use policy::{Policy, PolicyFile};
pub use stores::{CachedResponses, NoResponses, SharedPermits};
pub use worker::{Lifecycle, Worker, WorkerError};
