//! The loaded data set behind the interface of all benchmarks.

use std::sync::Arc;

use regatta_benchmarks::{
    CellResult, DataError, Dataset, Drawing, Evaluation, Item, Metric, PaperTable, Persona, Pictures, Predictions,
    SampledBy, Score, Scores, Scoring, SelectError, Sessions, Simulated, Step, Table, Tables, Verdicts, delegated,
};
use regatta_proto::{ChatRequest, Evaluator, ItemIndex, Question, Reply, Role, SessionSeed, Setting, Transcript};

use super::data::{Data, Scenario};
use super::items::{Items, Place, parts};
use super::judge::{Conversation, question};
use super::scoring::{self, GoldPlans};
use super::setting::{Mode, SessionMode};
use super::simulate::{self, Requests};
use super::whole::Whole;
use super::{metrics, predictions, session, tables, tabulation};

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

    /// Returns the step of an item, if it is one.
    fn step(&self, item: ItemIndex) -> Option<scoring::Step<'_>> {
        let Place::Step(position, step) = self.items.place(item)? else { return None };
        let id = self.item(item)?.id.as_str();
        let scenario = self.scenario(position)?;
        Some(scoring::Step { data: &self.data, gold_plans: &self.gold_plans, position, scenario, step, item: id })
    }

    fn item(&self, item: ItemIndex) -> Option<&Item> {
        self.items.items.get(usize::try_from(item.0).ok()?)
    }

    /// Returns the scenario of an item, if it is one.
    fn whole(&self, item: ItemIndex) -> Option<Whole<'_>> {
        let Place::Scenario(position) = self.items.place(item)? else { return None };
        let scenario = self.scenario(position)?;
        Some(Whole { data: &self.data, gold_plans: &self.gold_plans, position, scenario })
    }
}

impl Dataset for Loaded {
    fn items(&self) -> &[Item] {
        &self.items.items
    }

    fn sampled_by(&self) -> SampledBy {
        SampledBy::Group
    }

    fn select(&self, setting: &Setting, tasks: &[String], limit: Option<u32>) -> Result<Vec<ItemIndex>, SelectError> {
        self.items.select(setting, tasks, limit)
    }

    fn parts(&self, item: ItemIndex) -> Vec<Arc<str>> {
        self.items.place(item).map(|place| parts(&self.data, place)).unwrap_or_default()
    }
}

impl Sessions for Loaded {
    fn next(&self, item: ItemIndex, setting: &Setting, transcript: &Transcript) -> Step {
        let Some(SessionMode { mode, agent }) = SessionMode::of(setting) else {
            return Step::not_selected(item, setting);
        };
        match (mode, self.step(item).zip(self.item(item)), self.whole(item)) {
            (Mode::Stepwise, Some((step, item)), _) => match agent {
                Some(agent) => session::delegated_step(&step, item, &agent, transcript),
                None => session::next_of_step(&step, transcript),
            },
            (Mode::EndToEnd, _, Some(whole)) => {
                let step = session::next_of_scenario(&whole, transcript);
                match agent.zip(self.item(item)) {
                    Some((agent, item)) => delegated::turn(&agent, &item.id, &item.task, step),
                    None => step,
                }
            }
            (Mode::Stepwise | Mode::EndToEnd, _, _) => Step::not_selected(item, setting),
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
        let scored = match (self.step(item), self.whole(item)) {
            (Some(step), _) => step.score(scoring::answer(transcript).as_ref(), evaluators, verdicts),
            (None, Some(whole)) => whole.score(evaluators, transcript, verdicts),
            (None, None) => return Scoring::not_selected(item),
        };
        scored.map_or_else(Scoring::Needs, Scoring::Scored)
    }

    fn score_failure(&self, item: ItemIndex, evaluators: &[Evaluator]) -> Scores {
        match (self.step(item), self.whole(item)) {
            (Some(step), _) => step.score_failure(evaluators),
            (None, Some(whole)) => whole.score_failure(evaluators),
            (None, None) => Scores::new(),
        }
    }

    /// A planning answer without a plan, or calls that cannot be merged, are invalid. A decision without calls is valid.
    fn is_invalid_format(&self, item: ItemIndex, _setting: &Setting, transcript: &Transcript) -> bool {
        match (self.step(item), self.whole(item)) {
            (Some(step), _) => scoring::answer(transcript).is_some_and(|answer| step.is_unreadable(&answer)),
            (None, Some(whole)) => whole.is_invalid_format(transcript),
            (None, None) => false,
        }
    }

    fn is_judged(&self, _evaluator: Evaluator, value: &str) -> bool {
        metrics::is_judged(value)
    }

    fn example_question(&self, _evaluators: &[Evaluator]) -> Option<Question> {
        // An example is enough: judges may be needed, depending on the answers.
        Some(question("any", Conversation { before: Vec::new(), prompt: String::new() }))
    }
}

impl Tables for Loaded {
    fn tabulate(&self, evaluator: Evaluator, trials: &[Vec<(ItemIndex, &Score)>]) -> Table {
        Table { aggregate: tabulation::aggregate(&self.data, &self.items, evaluator, trials), columns: Vec::new() }
    }

    fn aggregate_range(&self, _evaluator: Evaluator, pointer: &str) -> Option<(f64, f64)> {
        tables::aggregate_range(pointer)
    }

    fn metrics(&self, setting: &Setting, evaluator: Evaluator) -> Vec<Metric> {
        SessionMode::of(setting).map(|named| metrics::metrics(named.mode, evaluator)).unwrap_or_default()
    }

    fn paper_tables(&self, evaluator: Evaluator, cells: &[CellResult<'_>]) -> Vec<PaperTable> {
        tables::paper_tables(evaluator, cells)
    }
}

impl Predictions for Loaded {
    fn read_predictions(&self, file: &str, content: &[u8]) -> Result<Vec<(ItemIndex, Transcript)>, DataError> {
        predictions::transcripts(&self.data, &self.items, file, content)
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
        request: &ChatRequest,
    ) -> Reply {
        match (self.step(item), self.whole(item)) {
            (Some(step), _) => simulate::reply(&self.data, step.scenario, step.step, persona, seed),
            (None, Some(whole)) => whole.simulate(persona, seed, request),
            (None, None) => Reply::said(""),
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

impl Pictures for Loaded {
    fn drawings(
        &self,
        item: ItemIndex,
        _setting: &Setting,
        _evaluators: &[Evaluator],
        transcript: &Transcript,
        _verdicts: &dyn Verdicts,
    ) -> Vec<Drawing> {
        match (self.step(item), self.whole(item)) {
            (Some(step), _) => step.drawings(scoring::answer(transcript).as_ref()),
            (None, Some(whole)) => whole.drawings(transcript),
            (None, None) => Vec::new(),
        }
    }
}
