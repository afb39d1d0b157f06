//! Deterministic simulation of a deployment.
//!
//! [`simulate`] runs a small sweep with real coordinators, workers and scorers. Their stores are in memory, their models answer within the
//! process, time is tokio's and passes only when everybody waits, and a [`Plan`] that derives from a seed says what goes wrong: calls that
//! fail before or after they took effect, processes that die at any call and come back, connections that are lost, messages that come
//! twice or not at all, clocks that are wrong. One seed gives one history. A [`Referee`](referee::Referee) keeps books of every call to a
//! model; at the end [`Finding`]s say what does not hold: the sweep did not end, its results are not those of an undisturbed run, a call was
//! paid twice that nobody had lost.
#![expect(clippy::expect_used, reason = "a simulation whose parts cannot be set up has failed")]

mod batches;
mod checks;
mod excuses;
mod life;
mod plan;
mod process;
mod referee;
mod shrink;
mod world;

pub use checks::Finding;
pub use plan::{Blow, Event, Kind, Plan, Store, Workload};
pub use shrink::shrunk;
pub use world::{History, simulate};
