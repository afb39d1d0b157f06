//! Parser of the published real turns (docs/benchmarks/flowbench.md §2.3): history and gold, without a system message.

use std::collections::BTreeMap;
use std::sync::Arc;

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::{SourceLocation, kind_of, lines};
use serde_json::Value;

use super::conversation::GoldTurn;
use super::entry::{Content, Entry, Origin, TurnRecord};
use super::groups::Groups;
use super::read_official::{optional_text, others, read_line};
use super::read_scenarios::Registry;
use super::read_sessions::read_thought;
use super::scenario::Scenario;
use crate::setting::Scope;

/// Grouping key of all samples (`file` of the golden cases).
const FILE: &str = "real_sample.jsonl";
const KNOWN: [&str; 3] = ["turn_id", "messages", "ground_truth"];

/// Parses the turns of a file. They run as cross-scenario turns of their role.
pub(super) fn read_samples(
    file: &SourceLocation<'_>,
    content: &[u8],
    registry: &Registry,
    groups: &mut Groups,
) -> Result<Vec<Entry>, DataError> {
    let mut entries = Vec::new();
    for line in lines(file, content) {
        let (place, value) = line?;
        let Value::Object(fields) = &value else {
            return Err(place.problem(format!("must be an object, is {}", kind_of(&value))));
        };
        let id = groups.id(&place, "turn_id", place.text(&value, "turn_id")?)?;
        let scenario = scenario_of(&place, &value, registry)?;
        let datetime = registry.datetime(&scenario.role).ok_or_else(|| {
            let problem = format!("the time of the role {} is not known; add it to role_datetime.json", scenario.role);
            place.error("answer", problem)
        })?;
        let messages = place.array(&value, "messages")?.iter().enumerate();
        let history = messages
            .map(|(position, message)| read_line(&place, &format!("messages[{position}]"), message))
            .collect::<Result<Vec<_>, _>>()?;
        let truth = value.get("ground_truth").unwrap_or(&Value::Null);
        let gold = GoldTurn {
            thought: read_thought(&place, "ground_truth.thought", truth.get("thought"))?,
            response: optional_text(&place, truth, "response")?,
            content: optional_text(&place, truth, "content")?,
        };
        let record = TurnRecord {
            variants: BTreeMap::new(),
            history,
            gold,
            datetime: Some(Arc::clone(datetime)),
            tools: Arc::new([]),
            extra: others(fields, &KNOWN),
        };
        entries.push(Entry {
            id,
            group: groups.of(registry, FILE, Scope::Cross, scenario),
            origin: Origin::RealSample,
            synthetic: false,
            content: Content::TurnRecord(Arc::new(record)),
        });
    }
    Ok(entries)
}

/// Finds the first known scenario among `answer` and `last_turn_workflow`. The latter is an empty text in a first turn.
fn scenario_of<'r>(
    place: &SourceLocation<'_>,
    value: &Value,
    registry: &'r Registry,
) -> Result<&'r Arc<Scenario>, DataError> {
    let answer = place.array(value, "answer")?;
    let last = match value.get("last_turn_workflow") {
        Some(Value::Array(list)) => list.as_slice(),
        _ => &[],
    };
    let mut uuids = answer.iter().chain(last).filter_map(Value::as_str);
    uuids.find_map(|uuid| registry.scenario(uuid)).ok_or_else(|| {
        place.error("answer", "names no known scenario, and neither does last_turn_workflow; its role cannot be told")
    })
}
