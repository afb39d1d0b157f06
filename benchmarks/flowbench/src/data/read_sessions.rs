//! Parser of sessions in canonical form (docs/benchmarks/flowbench.md §2.5) and of the session printed in the paper
//! (§2.4).

use std::sync::Arc;

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::{SourceLocation, kind_of};
use serde_json::{Map, Value};

use super::conversation::{GoldTurn, Invocation, Message, Session, Speaker, UserProfile};
use super::read_scenarios::Registry;
use super::scenario::Scenario;
use crate::setting::Scope;

/// A session with its place in the data set.
#[derive(Debug)]
pub(super) struct ReadSession {
    pub(super) session: Session,
    pub(super) synthetic: bool,
    pub(super) scope: Scope,
    /// File of the official layout that would contain its turns.
    pub(super) file: Arc<str>,
}

/// Parses one session.
pub(super) fn read_session(
    place: &SourceLocation<'_>,
    value: &Value,
    registry: &Registry,
) -> Result<ReadSession, DataError> {
    if !value.is_object() {
        return Err(place.problem(format!("must be an object, is {}", kind_of(value))));
    }
    let id = place.text(value, "session_id")?;
    let synthetic = match value.get("synthetic") {
        None => false,
        Some(Value::Bool(synthetic)) => *synthetic,
        Some(other) => return Err(place.error("synthetic", format!("must be true or false, is {}", kind_of(other)))),
    };
    let scope = place.text(value, "setting")?;
    let scope =
        Scope::named(scope).ok_or_else(|| place.error("setting", format!("is {scope:?}; known: single, cross")))?;
    let role: Arc<str> = place.text(value, "role")?.into();
    let scenarios = scenarios(place, value, registry, &role)?;
    if scope == Scope::Single && scenarios.len() != 1 {
        let problem = format!("a session of the setting single has one scenario, this one has {}", scenarios.len());
        return Err(place.error("scenarios", problem));
    }
    let domain = place.text(value, "domain")?;
    if let Some(other) = scenarios.iter().find(|scenario| &*scenario.domain != domain) {
        return Err(place.error("domain", format!("is {domain:?}, but the scenario's is {:?}", other.domain)));
    }
    let messages = place
        .array(value, "messages")?
        .iter()
        .enumerate()
        .scan(0, |turns, (position, message)| Some(read_message(place, position, message, turns)))
        .collect::<Result<Vec<_>, _>>()?;
    let session = Session {
        id: id.into(),
        datetime: place.text(value, "datetime")?.into(),
        profile: value.get("user_profile").map(|profile| read_profile(place, profile)).transpose()?,
        goals: texts(place, value, "user_goals")?,
        scenarios,
        invocations: place
            .array(value, "tool_invocations")?
            .iter()
            .enumerate()
            .map(|(position, call)| read_invocation(place, &format!("tool_invocations[{position}]"), call))
            .collect::<Result<_, _>>()?,
        messages,
    };
    check_counts(place, value, &session)?;
    Ok(ReadSession { session, synthetic, scope, file: place.text(value, "file")?.into() })
}

fn scenarios(
    place: &SourceLocation<'_>,
    value: &Value,
    registry: &Registry,
    role: &str,
) -> Result<Vec<Arc<Scenario>>, DataError> {
    let mut scenarios = Vec::new();
    for (position, entry) in place.array(value, "scenarios")?.iter().enumerate() {
        let field = format!("scenarios[{position}].uuid");
        let uuid = place.text_at(entry.get("uuid"), &field)?;
        let scenario =
            registry.scenario(uuid).ok_or_else(|| place.error(&field, format!("{uuid:?} is the id of no scenario")))?;
        if &*scenario.role != role {
            return Err(place.error(&field, format!("is of the role {:?}, the session of {role:?}", scenario.role)));
        }
        scenarios.push(Arc::clone(scenario));
    }
    if scenarios.is_empty() {
        return Err(place.error("scenarios", "is empty; a session has at least one"));
    }
    Ok(scenarios)
}

fn read_profile(place: &SourceLocation<'_>, profile: &Value) -> Result<UserProfile, DataError> {
    let text = |name: &str| place.text_at(profile.get(name), &format!("user_profile.{name}")).map(Arc::from);
    Ok(UserProfile { name: text("name")?, tone: text("tone")?, background: text("background")? })
}

