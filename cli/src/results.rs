//! `results.jsonl` of a run: one line a session.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use regatta_proto::{BenchmarkName, Cause, Evaluator, Flag, ItemId, ModelRef, Setting};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// One line of `results.jsonl`: the result of one session.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ResultLine {
    pub(crate) cell: u32,
    pub(crate) benchmark: BenchmarkName,
    pub(crate) setting: Setting,
    pub(crate) model: ModelRef,
    pub(crate) trial: u16,
    pub(crate) item: ItemId,
    pub(crate) outcome: String,
    pub(crate) cause: Option<String>,
    #[serde(default)]
    pub(crate) flags: Vec<Flag>,
    pub(crate) scores: Option<Scores>,
}

/// Values by evaluator and name.
pub(crate) type Scores = BTreeMap<Evaluator, BTreeMap<String, f64>>;

impl ResultLine {
    /// `measured`, or `not_measured (timeout)`.
    pub(crate) fn ending(&self) -> String {
        self.cause.as_ref().map_or_else(|| self.outcome.clone(), |cause| format!("{} ({cause})", self.outcome))
    }

    /// `false` for a session that a filter or the length of the context ended: what it took says nothing of what a session takes.
    pub(crate) fn is_answered(&self) -> bool {
        let ended_by = |cause: Cause| self.cause.as_deref() == Some(cause.as_str());
        !ended_by(Cause::ContentFilter) && !ended_by(Cause::ContextLength)
    }
}

/// All lines of the run in `run`.
pub(crate) fn read(run: &Path) -> anyhow::Result<Vec<ResultLine>> {
    read_lines(&run.join("results.jsonl"))
}

/// The lines of a file, each a JSON document.
pub(crate) fn read_lines<T: DeserializeOwned>(path: &Path) -> anyhow::Result<Vec<T>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))?;
    parse_lines(&format!("failed to read {}", path.display()), &text)
}

/// The lines of `text`, each a JSON document; `failed` says what an error is about.
pub(crate) fn parse_lines<T: DeserializeOwned>(failed: &str, text: &str) -> anyhow::Result<Vec<T>> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(number, line)| serde_json::from_str(line).with_context(|| format!("{failed}, line {number}"))).collect()
}
