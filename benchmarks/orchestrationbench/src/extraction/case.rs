//! Golden cases of the plan search alone (kind `unit_parse`, docs/benchmarks/orchestrationbench.md §11).

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::SourceLocation;
use regatta_proto::FileSet;
use regatta_pycompat::yaml::{Dict, Value};
use regatta_pycompat::{Int, repr_float};
use serde_json::{Map, Number, Value as Json, json};

use super::{Extraction, extract};

/// File with the texts: JSONL with `id` and `text`.
const TEXTS_FILE: &str = "texts.jsonl";

/// Scores every text: `workflow` with its keys and value, `none`, or `exception` with its class.
///
/// # Errors
/// When the file is missing, or a line cannot be read.
pub(crate) fn score_unit_parse(files: &FileSet) -> Result<Json, DataError> {
    let content = files.get(TEXTS_FILE).ok_or_else(|| DataError::MissingFile {
        origin: files.origin().to_owned(),
        path: TEXTS_FILE.to_owned(),
        hint: "a case of kind unit_parse has it".to_owned(),
    })?;
    let place = SourceLocation::file(files.origin(), TEXTS_FILE);
    let content = std::str::from_utf8(content).map_err(|error| place.problem(error))?;
    let mut items = Map::new();
    for (at, line) in content.split('\n').enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let problem = |problem: String| place.problem(format!("line {}: {problem}", at + 1));
        let line: Json = serde_json::from_str(line).map_err(|error| problem(error.to_string()))?;
        let id = line.get("id").and_then(Json::as_str).ok_or_else(|| problem("no text \"id\"".to_owned()))?;
        // A value that is not a text holds no plan.
        let extraction = line.get("text").and_then(Json::as_str).map_or(Extraction::None, extract);
        items.insert(id.to_owned(), entry(&extraction));
    }
    Ok(json!({ "evaluator": "official", "items": items }))
}

fn entry(extraction: &Extraction) -> Json {
    match extraction {
        Extraction::Plan(plan) => {
            let keys: Vec<String> = plan.keys().map(key).collect();
            json!({ "result": "workflow", "keys": keys, "value": object(plan) })
        }
        Extraction::None => json!({ "result": "none" }),
        Extraction::Exception(class) => json!({ "result": "exception", "type": class }),
    }
}

/// A key as `str` gives it.
fn key(key: &Value) -> String {
    match key {
        Value::Str(text) => text.clone(),
        Value::None => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Int(int) => int.decimal().to_owned(),
        Value::Float(float) => repr_float(*float),
        Value::Date(date) => date.to_string(),
        Value::DateTime(moment) => moment.iso(' '),
        other => tagged(other).to_string(),
    }
}

fn object(dict: &Dict) -> Json {
    Json::Object(dict.iter().map(|(name, value)| (key(name), tagged(value))).collect())
}

/// A value as JSON; what JSON cannot say is an object with its type's name.
fn tagged(value: &Value) -> Json {
    match value {
        Value::None => Json::Null,
        Value::Bool(bool) => (*bool).into(),
        Value::Int(int) => integer(int),
        Value::Float(float) => {
            Number::from_f64(*float).map_or_else(|| json!({ "__float__": repr_float(*float) }), Json::Number)
        }
        Value::Str(text) => text.as_str().into(),
        Value::List(values) => values.iter().map(tagged).collect(),
        Value::Dict(dict) => object(dict),
        Value::Bytes(bytes) => json!({ "__bytes__": bytes }),
        Value::Date(date) => json!({ "__date__": date.to_string() }),
        Value::DateTime(moment) => json!({ "__datetime__": moment.iso('T') }),
        Value::Set(members) => json!({ "__set__": members.iter().map(tagged).collect::<Vec<_>>() }),
        Value::Pair(pair) => json!([tagged(&pair.0), tagged(&pair.1)]),
        Value::Cycle(_) => json!({ "__cycle__": value.type_name() }),
    }
}

/// An integer beyond what JSON readers take as one is written as the nearest float.
fn integer(int: &Int) -> Json {
    let text = int.decimal();
    let small = text.parse::<i64>().map(Json::from).or_else(|_| text.parse::<u64>().map(Json::from));
    small.unwrap_or_else(|_| text.parse::<f64>().map_or(Json::Null, Json::from))
}
