//! A folder of predictions in the official form, read as leniently as the official loader reads it (SPEC 3.1, 6.4).
//!
//! The loader puts a file into a table: fields are columns, which a record may lack. What its records hold is looked at only when
//! they are scored; then a wrong type ends the official run.

use regatta_benchmarks::{Score, Verdicts};
use regatta_proto::{Evaluator, FileSet, Question};
use regatta_pycompat::{Json, Object, is_numeric, parse};
use serde_json::{Map, Value, json};

use super::{Crash, GoldCall, GoldTurn, TurnRecord, aggregate, by_file, official};
use crate::judge::Judge;

/// What can be said of a folder.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FolderScoring {
    /// `error` (the exception that ends the run, or null), `aggregate` and `by_file`, as in the golden files.
    Scored(Value),
    /// These answers are missing.
    Needs(Vec<Question>),
}

/// Scores the files of `folder` (its path in `files`) whose path contains `filter`, by `official`, or with crashes `repaired` by
/// `official_fixed`. The official code takes files in the order of the directory; here that is the order of their names.
pub(crate) fn score_folder(
    files: &FileSet,
    folder: &str,
    filter: Option<&str>,
    repaired: bool,
    verdicts: &dyn Verdicts,
) -> FolderScoring {
    let mut judge = Judge::new(verdicts, None);
    let mut run = Run::default();
    for (path, content) in files.iter() {
        let Some(name) = name_in(folder, path) else { continue };
        if filter.is_some_and(|filter| !path.contains(filter)) {
            continue;
        }
        let Some(table) = Table::read(content) else { continue };
        // A file without predictions ends the official loop over files; what was counted until then stays.
        let Some(predictions) = table.predictions() else { break };
        run.files.push(name);
        for (row, prediction) in table.rows.iter().zip(predictions) {
            let score = if repaired {
                Ok(table.score_repaired(row, prediction, &mut judge))
            } else {
                table.score(row, prediction, &mut judge)
            };
            match score {
                Ok(score) => run.scores.push((name, score)),
                Err(crash) => return FolderScoring::Scored(json!({ "error": crash.to_string(), "aggregate": null })),
            }
        }
    }
    let missing = judge.into_missing();
    if missing.is_empty() { FolderScoring::Scored(run.total(repaired)) } else { FolderScoring::Needs(missing) }
}

/// The name of a JSONL file directly in the folder.
fn name_in<'p>(folder: &str, path: &'p str) -> Option<&'p str> {
    let folder = folder.trim_end_matches('/');
    let name = if folder.is_empty() { path } else { path.strip_prefix(folder)?.strip_prefix('/')? };
    (!name.contains('/') && name.ends_with(".jsonl")).then_some(name)
}

/// What has been scored so far.
#[derive(Default)]
struct Run<'f> {
    files: Vec<&'f str>,
    scores: Vec<(&'f str, Score)>,
}

impl Run<'_> {
    fn total(&self, repaired: bool) -> Value {
        let evaluator = if repaired { Evaluator::OfficialFixed } else { Evaluator::Official };
        let all: Vec<&Score> = self.scores.iter().map(|(_, score)| score).collect();
        // A file without records is shown too.
        let nothing = Score { values: std::collections::BTreeMap::new(), detail: Value::Null };
        let empty = self.files.iter().map(|file| (*file, &nothing));
        let named: Vec<(&str, &Score)> = self.scores.iter().map(|(file, score)| (*file, score)).chain(empty).collect();
        Value::Object(Map::from_iter([
            ("error".to_owned(), Value::Null),
            ("aggregate".to_owned(), aggregate(evaluator, &all)),
            ("by_file".to_owned(), by_file(evaluator, &named)),
        ]))
    }
}

/// A file's records.
struct Table {
    rows: Vec<Object>,
}

impl Table {
    /// `None` for a file that the loader cannot read; it is passed over. Blank lines are none. If the first line is no object, the
    /// table has nameless columns only.
    fn read(content: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(content).ok()?;
        let lines = text.split('\n').map(str::trim).filter(|line| !line.is_empty());
        let values = lines.map(parse).collect::<Option<Vec<Json>>>()?;
        if values.first().is_some_and(|first| first.as_object().is_none()) {
            return Some(Self { rows: Vec::new() });
        }
        let rows = values.into_iter().map(Json::into_object).collect::<Option<_>>()?;
        Some(Self { rows })
    }

