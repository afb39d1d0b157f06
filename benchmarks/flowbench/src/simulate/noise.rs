//! Typical mistakes of agents: another tool, a missing or wrong parameter, a reply instead of a call, another node, a
//! broken format.

use serde_json::{Map, Value};

use super::Mistakes;
use crate::data::Entry;

/// Probability of a broken format, relative to any other mistake.
const FORMAT_SHARE: f64 = 0.15;
/// Probability of a call where none is right, relative to any other mistake.
const SPURIOUS_SHARE: f64 = 0.2;

const ACTION: &str = "\nAction: ";
const INPUT: &str = "\nAction Input: ";

/// Returns the output with mistakes drawn from `mistakes`; verbatim when none happens.
pub(super) fn disturbed(gold: &str, entry: &Entry, mistakes: &mut Mistakes) -> String {
    let gold = if mistakes.happens(1.0) { other_node(gold) } else { gold.to_owned() };
    let changed = match parts(&gold) {
        Some((thought, name, input)) => call(thought, name, input, entry, mistakes),
        None if mistakes.happens(SPURIOUS_SHARE) => spurious_call(&gold, entry),
        None if mistakes.happens(0.5) => vague(&gold),
        None => gold,
    };
    if mistakes.happens(FORMAT_SHARE) { broken(&changed, mistakes) } else { changed }
}

/// Splits an output with a call into thought, tool and arguments.
fn parts(output: &str) -> Option<(&str, &str, &str)> {
    let (thought, call) = output.split_once(ACTION)?;
    let (name, input) = call.split_once(INPUT)?;
    Some((thought, name, input))
}

fn call(thought: &str, name: &str, input: &str, entry: &Entry, mistakes: &mut Mistakes) -> String {
    if mistakes.happens(0.3) {
        return format!("{thought}\nResponse: One moment, please. Is there anything else I should know?");
    }
    let tools = entry.tools();
    let name = match tools.get(mistakes.pick(tools.len())) {
        Some(tool) if mistakes.happens(0.3) => tool.name.to_string(),
        _ => name.to_owned(),
    };
    let mut arguments: Map<String, Value> = serde_json::from_str(input).unwrap_or_default();
    let keys: Vec<String> = arguments.keys().cloned().collect();
    let mut is_changed = false;
    for key in keys {
        if mistakes.happens(0.2) {
            arguments.shift_remove(&key);
            is_changed = true;
        } else if mistakes.happens(0.3) {
            is_changed = true;
            match arguments.get_mut(&key) {
                Some(Value::String(text)) => *text = other_text(text, mistakes.pick(3)),
                Some(value) => *value = Value::String(value.to_string()),
                None => {}
            }
        }
    }
    // Unchanged arguments keep their white space.
    let input = if is_changed { Value::Object(arguments).to_string() } else { input.to_owned() };
    format!("{thought}{ACTION}{name}{INPUT}{input}")
}

/// Returns a text that a judge may or may not accept as equal.
fn other_text(text: &str, kind: usize) -> String {
    match kind {
        0 => text.split(' ').rev().collect::<Vec<_>>().join(" "),
        1 => format!("the {text}"),
        _ => text.chars().rev().collect(),
    }
}

/// Replaces the current node by the one with the next number.
fn other_node(output: &str) -> String {
    const LABEL: &str = "current_node=";
    let Some((before, after)) = output.split_once(LABEL) else { return output.to_owned() };
    let end = after.find(['.', '\n', ' ']).unwrap_or(after.len());
    let (node, rest) = after.split_at(end);
    let digits = node.trim_start_matches(|c: char| !c.is_ascii_digit());
    let prefix = &node[..node.len() - digits.len()];
    match digits.parse::<u32>() {
        Ok(number) => format!("{before}{LABEL}{prefix}{:03}{rest}", number + 1),
        Err(_) => format!("{before}{LABEL}UNK{rest}"),
    }
}

fn spurious_call(output: &str, entry: &Entry) -> String {
    let thought = output.split("\nResponse:").next().unwrap_or_default();
    match entry.tools().first() {
        Some(tool) => format!("{thought}{ACTION}{}{INPUT}{{}}", tool.name),
        None => output.to_owned(),
    }
}

/// Returns the first half of the reply.
fn vague(output: &str) -> String {
    let words: Vec<&str> = output.split(' ').collect();
    words[..words.len().div_ceil(2)].join(" ")
}

/// Returns the output in a format that some parsers fail on.
fn broken(output: &str, mistakes: &mut Mistakes) -> String {
    match mistakes.pick(6) {
        // Without the thought.
        0 => output.split_once('\n').map_or_else(String::new, |(_, rest)| rest.to_owned()),
        // With a fence around the arguments.
        1 => output.replace(INPUT, "\nAction Input: ```json\n"),
        // With a comment in the JSON.
        2 => output.replacen('{', "{ // as asked\n", 1),
        // With two actions.
        3 => match parts(output) {
            Some((_, name, input)) => format!("{output}{ACTION}{name}{INPUT}{input}"),
            None => format!("{output}\nResponse: And one thing more."),
        },
        // Truncated.
        4 => output.chars().take(output.chars().count() / 2).collect(),
        _ => output.replace('\n', " "),
    }
}
