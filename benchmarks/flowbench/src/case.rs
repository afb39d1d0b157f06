//! Golden cases of every kind (docs/benchmarks/flowbench.md §11).

use std::collections::BTreeMap;

use regatta_benchmarks::MissingVerdict;
use regatta_benchmarks::case::{Case, PREDICTIONS_FILE, case_place, predictions, verdicts};
use regatta_benchmarks::source_location::SourceLocation;
use regatta_benchmarks::{DataError, RecordedVerdicts, Score, Scoring};
use regatta_proto::{Evaluator, FileSet};
use serde_json::{Map, Value, json};

use super::data::Data;
use super::predictions::{Prediction, output, read_lines};
use super::protocol::{conversation_item, error_counts, read_messages, turn_inference_item};
use super::scoring::{Answer, score_answer};
use super::statistics::stats_item;
use super::turn_level::folder::{FolderScoring, score_folder};
use super::{session_level, turn_level};

/// Scores a case and returns its outputs by file name.
///
/// # Errors
/// When an input cannot be read, or a judgement is not recorded.
pub(crate) fn score(case: &Case, files: &FileSet, data: &Data) -> Result<BTreeMap<String, Value>, DataError> {
    let mut outputs = BTreeMap::new();
    for (file, evaluator) in &case.outputs {
        outputs.insert(file.clone(), output_of(case, *evaluator, files, data)?);
    }
    Ok(outputs)
}

fn output_of(case: &Case, evaluator: Evaluator, files: &FileSet, data: &Data) -> Result<Value, DataError> {
    let place = SourceLocation::file(files.origin(), PREDICTIONS_FILE);
    let content = predictions(files)?;
    let mut output = json!({ "evaluator": evaluator });
    match case.kind.as_str() {
        "turn" | "session" => {
            let verdicts = verdicts(files)?;
            let predictions = read_lines(data, &place, content)?;
            let scored = score_all(&case.kind, evaluator, &place, &predictions, &verdicts)?;
            scored.add_to(&mut output, &case.kind, evaluator);
        }
        "sim-loop" => {
            let items = each(&place, content, |place, line| {
                let item = place.text(line, "item")?;
                let id = item.split('#').next().unwrap_or_default();
                let entry = data.position(id).and_then(|position| data.entry(position));
                let entry = entry.ok_or_else(|| place.error("item", format!("{id:?} is not in the data")))?;
                conversation_item(place, line, entry.tools().iter().map(|tool| tool.name.to_string()).collect())
            })?;
            output["aggregate"] = error_counts("sessions", items.values());
            output["items"] = Value::Object(items);
        }
        "turn-inference" => {
            let items = each(&place, content, turn_inference_item)?;
            output["aggregate"] = error_counts("items", items.values());
            output["items"] = Value::Object(items);
        }
        "turn-branches" => {
            let verdicts = verdicts(files)?;
            let items = each(&place, content, |place, line| folder_item(place, line, files, evaluator, &verdicts))?;
            output["aggregate"] = Value::Null;
            output["items"] = Value::Object(items);
        }
        "stats" => {
            output["aggregate"] = json!({});
            output["items"] = Value::Object(each(&place, content, stats_item)?);
        }
        other => {
            let problem =
                format!("{other:?} is unknown; known: turn, session, sim-loop, turn-inference, turn-branches, stats");
            return Err(case_place(files).error("kind", problem));
        }
    }
    Ok(output)
}

/// Makes one entry for each line, by its key.
fn each(
    file: &SourceLocation<'_>,
    content: &[u8],
    entry: impl Fn(&SourceLocation<'_>, &Value) -> Result<Value, DataError>,
) -> Result<Map<String, Value>, DataError> {
    let mut items = Map::new();
    for (number, text) in content.split(|byte| *byte == b'\n').enumerate() {
        if text.trim_ascii().is_empty() {
            continue;
        }
        let place = file.line(number);
        let line: Value = serde_json::from_slice(text).map_err(|error| place.json(&error))?;
        items.insert(place.text(&line, "item")?.to_owned(), entry(&place, &line)?);
    }
    Ok(items)
}

fn folder_item(
    place: &SourceLocation<'_>,
    line: &Value,
    files: &FileSet,
    evaluator: Evaluator,
    verdicts: &RecordedVerdicts,
) -> Result<Value, DataError> {
    let folder = place.text(line, "dir")?;
    let filter = match line.get("filter_name") {
        None | Some(Value::Null) => None,
        value => Some(place.text_at(value, "filter_name")?),
    };
    let repaired = match evaluator {
        Evaluator::Official => false,
        Evaluator::OfficialFixed => true,
        _ => {
            let problem =
                "the paper's evaluator does not read folders of the official code; known: official, official_fixed";
            return Err(place.problem(problem));
        }
    };
    match score_folder(files, folder, filter, repaired, verdicts) {
        FolderScoring::Scored(value) => Ok(value),
        FolderScoring::Needs(questions) => Err(not_recorded(place, &questions, verdicts)),
    }
}

/// Scores of one evaluator.
struct Scored<'p> {
    scores: Vec<(&'p Prediction<'p>, Score)>,
}

