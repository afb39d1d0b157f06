//! Prompts of the models, in our own wording of the content that docs/benchmarks/flowbench.md §3.2, §3.6, §3.7 and §8
//! require. Records in the official form contain their own system prompts and hints, which are used as they are; and
//! where `utils/eval_utils.py` of the official repository is among the files, simulators and judges get its prompts.
//!
//! Pure functions from small inputs to texts; `protocol` decides which model is asked when.

mod agent;
mod environment;
mod hints;
mod judges;
mod official;
mod section;
mod user;

#[cfg(test)]
mod tests;

pub(crate) use self::agent::{AgentPrompt, agent_system, thought_first, workflow_info};
pub(crate) use self::environment::{descriptions, environment_system, environment_text};
pub(crate) use self::hints::{call_blocks, calls_with_results, every_turn_hint, first_turn_hint, user_target};
pub(crate) use self::judges::{completion, failure_type, response_score};
pub(crate) use self::official::{OfficialJudges, OfficialPrompts, OfficialSimulators};
pub(crate) use self::section::section;
pub(crate) use self::user::{user_system, user_text};
