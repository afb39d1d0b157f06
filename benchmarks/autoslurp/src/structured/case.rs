//! Golden cases of kind `structured`: `predictions.jsonl` with the requests and the answer of each item.

use std::collections::BTreeMap;

use jiff::civil::Date;
use regatta_benchmarks::case::{Case, PREDICTIONS_FILE, case_place, predictions};
use regatta_benchmarks::source_location::{SourceLocation, kind_of, lines};
use regatta_benchmarks::{DataError, Score};
use regatta_proto::{Exchange, FileSet};
use serde_json::{Map, Value, json};

use super::{score as score_run, tabulate};
use crate::data::Utterance;
use crate::run::Run;

/// Scores a case: its outputs by file name. `find` knows the utterances of a csv file by their rows, from 0.
///
/// # Errors
/// When an input cannot be read, names a row that is not there, or the case does not say which file and which day it is about.
pub(crate) fn score<'u>(
    case: &Case,
    files: &FileSet,
    find: impl Fn(&str, usize) -> Option<&'u Utterance>,
) -> Result<BTreeMap<String, Value>, DataError> {
    let place = case_place(files);
    let param = |name: &str| place.text_at(case.params.get(name), &format!("params.{name}"));
    let dataset = param("dataset")?;
    let today: Date = param("today")?.parse().map_err(|error| place.error("params.today", error))?;
    let file = SourceLocation::file(files.origin(), PREDICTIONS_FILE);
    let mut scored: Vec<(usize, &Utterance, Score)> = Vec::new();
    for line in lines(&file, predictions(files)?) {
        let (place, line) = line?;
        let row = line.get("item").and_then(Value::as_u64).and_then(|row| usize::try_from(row).ok());
        let row = row.ok_or_else(|| place.error("item", "must be a row of the data set, counted from 0"))?;
        let missing = || place.error("item", format!("{dataset} has no row {row}; is it the right --data?"));
        let utterance = find(dataset, row).ok_or_else(missing)?;
        scored.push((row, utterance, score_run(utterance, today, &run(&place, &line)?)));
    }
    let table = tabulate(scored.iter().map(|(_, utterance, score)| (utterance.domain.as_str(), score)));
    let items: Map<String, Value> = scored.into_iter().map(|(row, _, score)| (row.to_string(), score.detail)).collect();
    let output = json!({
        "evaluator": "structured",
        "dataset": dataset,
        "today": today.to_string(),
        "aggregate": table.aggregate,
        "items": items,
    });
    Ok(case.outputs.keys().map(|file| (file.clone(), output.clone())).collect())
}

/// Run that a line of a case describes; fields that it lacks are empty.
pub(crate) fn run(place: &SourceLocation<'_>, line: &Value) -> Result<Run, DataError> {
    let optional = |field: &str| match line.get(field) {
        None | Some(Value::Null) => Ok(None),
        value => place.text_at(value, field).map(|text| Some(text.to_owned())),
    };
    let requests = match line.get("requests") {
        None | Some(Value::Null) => Vec::new(),
        Some(_) => {
            place.array(line, "requests")?.iter().map(|request| exchange(place, request)).collect::<Result<_, _>>()?
        }
    };
    Ok(Run { requests, final_text: optional("final")?, intent_output: optional("intent_output")?, ..Run::default() })
}

fn exchange(place: &SourceLocation<'_>, request: &Value) -> Result<Exchange, DataError> {
    let status = match request.get("status") {
        None | Some(Value::Null) => Some(0),
        Some(status) => status.as_u64().and_then(|status| u16::try_from(status).ok()),
    };
    let content = |field: &str| match request.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str().into())),
        Some(other) => Err(place.error(field, format!("must be a text, is {}", kind_of(other)))),
    };
    Ok(Exchange {
        method: place.text(request, "method")?.into(),
        url: place.text(request, "url")?.into(),
        body: content("body")?,
        status: status.ok_or_else(|| place.error("status", "must be a status of HTTP"))?,
        response: content("response")?.unwrap_or_else(|| "".into()),
    })
}
