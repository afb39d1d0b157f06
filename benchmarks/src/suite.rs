//! The one interface of every benchmark: four pure functions, and the fifth that simulates a model.
//!
//! No I/O, no clock, no async, no randomness that is not a seed. A session is a function of its transcript: to continue it elsewhere
//! is to call [`Suite::next`] with the transcript so far, to score it again is to call [`Suite::score`] again.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use regatta_proto::{
    AgentName, BenchmarkFailed, BenchmarkName, ChatRequest, Evaluator, FileSet, ItemId, ItemIndex, MemberName,
    Question, Reply, Role, SessionSeed, Setting, Transcript, Verdict,
};
use serde::{Deserialize, Serialize};

use crate::{CellResult, Drawing, Metric, PaperTable};

/// A benchmark that can be loaded: its name and its four functions' first one.
pub trait Benchmark: Send + Sync {
    /// Its short name.
    fn name(&self) -> BenchmarkName;

    /// Whether the file at `path` (relative to the data directory) belongs to the data set. Nothing else is read or stored.
    fn wants(&self, path: &str) -> bool;

    /// Further files of the data set, which those that it [wants](Self::wants) name: relative paths within the data directory.
    ///
    /// # Errors
    /// When `files`, those it wants, cannot be read so far, or name something outside of the directory.
    fn further_files(&self, files: &FileSet) -> Result<Vec<String>, DataError> {
        let _ = files;
        Ok(Vec::new())
    }

    /// The settings it can run in, the default first; none where each data set declares its own ([`Suite::declared_settings`]).
    fn settings(&self) -> Vec<Setting>;

    /// The evaluators it has, the default first.
    fn evaluators(&self) -> Vec<Evaluator>;

    /// Those of them that are used when a spec names none.
    fn usual_evaluators(&self) -> Vec<Evaluator> {
        self.evaluators()
    }

    /// Reads the data set.
    ///
    /// # Errors
    /// With file, record and field for everything that is malformed; a record is never skipped.
    fn load(&self, files: &FileSet) -> Result<Arc<dyn Suite>, DataError>;

    /// Scores one golden case: reads `case.json` and its inputs, never the expected files.
    ///
    /// # Errors
    /// When the case or an input cannot be read.
    fn score_case(&self, case: &FileSet, data: &FileSet) -> Result<BTreeMap<String, serde_json::Value>, DataError>;
}

/// A loaded data set.
pub trait Suite: Send + Sync {
    /// Its items, in the order of the data set; the position is the [`ItemIndex`].
    fn items(&self) -> &[Item];

    /// The settings that the data set itself declares, the default first; none where all data sets have the benchmark's.
    fn declared_settings(&self) -> Vec<Setting> {
        Vec::new()
    }

    /// Items of `setting`, ascending, restricted to `tasks` (all when empty) and to the first `limit` of each task.
    ///
    /// # Errors
    /// When a task or the setting is unknown, or a task cannot be run in that setting.
    fn select(&self, setting: &Setting, tasks: &[String], limit: Option<u32>) -> Result<Vec<ItemIndex>, SelectError>;

    /// The unit that samples of the items are drawn in.
    fn sampled_by(&self) -> SampledBy {
        SampledBy::Item
    }

    /// How many calls of [`next`](Self::next), [`score`](Self::score) and their like can be answered at once, where these wait for others, as
    /// for the processes of a pool; `None` where they only compute.
    fn calls_at_once(&self) -> Option<NonZeroUsize> {
        None
    }

    /// Who is asked in sessions of `setting`: the agent, and any role that needs a model of its own beside it.
    fn roles(&self, setting: &Setting) -> Vec<Role> {
        let _ = setting;
        vec![Role::Agent]
    }

    /// The members of the team that sessions of `setting` put to work; casts may have them played by models of their own.
    fn members(&self, setting: &Setting) -> Vec<MemberName> {
        let _ = setting;
        Vec::new()
    }

    /// What the session of `item` does next, given what has happened so far.
    fn next(&self, item: ItemIndex, setting: &Setting, transcript: &Transcript) -> Step;

