//! Auto-SLURP: teams of agents that carry out what a person says to a smart home, against simulated servers.
//!
//! A session is one utterance. In the four native settings a policy asks its agents in turn and serves their tools itself; in `external/NAME`
//! somebody else's framework does, behind the bridge. Either way it comes to a [`run::Run`], which is all that evaluators look at.

pub(crate) mod data;
pub(crate) mod members;
pub(crate) mod official;
pub(crate) mod policies;
pub(crate) mod prompts;
pub(crate) mod run;
pub(crate) mod servers;
pub(crate) mod simulate;
pub(crate) mod structured;
