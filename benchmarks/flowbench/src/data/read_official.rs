//! Parser of records in the official form (docs/benchmarks/flowbench.md §2.2). They keep their own system prompts; a
//! record that exists in several formats (in folders named after them) is one item.

use std::collections::{BTreeMap, HashMap, HashSet, hash_map};
use std::sync::Arc;

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::{SourceLocation, kind_of, lines};
use regatta_proto::ItemId;
use serde_json::{Map, Value};

use super::conversation::{GoldTurn, Line, Speaker};
use super::entry::{Content, Entry, Function, Origin, Script, SessionRecord, TurnRecord, Variant};
use super::files::scope_of;
use super::groups::Groups;
use super::official_prompt::{Prompt, read_prompt};
use super::read_scenarios::Registry;
use super::read_sessions::read_thought;
use crate::prompts;
use crate::setting::{Format, Level};

/// Fields of a turn record that are used or derived; all others are kept as they are.
const TURN_FIELDS: [&str; 7] = ["id", "messages", "apis", "gt_thought", "gt_content", "gt_response", "synthetic"];
/// Fields of a session record that are used or derived; all others are kept as they are.
const SESSION_FIELDS: [&str; 10] = [
    "id",
    "apis",
    "datetime",
    "assistant_prompt",
    "assistant_agent",
    "user_agent",
    "function_agent",
    "user_target",
    "gt_actions_string",
    "synthetic",
];

/// Reads files of records one after another and merges their formats.
#[derive(Debug)]
pub(super) struct OfficialReader<'r> {
    registry: &'r Registry,
    groups: &'r mut Groups,
    entries: Vec<Entry>,
    by_id: HashMap<ItemId, usize>,
    /// Interned texts, because many records share them.
    texts: HashSet<Arc<str>>,
}

impl<'r> OfficialReader<'r> {
    pub(super) fn new(registry: &'r Registry, groups: &'r mut Groups) -> Self {
        Self { registry, groups, entries: Vec::new(), by_id: HashMap::new(), texts: HashSet::new() }
    }

    pub(super) fn into_entries(self) -> Vec<Entry> {
        self.entries
    }

    /// Reads one file of turn or session records.
    pub(super) fn read(&mut self, level: Level, origin: &str, path: &str, content: &[u8]) -> Result<(), DataError> {
        let file = SourceLocation::file(origin, path);
        let scope = scope_of(path).ok_or_else(|| {
            file.problem("no folder says whether it is single or cross; put it into a folder of that name")
        })?;
        // The records of a file share a few prompts.
        let mut prompts: HashMap<String, Arc<Prompt>> = HashMap::new();
        for line in lines(&file, content) {
            let (place, value) = line?;
            let Value::Object(fields) = &value else {
                return Err(place.problem(format!("must be an object, is {}", kind_of(&value))));
            };
            let (field, system) = match level {
                Level::Turn => ("messages[0].content", system_of_turn(&place, &value)?),
                Level::Session => ("assistant_agent.assistant_prompt", system_of_session(&place, &value)?),
            };
            let prompt = match prompts.entry(system.to_owned()) {
                hash_map::Entry::Occupied(known) => Arc::clone(known.get()),
                hash_map::Entry::Vacant(free) => {
                    let prompt = read_prompt(self.registry, &place, field, system, scope, path)?;
                    Arc::clone(free.insert(Arc::new(prompt)))
                }
            };
            let content = match level {
                Level::Turn => Content::TurnRecord(Arc::new(self.turn(&place, &value, fields, &prompt)?)),
                Level::Session => Content::SessionRecord(Arc::new(session(&place, &value, fields, &prompt)?)),
            };
            let id = ItemId::new(place.text(&value, "id")?).map_err(|error| place.error("id", error))?;
            let synthetic = value.get("synthetic").and_then(Value::as_bool).unwrap_or(false);
            let entry = Entry { id, group: Arc::clone(&prompt.group), origin: Origin::Main, synthetic, content };
            self.add(&place, entry)?;
        }
        Ok(())
    }

