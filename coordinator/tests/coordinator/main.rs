//! Guarantees of the coordinator, whatever happens to it and to its queues.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod api;
mod auditing;
mod caching;
mod deposed;
mod dispatching;
mod doctoring;
mod ending;
mod foreign_credentials;
mod identity;
mod lasting;
mod lost_jobs;
mod lost_questions;
mod overtaken;
mod paging;
mod planning;
mod recovering;
mod removing;
mod resuming;
mod schedules;
mod showing;
mod sources;
mod stage;
mod steering;
mod storing;
mod told;
mod unanswering;
mod unused;
