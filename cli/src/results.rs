//! `results.jsonl` of a run: one line a session.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use regatta_proto::{BenchmarkName, Cause, Evaluator, Flag, ItemId, ModelRef, Setting};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::exit::BadConfiguration;

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

/// Reason why a session ended before its end: what it took says nothing of what a session takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CutOff {
    /// The provider's filter refused the conversation or withheld an answer.
    Filter,
    /// The conversation became longer than the context.
    ContextLength,
    /// The model declined to answer, in its provider's field for refusals.
    Refusal,
}

impl CutOff {
    pub(crate) const ALL: [Self; 3] = [Self::Filter, Self::ContextLength, Self::Refusal];

    /// With its article, as after "ended by".
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Filter => "a filter",
            Self::ContextLength => "the length of the context",
            Self::Refusal => "a refusal of the model",
        }
    }
}

/// Values by evaluator and name.
pub(crate) type Scores = BTreeMap<Evaluator, BTreeMap<String, f64>>;

impl ResultLine {
    /// `measured`, or `not_measured (timeout)`.
    pub(crate) fn ending(&self) -> String {
        self.cause.as_ref().map_or_else(|| self.outcome.clone(), |cause| format!("{} ({cause})", self.outcome))
    }

    /// The reason why the session was cut off, whether that counts as wrong or as missing; `None` for any other one.
    pub(crate) fn cut_off(&self) -> Option<CutOff> {
        let ended_by = |cause: Cause| self.cause.as_deref() == Some(cause.as_str());
        match () {
            () if ended_by(Cause::ContextLength) => Some(CutOff::ContextLength),
            // Only a call that was given up for it has this flag: a filter that withheld a part of an earlier answer ended nothing.
            () if ended_by(Cause::ContentFilter) && self.flags.contains(&Flag::Refused) => Some(CutOff::Refusal),
            () if ended_by(Cause::ContentFilter) => Some(CutOff::Filter),
            () => None,
        }
    }
}

/// All lines of the run in `run`.
pub(crate) fn read(run: &Path) -> anyhow::Result<Vec<ResultLine>> {
    read_lines(&run.join("results.jsonl"))
}

/// Refuses a run in `run` without results of its `attempts`: its tables would be blank.
pub(crate) fn check_results(run: &Path, results: usize, attempts: usize) -> anyhow::Result<()> {
    if results > 0 || attempts == 0 {
        return Ok(());
    }
    let at = run.display();
    Err(BadConfiguration(format!(
        "results.jsonl of {at} is empty, although attempts.jsonl has {attempts} attempts; `regatta repair {at}` writes it again"
    ))
    .into())
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