fn score_all<'p>(
    kind: &str,
    evaluator: Evaluator,
    file: &SourceLocation<'_>,
    predictions: &'p [Prediction<'p>],
    verdicts: &RecordedVerdicts,
) -> Result<Scored<'p>, DataError> {
    let mut scores = Vec::with_capacity(predictions.len());
    for prediction in predictions {
        let place = file.line(prediction.line);
        let messages;
        let answer = if kind == "turn" {
            Answer::Turn(output(&place, &prediction.record)?)
        } else {
            messages = read_messages(&place, &prediction.record, "messages")?;
            Answer::Session(&messages, None)
        };
        match score_answer(&prediction.key, prediction.entry, None, &answer, &[evaluator], verdicts) {
            Scoring::Scored(mut all) => scores.extend(all.remove(&evaluator).map(|score| (prediction, score))),
            Scoring::Needs(questions) => return Err(not_recorded(&place, &questions, verdicts)),
            Scoring::Unfit(reason) => return Err(place.problem(reason)),
            Scoring::Failed(failed) => return Err(place.problem(failed.why)),
        }
    }
    Ok(Scored { scores })
}

fn not_recorded(
    place: &SourceLocation<'_>,
    questions: &[regatta_proto::Question],
    verdicts: &RecordedVerdicts,
) -> DataError {
    let missing = questions.iter().find_map(|question| verdicts.missing(question));
    place.problem(match missing {
        Some(MissingVerdict::Judgement { kind, about }) => {
            format!(
                "no judgement {kind:?} is recorded about {about:?}; add it with the judge's responses to judge.jsonl"
            )
        }
        _ => "a judgement is not recorded; add it to judge.jsonl".to_owned(),
    })
}

impl Scored<'_> {
    fn add_to(&self, output: &mut Value, kind: &str, evaluator: Evaluator) {
        let scores: Vec<&Score> = self.scores.iter().map(|(_, score)| score).collect();
        let by = |group: &dyn Fn(&Prediction<'_>) -> String| -> Vec<(String, &Score)> {
            self.scores.iter().map(|(prediction, score)| (group(prediction), score)).collect()
        };
        let file = |prediction: &Prediction<'_>| prediction.file.clone();
        let scope = |prediction: &Prediction<'_>| prediction.entry.group.scope.name().to_owned();
        let domain = |prediction: &Prediction<'_>| format!("{}|{}", scope(prediction), prediction.entry.group.domain);
        if kind == "turn" {
            output["aggregate"] = turn_level::aggregate(evaluator, &scores);
            output["by_file"] = turn_level::by_file(evaluator, &borrowed(&by(&file)));
        } else {
            output["aggregate"] = session_level::aggregate(evaluator, &scores);
            if evaluator == Evaluator::Paper {
                output["by_setting"] = session_level::by_group(evaluator, &borrowed(&by(&scope)));
                output["by_domain"] = session_level::by_group(evaluator, &borrowed(&by(&domain)));
            } else {
                output["by_file"] = session_level::by_group(evaluator, &borrowed(&by(&file)));
            }
        }
        output["items"] =
            self.scores.iter().map(|(prediction, score)| (prediction.key.clone(), score.detail.clone())).collect();
    }
}

fn borrowed<'s>(groups: &'s [(String, &'s Score)]) -> Vec<(&'s str, &'s Score)> {
    groups.iter().map(|(name, score)| (name.as_str(), *score)).collect()
}