    /// What the benchmark's tool servers answer to an external agent in the session of `item`.
    fn serve(&self, item: ItemIndex, setting: &Setting, request: &ToolRequest) -> ToolAnswer {
        let _ = (item, setting, request);
        ToolAnswer::not_found()
    }

    /// Scores the finished session of `item` in `setting` with `evaluators`, or says which verdicts are missing. Most benchmarks need not
    /// know the setting for that.
    fn score_session(
        &self,
        item: ItemIndex,
        setting: &Setting,
        evaluators: &[Evaluator],
        transcript: &Transcript,
        verdicts: &dyn Verdicts,
    ) -> Scoring {
        let _ = setting;
        self.score(item, evaluators, transcript, verdicts)
    }

    /// The same in the default setting, or of what was recorded elsewhere, in whatever setting.
    fn score(
        &self,
        item: ItemIndex,
        evaluators: &[Evaluator],
        transcript: &Transcript,
        verdicts: &dyn Verdicts,
    ) -> Scoring;

    /// The scores of a session that the model itself made impossible: everything wrong. It holds every value that some session of the
    /// item can have: what it lacks, no session of the item has.
    fn score_failure(&self, item: ItemIndex, evaluators: &[Evaluator]) -> Scores;

    /// `true` if the benchmark's own reading of the agent's answers found that one of them is no answer at all: no workflow, no plan, no call
    /// that could be read. Where every text is an answer, none is.
    fn is_invalid_format(&self, item: ItemIndex, setting: &Setting, transcript: &Transcript) -> bool {
        let _ = (item, setting, transcript);
        false
    }

    /// The aggregate of some trials together in the shape of the golden files (`aggregate`), and the flat metrics that tables show. It is
    /// asked for each trial alone, and once for all trials of a setting and model, which official code may pool in ways of its own.
    /// Each trial has its scores by ascending item. [`Score::detail`] may be `null` here: tables are made of flat values alone.
    fn tabulate(&self, evaluator: Evaluator, trials: &[Vec<(ItemIndex, &Score)>]) -> Table;

    /// What is measured in `setting`. By default, the means of all flat values, each in 0..=1.
    fn metrics(&self, setting: &Setting, evaluator: Evaluator) -> Vec<Metric> {
        let _ = setting;
        // Every score has the same names then.
        let mut failure = self.score_failure(ItemIndex(0), &[evaluator]);
        let values = failure.remove(&evaluator).map(|score| score.values).unwrap_or_default();
        values.keys().map(|name| Metric::mean(name)).collect()
    }

    /// Least and largest value of the number at the JSON pointer `pointer` in an aggregate, the latter infinite where there is none.
    ///
    /// `None` of everything but averages and ratios over sessions, as of counts: only those are estimates of what new items would give, and
    /// have an interval.
    fn aggregate_range(&self, evaluator: Evaluator, pointer: &str) -> Option<(f64, f64)> {
        let _ = (evaluator, pointer);
        None
    }

    /// Parts of the data set that `item` belongs to, other than its task, for which the tables want metrics of their own.
    fn parts(&self, item: ItemIndex) -> Vec<Arc<str>> {
        let _ = item;
        Vec::new()
    }