    fn turn(
        &mut self,
        place: &SourceLocation<'_>,
        value: &Value,
        fields: &Map<String, Value>,
        prompt: &Prompt,
    ) -> Result<TurnRecord, DataError> {
        let messages = place.array(value, "messages")?;
        let mut history = Vec::with_capacity(messages.len());
        for (position, message) in messages.iter().enumerate().skip(1) {
            let mut line = read_line(place, &format!("messages[{position}]"), message)?;
            line.content = self.shared(line.content);
            history.push(line);
        }
        let gold = GoldTurn {
            thought: read_thought(place, "gt_thought", value.get("gt_thought"))?,
            response: optional_text(place, value, "gt_response")?,
            content: optional_text(place, value, "gt_content")?,
        };
        let variant = Variant { system: Arc::clone(&prompt.system), history: history.clone() };
        Ok(TurnRecord {
            variants: BTreeMap::from([(prompt.format, variant)]),
            history,
            gold,
            datetime: prompt.datetime.clone(),
            tools: Arc::clone(&prompt.tools),
            extra: others(fields, &TURN_FIELDS),
        })
    }

    fn shared(&mut self, text: Arc<str>) -> Arc<str> {
        if let Some(known) = self.texts.get(&text) {
            return Arc::clone(known);
        }
        self.texts.insert(Arc::clone(&text));
        text
    }

    /// Adds a record, or adds its format to the record with the same id.
    fn add(&mut self, place: &SourceLocation<'_>, entry: Entry) -> Result<(), DataError> {
        let position = match self.by_id.entry(entry.id.clone()) {
            hash_map::Entry::Occupied(known) => *known.get(),
            hash_map::Entry::Vacant(free) => {
                self.groups.id(place, "id", entry.id.as_str())?;
                free.insert(self.entries.len());
                self.entries.push(entry);
                return Ok(());
            }
        };
        let Some(known) = self.entries.get_mut(position) else { return Ok(()) };
        if known.group.scope != entry.group.scope {
            return Err(place.error("id", "is the id of an earlier record too, which is of the other setting"));
        }
        let again =
            || place.error("id", "is the id of an earlier record of the same format too; every id may occur once");
        match (&mut known.content, entry.content) {
            (Content::TurnRecord(known), Content::TurnRecord(new)) => {
                let known = Arc::make_mut(known);
                let same = |key: &str| known.gold.thought.get(key) == new.gold.thought.get(key);
                if !same("Action") || !same("Action Input") {
                    return Err(place.error("gt_thought", "calls something else than the record of the same id does"));
                }
                if new.variants.keys().any(|format| known.variants.contains_key(format)) {
                    return Err(again());
                }
                // Only the gold of the flowchart format is sure to name nodes.
                if new.variants.contains_key(&Format::Flowchart) {
                    known.gold = new.gold.clone();
                }
                known.variants.extend(new.variants.clone());
            }
            (Content::SessionRecord(known), Content::SessionRecord(new)) => {
                let known = Arc::make_mut(known);
                if known.script != new.script {
                    return Err(place.error("id", "is the id of an earlier record too, which has other hints or calls"));
                }
                if new.systems.keys().any(|format| known.systems.contains_key(format)) {
                    return Err(again());
                }
                known.systems.extend(new.systems.clone());
            }
            _ => return Err(place.error("id", "is the id of a turn and of a session")),
        }
        Ok(())
    }
}

fn system_of_turn<'v>(place: &SourceLocation<'_>, value: &'v Value) -> Result<&'v str, DataError> {
    let first = place.array(value, "messages")?.first();
    let role = place.text_at(first.and_then(|message| message.get("role")), "messages[0].role")?;
    if role != "system" {
        return Err(place.error("messages[0].role", format!("must be \"system\", is {role:?}")));
    }
    place.text_at(first.and_then(|message| message.get("content")), "messages[0].content")
}

fn system_of_session<'v>(place: &SourceLocation<'_>, value: &'v Value) -> Result<&'v str, DataError> {
    let system = nested(place, value, "assistant_agent", "assistant_prompt")?;
    // The official simulation reads one, its evaluation the other.
    if let Some(other) = value.get("assistant_prompt")
        && place.text_at(Some(other), "assistant_prompt")? != system
    {
        return Err(
            place.error("assistant_prompt", "differs from assistant_agent.assistant_prompt; they must be the same")
        );
    }
    Ok(system)
}

