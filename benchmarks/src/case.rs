//! Golden cases: a folder with `case.json`, inputs, and expected files that are never read here.

use std::collections::{BTreeMap, BTreeSet};

use regatta_proto::{BenchmarkName, Evaluator, FileSet};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::source_location::SourceLocation;
use crate::{DataError, RecordedVerdicts, Suite, score_predictions};

const CASE_FILE: &str = "case.json";
/// Predictions of a case, a line an item.
pub const PREDICTIONS_FILE: &str = "predictions.jsonl";
const VERDICTS_FILE: &str = "judge.jsonl";

/// Contents of `case.json`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Case {
    /// Benchmark that scores the case.
    pub benchmark: BenchmarkName,
    /// Kind of the case, which decides how it is scored and which inputs it has; each benchmark defines its kinds.
    pub kind: String,
    /// Expected files and the evaluator of each. In `case.json`, words after the evaluator's name are notes for people.
    #[serde(deserialize_with = "evaluators_by_file")]
    pub outputs: BTreeMap<String, Evaluator>,
    /// Files that must exist in the folder.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// Further parameters of the kind, such as the setting in which predictions were made.
    #[serde(default)]
    pub params: serde_json::Map<String, Value>,
}

fn evaluators_by_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, Evaluator>, D::Error> {
    let named: BTreeMap<String, String> = BTreeMap::deserialize(deserializer)?;
    let of = |(file, text): (String, String)| {
        let evaluator = text.split_whitespace().next().unwrap_or_default().parse();
        evaluator.map(|evaluator| (file, evaluator)).map_err(serde::de::Error::custom)
    };
    named.into_iter().map(of).collect()
}

impl Case {
    /// Reads `case.json` and checks that the inputs exist.
    pub fn read(files: &FileSet) -> Result<Self, DataError> {
        let content = required(files, CASE_FILE, "a case is a folder with this file")?;
        let case: Self = serde_json::from_slice(content).map_err(|error| case_place(files).json(&error))?;
        for input in &case.inputs {
            let is_folder = files
                .iter()
                .any(|(path, _)| path.strip_prefix(input.as_str()).is_some_and(|rest| rest.starts_with('/')));
            if !is_folder {
                required(files, input, "case.json lists it under inputs")?;
            }
        }
        Ok(case)
    }

    /// Returns the distinct evaluators of the expected files.
    pub fn evaluators(&self) -> BTreeSet<Evaluator> {
        self.outputs.values().copied().collect()
    }
}

/// Scores a case of kind `predictions`: `predictions.jsonl` with the verdicts of `judge.jsonl`.
pub fn score_predictions_case(
    case: &Case,
    files: &FileSet,
    suite: &dyn Suite,
) -> Result<BTreeMap<String, Value>, DataError> {
    let predictions = required(files, PREDICTIONS_FILE, "a case of kind predictions has it")?;
    let predictions = suite.read_predictions(PREDICTIONS_FILE, predictions)?;
    let verdicts = verdicts(files)?;
    let mut scored = BTreeMap::new();
    for evaluator in case.evaluators() {
        let result = score_predictions(suite, None, evaluator, &predictions, &verdicts)
            .map_err(|error| SourceLocation::file(files.origin(), VERDICTS_FILE).problem(error))?;
        let value = serde_json::json!({
            "evaluator": result.evaluator,
            "aggregate": result.aggregate,
            "items": result.items,
        });
        scored.insert(evaluator, value);
    }
    Ok(case.outputs.iter().filter_map(|(file, e)| Some((file.clone(), scored.get(e)?.clone()))).collect())
}

/// Returns the content of `predictions.jsonl`: JSONL, one line per item.
pub fn predictions(files: &FileSet) -> Result<&[u8], DataError> {
    required(files, PREDICTIONS_FILE, "a case of this kind has it")
}

/// Reads the recorded verdicts of `judge.jsonl`; empty when the case has no such file.
pub fn verdicts(files: &FileSet) -> Result<RecordedVerdicts, DataError> {
    files
        .get(VERDICTS_FILE)
        .map_or_else(|| Ok(RecordedVerdicts::default()), |content| RecordedVerdicts::read(VERDICTS_FILE, content))
}

/// Returns the location `case.json`, for errors.
pub fn case_place(files: &FileSet) -> SourceLocation<'_> {
    SourceLocation::file(files.origin(), CASE_FILE)
}

fn required<'f>(files: &'f FileSet, path: &str, hint: &str) -> Result<&'f [u8], DataError> {
    files.get(path).map(|content| &content[..]).ok_or_else(|| DataError::MissingFile {
        origin: files.origin().to_owned(),
        path: path.to_owned(),
        hint: hint.to_owned(),
    })
}
