//! Replies of simulated models: text, tool calls, or both, within the limit of tokens.

use regatta_proto::{Finish, Reply, TokenLogprob};

use crate::tokens::{CHARACTERS_PER_TOKEN, count_tokens, cut};

/// Log-probability of every token that is said.
const SAID: f64 = -0.125;
/// Log-probability of the first alternative to it; each further one has 1 less. They add up to less than what is left.
const UNSAID: f64 = -3.0;

/// Cuts `reply` to `max_tokens`. The text comes first; the arguments of the first call that does not fit are cut off.
pub(crate) fn within(reply: Reply, max_tokens: Option<u32>) -> Reply {
    let Reply { mut text, tool_calls, mut finish, .. } = reply;
    let mut left = max_tokens;
    if let Some(whole) = &mut text {
        let (kept, end) = cut(whole, left);
        if end == Finish::Length {
            let kept = kept.into();
            return Reply { text: Some(kept), ..Reply::of_text(None, Finish::Length) };
        }
        left = less(left, count_tokens(whole));
    }
    let mut calls = Vec::with_capacity(tool_calls.len());
    for mut call in tool_calls {
        let name = count_tokens(&call.name);
        // A name is one of the request's tools, and no model stops in the middle of it.
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
    Reply { text, tool_calls: calls, ..Reply::of_text(None, finish) }
}

/// Log-probabilities of the tokens of `text`, each with so many candidates, of which it is the likeliest.
pub(crate) fn logprobs(text: &str, candidates: u8) -> Vec<TokenLogprob> {
    let characters: Vec<char> = text.chars().collect();
    let pieces = characters.chunks(CHARACTERS_PER_TOKEN).map(|piece| piece.iter().collect::<String>());
    let tokens = pieces.map(|token| {
        let others = (1..candidates).map(|place| (format!("{token}{place}"), UNSAID - f64::from(place - 1)));
        let itself = (candidates > 0).then(|| (token.clone(), SAID));
        TokenLogprob { logprob: SAID, top: itself.into_iter().chain(others).collect(), token }
    });
    tokens.collect()
}

/// Tokens of the whole reply.
pub(crate) fn tokens(reply: &Reply) -> u64 {
    let calls = reply.tool_calls.iter().map(|call| count_tokens(&call.name) + count_tokens(&call.arguments));
    reply.text.as_deref().map_or(0, count_tokens) + calls.sum::<u64>()
}

fn less(left: Option<u32>, tokens: u64) -> Option<u32> {
    left.map(|left| left.saturating_sub(u32::try_from(tokens).unwrap_or(u32::MAX)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regatta_proto::ToolCall;

    use super::*;

    fn call(name: &str, arguments: &str) -> ToolCall {
        ToolCall { id: "c".into(), name: name.into(), arguments: arguments.into() }
    }

    #[test]
    fn a_reply_that_fits_is_said_as_it_is() {
        let reply = Reply::calling(Some("abcd"), vec![call("look", "{}"), call("take", "not JSON")]);
        let said = within(reply.clone(), Some(6));
        assert_eq!((said.text.clone(), said.tool_calls.clone()), (reply.text, reply.tool_calls));
        assert_eq!((said.finish, tokens(&said)), (Finish::ToolCalls, 6));
    }

    #[test]
    fn the_limit_cuts_the_text_first_then_the_arguments_of_a_call_never_its_name() {
        let said = |max| within(Reply::calling(Some("abcd"), vec![call("look", "12345678"), call("x", "")]), Some(max));
        let shape = |said: Reply| {
            let calls: Vec<String> =
                said.tool_calls.iter().map(|call| format!("{}({})", call.name, call.arguments)).collect();
            (said.text.unwrap().to_string(), calls.join(" "), said.finish)
        };
        let expected = |calls: &str, finish| ("abcd".to_owned(), calls.to_owned(), finish);
        assert_eq!(shape(said(1)), expected("", Finish::Length));
        assert_eq!(shape(said(2)), expected("look()", Finish::Length));
        assert_eq!(shape(said(3)), expected("look(1234)", Finish::Length));
        assert_eq!(shape(said(4)), expected("look(12345678)", Finish::Length));
        assert_eq!(shape(said(5)), expected("look(12345678) x()", Finish::ToolCalls));
        let long = within(Reply::calling(Some("abcde"), vec![call("look", "")]), Some(1));
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
            let said = within(reply.clone(), Some(max));
            prop_assert!(tokens(&said) <= u64::from(max));
            let is_whole = said.text == reply.text && said.tool_calls == reply.tool_calls;
            prop_assert_eq!(is_whole, said.finish == finish);
            prop_assert_eq!(&within(reply.clone(), None).tool_calls, &reply.tool_calls);
        }
    }
}
