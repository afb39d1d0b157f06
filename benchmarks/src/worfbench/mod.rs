//! WorFBench: a model writes a workflow in one reply, which is compared with a gold workflow.
//!
//! Two evaluators share the texts and their similarities: [`official`] computes what the published code computes,
//! [`paper`] what the paper describes.

mod averages;
mod data;
mod edge_ends;
mod error;
mod gold;
mod official;
mod paper;
mod parse_official;
mod parse_paper;
mod predictions;

mod recognise;
mod scoring;
mod selection;
mod session;
mod similarity;
mod simulate;
mod tables;
mod task;
mod workflow_noise;

#[cfg(test)]
mod golden;

use std::collections::BTreeMap;
use std::sync::Arc;

use regatta_proto::{
    BenchmarkName, ChatRequest, Evaluator, FileSet, ItemIndex, Reply, Role, SessionSeed, Setting, Transcript,
};
use serde_json::Value;

use self::data::Data;
use self::recognise::Prompts;
use self::session::Shots;
use crate::case::{Case, case_place, score_predictions_case};
use crate::{
    Benchmark, CellResult, DataError, Item, Metric, PaperTable, Persona, Score, Scores, Scoring, SelectError, Step,
    Suite, Table, Verdicts,
};

/// The benchmark.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorfBench;

impl Benchmark for WorfBench {
    #[expect(clippy::expect_used, reason = "the literal is a valid name, which a test loads")]
    fn name(&self) -> BenchmarkName {
        BenchmarkName::new("worfbench").expect("letters only")
    }

    fn wants(&self, path: &str) -> bool {
        data::wants(path)
    }

    fn settings(&self) -> Vec<Setting> {
        Shots::ALL.iter().filter_map(|shots| shots.name().parse().ok()).collect()
    }

    fn evaluators(&self) -> Vec<Evaluator> {
        vec![Evaluator::Official, Evaluator::Paper]
    }

    fn load(&self, files: &FileSet) -> Result<Arc<dyn Suite>, DataError> {
        Ok(Arc::new(Loaded::new(data::load(files)?)))
    }

    fn score_case(&self, case: &FileSet, data: &FileSet) -> Result<BTreeMap<String, Value>, DataError> {
        let read = Case::read(case)?;
        match read.kind.as_str() {
            "predictions" => score_predictions_case(&read, case, &*self.load(data)?),
            // Vectors for single functions, which tests of those functions read.
            "unit" => Ok(BTreeMap::new()),
            other => Err(case_place(case).error("kind", format!("{other:?} is unknown; known: predictions, unit"))),
        }
    }
}

/// The loaded data set.
#[derive(Debug)]
struct Loaded {
    data: Data,
    items: Vec<Item>,
    prompts: Prompts,
}

impl Loaded {
    fn new(data: Data) -> Self {
        let item = |record: &data::Record| Item { id: record.id.clone(), task: record.task.name().into(), group: None };
        let items = data.records.iter().map(item).collect();
        let prompts = Prompts::of(&data);
        Self { data, items, prompts }
    }
}

impl Suite for Loaded {
    fn items(&self) -> &[Item] {
        &self.items
    }

    fn select(&self, setting: &Setting, tasks: &[String], limit: Option<u32>) -> Result<Vec<ItemIndex>, SelectError> {
        selection::select(&self.data, setting, tasks, limit)
    }

    fn next(&self, item: ItemIndex, setting: &Setting, transcript: &Transcript) -> Step {
        match (self.data.record(item), Shots::of(setting)) {
            (Some(record), Some(shots)) => session::next(&self.data, record, shots, transcript),
            // `select` gives out neither such items nor such settings.
            _ => Step::Done,
        }
    }

    fn score(
        &self,
        item: ItemIndex,
        evaluators: &[Evaluator],
        transcript: &Transcript,
        verdicts: &dyn Verdicts,
    ) -> Scoring {
        let Some(record) = self.data.record(item) else { return Scoring::Scored(Scores::new()) };
        let reply = transcript.replies(Role::Agent).next().and_then(|reply| reply.text.as_deref());
        scoring::score(record, evaluators, reply, verdicts)
    }

    fn score_failure(&self, item: ItemIndex, evaluators: &[Evaluator]) -> Scores {
        self.data.record(item).map_or_else(Scores::new, |record| scoring::score_failure(record, evaluators))
    }

    fn tabulate(&self, evaluator: Evaluator, trials: &[Vec<(ItemIndex, &Score)>]) -> Table {
        let with_tasks =
            trials.iter().flatten().filter_map(|(item, score)| Some((self.data.record(*item)?.task, *score)));
        tables::tabulate(evaluator, with_tasks)
    }

    fn metrics(&self, _setting: &Setting, _evaluator: Evaluator) -> Vec<Metric> {
        tables::metrics()
    }

    fn paper_tables(&self, _evaluator: Evaluator, cells: &[CellResult<'_>]) -> Vec<PaperTable> {
        tables::paper_tables(cells)
    }

    fn read_predictions(&self, file: &str, content: &[u8]) -> Result<Vec<(ItemIndex, Transcript)>, DataError> {
        predictions::read(&self.data, file, content)
    }

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
