//! Guarantees of the scorer: reports in any order, and any number of times, lead to the same ledger.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod aside;
mod ending;
mod going_on;
mod judging;
mod laws;
mod recording;
mod recovery;
mod removed;
mod stage;
mod standing_aside;
mod words;
