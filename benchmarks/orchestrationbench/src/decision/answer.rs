//! A sub agent's answer, reduced to the parts that are scored.

use regatta_proto::Reply;
use regatta_pycompat::Object;

/// Answer of a sub agent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    /// Text of the answer; `None` counts as blank, as in the official client (docs/benchmarks/orchestrationbench.md
    /// §3.4).
    pub(crate) text: Option<String>,
    /// Tool calls in order. If there are any, the text does not count.
    pub(crate) calls: Vec<Call>,
}

/// A tool call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// Name of the tool.
    pub(crate) name: Name,
    /// Arguments of the call.
    pub(crate) arguments: Arguments,
}

/// The name of a tool, as an API returns it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Name {
    /// A text, the normal case.
    Text(String),
    /// `null`: a tool that the gold never names.
    Null,
    /// Absent; the official code crashes on it.
    Missing,
}

impl Name {
    /// Returns the text, if the name is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(name) => Some(name),
            Self::Null | Self::Missing => None,
        }
    }
}

/// Arguments of a call, as an API returns them.
#[derive(Debug, Clone)]
pub(crate) enum Arguments {
    /// A text, normally JSON.
    Text(String),
    /// An object that is already decoded.
    Object(Object),
    /// `null`.
    Null,
}

impl Answer {
    /// Takes the answer from a model's reply.
    pub(crate) fn of_reply(reply: &Reply) -> Self {
        let calls = reply.tool_calls.iter().map(|call| Call {
            name: Name::Text(call.name.to_string()),
            arguments: Arguments::Text(call.arguments.to_string()),
        });
        Self { text: reply.text.as_deref().map(str::to_owned), calls: calls.collect() }
    }
}
