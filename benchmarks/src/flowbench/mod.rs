//! FlowBench: an agent that follows a workflow in conversations, turn by turn and in whole sessions.
#![allow(dead_code, clippy::allow_attributes, reason = "its parts are put together piece by piece")]

mod data;
mod flowchart;
