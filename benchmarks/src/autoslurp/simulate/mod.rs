//! Simulated models in the roles of every agent and judge.

mod gold;
mod judge;
mod single;

pub(crate) use self::gold::{Gold, Slot};
pub(crate) use self::judge::reply as judge_reply;
pub(crate) use self::single::reply as single_reply;
