//! Output of the framework: without colours, since standard output is no terminal.

use super::message::Message;
use crate::policies::query::Query;

/// End of the head of a message in the chat, whoever gets it.
const TO: &str = "(to chat_manager):";

/// The first message: what the user said, as JSON.
pub(super) fn first(query: &Query<'_>) -> String {
    format!("{{\"iid\": {}, \"query\": {}}}", ascii_json(query.iid), ascii_json(query.text))
}

/// Prints a message. One with results of tools is printed result by result, under a head of its own.
pub(super) fn message(message: &Message, log: &mut String) {
    let head = format!("{} {TO}\n\n", message.speaker.name());
    log.push_str(&head);
    if message.results.is_empty() {
        body(message, log);
        return;
    }
    for result in &message.results {
        let line = format!("***** Response from calling tool ({}) *****", result.id);
        log.push_str(&format!("{head}{line}\n{}\n{}\n", result.text, stars(&line)));
        separator(log);
    }
}

fn body(message: &Message, log: &mut String) {
    if let Some(text) = &message.text {
        log.push_str(text);
        log.push('\n');
    }
    for call in &message.calls {
        let line = format!("***** Suggested tool call ({}): {} *****", call.id, call.name);
        log.push_str(&format!("{line}\nArguments: \n{}\n{}\n", call.arguments, stars(&line)));
    }
    separator(log);
}

/// As many stars as `line` has characters.
fn stars(line: &str) -> String {
    "*".repeat(line.chars().count())
}

fn separator(log: &mut String) {
    log.push('\n');
    log.push_str(&"-".repeat(80));
    log.push('\n');
}

/// A text as JSON in ASCII.
fn ascii_json(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            let mut units = [0; 2];
            out.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_ascii() {
        assert_eq!(ascii_json("a\"é😀\n\u{7f}"), "\"a\\\"\\u00e9\\ud83d\\ude00\\n\u{7f}\"");
    }
}
