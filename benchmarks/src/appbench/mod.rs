//! AppBench: plans of API calls across the apps of a phone, scored as text, as graphs and by executing them.
#![expect(dead_code, unused_imports, reason = "put together from its parts")]

mod data;
mod exec;
mod topology;
mod parse;
mod paper;
mod official;
mod case;
#[cfg(test)]
mod vectors;

pub use self::data::{Api, App, Phone, Slot};
pub use self::exec::{Executed, Refusal, ServedApps, SessionScore, Warning, World};
