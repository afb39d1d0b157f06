//! The calls, in the groups of [`crate::ledger::calls`]: each has its statements run on the thread, with copies of the arguments.

mod database;
mod dispatch;
mod judging;
mod recording;
mod results;
mod resuming;
mod steering;
mod sweeps;
mod views;
