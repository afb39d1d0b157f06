//! Programs that answer the functions of a benchmark, in any language: a line of JSON for each call and each answer.
//!
//! A program is pure by contract: the same call gets the same answer, in every process and at any time. So [`Pool`]
//! sends a call to any free process, repeats one that fails in a used process in a fresh one, and repeats a sample of
//! all calls in another process to check the contract.

mod failure;
mod folder;
mod permissions;
mod pipes;
mod pool;
mod process;
mod protocol;
mod purity;

pub use failure::Failure;
pub use permissions::{CodedRules, Permissions, Start};
pub use pool::{Pool, PoolLimits};
pub use protocol::{
    Answer, Ask, AskMessage, AskTool, Asked, Call, Event, ItemOf, Load, Loaded, Next, Persona, Reply, SamplingOf,
    Score, Scored, Serve, Served, SettingOf, Simulate, Tabulate, Tabulated, ToolCallOf, TrialScore, VERSION, Verdict,
    WorldCall, WorldOf,
};
