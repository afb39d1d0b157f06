//! A session with tools: the model calls the simulated apps step by step instead of writing a plan. Ours, scored by what was executed.
//!
//! The world is a pure state machine, so the whole session is a function of the model's replies. An external agent replies with calls as a
//! model does, or calls the phone itself.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use regatta_benchmarks::delegated::Turn;
use regatta_proto::{ChatMessage, ChatRole, Tool};
use serde_json::{Map, Value, json};

use super::data::{Api, Data, Entry, Phone};
use super::exec::{Executed, World};
use super::phone_server;

/// Most calls of the model in one session.
pub(crate) const ROUNDS_MAX: usize = 20;
/// Calls of one reply that are executed; the others are refused.
const CALLS_MAX: usize = 32;
/// Bytes that one session may move and hash.
const BUDGET: usize = 1 << 20;
/// Longest name of a tool that all providers take.
const NAME_MAX: usize = 64;
/// The answer to a call of a tool that the phone does not have.
pub(crate) const UNKNOWN_TOOL: &str = "unknown tool";

/// The APIs of a phone as tools.
#[derive(Debug, Clone)]
pub(crate) struct Toolbox {
    /// One for each API, in phone order.
    pub(crate) tools: Vec<Tool>,
    /// App and API by the name of the tool.
    apis: HashMap<Arc<str>, (Arc<str>, Arc<str>)>,
}

impl Toolbox {
    /// The tools of `phone`, named `App-api`.
    pub(crate) fn of(phone: &Phone) -> Self {
        let (mut tools, mut apis) = (Vec::new(), HashMap::new());
        for app in phone.apps() {
            for api in &app.apis {
                let name = free_name(&apis, &tool_name(&app.name, &api.name));
                apis.insert(Arc::clone(&name), (Arc::clone(&app.name), Arc::clone(&api.name)));
                let description = Some(format!("{}: {}", app.name, api.desc).into());
                tools.push(Tool { name, description, parameters: Arc::new(schema(api)) });
            }
        }
        Self { tools, apis }
    }
}

/// The name of an API as a tool: letters, digits, `_` and `-`, as providers demand.
pub(crate) fn tool_name(app: &str, api: &str) -> String {
    let is_taken = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let plain = |text: &str| text.chars().map(|c| if is_taken(c) { c } else { '_' }).collect::<String>();
    format!("{}-{}", plain(app), plain(api)).chars().take(NAME_MAX).collect()
}

/// `name`, or one with a number at its end where another API has it: names that were cut, or had letters that providers do not take, may be equal.
fn free_name<T>(taken: &HashMap<Arc<str>, T>, name: &str) -> Arc<str> {
    let mut free = name.to_owned();
    let mut number = 2_u32;
    while taken.contains_key(free.as_str()) {
        let end = format!("_{number}");
        let kept: String = name.chars().take(NAME_MAX - end.len()).collect();
        free = kept + &end;
        number += 1;
    }
    free.into()
}

