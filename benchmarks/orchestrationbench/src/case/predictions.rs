//! Predictions of other systems: one line for each call of a model (docs/benchmarks/orchestrationbench.md §11).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use regatta_benchmarks::source_location::SourceLocation;
use regatta_benchmarks::{BadLine, BadLines, DataError};
use regatta_proto::{Event, Finish, Reply, ToolCall, Transcript};
use regatta_pycompat::{Json, Object, Refusal, dumps, parse_or_refuse};

use crate::data::{Data, Scenario};
use crate::decision::{Answer, Arguments, Call, Name};

/// One line of the file.
#[derive(Debug, Clone)]
pub(crate) struct Prediction {
    /// Number of the line, from 0.
    pub(crate) line: usize,
    /// `EN/1/2/7`: language, scenario, run, step.
    pub(crate) item: String,
    /// The scenario.
    pub(crate) scenario: Arc<Scenario>,
    /// Number of the run, from 1.
    pub(crate) run: u32,
    /// Number of a planning or decision step.
    pub(crate) step: u32,
    /// The answer; `None` when the call failed.
    pub(crate) answer: Option<Answer>,
}

/// Reads lines `{"item", "output", "tool_calls", "failed"}`; only `item` is required, and other fields are ignored.
///
/// # Errors
/// With line and field of all lines that cannot be parsed, name a step at which no model is asked, or repeat an item.
pub(crate) fn read_predictions(
    data: &Data,
    origin: &str,
    file: &str,
    content: &[u8],
) -> Result<Vec<Prediction>, DataError> {
    let file = SourceLocation::file(origin, file);
    let mut bad = BadLines::default();
    let predictions = read_good(data, &file, content, &mut bad);
    bad.refuse(&file)?;
    Ok(predictions)
}

/// Reads the lines of `file` that can be scored, and notes the others as `bad`.
pub(crate) fn read_good(data: &Data, file: &SourceLocation<'_>, content: &[u8], bad: &mut BadLines) -> Vec<Prediction> {
    let scenarios: HashMap<String, &Arc<Scenario>> =
        data.scenarios.iter().map(|scenario| (scenario.name(), scenario)).collect();
    let mut seen = HashSet::new();
    let mut prediction = |number: usize, line: &[u8]| -> Result<Prediction, BadLine> {
        let place = file.line(number);
        let prediction = read_line(&place, number, &record(&place, line)?, &scenarios)?;
        if !seen.insert(prediction.item.clone()) {
            return Err(BadLine::Repeated(place.error("item", format!("{} has an earlier line", prediction.item))));
        }
        Ok(prediction)
    };
    let numbered = content.split(|byte| *byte == b'\n').enumerate();
    let lines = numbered.filter(|(_, line)| !line.trim_ascii().is_empty());
    lines.filter_map(|(number, line)| bad.keep(prediction(number, line))).collect()
}

/// Parses a line as Python does: with integers of any size, `NaN`, and lone surrogates.
fn record(place: &SourceLocation<'_>, line: &[u8]) -> Result<Object, DataError> {
    let text = std::str::from_utf8(line).map_err(|error| place.problem(error))?;
    match parse_or_refuse(text) {
        Ok(Json::Object(record)) => Ok(record),
        Ok(other) => Err(place.problem(format!("must be an object, is {}", kind_of(&other)))),
        Err(Refusal::LongInteger(digits)) => {
            Err(place.problem(format!("holds an integer of {digits} digits, which Python does not read")))
        }
        Err(Refusal::TooDeep) => Err(place.problem("is nested deeper than Python reads")),
        // Python refused the text. Serde refuses it too and gives the position.
        Err(Refusal::NotJson) => Err(match serde_json::from_str::<serde_json::Value>(text) {
            Err(error) => place.json(&error),
            Ok(_) => place.problem("not valid JSON"),
        }),
    }
}

const fn kind_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Int(_) | Json::Float(_) => "a number",
        Json::String(_) => "a text",
        Json::List(_) => "an array",
        Json::Object(_) => "an object",
    }
}

/// Returns the text in `value`, which error messages call `field`.
fn text<'v>(place: &SourceLocation<'_>, value: Option<&'v Json>, field: &str) -> Result<&'v str, DataError> {
    match value {
        Some(Json::String(text)) => Ok(text),
        Some(other) => Err(place.error(field, format!("must be a text, is {}", kind_of(other)))),
        None => Err(place.error(field, "is missing; it must be a text")),
    }
}