    /// The tables of the benchmark's paper, from all settings and models of a sweep in the order of its grid.
    fn paper_tables(&self, evaluator: Evaluator, cells: &[CellResult<'_>]) -> Vec<PaperTable> {
        let _ = (evaluator, cells);
        Vec::new()
    }

    /// Pictures of what happened in the session of `item` so far, for a person who looks at it.
    fn pictures(&self, item: ItemIndex, setting: &Setting, transcript: &Transcript) -> Vec<Picture> {
        let _ = (item, setting, transcript);
        Vec::new()
    }

    /// Graphs of what was answered in the session of `item` so far, over what is right: none where the benchmark is not about graphs.
    /// `verdicts` are those of a scoring with `evaluators`; without them texts are partners that are equal.
    fn drawings(
        &self,
        item: ItemIndex,
        setting: &Setting,
        evaluators: &[Evaluator],
        transcript: &Transcript,
        verdicts: &dyn Verdicts,
    ) -> Vec<Drawing> {
        let _ = (item, setting, evaluators, transcript, verdicts);
        Vec::new()
    }

    /// A right answer of the agent to `request` in the session of `item`, for a person who looks at what it said; there may be others. `None`
    /// where none is known.
    fn right_reply(&self, item: ItemIndex, setting: &Setting, request: &ChatRequest) -> Option<Reply> {
        // No draw decides what the oracle says, but for the ids of its calls.
        let seed = SessionSeed(0);
        let reply = self.simulate(item, setting, Role::Agent, Persona::Oracle, seed, request);
        (reply.answer_bytes() > 0).then_some(reply)
    }

    /// Turns anybody's predictions (formats as in the section on predictions of its page in docs/benchmarks) into transcripts by item.
    ///
    /// # Errors
    /// With file and line of a prediction that cannot be read, or names no item.
    fn read_predictions(&self, file: &str, content: &[u8]) -> Result<Vec<(ItemIndex, Transcript)>, DataError>;

    /// What a simulated model that plays `role` answers in the session of `item` to `request`: a text, or calls of tools, or both. Each
    /// call has an id that no other call of the session has. What the reply thinks, and how likely its tokens are, no simulated model tells.
    fn simulate(
        &self,
        item: ItemIndex,
        setting: &Setting,
        role: Role,
        persona: Persona,
        seed: SessionSeed,
        request: &ChatRequest,
    ) -> Reply;

    /// The item whose session `request` belongs to, for callers that do not name it; the first one when several fit.
    fn recognise(&self, request: &ChatRequest) -> Option<ItemIndex>;

    /// A question as `evaluators` ask them, for a plan that must know whether there has to be a judge; `None` where the first sessions
    /// show it.
    fn example_question(&self, evaluators: &[Evaluator]) -> Option<Question> {
        let _ = evaluators;
        None
    }

    /// What a simulated judge replies to a judgement's `prompt`, the last message that it gets, whatever came before; `None` for what is
    /// no prompt of this benchmark.
    fn simulate_judge(&self, prompt: &str, persona: Persona, seed: SessionSeed) -> Option<String> {
        let _ = (prompt, persona, seed);
        None
    }
}

/// One item, as far as the pipeline needs to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The benchmark's own id.
    pub id: ItemId,
    /// The task it belongs to.
    pub task: Arc<str>,
    /// What it shares with other items so that their scores are not independent, as the turns of one conversation are not.
    pub group: Option<Arc<str>>,
}

/// The unit that samples of a data set are drawn in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampledBy {
    /// Each item by itself.
    Item,
    /// Whole groups: a part of one would be other data than the group, or other data in each setting.
    Group,
}

/// What a session does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Ask `role` this.
    Ask(Role, ChatRequest),
    /// Have an external agent do the whole of it, and come back when it has ended.
    Delegate(Errand),
    /// Nothing; the session is over.
    Done,
    /// Nothing; what has happened is not how this session goes, because another version began it or the transcript is damaged. It says
    /// nothing about any model, and why is for people to read: it quotes none.
    Unfit(String),
    /// Nothing; the benchmark's own program could not say. It says nothing about any model either.
    Failed(BenchmarkFailed),
}

impl Step {
    /// The answer for an item or a setting that [`Suite::select`] gives out to nobody.
    #[must_use]
    pub fn not_selected(item: ItemIndex, setting: &Setting) -> Self {
        Self::Unfit(format!("item {item} in the setting {setting} is no session of this data set"))
    }
}

/// What an external agent is to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Errand {
    /// Which agent of the spec.
    pub agent: AgentName,
    /// What it is told, a JSON object; addresses and the model's name are added to it.
    pub input: serde_json::Value,
}

/// A request to a simulated tool server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRequest {
    /// Method, in upper case.
    pub method: String,
    /// Whole URL: scheme, host, port, path and raw query.
    pub url: String,
    /// Body, if there is one.
    pub body: Option<Vec<u8>>,
}

/// What a simulated tool server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolAnswer {
    /// Status.
    pub status: u16,
    /// Type of the body.
    pub content_type: &'static str,
    /// Methods that there are, where the status is about that (405, OPTIONS).
    pub allow: Option<&'static str>,
    /// Body.
    pub body: Vec<u8>,
}

