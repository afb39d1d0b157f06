//! Scoring of a folder of predictions in the official form, which is read as leniently as the official loader reads
//! it (docs/benchmarks/flowbench.md §2.2, §5.3).
//!
//! The loader turns a file into a table: fields are columns, which a record may lack. It checks the thoughts of all
//! files first, and the other fields of records when they are scored; a wrong type ends the official run.

use regatta_benchmarks::{Score, Verdicts};
use regatta_proto::{Evaluator, FileSet, Question};
use serde_json::{Map, Value, json};

use super::row::{self, check_thoughts};
use super::table::Table;
use super::{Crash, aggregate, by_file};
use crate::judge::Judge;

/// Result of scoring a folder.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FolderScoring {
    /// `error` (the exception that ends the run, or null), `aggregate` and `by_file`, as in the golden files.
    Scored(Value),
    /// Questions whose verdicts are missing.
    Needs(Vec<Question>),
}

/// Scores the files of `folder` (its path in `files`) whose path contains `filter`, by `official`, or by
/// `official_fixed` with crashes `repaired`. The official code takes files in the order of the directory listing;
/// here they are sorted by name.
pub(crate) fn score_folder(
    files: &FileSet,
    folder: &str,
    filter: Option<&str>,
    repaired: bool,
    verdicts: &dyn Verdicts,
) -> FolderScoring {
    let mut judge = Judge::new(verdicts, None);
    let tables: Vec<(&str, Table)> = files
        .iter()
        .filter(|(path, _)| filter.is_none_or(|filter| path.contains(filter)))
        .filter_map(|(path, content)| Some((name_in(folder, path)?, Table::read(content)?)))
        .collect();
    let ended = |crash: Crash| FolderScoring::Scored(json!({ "error": crash.to_string(), "aggregate": null }));
    // The thoughts of all files are checked before anything is scored.
    if !repaired && let Err(crash) = tables.iter().try_for_each(|(_, table)| check_thoughts(table)) {
        return ended(crash);
    }
    let mut run = Run::default();
    for (name, table) in &tables {
        // A file without predictions ends the official loop over files; the counts so far remain.
        let Some(predictions) = table.column("response").or_else(|| table.column("predict")) else { break };
        if !repaired && ["messages", "gt_thought", "id"].iter().any(|name| !table.has(name)) {
            return ended(Crash::Key);
        }
        run.files.push(name);
        for (row, prediction) in table.rows().iter().zip(predictions) {
            let score = if repaired {
                Ok(row::score_repaired(row, prediction, &mut judge))
            } else {
                row::score(row, prediction, &mut judge)
            };
            match score {
                Ok(score) => run.scores.push((*name, score)),
                Err(crash) => return ended(crash),
            }
        }
    }
    let missing = judge.into_missing();
    if missing.is_empty() { FolderScoring::Scored(run.total(repaired)) } else { FolderScoring::Needs(missing) }
}

/// Returns the name of a JSONL file that is directly in the folder.
fn name_in<'p>(folder: &str, path: &'p str) -> Option<&'p str> {
    let folder = folder.trim_end_matches('/');
    let name = if folder.is_empty() { path } else { path.strip_prefix(folder)?.strip_prefix('/')? };
    (!name.contains('/') && name.ends_with(".jsonl")).then_some(name)
}

/// Scores of the files so far.
#[derive(Default)]
struct Run<'f> {
    files: Vec<&'f str>,
    scores: Vec<(&'f str, Score)>,
}

impl Run<'_> {
    fn total(&self, repaired: bool) -> Value {
        let evaluator = if repaired { Evaluator::OfficialFixed } else { Evaluator::Official };
        let all: Vec<&Score> = self.scores.iter().map(|(_, score)| score).collect();
        // A file without records has an entry too.
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
