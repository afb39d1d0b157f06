//! The parts of a reply that are streamed in pieces.

use regatta_proto::Reply;

/// A part of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The model's reasoning.
    Thought,
    /// The text.
    Text,
    /// The arguments of the call at this position.
    Call(usize),
}

/// The text of `part` in `reply`; empty if there is no such part.
#[must_use]
pub fn part(reply: &Reply, part: Part) -> &str {
    match part {
        Part::Thought => reply.reasoning.as_ref().map(|reasoning| &*reasoning.text),
        Part::Text => reply.text.as_deref(),
        Part::Call(number) => reply.tool_calls.get(number).map(|call| &*call.arguments),
    }
    .unwrap_or_default()
}

/// The parts of `reply`, in order.
pub fn parts(reply: &Reply) -> impl Iterator<Item = Part> + use<> {
    let thought = reply.reasoning.is_some().then_some(Part::Thought);
    let text = has_text(reply).then_some(Part::Text);
    thought.into_iter().chain(text).chain((0..reply.tool_calls.len()).map(Part::Call))
}

/// Position of `part` among the parts.
pub(crate) fn position(reply: &Reply, part: Part) -> usize {
    parts(reply).position(|other| other == part).unwrap_or_default()
}

/// `true` if formats that stream an answer in blocks have one for the text: an empty text beside calls has none.
fn has_text(reply: &Reply) -> bool {
    reply.tool_calls.is_empty() || reply.text.as_ref().is_some_and(|text| !text.is_empty())
}