fn nested<'v>(place: &SourceLocation<'_>, value: &'v Value, object: &str, field: &str) -> Result<&'v str, DataError> {
    place.text_at(value.get(object).and_then(|inner| inner.get(field)), &format!("{object}.{field}"))
}

fn session(
    place: &SourceLocation<'_>,
    value: &Value,
    fields: &Map<String, Value>,
    prompt: &Prompt,
) -> Result<SessionRecord, DataError> {
    let list = value.get("function_agent").and_then(|agent| agent.get("functions_with_response"));
    let Some(Value::Array(list)) = list else {
        return Err(place.error("function_agent.functions_with_response", "must be an array"));
    };
    let mut functions = Vec::with_capacity(list.len());
    for (position, function) in list.iter().enumerate() {
        functions.push(read_function(place, &format!("function_agent.functions_with_response[{position}]"), function)?);
    }
    let script = Script {
        datetime: place.text(value, "datetime")?.into(),
        first_turn_hint: nested(place, value, "user_agent", "first_turn_hint")?.into(),
        every_turn_hint: nested(place, value, "user_agent", "every_turn_hint")?.into(),
        functions,
        function_prompt: nested(place, value, "function_agent", "function_prompt")?.into(),
        user_target: place.text(value, "user_target")?.into(),
        gold_actions: place.text(value, "gt_actions_string")?.into(),
    };
    Ok(SessionRecord {
        systems: BTreeMap::from([(prompt.format, Arc::clone(&prompt.system))]),
        script,
        tools: Arc::clone(&prompt.tools),
        extra: others(fields, &SESSION_FIELDS),
    })
}

fn read_function(place: &SourceLocation<'_>, field: &str, function: &Value) -> Result<Function, DataError> {
    let name = place.text_at(function.get("name"), &format!("{field}.name"))?;
    let parameters = match function.get("parameters").and_then(|parameters| parameters.get("properties")) {
        Some(Value::Object(specs)) => prompts::descriptions(specs),
        None => Map::new(),
        Some(other) => {
            let problem = format!("must be an object, is {}", kind_of(other));
            return Err(place.error(&format!("{field}.parameters.properties"), problem));
        }
    };
    // docs/benchmarks/flowbench.md §3.7: the properties of the result, or whatever describes it.
    let response = function.get("response").unwrap_or(&Value::Null);
    let result = response.get("properties").cloned().unwrap_or_else(|| serde_json::json!({ "result": response }));
    Ok(Function { name: name.into(), parameters, result })
}

/// Parses a message of a history.
pub(super) fn read_line(place: &SourceLocation<'_>, field: &str, message: &Value) -> Result<Line, DataError> {
    let at = |name: &str| format!("{field}.{name}");
    let role = place.text_at(message.get("role"), &at("role"))?;
    let Some(speaker) = Speaker::named(role) else {
        return Err(place.error(&at("role"), format!("is {role:?}; known: user, assistant, function")));
    };
    let name = match message.get("name") {
        None | Some(Value::Null) => None,
        name => Some(place.text_at(name, &at("name"))?.into()),
    };
    Ok(Line { speaker, name, content: place.text_at(message.get("content"), &at("content"))?.into() })
}

pub(super) fn optional_text(
    place: &SourceLocation<'_>,
    value: &Value,
    field: &str,
) -> Result<Option<Arc<str>>, DataError> {
    match value.get(field) {
        None | Some(Value::Null) => Ok(None),
        text => Ok(Some(place.text_at(text, field)?.into())),
    }
}

/// Returns the fields that are not `known`.
pub(super) fn others(fields: &Map<String, Value>, known: &[&str]) -> Map<String, Value> {
    let unknown = fields.iter().filter(|(key, _)| !known.contains(&key.as_str()));
    unknown.map(|(key, value)| (key.clone(), value.clone())).collect()
}
