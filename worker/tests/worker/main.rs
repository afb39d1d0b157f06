//! Guarantees of a worker: one outcome for each job, acknowledged when it is safe, and nothing lost when it leaves.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod batch;
mod conversing;
mod external;
mod leaving;
mod obeying;
mod opening;
mod redelivered;
mod reporting;
mod stage;
mod telling;
mod troubled;