impl ToolAnswer {
    /// There is no such server, or no such path.
    #[must_use]
    pub fn not_found() -> Self {
        Self { status: 404, content_type: "text/plain; charset=utf-8", allow: None, body: b"not found\n".to_vec() }
    }
}

/// Where answers to questions come from.
pub trait Verdicts {
    /// The answer to `question`, if it is known.
    fn answer(&self, question: &Question) -> Option<Verdict>;
}

/// The scores of one session, by evaluator.
pub type Scores = BTreeMap<Evaluator, Score>;

/// What one evaluator says of one session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Flat values that metrics are made of, as `f1_chain`; each is finite.
    pub values: BTreeMap<String, f64>,
    /// The item's entry in the shape of the golden files (`items[id]`).
    pub detail: serde_json::Value,
}

/// The flat value `name` of an evaluator whose scores all have it.
///
/// # Panics
/// When it is not there: taken for 0, it would be a wrong number in every average it is part of.
#[must_use]
#[expect(clippy::panic, reason = "only another version of the evaluator, or nobody, writes scores without it")]
pub fn flat_value(values: &BTreeMap<String, f64>, name: &str) -> f64 {
    let found = values.get(name).copied();
    found.unwrap_or_else(|| {
        let known: Vec<&str> = values.keys().map(String::as_str).collect();
        panic!("a score has no value {name} (it has {known:?}): another version wrote it; rescore the run")
    })
}

/// Whether a session could be scored.
#[derive(Debug, Clone, PartialEq)]
pub enum Scoring {
    /// It could.
    Scored(Scores),
    /// These answers are missing.
    Needs(Vec<Question>),
    /// It is not the whole of such a session, as in [`Step::Unfit`]; there is nothing to score.
    Unfit(String),
    /// The benchmark's own program could not score it.
    Failed(BenchmarkFailed),
}

impl Scoring {
    /// The answer for an item that [`Suite::select`] gives out to nobody.
    #[must_use]
    pub fn not_selected(item: ItemIndex) -> Self {
        Self::Unfit(format!("item {item} is none of this data set"))
    }
}

/// The aggregate of one cell, or of all trials of a setting and model, under one evaluator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// `aggregate` of the golden files, with the names of the golden files.
    pub aggregate: serde_json::Value,
    /// The columns of the paper's main table that it fills, in their order: label and value in 0..=1 (`None`: no items).
    pub columns: Vec<(String, Option<f64>)>,
}

/// A picture of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// What it shows, in a few words.
    pub title: String,
    /// An SVG element that is complete in itself. Whatever a model or a data set says is escaped in it.
    pub svg: String,
    /// The same in words, for terminals.
    pub text: String,
}

/// How a simulated model behaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Persona {
    /// Answers with the gold.
    Oracle,
    /// Answers with the gold, perturbed with this probability (0..=1), deterministically from the session's seed.
    Noisy(f64),
}

/// What is wrong with a benchmark's files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DataError {
    /// A file that must be there is not.
    #[error("{origin}: {path} is missing: {hint}")]
    MissingFile {
        /// Where the files came from.
        origin: String,
        /// The file.
        path: String,
        /// What to do.
        hint: String,
    },
    /// A record that cannot be read.
    #[error("{origin}: {path}, {place}: {problem}")]
    Malformed {
        /// Where the files came from.
        origin: String,
        /// The file.
        path: String,
        /// Record, line or field.
        place: String,
        /// What is wrong and what to do.
        problem: String,
    },
}

/// Why a selection of items cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// No such setting.
    #[error("unknown setting {setting:?}; known: {known}")]
    UnknownSetting {
        /// As given.
        setting: String,
        /// What there is.
        known: String,
    },
    /// No such task in the data.
    #[error("unknown task {task:?}; the data has: {known}")]
    UnknownTask {
        /// As given.
        task: String,
        /// What there is.
        known: String,
    },
    /// The task has no such setting.
    #[error("task {task:?} cannot be run {setting}: {reason}")]
    NotInSetting {
        /// The task.
        task: String,
        /// The setting.
        setting: String,
        /// Why, and what to do.
        reason: String,
    },
}
