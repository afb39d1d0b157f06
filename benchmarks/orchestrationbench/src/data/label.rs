//! The gold as the official code lays it out: messages by step (docs/benchmarks/orchestrationbench.md §2.4).

use std::collections::BTreeMap;
use std::sync::Arc;

use regatta_pycompat::dumps_text;

/// Labels of a scenario, in the order in which histories list them.
pub(crate) type Labels = BTreeMap<(u32, Suffix), Entry>;

/// Which label of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Suffix {
    /// `k`: the step as it was written.
    Message,
    /// `k-1`: the calls that it is.
    Call,
    /// `k-2`: what the calls returned.
    Result,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Speaker {
    /// The system information.
    System,
    /// The user.
    User,
    /// The main agent, or a sub agent when the entry names one.
    Assistant,
    /// A sub agent's tools.
    Tool,
}

/// One label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Who speaks.
    pub(crate) speaker: Speaker,
    /// The sub agent whose step it is. It need not exist (docs/benchmarks/orchestrationbench.md §2.6).
    pub(crate) agent: Option<Arc<str>>,
    /// What is said; empty for calls.
    pub(crate) content: Content,
    /// The calls of a [`Suffix::Call`]; none when they could not be read, and then the entry is a rejection by its content.
    pub(crate) calls: Vec<GoldCall>,
    /// The tool that returned a [`Suffix::Result`].
    pub(crate) name: Option<Arc<str>>,
}

impl Entry {
    /// What `speaker` says.
    pub(super) fn said(speaker: Speaker, agent: Option<Arc<str>>, text: Arc<str>) -> Self {
        Self { speaker, agent, content: Content::Text(text), calls: Vec::new(), name: None }
    }
}

/// Content of a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// A text.
    Text(Arc<str>),
    /// Anything else that YAML can say, as JSON in Python's default layout (`", "`, `": "`, everything but ASCII kept).
    Json(Arc<str>),
}

impl Content {
    /// The text, if it is one.
    pub(crate) fn text(&self) -> Option<&Arc<str>> {
        match self {
            Self::Text(text) => Some(text),
            Self::Json(_) => None,
        }
    }

    /// As a history tells a tool's result: JSON, a text in quotes.
    pub(crate) fn to_json(&self) -> Arc<str> {
        match self {
            Self::Text(text) => dumps_text(text).into(),
            Self::Json(json) => Arc::clone(json),
        }
    }
}

/// One call of the gold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GoldCall {
    /// The tool; `tool_name` where the data name none.
    pub(crate) name: Arc<str>,
    /// JSON text in Python's default layout; not always an object.
    pub(crate) arguments: Arc<str>,
}
