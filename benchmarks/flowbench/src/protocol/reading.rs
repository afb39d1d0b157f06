//! Parsing of an agent's reply (docs/benchmarks/flowbench.md §3.4), before it is scored.

use regatta_pycompat::is_word;

use super::ToolCall;

/// Label of a call's arguments.
const INPUT_LABEL: &str = "Action Input: ";

/// A reply in the form in which it enters the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Output {
    /// Text of the reply, cleaned when it contains a call.
    pub(super) content: String,
    /// The call in it.
    pub(super) call: Option<ToolCall>,
}

/// The reply announces a call but names no tool. The released code raises an exception there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NamelessCall;

/// Parses a reply. Only one with both labels of a call is cleaned.
pub(super) fn read(text: &str) -> Result<Output, NamelessCall> {
    if !(text.contains("Action:") && text.contains("Action Input:")) {
        return Ok(Output { content: text.to_owned(), call: None });
    }
    let name = call_name(text).ok_or(NamelessCall)?.to_owned();
    let arguments = braces_after_label(text).map(str::to_owned);
    let content = without_second_thought(without_responses(text));
    Ok(Output { content, call: Some(ToolCall { name, arguments }) })
}

/// Returns the group of the first match of `Action: (?:functions\.)?(\w+)`.
pub(crate) fn call_name(text: &str) -> Option<&str> {
    text.match_indices("Action: ").find_map(|(at, label)| name_at(&text[at + label.len()..]))
}

/// Returns the name directly after the label.
pub(crate) fn name_at(text: &str) -> Option<&str> {
    // A lone `functions.` is itself the name, since the optional prefix then matches nothing.
    let after_prefix = text.strip_prefix("functions.").map(leading_word).filter(|name| !name.is_empty());
    after_prefix.or_else(|| Some(leading_word(text)).filter(|name| !name.is_empty()))
}

fn leading_word(text: &str) -> &str {
    &text[..text.find(|c| !is_word(c)).unwrap_or(text.len())]
}

/// An open brace in the search of [`braces_after_label`].
struct Open {
    at: usize,
    /// The first group closed inside it, in case this one never closes.
    closed_inside: Option<(usize, usize)>,
}

/// Returns the first group of braces, with its content, that directly follows an `Action Input: `. A group may
/// contain braces only if they follow the same label: the official pattern recurses as a whole, label included, so it
/// never matches plain nested JSON.
pub(crate) fn braces_after_label(text: &str) -> Option<&str> {
    let mut open: Vec<Open> = Vec::new();
    for (at, brace) in text.bytes().enumerate().filter(|(_, byte)| matches!(byte, b'{' | b'}')) {
        // Inside a group the label must not reach back over the previous brace; it contains none, so it cannot.
        if brace == b'{' && text[..at].ends_with(INPUT_LABEL) {
            open.push(Open { at, closed_inside: None });
            continue;
        }
        if brace == b'{' {
            // A brace without a label: no open group can be closed any more.
            if let Some(group) = first_closed(&open) {
                return text.get(group.0..group.1);
            }
            open.clear();
            continue;
        }
        let Some(closed) = open.pop() else { continue };
        let group = (closed.at, at + 1);
        match open.last_mut() {
            None => return text.get(group.0..group.1),
            Some(outer) => _ = outer.closed_inside.get_or_insert(group),
        }
    }
    first_closed(&open).and_then(|(from, to)| text.get(from..to))
}

/// Returns the closed group that begins first. Closed groups inside an outer one begin before its inner open ones.
fn first_closed(open: &[Open]) -> Option<(usize, usize)> {
    open.iter().find_map(|group| group.closed_inside)
}

/// Removes every `Response:` with the rest of its line.
fn without_responses(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("Response:") {
        kept.push_str(&rest[..at]);
        rest = after_line(&rest[at..]);
    }
    kept.push_str(rest);
    kept
}

/// Removes the first `Thought:` (with the rest of its line) after the line of the very first one, or that one itself
/// when no line end follows it.
fn without_second_thought(text: String) -> String {
    let Some(first) = text.find("Thought:") else { return text };
    let head = text[first..].find('\n').map_or(first, |end| first + end + 1);
    let Some(second) = text[head..].find("Thought:") else { return text };
    let (kept, rest) = text.split_at(head + second);
    format!("{kept}{}", after_line(rest))
}

fn after_line(text: &str) -> &str {
    text.find('\n').map_or("", |end| &text[end + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(text: &str) -> (String, Option<String>) {
        let call = read(text).unwrap().call.unwrap();
        (call.name, call.arguments)
    }

    #[test]
    fn a_call_needs_both_labels() {
        assert_eq!(read("Action: x").unwrap().call, None);
        assert_eq!(read("Action Input: {}").unwrap().call, None);
        assert_eq!(call("Action: x\nAction Input: {}"), ("x".to_owned(), Some("{}".to_owned())));
    }

    #[test]
    fn a_call_without_a_readable_name_is_an_error() {
        assert_eq!(read("Action:x\nAction Input: {}"), Err(NamelessCall));
        assert_eq!(read("Action: `x`\nAction Input: {}"), Err(NamelessCall));
    }

    #[test]
    fn names_are_words_without_the_prefix() {
        assert_eq!(call_name("Action: functions.查询_1-x"), Some("查询_1"));
        assert_eq!(call_name("Action: functions."), Some("functions"));
        assert_eq!(call_name("Action: -\nAction: late"), Some("late"));
    }

    #[test]
    fn arguments_may_span_lines_but_not_nest() {
        assert_eq!(braces_after_label("Action Input: {\n\"a\": 1\n} }"), Some("{\n\"a\": 1\n}"));
        assert_eq!(braces_after_label("Action Input: {\"a\": {}}"), None);
        assert_eq!(braces_after_label("Action Input: {{}} Action Input: {1}"), Some("{1}"));
        assert_eq!(braces_after_label("Action Input: {"), None);
        assert_eq!(braces_after_label("Action Input:{} {}"), None);
    }

    #[test]
    fn arguments_nest_where_the_label_is_repeated() {
        let nested = "{\"a\": \"Action Input: {} Action Input: {x}\"}";
        assert_eq!(braces_after_label(&format!("Action Input: {nested}")), Some(nested));
        assert_eq!(braces_after_label("Action Input: { Action Input: {1} Action Input: {2} {"), Some("{1}"));
        assert_eq!(braces_after_label("Action Input: { Action Input: { Action Input: {3}"), Some("{3}"));
    }

    #[test]
    fn a_reply_inside_a_call_is_removed_with_its_line() {
        let output = read("Thought: t\nResponse: r\nAction: x\nAction Input: {}\nResponse: s").unwrap();
        assert_eq!(output.content, "Thought: t\nAction: x\nAction Input: {}\n");
    }

    #[test]
    fn the_second_thought_is_removed_and_the_third_stays() {
        let output = read("Thought: 1\nThought: 2\nThought: 3\nAction: x\nAction Input: {}").unwrap();
        assert_eq!(output.content, "Thought: 1\nThought: 3\nAction: x\nAction Input: {}");
    }

    #[test]
    fn a_call_in_one_line_loses_its_thought_and_itself() {
        assert_eq!(read("so Thought: t Action: x Action Input: {}").unwrap().content, "so ");
    }

    #[test]
    fn a_reply_without_call_is_left_as_it_is() {
        let text = "Thought: 1\nThought: 2\nResponse: a\nResponse: b";
        assert_eq!(read(text).unwrap().content, text);
    }
}
