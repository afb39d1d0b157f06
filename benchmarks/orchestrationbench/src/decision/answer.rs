//! A sub agent's answer, as far as scoring looks at it.

use regatta_proto::Reply;
use regatta_pycompat::Object;

/// What a sub agent answered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    /// Text of the answer; `None` counts as blank, as the official client makes it (docs/benchmarks/orchestrationbench.md §3.4).
    pub(crate) text: Option<String>,
    /// Its calls, in order. When there are any, the text does not count.
    pub(crate) calls: Vec<Call>,
}

/// One call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The tool.
    pub(crate) name: Name,
    /// What it is called with.
    pub(crate) arguments: Arguments,
}

/// The name of a tool, as an API returns it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Name {
    /// A text, as it should.
    Text(String),
    /// `null`: a tool that the gold never names.
    Null,
    /// None at all, on which the official code crashes.
    Missing,
}

impl Name {
    /// The text, if it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(name) => Some(name),
            Self::Null | Self::Missing => None,
        }
    }
}

/// Arguments, as an API returns them.
#[derive(Debug, Clone)]
pub(crate) enum Arguments {
    /// JSON, hopefully.
    Text(String),
    /// An object that was decoded already.
    Object(Object),
    /// `null`.
    Null,
}

impl Answer {
    /// What `reply` says.
    pub(crate) fn of_reply(reply: &Reply) -> Self {
        let calls = reply.tool_calls.iter().map(|call| Call {
            name: Name::Text(call.name.to_string()),
            arguments: Arguments::Text(call.arguments.to_string()),
        });
        Self { text: reply.text.as_deref().map(str::to_owned), calls: calls.collect() }
    }
}