fn read_line(
    place: &SourceLocation<'_>,
    line: usize,
    record: &Object,
    scenarios: &HashMap<String, &Arc<Scenario>>,
) -> Result<Prediction, BadLine> {
    let item = text(place, record.get("item"), "item")?;
    let malformed = || {
        place.error("item", format!("{item:?} must be a language, a scenario, a run from 1 and a step, as EN/1/2/7"))
    };
    let (rest, step) = item.rsplit_once('/').ok_or_else(malformed)?;
    let (name, run) = rest.rsplit_once('/').ok_or_else(malformed)?;
    let step: u32 = step.parse().map_err(|_| malformed())?;
    let run: u32 = run.parse().ok().filter(|run| *run > 0).ok_or_else(malformed)?;
    let scenario = *scenarios
        .get(name)
        .ok_or_else(|| BadLine::Unknown(place.error("item", format!("{item:?}: the data have no scenario {name}"))))?;
    if !scenario.planning.contains(&step) && scenario.decision(step).is_none() {
        let problem = format!("{item:?}: no model is asked at step {step} of scenario {name}");
        return Err(BadLine::Unknown(place.error("item", problem)));
    }
    Ok(Prediction {
        line,
        // Normalised, because lookups need one form of the numbers.
        item: format!("{name}/{run}/{step}"),
        scenario: Arc::clone(scenario),
        run,
        step,
        answer: answer(place, record)?,
    })
}

fn answer(place: &SourceLocation<'_>, record: &Object) -> Result<Option<Answer>, DataError> {
    match record.get("failed") {
        None | Some(Json::Null | Json::Bool(false)) => {}
        Some(Json::Bool(true)) => return Ok(None),
        Some(other) => return Err(place.error("failed", format!("must be a boolean, is {}", kind_of(other)))),
    }
    let output = match record.get("output") {
        None | Some(Json::Null) => None,
        output => Some(text(place, output, "output")?.to_owned()),
    };
    let calls = match record.get("tool_calls") {
        None | Some(Json::Null) => Vec::new(),
        Some(Json::List(calls)) => {
            calls.iter().enumerate().map(|(at, call)| read_call(place, at, call)).collect::<Result<_, _>>()?
        }
        Some(other) => return Err(place.error("tool_calls", format!("must be an array, is {}", kind_of(other)))),
    };
    Ok(Some(Answer { text: output, calls }))
}

fn read_call(place: &SourceLocation<'_>, at: usize, call: &Json) -> Result<Call, DataError> {
    let Some(call) = call.as_object() else {
        return Err(place.error(&format!("tool_calls[{at}]"), format!("must be an object, is {}", kind_of(call))));
    };
    let name = match call.get("name") {
        None => Name::Missing,
        Some(Json::Null) => Name::Null,
        name => Name::Text(text(place, name, &format!("tool_calls[{at}].name"))?.to_owned()),
    };
    let problem = match call.get("arguments") {
        Some(Json::Null) => return Ok(Call { name, arguments: Arguments::Null }),
        Some(Json::String(text)) => return Ok(Call { name, arguments: Arguments::Text(text.clone()) }),
        Some(Json::Object(object)) => return Ok(Call { name, arguments: Arguments::Object(object.clone()) }),
        Some(other @ (Json::Bool(_) | Json::Int(_) | Json::Float(_) | Json::List(_))) => {
            format!("must be a text, an object or null, is {}", kind_of(other))
        }
        None => "is missing; it must be a text, an object or null".to_owned(),
    };
    Err(place.error(&format!("tool_calls[{at}].arguments"), problem))
}

impl Prediction {
    /// Converts the answer to a transcript, an empty one when the call failed. Answers that no transcript can express
    /// are replaced by ones that score alike: a call without a name gets arguments on which the official code crashes
    /// too, and a call named `null` gets a name that no tool has.
    pub(crate) fn transcript(&self) -> Transcript {
        let Some(answer) = &self.answer else { return Transcript::default() };
        let mut reply = Reply::of_text(answer.text.as_deref(), Finish::Stop);
        let call = |(at, call): (usize, &Call)| ToolCall {
            id: format!("call_{}", at + 1).into(),
            name: call.name.text().unwrap_or_default().into(),
            arguments: match &call.arguments {
                _ if call.name == Name::Missing => "null".into(),
                Arguments::Null => "null".into(),
                Arguments::Text(text) => text.as_str().into(),
                Arguments::Object(object) => {
                    dumps(&Json::Object(object.clone()).into()).unwrap_or_else(|_| "null".to_owned()).into()
                }
            },
        };
        reply.tool_calls = answer.calls.iter().enumerate().map(call).collect();
        if !reply.tool_calls.is_empty() {
            reply.finish = Finish::ToolCalls;
        }
        Transcript { events: vec![Event::Recorded(reply)] }
    }
}
