//! End-to-end tests against real RabbitMQ, PostgreSQL and an S3 server, and the harness that starts them.
//!
//! [`Services`] is what most tests want. Each service has a file of its own; `supervisor` keeps the promise that
//! nothing is left running or lying about, however the test process ends.

mod authority;
mod backup;
mod chromium;
mod deployment;
pub mod deployment_roles;
pub mod drawing;
mod error;
pub mod http;
mod logged;
mod names;
mod port;
mod postgres;
mod proxy;
mod rabbitmq;
mod rabbitmq_node;
pub mod referee;
pub mod regatta;
mod release;
mod s3;
mod services;
mod supervisor;
mod vhost;
pub mod viewing;
pub mod waiting;

pub use authority::{Authority, Identity, ServerTls};
pub use chromium::{Chromium, Window};
pub use deployment::Deployment;
pub use error::HarnessError;
pub use logged::Logged;
pub use names::unique_name;
pub use postgres::{Postgres, create_database};
pub use proxy::{Proxy, Traffic};
pub use rabbitmq::RabbitMq;
pub use release::Release;
pub use s3::{S3Config, S3Server, create_bucket};
pub use services::Services;
