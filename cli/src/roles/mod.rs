//! The long-running roles of a deployment; each is one page of wiring.

pub(crate) mod coordinator;
pub(crate) mod scorer;
mod services;
pub(crate) mod worker;
