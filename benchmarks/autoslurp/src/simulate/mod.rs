//! Simulated models in the roles of every agent and judge, so that the whole benchmark runs without a real one.
//!
//! The contents of replies are here, the same for all policies; their form is the policies' business.

mod answering;
mod currency;
mod gold;
mod judge;
mod mistakes;
mod plan;
mod resolved;
mod said;
mod single;
mod wrong;

pub(crate) use self::gold::{Gold, Heard};
pub(crate) use self::judge::reply as judge_reply;
pub(crate) use self::single::reply as single_reply;

/// A slot: name and value.
pub(crate) type Slot = (String, String);

#[cfg(test)]
mod tests;