fn schema(api: &Api) -> Value {
    let properties: Map<String, Value> = api
        .arguments()
        .map(|slot| {
            let kind = slot.kind.as_deref().map_or_else(String::new, |kind| format!(" ({kind})"));
            (slot.name.to_string(), json!({ "type": "string", "description": format!("{}{kind}", slot.desc) }))
        })
        .collect();
    let required: Vec<&str> = api.required.iter().map(|slot| &*slot.name).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// A session as far as it has gone.
#[derive(Debug)]
pub(crate) struct Walk {
    /// Messages after the instruction: the model's calls and the apps' answers.
    pub(crate) messages: Vec<ChatMessage>,
    /// The calls that were executed.
    pub(crate) executed: Vec<Executed>,
    /// True if some call was refused.
    pub(crate) is_refused: bool,
    /// Replies with calls, and calls that an external agent made at the phone itself.
    pub(crate) rounds: usize,
    /// True if the model has stopped calling, or has used all rounds.
    pub(crate) is_over: bool,
}

impl Walk {
    /// Replays the session of `entry` from the replies of the model, or of the external agent in its place. One that has called the phone itself
    /// has done everything in that turn.
    pub(crate) fn of(data: &Data, toolbox: &Toolbox, entry: &Entry, turns: &[Turn<'_>]) -> Self {
        let mut world = world(data, entry);
        let mut walk =
            Self { messages: Vec::new(), executed: Vec::new(), is_refused: false, rounds: 0, is_over: false };
        for Turn { reply, events, .. } in turns.iter().take(ROUNDS_MAX) {
            let phoned = phone_server::calls(data, toolbox, entry, events);
            if !phoned.is_empty() {
                walk.rounds += phoned.len();
                walk.is_refused |= phoned.iter().any(Result::is_err);
                walk.executed.extend(phoned.into_iter().flatten());
                walk.is_over = true;
                break;
            }
            if reply.tool_calls.is_empty() {
                walk.is_over = true;
                break;
            }
            walk.rounds += 1;
            let mut said = ChatMessage::new(ChatRole::Assistant, reply.text.clone().unwrap_or_default());
            said.tool_calls.clone_from(&reply.tool_calls);
            said.reasoning.clone_from(&reply.reasoning);
            walk.messages.push(said);
            for (at, call) in reply.tool_calls.iter().enumerate() {
                let result = if at < CALLS_MAX {
                    execute(&mut world, toolbox, &call.name, &call.arguments)
                } else {
                    Err("too many calls")
                };
                walk.is_refused |= result.is_err();
                let content = match result {
                    Ok((executed, returned)) => {
                        walk.executed.push(executed);
                        returned
                    }
                    Err(problem) => json!({ "error": problem }).to_string(),
                };
                let mut told = ChatMessage::new(ChatRole::Tool, content);
                told.tool_call_id = Some(Arc::clone(&call.id));
                walk.messages.push(told);
            }
        }
        walk.is_over |= walk.rounds >= ROUNDS_MAX;
        walk
    }
}

/// The world in which the calls of a session of `entry` are executed.
pub(crate) fn world(data: &Data, entry: &Entry) -> World {
    World::new(&data.phone, &entry.fixtures, BUDGET)
}

/// Executes one call. Returns it with what the app answers: everything that the API returns, by name.
///
/// # Errors
/// Says why it is not executed.
pub(crate) fn execute(
    world: &mut World,
    toolbox: &Toolbox,
    tool: &str,
    arguments: &str,
) -> Result<(Executed, String), &'static str> {
    let (app, api) = toolbox.apis.get(tool).ok_or(UNKNOWN_TOOL)?;
    let inputs = inputs(arguments).ok_or("the arguments are not a JSON object")?;
    let executed = world.call(app, api, inputs).map_err(|refusal| refusal.as_str())?;
    let outputs = world.outputs(&executed).map_err(|refusal| refusal.as_str())?;
    let outputs: Map<String, Value> =
        outputs.into_iter().map(|(name, value)| (name.to_string(), json!(*value))).collect();
    Ok((executed, Value::Object(outputs).to_string()))
}

/// Arguments as texts, as the data writes them: `True`, `4.60`, `2019-03-12`. What is null was not given.
fn inputs(arguments: &str) -> Option<BTreeMap<Arc<str>, Arc<str>>> {
    let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
    let Ok(Value::Object(arguments)) = serde_json::from_str(arguments) else { return None };
    let text = |value: Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        Value::Bool(true) => Some("True".to_owned()),
        Value::Bool(false) => Some("False".to_owned()),
        other => Some(other.to_string()),
    };
    Some(arguments.into_iter().filter_map(|(key, value)| Some((key.into(), text(value)?.into()))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_apis_are_never_one_tool() {
        let (twenty, thirty) = ("long".repeat(20), "long".repeat(30));
        let mut taken = HashMap::new();
        let mut names = Vec::new();
        for (app, api) in [("Köln", "go"), ("Käln", "go"), ("Kites", twenty.as_str()), ("Kites", thirty.as_str())] {
            let name = free_name(&taken, &tool_name(app, api));
            assert!(taken.insert(Arc::clone(&name), ()).is_none() && name.len() <= NAME_MAX, "{name}");
            names.push(name.to_string());
        }
        assert_eq!(names[..2], ["K_ln-go", "K_ln-go_2"]);
        assert!(names[2].starts_with("Kites-long") && names[3].ends_with("_2"), "{names:?}");
    }
}
