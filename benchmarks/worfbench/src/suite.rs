//! The loaded data set behind the one interface of all benchmarks.

use regatta_benchmarks::{
    CellResult, DataError, Dataset, Drawing, Evaluation, Item, Metric, PaperTable, Persona, Pictures, Predictions,
    Score, Scores, Scoring, SelectError, Sessions, Simulated, Step, Table, Tables, Verdicts, delegated,
};
use regatta_proto::{ChatRequest, Evaluator, ItemIndex, Reply, Role, SessionSeed, Setting, Transcript};

use super::data::Data;
use super::recognise::Prompts;
use super::setting::SessionMode;
use super::{drawing, items, parse_official, predictions, scoring, session, simulate, tables};

/// The loaded data set.
#[derive(Debug)]
pub(super) struct Loaded {
    data: Data,
    items: Vec<Item>,
    prompts: Prompts,
}

impl Loaded {
    pub(super) fn new(data: Data) -> Self {
        let (items, prompts) = (items::items(&data), Prompts::of(&data));
        Self { data, items, prompts }
    }
}

impl Dataset for Loaded {
    fn items(&self) -> &[Item] {
        &self.items
    }

    fn select(&self, setting: &Setting, tasks: &[String], limit: Option<u32>) -> Result<Vec<ItemIndex>, SelectError> {
        items::select(&self.data, setting, tasks, limit)
    }
}

impl Sessions for Loaded {
    fn next(&self, item: ItemIndex, setting: &Setting, transcript: &Transcript) -> Step {
        match (self.data.record(item), SessionMode::of(setting)) {
            (Some(record), Some(mode)) => session::next(&self.data, record, &mode, transcript),
            _ => Step::not_selected(item, setting),
        }
    }
}

impl Evaluation for Loaded {
    fn score(
        &self,
        item: ItemIndex,
        evaluators: &[Evaluator],
        transcript: &Transcript,
        verdicts: &dyn Verdicts,
    ) -> Scoring {
        let Some(record) = self.data.record(item) else { return Scoring::not_selected(item) };
        scoring::score(record, evaluators, delegated::answer(transcript).as_deref(), verdicts)
    }

    fn score_failure(&self, item: ItemIndex, evaluators: &[Evaluator]) -> Scores {
        self.data.record(item).map_or_else(Scores::new, |record| scoring::score_failure(record, evaluators))
    }

    /// A reply in which the published parser finds no workflow.
    fn is_invalid_format(&self, _item: ItemIndex, _setting: &Setting, transcript: &Transcript) -> bool {
        let has_answered = transcript.replies(Role::Agent).next().is_some() || delegated::has_ended(transcript);
        has_answered && delegated::answer(transcript).as_deref().and_then(parse_official::parse).is_none()
    }

    /// Every value counts nodes that were matched by similarity.
    fn is_judged(&self, _evaluator: Evaluator, value: &str) -> bool {
        scoring::VALUE_NAMES.contains(&value)
    }
}

impl Tables for Loaded {
    fn tabulate(&self, evaluator: Evaluator, trials: &[Vec<(ItemIndex, &Score)>]) -> Table {
        let with_tasks =
            trials.iter().flatten().filter_map(|(item, score)| Some((self.data.record(*item)?.task, *score)));
        tables::tabulate(evaluator, with_tasks)
    }

    fn aggregate_range(&self, _evaluator: Evaluator, pointer: &str) -> Option<(f64, f64)> {
        tables::aggregate_range(pointer)
    }

    fn metrics(&self, _setting: &Setting, _evaluator: Evaluator) -> Vec<Metric> {
        tables::metrics()
    }

    fn paper_tables(&self, _evaluator: Evaluator, cells: &[CellResult<'_>]) -> Vec<PaperTable> {
        tables::paper_tables(cells)
    }
}

impl Predictions for Loaded {
    fn read_predictions(&self, file: &str, content: &[u8]) -> Result<Vec<(ItemIndex, Transcript)>, DataError> {
        predictions::read(&self.data, file, content)
    }
}

impl Simulated for Loaded {
    fn simulate(
        &self,
        item: ItemIndex,
        _setting: &Setting,
        _role: Role,
        persona: Persona,
        seed: SessionSeed,
        _request: &ChatRequest,
    ) -> Reply {
        Reply::said(self.data.record(item).map(|record| simulate::reply(record, persona, seed)).unwrap_or_default())
    }

    fn recognise(&self, request: &ChatRequest) -> Option<ItemIndex> {
        self.prompts.item(request)
    }
}

impl Pictures for Loaded {
    fn drawings(
        &self,
        item: ItemIndex,
        _setting: &Setting,
        evaluators: &[Evaluator],
        transcript: &Transcript,
        verdicts: &dyn Verdicts,
    ) -> Vec<Drawing> {
        let Some(record) = self.data.record(item) else { return Vec::new() };
        drawing::drawings(record, evaluators, delegated::answer(transcript).as_deref(), verdicts)
    }
}
