//! Extraction from an agent's output: the called tool, the arguments, the reply to the user
//! (docs/benchmarks/flowbench.md §4.1).
//!
//! Every function takes time linear in the output.

use std::borrow::Cow;

use regatta_pycompat::strip;

const ACTION: &str = "Action: ";
const ACTION_INPUT: &str = "Action Input: ";

/// Text found after `Action Input: `.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input<'a> {
    /// This text, which need not be JSON.
    Text(&'a str),
    /// No usable text.
    Absent,
    /// Several opening braces in one line, and no balanced group after any label.
    Unbalanced,
}

impl<'a> Input<'a> {
    /// Returns the text, or an empty one.
    pub(crate) const fn text(self) -> &'a str {
        match self {
            Self::Text(text) => text,
            Self::Absent | Self::Unbalanced => "",
        }
    }
}

/// Returns `true` if `output` begins a call that cannot be parsed: it names no action, or has no complete input.
pub(crate) fn is_unreadable_call(output: &str) -> bool {
    let has_input = match action_input(output) {
        Input::Text(_) => true,
        Input::Absent | Input::Unbalanced => false,
    };
    mentions_call(output) && (action(output).is_none() || !has_input)
}

/// Text that the official inference code puts in place of an output that it could not get.
pub(crate) const CALL_ERROR: &str = "api call error";

/// Returns `true` if the output is the official inference code's error message.
pub(crate) fn is_call_error(output: &str) -> bool {
    output.contains(CALL_ERROR)
}

/// Returns `true` if either label of a call occurs.
pub(crate) fn mentions_call(output: &str) -> bool {
    output.contains(ACTION) || output.contains(ACTION_INPUT)
}

/// Returns the rest, untrimmed, of the first line with `Action: ` that is followed by another line.
pub(crate) fn action(output: &str) -> Option<&str> {
    let (_, after) = output.split_once(ACTION)?;
    after.split_once('\n').map(|(line, _)| line)
}

/// Returns the tool's name in an action: without one leading `functions.`, and up to the first dot. Nothing is trimmed.
pub(crate) fn tool_name(action: &str) -> &str {
    let name = action.strip_prefix("functions.").unwrap_or(action);
    name.split_once('.').map_or(name, |(name, _)| name)
}

/// Returns the arguments: the text up to the first closing brace in the line of a label or, when it has several
/// opening braces, the first balanced group directly after a label.
pub(crate) fn action_input(output: &str) -> Input<'_> {
    let Some(piece) = first_piece(output) else { return Input::Absent };
    match piece.bytes().filter(|byte| *byte == b'{').take(2).count() {
        0 => Input::Absent,
        1 => Input::Text(piece),
        _ => first_balanced_group(output).map_or(Input::Unbalanced, Input::Text),
    }
}

/// Returns the text after the first label that is followed by a `}` in its line, up to that `}`.
fn first_piece(output: &str) -> Option<&str> {
    output.split('\n').find_map(|line| {
        // If no brace follows the first label of a line, none follows a later one.
        let (_, after) = line.split_once(ACTION_INPUT)?;
        after.split_inclusive('}').next().filter(|piece| piece.ends_with('}'))
    })
}

/// Returns the first closed group of braces directly after a label. Braces inside texts count like any other.
fn first_balanced_group(output: &str) -> Option<&str> {
    let mut open = Vec::new();
    let mut first: Option<(usize, usize)> = None;
    for (at, byte) in output.bytes().enumerate() {
        match byte {
            b'{' => open.push(at),
            b'}' => {
                if let Some(start) = open.pop()
                    && first.is_none_or(|(earlier, _)| start < earlier)
                    && output.as_bytes().get(..start).is_some_and(|before| before.ends_with(ACTION_INPUT.as_bytes()))
                {
                    first = Some((start, at));
                }
            }
            _ => {}
        }
    }
    first.and_then(|(start, end)| output.get(start..=end))
}

