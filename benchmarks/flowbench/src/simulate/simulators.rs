//! The simulated user, who repeats the gold user's messages, and the simulated tools, which return the results of the
//! gold.

use regatta_benchmarks::Persona;
use regatta_proto::SessionSeed;
use serde_json::{Map, Value};

use super::Mistakes;
use crate::data::{Content, Entry, Message};
use crate::prompts::section;

/// Message that ends a conversation.
const DONE: &str = "[DONE]";

/// Returns the user's next message: as many of the gold's are skipped as the prompt shows. A prompt that was not
/// built here has no named sections and is searched as a whole, in the functions below too.
pub(super) fn user(entry: &Entry, persona: Persona, seed: SessionSeed, prompt: &str) -> String {
    let dialogue = section(prompt, "dialogue").unwrap_or(prompt);
    let said = dialogue.lines().filter(|line| line.starts_with("User: ")).count();
    let mut mistakes = Mistakes::of(persona, seed, &format!("flowbench/user/{said}"));
    let line = match &entry.content {
        Content::Session(session) => {
            let mut lines = session.messages.iter().filter_map(|message| match message {
                Message::User(text) => Some(text.to_string()),
                Message::Agent(_) | Message::Function(..) => None,
            });
            lines.nth(said)
        }
        _ if said == 0 => Some("Hello! I need your help, as you know.".to_owned()),
        _ => None,
    };
    match line {
        Some(line) if mistakes.happens(0.3) => format!("Hm, let me think. {line}"),
        Some(line) => line,
        None => DONE.to_owned(),
    }
}

/// Returns the result of the call in the prompt: that of the gold's first call of this tool with these arguments, or
/// else of this tool.
pub(super) fn environment(entry: &Entry, persona: Persona, seed: SessionSeed, prompt: &str) -> String {
    let arguments = section(prompt, "arguments").or_else(|| last_object(prompt)).unwrap_or_default();
    let mut mistakes = Mistakes::of(persona, seed, &format!("flowbench/environment/{arguments}"));
    let tool = prompt.lines().find_map(|line| tool_named(entry, line)).unwrap_or_default();
    if mistakes.happens(0.2) {
        return r#"{"error": "the service is not available at the moment"}"#.to_owned();
    }
    let given: Option<Map<String, Value>> = serde_json::from_str(arguments).ok();
    let calls = entry.session().map(|session| session.invocations.as_slice()).unwrap_or_default();
    let of_tool = || calls.iter().filter(|call| &*call.action == tool);
    let same = of_tool().find(|call| Some(&call.input) == given.as_ref()).or_else(|| of_tool().next());
    let result = same.map(|call| &*call.result).filter(|result| serde_json::from_str::<Value>(result).is_ok());
    result.unwrap_or(r#"{"result": "done"}"#).to_owned()
}

/// Finds the tool whose name ends the line, after a label.
fn tool_named<'e>(entry: &'e Entry, line: &str) -> Option<&'e str> {
    let (_, name) = line.split_once(": ")?;
    entry.tools().into_iter().map(|tool| &*tool.name).find(|known| *known == name.trim())
}

/// Returns the last line that is a JSON object after a label.
fn last_object(prompt: &str) -> Option<&str> {
    prompt
        .lines()
        .rev()
        .find_map(|line| line.split_once(": ").map(|(_, value)| value).filter(|value| value.starts_with('{')))
}
