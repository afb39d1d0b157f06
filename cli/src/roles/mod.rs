//! The long-running roles of a deployment; each is one page of wiring.

mod bridge;
mod certificates;
mod channels;
pub(crate) mod coordinator;
mod diagnosis;
mod drift_pages;
mod night_gate;
mod oidc;
mod policy;
mod readiness;
pub(crate) mod scorer;
pub(crate) mod services;
mod steering;
pub(crate) mod worker;

pub(crate) use self::diagnosis::diagnose;
pub(crate) use self::readiness::Readiness;