    /// Each record's prediction: from `response` if any record has that, else from `predict`.
    fn predictions(&self) -> Option<Vec<Cell<'_>>> {
        self.column("response").or_else(|| self.column("predict"))
    }

    /// A column, unless no record has it.
    fn column(&self, name: &str) -> Option<Vec<Cell<'_>>> {
        let values: Vec<Option<&Json>> = self.rows.iter().map(|row| row.get(name)).collect();
        if values.iter().all(Option::is_none) {
            return None;
        }
        // The loader turns a column into numbers if it can.
        let all_numbers = values.iter().flatten().all(|value| match value {
            Json::String(text) => is_numeric(text),
            Json::List(_) | Json::Object(_) => false,
            _ => true,
        });
        Some(values.into_iter().map(|value| Cell::of(value, all_numbers)).collect())
    }

    /// As the official code scores a record.
    fn score(&self, row: &Object, prediction: Cell<'_>, judge: &mut Judge<'_>) -> Result<Score, Crash> {
        let thoughts = self.rows.iter().any(|row| row.get("gt_thought").is_some());
        if !thoughts {
            return Err(Crash::Key);
        }
        let output = match prediction {
            Cell::Value(Json::String(text)) => text,
            Cell::Value(Json::List(_) | Json::Object(_)) => return Err(Crash::Attribute),
            Cell::Value(_) | Cell::NumericText(_) | Cell::Absent => return Err(Crash::Type),
        };
        let call = gold_call(row)?;
        Ok(official::score(&record(row, call), output, judge)?.entry())
    }

    /// With the repairs of `official_fixed`: what cannot be read is an empty prediction, or a gold that is no call.
    fn score_repaired(&self, row: &Object, prediction: Cell<'_>, judge: &mut Judge<'_>) -> Score {
        let output = match prediction {
            Cell::Value(Json::String(text)) => text,
            Cell::NumericText(text) => text,
            Cell::Value(_) | Cell::Absent => "",
        };
        let (call, output) = gold_call(row).map_or((None, ""), |call| (call, output));
        official::score_fixed(&record(row, call), output, judge).entry_fixed()
    }
}

/// A record's value in a column.
#[derive(Clone, Copy)]
enum Cell<'a> {
    /// The record lacks it.
    Absent,
    /// A text in a column where all texts are numbers, so that the loader makes them numbers.
    NumericText(&'a str),
    /// As it is in the file.
    Value(&'a Json),
}

impl<'a> Cell<'a> {
    fn of(value: Option<&'a Json>, all_numbers: bool) -> Self {
        match value {
            Some(Json::String(text)) if all_numbers => Self::NumericText(text),
            Some(value) => Self::Value(value),
            None => Self::Absent,
        }
    }
}

/// The gold call of a record, if its gold is one; the exception of the official code for a thought that is no object with texts.
fn gold_call(row: &Object) -> Result<Option<GoldCall<'_>>, Crash> {
    let thought = match row.get("gt_thought") {
        Some(Json::Object(thought)) => thought,
        Some(Json::String(text)) if !text.contains("Action") => return Ok(None),
        Some(Json::List(entries)) if entries.iter().all(|entry| entry.as_str() != Some("Action")) => return Ok(None),
        _ => return Err(Crash::Type),
    };
    let Some(action) = thought.get("Action") else { return Ok(None) };
    let action = action.as_str().ok_or(Crash::Type)?;
    if action.is_empty() {
        return Ok(None);
    }
    let input = thought.get("Action Input").ok_or(Crash::Key)?.as_str().ok_or(Crash::Type)?;
    Ok((!input.is_empty()).then_some(GoldCall { action, input }))
}

fn record<'a>(row: &'a Object, call: Option<GoldCall<'a>>) -> TurnRecord<'a> {
    TurnRecord {
        id: row.get("id").and_then(Json::as_str).unwrap_or_default(),
        system_prompt: system_prompt(row).unwrap_or_default(),
        gold: GoldTurn { call, ..GoldTurn::default() },
        tools: &[],
        workflow_text: "",
        official: None,
    }
}

/// The content of the first message.
fn system_prompt(row: &Object) -> Option<&str> {
    let Json::List(messages) = row.get("messages")? else { return None };
    messages.first()?.as_object()?.get("content")?.as_str()
}
