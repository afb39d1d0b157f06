//! The calls, in the groups of [`crate::ledger::calls`]: each has its statements run on a connection, or in a transaction.

mod database;
mod dispatch;
mod judging;
mod recording;
mod results;
mod resuming;
mod steering;
mod sweeps;
mod views;
