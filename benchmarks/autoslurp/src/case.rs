//! Golden cases of every kind (docs/benchmarks/autoslurp.md §11), and predictions of anybody's making.

use std::collections::{BTreeMap, HashMap};

use regatta_benchmarks::case::{Case, case_place, predictions};
use regatta_benchmarks::source_location::{SourceLocation, lines};
use regatta_benchmarks::{BadLine, BadLines, DataError};
use regatta_proto::{FileSet, ItemIndex, Transcript};
use serde_json::Value;

use super::data::{Data, Utterance};
use super::official::case::{self as official, Inputs};
use super::scoring::{Rule, rule};
use super::setting::Dataset;
use super::{delegated, structured};

const JUDGE_FILE: &str = "judge.jsonl";

/// Scores a case: its outputs by file name; none for kinds that hold vectors of single functions.
///
/// # Errors
/// When an input cannot be read, or the kind or evaluator of the case is unknown.
pub(crate) fn score(case: &Case, files: &FileSet, data: &Data) -> Result<BTreeMap<String, Value>, DataError> {
    let rows = |path: &str| -> Option<&[Utterance]> { data.rows(Dataset::at(path)?) };
    match case.kind.as_str() {
        "structured" => {
            return structured::score_case(case, files, |path, row| rows(path)?.get(row));
        }
        "servers" | "framework_logs" => return Ok(BTreeMap::new()),
        _ => {}
    }
    let inputs = Inputs {
        origin: files.origin(),
        params: &case.params,
        predictions: predictions(files)?,
        judge: files.get(JUDGE_FILE).map(|content| &content[..]),
        rows: &rows,
    };
    let mut outputs = BTreeMap::new();
    for (file, evaluator) in &case.outputs {
        let value = match (case.kind.as_str(), rule(*evaluator)) {
            ("logs", Rule::Official(script)) => official::logs(&inputs, script)?,
            ("crash", Rule::Official(_)) => official::crash(&inputs)?,
            ("resolve", Rule::Official(_)) => official::resolve(&inputs)?,
            ("stat_lines", Rule::Official(_)) => official::stat_lines(&inputs)?,
            ("logs" | "crash" | "resolve" | "stat_lines", _) => {
                let problem = format!("{evaluator} does not score cases of kind {}", case.kind);
                return Err(case_place(files).error("outputs", problem));
            }
            (other, _) => {
                let problem = format!(
                    "{other:?} is unknown; known: logs, crash, resolve, stat_lines, structured, servers, framework_logs"
                );
                return Err(case_place(files).error("kind", problem));
            }
        };
        outputs.insert(file.clone(), value);
    }
    Ok(outputs)
}

/// Predictions as golden cases have them, a line a session: `item` is a row of the test set or `FILE/ROW`, as `test_1k/7`; `log`,
/// `requests`, `final` and `intent_output` are what is known of the session. `index` knows the items.
///
/// # Errors
/// With the lines and fields of what cannot be read, names no item, or names one twice.
pub(crate) fn read_predictions(
    index: &dyn Fn(Dataset, u32) -> Option<ItemIndex>,
    file: &str,
    content: &[u8],
) -> Result<Vec<(ItemIndex, Transcript)>, DataError> {
    let file = SourceLocation::file("predictions", file);
    let mut seen: HashMap<ItemIndex, String> = HashMap::new();
    let mut prediction = |place: &SourceLocation<'_>, line: &Value| -> Result<(ItemIndex, Transcript), BadLine> {
        let item = named(line).and_then(|(dataset, row)| index(dataset, row));
        let item = item.ok_or_else(|| {
            BadLine::Unknown(place.error(
                "item",
                "must be a row of data/test.csv, counted from 0, or FILE/ROW as test_1k/7; there is none such",
            ))
        })?;
        if let Some(earlier) = seen.insert(item, place.name()) {
            let problem = format!("was predicted before, in {earlier}; keep one prediction an item");
            return Err(BadLine::Repeated(place.error("item", problem)));
        }
        let run = structured::read_run(place, line)?;
        let log = match line.get("log") {
            None | Some(Value::Null) => String::new(),
            value => place.text_at(value, "log")?.to_owned(),
        };
        let transcript = delegated::transcript(&super::run::Run { log, ..run });
        Ok((item, transcript.ok_or_else(|| place.problem("cannot be kept"))?))
    };
    let (mut read, mut bad) = (Vec::new(), BadLines::default());
    for line in lines(&file, content) {
        let line = line.map_err(BadLine::from).and_then(|(place, line)| prediction(&place, &line));
        read.extend(bad.keep(line));
    }
    bad.refuse(&file)?;
    Ok(read)
}

fn named(line: &Value) -> Option<(Dataset, u32)> {
    let item = line.get("item")?;
    if let Some(row) = item.as_u64() {
        return Some((Dataset::Test, u32::try_from(row).ok()?));
    }
    let (dataset, row) = item.as_str()?.split_once('/')?;
    Some((Dataset::named(dataset)?, row.parse().ok()?))
}
