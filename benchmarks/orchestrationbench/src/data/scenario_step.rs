//! Steps of a scenario file, as they are written.

use std::sync::Arc;

/// One step of the file.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// Number from 1, without gaps.
    pub(super) number: u32,
    /// Id of the workflow, an annotation.
    pub(super) workflow_id: Option<String>,
    /// Author of the step.
    pub(super) author: Author,
    /// Text of the step.
    pub(super) content: Arc<str>,
}

/// Author of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Author {
    /// The main agent.
    Main,
    /// The user.
    User,
    /// A sub agent.
    Agent(Arc<str>),
}
