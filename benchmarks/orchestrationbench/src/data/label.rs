//! The gold in the official layout: messages by step (docs/benchmarks/orchestrationbench.md §2.4).

use std::collections::BTreeMap;
use std::sync::Arc;

use regatta_pycompat::dumps_text;

/// Labels of a scenario, in the order in which histories list them.
pub(crate) type Labels = BTreeMap<(u32, Suffix), Entry>;

/// Kind of label of a step, named by the suffix of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Suffix {
    /// `k`: the step as it was written.
    Message,
    /// `k-1`: the calls in the step.
    Call,
    /// `k-2`: the recorded result of the calls.
    Result,
}

/// Speaker of a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Speaker {
    /// The system information.
    System,
    /// The user.
    User,
    /// The main agent, or the sub agent that the entry names.
    Assistant,
    /// The tools of a sub agent.
    Tool,
}

/// One label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Speaker of the entry.
    pub(crate) speaker: Speaker,
    /// Sub agent of the step. It need not exist (docs/benchmarks/orchestrationbench.md §2.6).
    pub(crate) agent: Option<Arc<str>>,
    /// Text or result; empty for calls.
    pub(crate) content: Content,
    /// Calls of a [`Suffix::Call`]. Empty when they could not be parsed; the entry then is a rejection by its content.
    pub(crate) calls: Vec<GoldCall>,
    /// Tool of a [`Suffix::Result`].
    pub(crate) name: Option<Arc<str>>,
}

impl Entry {
    /// Makes an entry in which `speaker` says `text`.
    pub(super) fn said(speaker: Speaker, agent: Option<Arc<str>>, text: Arc<str>) -> Self {
        Self { speaker, agent, content: Content::Text(text), calls: Vec::new(), name: None }
    }
}

/// Content of a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// A text.
    Text(Arc<str>),
    /// Any other YAML value, as JSON in Python's default layout (`", "`, `": "`, non-ASCII characters kept).
    Json(Arc<str>),
}

impl Content {
    /// Returns the text, if the content is one.
    pub(crate) fn text(&self) -> Option<&Arc<str>> {
        match self {
            Self::Text(text) => Some(text),
            Self::Json(_) => None,
        }
    }

    /// Returns the content as a tool's result in a history: JSON, with a text in quotes.
    pub(crate) fn to_json(&self) -> Arc<str> {
        match self {
            Self::Text(text) => dumps_text(text).into(),
            Self::Json(json) => Arc::clone(json),
        }
    }
}

/// A call of the gold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GoldCall {
    /// Name of the tool; `tool_name` where the data name none.
    pub(crate) name: Arc<str>,
    /// Arguments as JSON text in Python's default layout; not always an object.
    pub(crate) arguments: Arc<str>,
}
