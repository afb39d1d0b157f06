//! What a simulated model says: a text, calls of tools, or both, as far as it may.

use std::sync::Arc;

use regatta_proto::{Finish, Reply, ToolCall};

use crate::tokens::{count_tokens, cut};

/// An answer of a chat model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    /// `None`: only calls, or nothing.
    pub(crate) text: Option<Arc<str>>,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) finish: Finish,
}

impl Said {
    /// As much of `reply` as `max_tokens` allow. The text comes first; of the first call that does not fit, the arguments are cut.
    pub(crate) fn of(reply: Reply, max_tokens: Option<u32>) -> Self {
        let Reply { mut text, tool_calls, mut finish, .. } = reply;
        let mut left = max_tokens;
        if let Some(whole) = &mut text {
            let (kept, end) = cut(whole, left);
            if end == Finish::Length {
                let kept = kept.into();
                return Self { text: Some(kept), calls: Vec::new(), finish: Finish::Length };
            }
            left = less(left, count_tokens(whole));
        }
        let mut calls = Vec::with_capacity(tool_calls.len());
        for mut call in tool_calls {
            let name = count_tokens(&call.name);
            // A name is one of those that the request lists: no model stops in the middle of it.
            if left.is_some_and(|left| u64::from(left) < name) {
                finish = Finish::Length;
                break;
            }
            left = less(left, name);
            let (kept, end) = cut(&call.arguments, left);
            if end == Finish::Length {
                call.arguments = kept.into();
                calls.push(call);
                finish = Finish::Length;
                break;
            }
            left = less(left, count_tokens(&call.arguments));
            calls.push(call);
        }
        Self { text, calls, finish }
    }

    /// Tokens of all of it.
    pub(crate) fn tokens(&self) -> u64 {
        let calls = self.calls.iter().map(|call| count_tokens(&call.name) + count_tokens(&call.arguments));
        count_tokens(self.text()) + calls.sum::<u64>()
    }

    /// The text, empty where there is none.
    pub(crate) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Whether formats that tell an answer in blocks have one for the text: beside calls, nothing said is no block.
    pub(crate) fn has_text_block(&self) -> bool {
        self.calls.is_empty() || !self.text().is_empty()
    }

    /// What is told piece by piece: the text, then the arguments of each call.
    pub(crate) fn part(&self, part: Part) -> &str {
        match part {
            Part::Text => self.text(),
            Part::Call(number) => self.calls.get(number).map(|call| &*call.arguments).unwrap_or_default(),
        }
    }

    /// The parts there are, in order.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Part> + use<> {
        let text = self.has_text_block().then_some(Part::Text);
        text.into_iter().chain((0..self.calls.len()).map(Part::Call))
    }
}

/// Something that is told piece by piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The text.
    Text,
    /// The arguments of the call at this position.
    Call(usize),
}

fn less(left: Option<u32>, tokens: u64) -> Option<u32> {
    left.map(|left| left.saturating_sub(u32::try_from(tokens).unwrap_or(u32::MAX)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn call(name: &str, arguments: &str) -> ToolCall {
        ToolCall { id: "c".into(), name: name.into(), arguments: arguments.into() }
    }

    #[test]
    fn a_reply_that_fits_is_said_as_it_is() {
        let reply = Reply::calling(Some("abcd"), vec![call("look", "{}"), call("take", "not JSON")]);
        let said = Said::of(reply.clone(), Some(6));
        assert_eq!((said.text.clone(), said.calls.clone()), (reply.text, reply.tool_calls));
        assert_eq!((said.finish, said.tokens()), (Finish::ToolCalls, 6));
    }

    #[test]
    fn the_limit_cuts_the_text_first_then_the_arguments_of_a_call_never_its_name() {
        let said =
            |max| Said::of(Reply::calling(Some("abcd"), vec![call("look", "12345678"), call("x", "")]), Some(max));
        let shape = |said: Said| {
            let calls: Vec<String> =
                said.calls.iter().map(|call| format!("{}({})", call.name, call.arguments)).collect();
            (said.text.unwrap().to_string(), calls.join(" "), said.finish)
        };
        let expected = |calls: &str, finish| ("abcd".to_owned(), calls.to_owned(), finish);
        assert_eq!(shape(said(1)), expected("", Finish::Length));
        assert_eq!(shape(said(2)), expected("look()", Finish::Length));
        assert_eq!(shape(said(3)), expected("look(1234)", Finish::Length));
        assert_eq!(shape(said(4)), expected("look(12345678)", Finish::Length));
        assert_eq!(shape(said(5)), expected("look(12345678) x()", Finish::ToolCalls));
        let long = Said::of(Reply::calling(Some("abcde"), vec![call("look", "")]), Some(1));
        assert_eq!(shape(long), expected("", Finish::Length));
    }

    proptest! {
        #[test]
        fn no_more_is_said_than_allowed_and_nothing_is_left_out_without_saying_so(
            text in proptest::option::of(".{0,20}"),
            calls in prop::collection::vec(("[a-z]{1,9}", ".{0,20}"), 0..4),
            max in 1u32..12,
        ) {
            let calls: Vec<ToolCall> = calls.iter().map(|(name, arguments)| call(name, arguments)).collect();
            let finish = if calls.is_empty() { Finish::Stop } else { Finish::ToolCalls };
            let reply = Reply { tool_calls: calls, ..Reply::of_text(text.as_deref(), finish) };
            let said = Said::of(reply.clone(), Some(max));
            prop_assert!(said.tokens() <= u64::from(max));
            let is_whole = said.text == reply.text && said.calls == reply.tool_calls;
            prop_assert_eq!(is_whole, said.finish == finish);
            prop_assert_eq!(&Said::of(reply.clone(), None).calls, &reply.tool_calls);
        }
    }
}
