//! The next step of a session.

use regatta_proto::{AgentName, BenchmarkFailed, ChatRequest, ItemIndex, Role, Setting};

/// The next step of a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Send this request to the model of this role.
    Ask(Role, ChatRequest),
    /// Give the whole task to an external agent, and call [`Sessions::next`](crate::Sessions::next) again when it has ended.
    Delegate(DelegatedTask),
    /// The session is over.
    Done,
    /// The transcript does not fit this session, because another version began it or because it is damaged; the text
    /// gives the reason. It says nothing about any model and quotes no model output.
    Unfit(String),
    /// The benchmark's own program failed. It says nothing about any model.
    Failed(BenchmarkFailed),
}

impl Step {
    /// Step for an item and setting that [`Dataset::select`](crate::Dataset::select) never returns.
    #[must_use]
    pub fn not_selected(item: ItemIndex, setting: &Setting) -> Self {
        Self::Unfit(format!("item {item} in the setting {setting} is no session of this data set"))
    }
}

/// A task that is delegated to an external agent.
#[derive(Debug, Clone, PartialEq)]
pub struct DelegatedTask {
    /// Name of the agent in the spec.
    pub agent: AgentName,
    /// Input of the agent, a JSON object; addresses and the model's name are added to it.
    pub input: serde_json::Value,
}
