//! Scoring of all steps of the scenarios that the predictions cover.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use regatta_benchmarks::source_location::SourceLocation;
use regatta_benchmarks::{DataError, RecordedVerdicts};
use regatta_proto::Question;
use serde_json::{Map, Value};

use super::predictions::Prediction;
use crate::aggregate::{GoldCases, PaperScenario, Run, ScenarioRuns};
use crate::data::{Data, Scenario};
use crate::decision::Answer;
use crate::judge::Judging;
use crate::scoring::{GoldPlans, Step};

/// Predictions together with their scenarios.
pub(super) struct Replay<'a> {
    data: &'a Data,
    file: SourceLocation<'a>,
    verdicts: &'a RecordedVerdicts,
    runs: u32,
    gold_plans: GoldPlans,
    /// Scenarios with their positions, in the order of the data.
    scenarios: Vec<(usize, &'a Scenario)>,
    by_item: HashMap<&'a str, &'a Prediction>,
}

/// One step of one run.
struct StepOfRun<'a> {
    position: usize,
    scenario: &'a Scenario,
    step: u32,
    item: String,
    prediction: Option<&'a Prediction>,
}

impl<'a> StepOfRun<'a> {
    fn answer(&self) -> Option<&'a Answer> {
        self.prediction.and_then(|prediction| prediction.answer.as_ref())
    }
}

impl<'a> Replay<'a> {
    pub(super) fn new(
        data: &'a Data,
        file: SourceLocation<'a>,
        predictions: &'a [Prediction],
        runs: u32,
        verdicts: &'a RecordedVerdicts,
    ) -> Self {
        let named: HashSet<String> = predictions.iter().map(|prediction| prediction.scenario.name()).collect();
        let scenarios = data.scenarios.iter().map(Arc::as_ref).enumerate();
        let scenarios = scenarios.filter(|(_, scenario)| named.contains(&scenario.name()));
        let by_item = predictions.iter().map(|prediction| (prediction.item.as_str(), prediction)).collect();
        Self { data, file, verdicts, runs, gold_plans: GoldPlans::of(data), scenarios: scenarios.collect(), by_item }
    }

    /// Scores every step with the official evaluator; returns the values by scenario and the entries by item.
    pub(super) fn official(&self, judging: Judging<'_>) -> Result<(Vec<ScenarioRuns>, Map<String, Value>), DataError> {
        let mut items = Map::new();
        let mut scenarios = Vec::with_capacity(self.scenarios.len());
        for (position, scenario) in &self.scenarios {
            let mut runs = Vec::new();
            for run in 1..=self.runs {
                let mut steps = Vec::new();
                for step in self.steps(*position, scenario, run) {
                    let scored = self.step(&step).official(step.answer(), judging);
                    let (values, entry) = scored.map_err(|question| self.not_recorded(&step, &question))?;
                    steps.push(values);
                    items.insert(step.item, entry);
                }
                runs.push(Run::of(GoldCases::of(scenario), steps));
            }
            scenarios.push(ScenarioRuns { id: scenario.id.to_string(), runs });
        }
        Ok((scenarios, items))
    }

    /// Scores every step with the paper's evaluator; returns the values by scenario and the entries by item.
    pub(super) fn paper(
        &self,
        judging: Judging<'_>,
        judges: usize,
    ) -> Result<(Vec<PaperScenario>, Map<String, Value>), DataError> {
        let mut items = Map::new();
        let mut scenarios = Vec::with_capacity(self.scenarios.len());
        for (position, scenario) in &self.scenarios {
            let mut steps = Vec::new();
            for step in (1..=self.runs).flat_map(|run| self.steps(*position, scenario, run)) {
                let scored = self.step(&step).paper(step.answer(), judging, judges);
                let (values, entry) = scored.map_err(|question| self.not_recorded(&step, &question))?;
                steps.push(values);
                items.insert(step.item, entry);
            }
            scenarios.push(PaperScenario { id: scenario.id.to_string(), steps });
        }
        Ok((scenarios, items))
    }

    /// Returns the steps of a run at which a model is asked, in order.
    fn steps(&self, position: usize, scenario: &'a Scenario, run: u32) -> Vec<StepOfRun<'a>> {
        let planning = scenario.planning.iter().map(|step| (*step, true));
        let decisions = scenario.decisions.iter().map(|decision| (decision.step, decision.is_asked));
        let all: BTreeMap<u32, bool> = decisions.chain(planning).collect();
        let steps = all.into_iter().filter_map(|(step, is_asked)| {
            let item = format!("{}/{run}/{step}", scenario.name());
            let prediction = self.by_item.get(item.as_str()).copied();
            (is_asked || prediction.is_some()).then_some(StepOfRun { position, scenario, step, item, prediction })
        });
        steps.collect()
    }

    fn step<'s>(&'s self, step: &'s StepOfRun<'_>) -> Step<'s> {
        let StepOfRun { position, scenario, step, item, .. } = step;
        Step { data: self.data, gold_plans: &self.gold_plans, position: *position, scenario, step: *step, item }
    }

    fn not_recorded(&self, step: &StepOfRun<'_>, question: &Question) -> DataError {
        let place = step.prediction.map_or_else(|| self.file.clone(), |prediction| self.file.line(prediction.line));
        match self.verdicts.missing(question) {
            Some(_) => place.problem(format!(
                "no judgement about the arguments of {} is recorded; add it with the judge's response to judge.jsonl",
                step.item
            )),
            None => place.problem(format!("what judge.jsonl holds about {} is no judgement of arguments", step.item)),
        }
    }
}