fn texts(place: &SourceLocation<'_>, value: &Value, field: &str) -> Result<Vec<Arc<str>>, DataError> {
    let list = place.array(value, field)?.iter().enumerate();
    list.map(|(position, entry)| Ok(place.text_at(Some(entry), &format!("{field}[{position}]"))?.into())).collect()
}

fn read_invocation(place: &SourceLocation<'_>, field: &str, call: &Value) -> Result<Invocation, DataError> {
    let input = match call.get("action_input") {
        Some(Value::Object(input)) => input.clone(),
        Some(other) => {
            return Err(
                place.error(&format!("{field}.action_input"), format!("must be an object, is {}", kind_of(other)))
            );
        }
        None => return Err(place.error(&format!("{field}.action_input"), "is missing; it must be an object")),
    };
    // The result printed in the paper is not JSON, so it is stored as a text.
    let result = match (call.get("result"), call.get("result_text")) {
        (Some(result), None) => result.to_string(),
        (None, text) => place.text_at(text, &format!("{field}.result_text"))?.to_owned(),
        (Some(_), Some(_)) => return Err(place.error(&format!("{field}.result"), "comes twice, as result_text too")),
    };
    let action = place.text_at(call.get("action"), &format!("{field}.action"))?;
    Ok(Invocation { action: action.into(), input, result: result.into() })
}

fn read_message(
    place: &SourceLocation<'_>,
    position: usize,
    message: &Value,
    turns: &mut u64,
) -> Result<Message, DataError> {
    let at = |name: &str| format!("messages[{position}].{name}");
    let text = |name: &str| place.text_at(message.get(name), &at(name)).map(Arc::<str>::from);
    let role = place.text_at(message.get("role"), &at("role"))?;
    match Speaker::named(role) {
        Some(Speaker::User) => Ok(Message::User(text("content")?)),
        Some(Speaker::Function) => Ok(Message::Function(text("name")?, text("content")?)),
        Some(Speaker::Assistant) => {
            *turns += 1;
            if message.get("turn").and_then(Value::as_u64) != Some(*turns) {
                let found = message.get("turn").unwrap_or(&Value::Null);
                return Err(
                    place.error(&at("turn"), format!("must be {turns}, the number of this agent turn, is {found}"))
                );
            }
            let thought = read_thought(place, &at("thought"), message.get("thought"))?;
            Ok(Message::Agent(GoldTurn { thought, response: Some(text("response")?), content: Some(text("content")?) }))
        }
        None => Err(place.error(&at("role"), format!("is {role:?}; known: user, assistant, function"))),
    }
}

/// Parses a gold thought: an object, or a text that contains one. The fields that evaluators use must be texts.
pub(super) fn read_thought(
    place: &SourceLocation<'_>,
    field: &str,
    value: Option<&Value>,
) -> Result<Map<String, Value>, DataError> {
    let thought = match value {
        Some(Value::Object(thought)) => thought.clone(),
        Some(Value::String(text)) => serde_json::from_str::<Map<String, Value>>(text)
            .map_err(|error| place.error(field, format!("must be an object, or a text that holds one: {error}")))?,
        Some(other) => return Err(place.error(field, format!("must be an object, is {}", kind_of(other)))),
        None => return Err(place.error(field, "is missing; it must be an object")),
    };
    for key in ["last_node", "intent", "current_node", "Action", "Action Input"] {
        if let Some(value) = thought.get(key) {
            place.text_at(Some(value), &format!("{field}.{key}"))?;
        }
    }
    if thought.contains_key("Action") && !thought.contains_key("Action Input") {
        return Err(place.error(&format!("{field}.Action Input"), "is missing beside Action"));
    }
    Ok(thought)
}

fn check_counts(place: &SourceLocation<'_>, value: &Value, session: &Session) -> Result<(), DataError> {
    let turns = session.agent_turns().count();
    if turns == 0 {
        return Err(place.error("messages", "hold no agent turn"));
    }
    if value.get("turns").and_then(Value::as_u64) != u64::try_from(turns).ok() {
        let found = value.get("turns").unwrap_or(&Value::Null);
        return Err(place.error("turns", format!("must be {turns}, as many as there are agent turns, is {found}")));
    }
    Ok(())
}
