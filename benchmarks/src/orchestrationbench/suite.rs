//! The loaded data set behind the one interface of all benchmarks.

use std::sync::Arc;

use regatta_proto::{ChatRequest, Evaluator, ItemIndex, Reply, Role, SessionSeed, Setting, Transcript};

use super::data::{Data, Scenario};
use super::items::{Items, Place, parts};
use super::scoring::{self, GoldPlans};
use super::simulate::{self, Requests};
use super::{metrics, predictions, protocol, tables, tabulation};
use crate::{
    CellResult, DataError, Item, Metric, PaperTable, Persona, Score, Scores, Scoring, SelectError, Step, Suite, Table,
    Verdicts,
};

/// The loaded data set.
#[derive(Debug)]
pub(super) struct Loaded {
    data: Data,
    items: Items,
    gold_plans: GoldPlans,
    requests: Requests,
}

impl Loaded {
    pub(super) fn new(data: Data) -> Result<Self, DataError> {
        let (items, gold_plans, requests) = (Items::of(&data)?, GoldPlans::of(&data), Requests::of(&data));
        Ok(Self { data, items, gold_plans, requests })
    }

    fn scenario(&self, position: usize) -> Option<&Scenario> {
        self.data.scenarios.get(position).map(Arc::as_ref)
    }

    /// The step that an item is, if it is one.
    fn step(&self, item: ItemIndex) -> Option<scoring::Step<'_>> {
        let Place::Step(position, step) = self.items.place(item)? else { return None };
        let id = self.items.items.get(usize::try_from(item.0).ok()?)?.id.as_str();
        let scenario = self.scenario(position)?;
        Some(scoring::Step { data: &self.data, gold_plans: &self.gold_plans, position, scenario, step, item: id })
    }
}

impl Suite for Loaded {
    fn items(&self) -> &[Item] {
        &self.items.items
    }

    fn select(&self, setting: &Setting, tasks: &[String], limit: Option<u32>) -> Result<Vec<ItemIndex>, SelectError> {
        self.items.select(setting, tasks, limit)
    }

    fn next(&self, item: ItemIndex, _setting: &Setting, transcript: &Transcript) -> Step {
        let Some(step) = self.step(item) else { return Step::Done };
        if transcript.replies(Role::Agent).next().is_some() {
            return Step::Done;
        }
        let request = if step.scenario.planning.contains(&step.step) {
            Some(protocol::planning_request(&self.data, step.scenario, step.step))
        } else {
            protocol::decision_request(&self.data, step.scenario, step.step)
        };
        request.map_or(Step::Done, |request| Step::Ask(Role::Agent, request))
    }

    fn score(
        &self,
        item: ItemIndex,
        evaluators: &[Evaluator],
        transcript: &Transcript,
        verdicts: &dyn Verdicts,
    ) -> Scoring {
        match self.step(item) {
            Some(step) => step.score(scoring::answer(transcript).as_ref(), evaluators, verdicts),
            None => Scoring::Scored(Scores::new()),
        }
    }

    fn score_failure(&self, item: ItemIndex, evaluators: &[Evaluator]) -> Scores {
        self.step(item).map(|step| step.score_failure(evaluators)).unwrap_or_default()
    }

    fn tabulate(&self, evaluator: Evaluator, trials: &[Vec<(ItemIndex, &Score)>]) -> Table {
        Table { aggregate: tabulation::aggregate(&self.data, &self.items, evaluator, trials), columns: Vec::new() }
    }

    fn metrics(&self, setting: &Setting, evaluator: Evaluator) -> Vec<Metric> {
        let _ = setting;
        metrics::metrics(evaluator)
    }

    fn parts(&self, item: ItemIndex) -> Vec<Arc<str>> {
        self.items.place(item).map(|place| parts(&self.data, place)).unwrap_or_default()
    }

    fn paper_tables(&self, evaluator: Evaluator, cells: &[CellResult<'_>]) -> Vec<PaperTable> {
        tables::paper_tables(evaluator, cells)
    }

    fn read_predictions(&self, file: &str, content: &[u8]) -> Result<Vec<(ItemIndex, Transcript)>, DataError> {
        predictions::transcripts(&self.data, &self.items, file, content)
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
        match self.step(item) {
            Some(step) => simulate::reply(&self.data, step.scenario, step.step, persona, seed),
            None => Reply::said(""),
        }
    }

    fn recognise(&self, request: &ChatRequest) -> Option<ItemIndex> {
        let (position, step) = self.requests.step(request)?;
        self.items.position(Place::Step(position, step))
    }

    fn simulate_judge(&self, prompt: &str, persona: Persona, seed: SessionSeed) -> Option<String> {
        simulate::judge_reply(prompt, persona, seed)
    }
}
