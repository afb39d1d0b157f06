//! Anybody's predictions: a line for every call of a model (SPEC 8).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use regatta_benchmarks::DataError;
use regatta_benchmarks::place::{Place, kind_of, lines};
use regatta_proto::{Event, Finish, Reply, ToolCall, Transcript};
use regatta_pycompat::{Json, dumps, parse};
use serde_json::Value;

use crate::data::{Data, Scenario};
use crate::decision::{Answer, Arguments, Call};

/// One line.
#[derive(Debug, Clone)]
pub(crate) struct Prediction {
    /// Position of the line, from 0.
    pub(crate) line: usize,
    /// `EN/1/2/7`: language, scenario, run, step.
    pub(crate) item: String,
    /// The scenario.
    pub(crate) scenario: Arc<Scenario>,
    /// The run, from 1.
    pub(crate) run: u32,
    /// A planning or a decision step.
    pub(crate) step: u32,
    /// What was answered; `None` when the call failed.
    pub(crate) answer: Option<Answer>,
}

/// Reads `{"item", "output", "tool_calls", "failed"}` lines, of which only `item` must be there. Other fields are skipped.
///
/// # Errors
/// With line and field of what cannot be read, names no step of the data at which a model is asked, or comes twice.
pub(crate) fn read_predictions(
    data: &Data,
    origin: &str,
    file: &str,
    content: &[u8],
) -> Result<Vec<Prediction>, DataError> {
    let scenarios: HashMap<String, &Arc<Scenario>> =
        data.scenarios.iter().map(|scenario| (scenario.name(), scenario)).collect();
    let mut predictions = Vec::new();
    let mut seen = HashSet::new();
    for line in lines(&Place::file(origin, file), content) {
        let (place, record) = line?;
        let prediction = read_line(&place, &record, &scenarios)?;
        if !seen.insert(prediction.item.clone()) {
            return Err(place.error("item", format!("{} has an earlier line", prediction.item)));
        }
        predictions.push(prediction);
    }
    number_lines(&mut predictions, content);
    Ok(predictions)
}

/// Lines that hold something, in order, are the predictions.
fn number_lines(predictions: &mut [Prediction], content: &[u8]) {
    let lines = content.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty());
    for (prediction, (number, _)) in predictions.iter_mut().zip(lines) {
        prediction.line = number;
    }
}

fn read_line(
    place: &Place<'_>,
    record: &Value,
    scenarios: &HashMap<String, &Arc<Scenario>>,
) -> Result<Prediction, DataError> {
    let item = place.text(record, "item")?;
    let malformed = || {
        place.error("item", format!("{item:?} must be a language, a scenario, a run from 1 and a step, as EN/1/2/7"))
    };
    let (rest, step) = item.rsplit_once('/').ok_or_else(malformed)?;
    let (name, run) = rest.rsplit_once('/').ok_or_else(malformed)?;
    let step: u32 = step.parse().map_err(|_| malformed())?;
    let run: u32 = run.parse().ok().filter(|run| *run > 0).ok_or_else(malformed)?;
    let scenario = *scenarios
        .get(name)
        .ok_or_else(|| place.error("item", format!("{item:?}: the data have no scenario {name}")))?;
    if !scenario.planning.contains(&step) && scenario.decision(step).is_none() {
        let problem = format!("{item:?}: no model is asked at step {step} of scenario {name}");
        return Err(place.error("item", problem));
    }
    Ok(Prediction {
        line: 0,
        // As it is looked up, however the numbers were written.
        item: format!("{name}/{run}/{step}"),
        scenario: Arc::clone(scenario),
        run,
        step,
        answer: answer(place, record)?,
    })
}

fn answer(place: &Place<'_>, record: &Value) -> Result<Option<Answer>, DataError> {
    match record.get("failed") {
        None | Some(Value::Null | Value::Bool(false)) => {}
        Some(Value::Bool(true)) => return Ok(None),
        Some(other) => return Err(place.error("failed", format!("must be a boolean, is {}", kind_of(other)))),
    }
    let text = match record.get("output") {
        None | Some(Value::Null) => None,
        output => Some(place.text_at(output, "output")?.to_owned()),
    };
    let calls = match record.get("tool_calls") {
        None | Some(Value::Null) => Vec::new(),
        Some(_) => {
            let calls = place.array(record, "tool_calls")?.iter().enumerate();
            calls.map(|(at, call)| read_call(place, at, call)).collect::<Result<_, _>>()?
        }
    };
    Ok(Some(Answer { text, calls }))
}

fn read_call(place: &Place<'_>, at: usize, call: &Value) -> Result<Call, DataError> {
    let Some(call) = call.as_object() else {
        return Err(place.error(&format!("tool_calls[{at}]"), format!("must be an object, is {}", kind_of(call))));
    };
    let name = match call.get("name") {
        None | Some(Value::Null) => None,
        name => Some(place.text_at(name, &format!("tool_calls[{at}].name"))?.to_owned()),
    };
    let arguments = match call.get("arguments") {
        Some(Value::Null) => Arguments::Null,
        Some(Value::String(text)) => Arguments::Text(text.clone()),
        Some(object @ Value::Object(_)) => {
            let object = parse(&object.to_string()).and_then(Json::into_object);
            Arguments::Object(object.ok_or_else(|| {
                place.error(&format!("tool_calls[{at}].arguments"), "holds a number that Python does not read")
            })?)
        }
        Some(other) => {
            let problem = format!("must be a text, an object or null, is {}", kind_of(other));
            return Err(place.error(&format!("tool_calls[{at}].arguments"), problem));
        }
        None => {
            let problem = "is missing; it must be a text, an object or null";
            return Err(place.error(&format!("tool_calls[{at}].arguments"), problem));
        }
    };
    Ok(Call { name, arguments })
}

impl Prediction {
    /// The answer as a transcript; an empty one when the call failed. What no transcript can say becomes something that scores alike: a
    /// call without a name gets arguments that the official code crashes on as well.
    pub(crate) fn transcript(&self) -> Transcript {
        let Some(answer) = &self.answer else { return Transcript::default() };
        let mut reply = Reply::of_text(answer.text.as_deref(), Finish::Stop);
        let call = |(at, call): (usize, &Call)| ToolCall {
            id: format!("call_{}", at + 1).into(),
            name: call.name.as_deref().unwrap_or_default().into(),
            arguments: match &call.arguments {
                _ if call.name.is_none() => "null".into(),
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
