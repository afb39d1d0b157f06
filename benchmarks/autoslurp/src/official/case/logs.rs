//! Kind `logs`: a log an item, and what judges said.

use std::collections::BTreeMap;

use regatta_benchmarks::DataError;
use regatta_proto::Script;
use serde_json::{Map, Value, json};

use super::answers::{Answers, not_recorded};
use super::{Inputs, whole};
use crate::data::Utterance;
use crate::official::rules::Rules;
use crate::official::scoring::{Judged, judged};
use crate::official::subject::Subject;
use crate::official::tabulation::{Chunk, table};

/// Scores that a script gives the logs of a case.
///
/// # Errors
/// When an input cannot be read, or an answer of a judge is missing.
pub(crate) fn score(inputs: &Inputs<'_>, script: Option<Script>) -> Result<Value, DataError> {
    let rules = Rules::of(script);
    let (today, dataset) = (inputs.today()?, inputs.param("dataset")?);
    let rows = inputs.rows_of(&inputs.case(), "params.dataset", dataset)?;
    let answers = Answers::read(inputs)?;
    // By chunk and position there, as the official code goes through them.
    let mut chunks: BTreeMap<u32, BTreeMap<u32, (u32, &Utterance, Judged)>> = BTreeMap::new();
    for line in inputs.predictions() {
        let (place, line) = line?;
        let row = whole(&place, &line, "item")?;
        let utterance = usize::try_from(row).ok().and_then(|row| rows.get(row));
        let utterance = utterance.ok_or_else(|| place.error("item", format!("{row} is no row of {dataset}")))?;
        let subject = Subject { item: &row.to_string(), utterance, today, log: place.text(&line, "log")? };
        let judged = judged(&rules, &subject, &|question| answers.to("", row, question))
            .map_err(|missing| not_recorded(&place, &missing))?;
        let (chunk, position) = (whole(&place, &line, "chunk")?, whole(&place, &line, "position")?);
        chunks.entry(chunk).or_default().insert(position, (row, utterance, judged));
    }
    let mut items = Map::new();
    let mut counted = Vec::new();
    for (number, chunk) in chunks {
        let verdicts: Vec<_> = chunk.values().map(|(_, _, judged)| (judged.verdict(), judged.unparsable())).collect();
        counted.push(Chunk::new(&rules, number, &verdicts));
        let count = chunk.len();
        for (at, (row, utterance, judged)) in chunk.into_values().enumerate() {
            items.insert(row.to_string(), judged.detail(utterance, at + 1 == count));
        }
    }
    Ok(json!({
        "evaluator": rules.evaluator(),
        "today": today.to_string(),
        "dataset": dataset,
        "aggregate": table(&counted).aggregate,
        "items": items,
    }))
}