/// Returns the reply to the user for the official report and the judge: the text after the last `Response:`, or after
/// the last action when no response is mentioned.
pub(crate) fn response(output: &str) -> Cow<'_, str> {
    let last = |label: &str| strip(output.rsplit(label).next().unwrap_or(output));
    if output.contains("Response") {
        Cow::Borrowed(last("Response:"))
    } else {
        Cow::Owned(format!("{ACTION}{}", last("Action:")))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_action_needs_a_line_after_it() {
        assert_eq!(action("Thought: t\nAction: a \r\nAction Input: {}"), Some("a \r"));
        assert_eq!(action("Action: a"), None);
        assert_eq!(action("say Action: one\nAction: two\n"), Some("one"), "the first one counts, wherever it is");
        assert_eq!(action("Action:a\n"), None);
        assert_eq!(action("Action: \n"), Some(""));
        assert_eq!(action("Action: a Action: b\n"), Some("a Action: b"));
        assert_eq!(action("Action Input: {}\nx"), None);
    }

    #[test]
    fn a_tool_name_loses_one_prefix_and_what_follows_a_dot() {
        let names = ["functions.a", "functions.functions.a", "a.call", "functions.a.b", " functions.a", "a", "", "."];
        assert_eq!(names.map(tool_name), ["a", "functions", "a", "a", " functions", "a", "", ""]);
    }

    #[test]
    fn arguments_end_at_the_first_closing_brace_of_a_labelled_line() {
        assert_eq!(action_input("Action Input:  x {\"a\": 1} y}"), Input::Text(" x {\"a\": 1}"));
        assert_eq!(action_input("Action Input: none\nAction Input: {}"), Input::Text("{}"));
        assert_eq!(action_input("Action Input: {\n}"), Input::Absent);
        assert_eq!(action_input("Action Input:\n{}"), Input::Absent);
        assert_eq!(action_input("Action Input: }"), Input::Absent);
        assert_eq!(action_input("Action Input: {\"a\": \"}\"}"), Input::Text("{\"a\": \"}"));
        assert_eq!(action_input("Action Input: Action Input: {}"), Input::Text("Action Input: {}"));
    }

    #[test]
    fn several_opening_braces_need_a_balanced_group_behind_a_label() {
        assert_eq!(
            action_input("Action Input: {\"a\": {\n}}} z"),
            Input::Absent,
            "no brace closes in the label's line"
        );
        assert_eq!(action_input("Action Input: {{}\n} z"), Input::Text("{{}\n}"));
        assert_eq!(action_input("Action Input: {{}\nAction Input: {}"), Input::Text("{}"));
        assert_eq!(action_input("Action Input: {\"a\": {\"b\": 1}"), Input::Unbalanced);
        assert_eq!(action_input("Action Input: {\"a\": \"{\"}"), Input::Unbalanced);
        assert_eq!(action_input("Action Input: x {{}}"), Input::Unbalanced);
        assert_eq!(action_input("}Action Input: {{}}"), Input::Text("{{}}"));
    }

    #[test]
    fn the_last_response_is_the_reply_and_an_action_stands_in_for_it() {
        assert_eq!(response("Thought: t\nResponse: one\nResponse:  two \n"), "two");
        assert_eq!(response("Response to the user"), "Response to the user");
        assert_eq!(response("Action:  a\nAction Input: {}\n"), "Action: a\nAction Input: {}");
        assert_eq!(response(""), "Action: ");
    }

    /// The same rules in an obvious implementation that is quadratic.
    fn slow_action_input(output: &str) -> Input<'_> {
        let labels = || output.match_indices(ACTION_INPUT).map(|(at, _)| at + ACTION_INPUT.len());
        let piece = |start: usize| {
            let end = output[start..].find('\n').map_or(output.len(), |end| start + end);
            output[start..end].find('}').map(|end| &output[start..=start + end])
        };
        let group = |start: usize| {
            let mut depth = 0_usize;
            for (at, c) in output[start..].char_indices() {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    _ if depth == 0 => return None,
                    _ => continue,
                }
                if depth == 0 {
                    return Some(&output[start..=start + at]);
                }
            }
            None
        };
        let Some(piece) = labels().find_map(piece) else { return Input::Absent };
        match piece.matches('{').count() {
            0 => Input::Absent,
            1 => Input::Text(piece),
            _ => labels()
                .filter(|start| output[*start..].starts_with('{'))
                .find_map(group)
                .map_or(Input::Unbalanced, Input::Text),
        }
    }

    proptest! {
        #[test]
        fn arguments_are_what_the_slow_rules_say(parts in proptest::collection::vec(
            prop_oneof![Just("Action Input: "), Just("{"), Just("}"), Just("\n"), Just("a"), Just("{}")], 0..14)
        ) {
            let output = parts.concat();
            prop_assert_eq!(action_input(&output), slow_action_input(&output));
        }
    }

    #[test]
    fn a_megabyte_takes_no_time_whatever_it_repeats() {
        let start = Instant::now();
        for part in [
            "Action Input: ",
            "Action Input: {",
            "Action Input: {{",
            "Action: ",
            "{",
            "}",
            "\n",
            "Response:",
            "Action:",
        ] {
            for end in ["", "}", "\n}", "{{}\nAction Input: {{}}"] {
                let output = part.repeat(1_000_000 / part.len()) + end;
                let _ = (action(&output), action_input(&output), response(&output), mentions_call(&output));
            }
        }
        // Quadratic behaviour would take hours.
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    }
}
