//! The verbs of a deployment's roles in a build without them: whatever is written after them, the answer is which build has them.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct NotBuilt {
    /// Whatever the role would take
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _rest: Vec<String>,
}

pub(crate) type CoordinatorArgs = NotBuilt;
pub(crate) type WorkerArgs = NotBuilt;
pub(crate) type ScorerArgs = NotBuilt;
pub(crate) type MigrateArgs = NotBuilt;
