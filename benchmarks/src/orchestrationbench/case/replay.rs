//! Every step of the scenarios that predictions are about, scored.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use regatta_proto::Question;
use serde_json::{Map, Value};

use super::predictions::Prediction;
use crate::orchestrationbench::aggregate::{
    GoldCases, PaperScenario, PaperStepValues, PlanValues, Run, ScenarioRuns, StepValues,
};
use crate::orchestrationbench::data::{Data, Scenario, Suffix};
use crate::orchestrationbench::decision::{Answer, Called, DecisionStep, Unsettled, score_official, score_paper};
use crate::orchestrationbench::extraction::{Extraction, extract};
use crate::orchestrationbench::judge::{Conversation, Judging};
use crate::orchestrationbench::plan::{Costs, Extracted, PlanStep, score_step_official, score_step_paper};
use crate::orchestrationbench::protocol::{Unresolved, judge_conversation, judge_index};
use crate::place::Place;
use crate::{DataError, RecordedVerdicts};

/// Predictions laid beside their scenarios.
pub(super) struct Replay<'a> {
    data: &'a Data,
    file: Place<'a>,
    verdicts: &'a RecordedVerdicts,
    runs: u32,
    /// In the order of the data.
    scenarios: Vec<&'a Scenario>,
    by_item: HashMap<&'a str, &'a Prediction>,
}

/// One step of one run.
struct StepOfRun<'a> {
    scenario: &'a Scenario,
    step: u32,
    item: String,
    is_planning: bool,
    prediction: Option<&'a Prediction>,
}

impl<'a> StepOfRun<'a> {
    fn answer(&self) -> Option<&'a Answer> {
        self.prediction.and_then(|prediction| prediction.answer.as_ref())
    }
}

/// How plans are compared.
type ComparePlans = fn(Option<&crate::python::yaml::Dict>, Extracted<'_>, &Costs) -> PlanStep;

impl<'a> Replay<'a> {
    pub(super) fn new(
        data: &'a Data,
        file: Place<'a>,
        predictions: &'a [Prediction],
        runs: u32,
        verdicts: &'a RecordedVerdicts,
    ) -> Self {
        let named: HashSet<String> = predictions.iter().map(|prediction| prediction.scenario.name()).collect();
        let scenarios = data.scenarios.iter().map(Arc::as_ref).filter(|scenario| named.contains(&scenario.name()));
        let by_item = predictions.iter().map(|prediction| (prediction.item.as_str(), prediction)).collect();
        Self { data, file, verdicts, runs, scenarios: scenarios.collect(), by_item }
    }

    /// The values of the official evaluator, and its entries by item.
    pub(super) fn official(&self, judging: Judging<'_>) -> Result<(Vec<ScenarioRuns>, Map<String, Value>), DataError> {
        let mut items = Map::new();
        let mut scenarios = Vec::with_capacity(self.scenarios.len());
        for scenario in &self.scenarios {
            let gold = GoldPlans::of(scenario);
            let mut runs = Vec::new();
            for run in 1..=self.runs {
                let mut steps = Vec::new();
                for step in self.steps(scenario, run) {
                    let (values, entry) = if step.is_planning {
                        let plan = gold.compare(&step, score_step_official);
                        (StepValues::Plan(PlanValues::of(&plan)), plan.entry())
                    } else {
                        let decision =
                            score_official(self.decision(&step), step.answer(), judging, |called, unsettled| {
                                self.conversation(&step, called, unsettled)
                            })
                            .map_err(|question| self.not_recorded(&step, &question))?;
                        (StepValues::Decision(decision.values()), decision.entry())
                    };
                    steps.push(values);
                    items.insert(step.item, entry);
                }
                runs.push(Run::of(steps));
            }
            scenarios.push(ScenarioRuns { id: scenario.id.to_string(), gold: GoldCases::of(scenario), runs });
        }
        Ok((scenarios, items))
    }

    /// The values of the paper's evaluator, and its entries by item.
    pub(super) fn paper(
        &self,
        judging: Judging<'_>,
        judges: usize,
    ) -> Result<(Vec<PaperScenario>, Map<String, Value>), DataError> {
        let mut items = Map::new();
        let mut scenarios = Vec::with_capacity(self.scenarios.len());
        for scenario in &self.scenarios {
            let gold = GoldPlans::of(scenario);
            let mut steps = Vec::new();
            for step in (1..=self.runs).flat_map(|run| self.steps(scenario, run)) {
                let (values, entry) = if step.is_planning {
                    let plan = gold.compare(&step, score_step_paper);
                    (PaperStepValues::Plan(plan.score()), plan.entry())
                } else {
                    let decision = score_paper(self.decision(&step), step.answer(), judging, |called, unsettled| {
                        self.conversation(&step, called, unsettled)
                    })
                    .map_err(|question| self.not_recorded(&step, &question))?;
                    (PaperStepValues::Decision(decision.values()), decision.entry(judges))
                };
                steps.push(values);
                items.insert(step.item, entry);
            }
            scenarios.push(PaperScenario { id: scenario.id.to_string(), steps });
        }
        Ok((scenarios, items))
    }

    /// The steps of a run at which a model is asked, in their order.
    fn steps(&self, scenario: &'a Scenario, run: u32) -> Vec<StepOfRun<'a>> {
        let planning = scenario.planning.iter().map(|step| (*step, true, true));
        let decisions = scenario.decisions.iter().map(|decision| (decision.step, false, decision.is_asked));
        let all: BTreeMap<u32, (bool, bool)> =
            decisions.chain(planning).map(|(step, is_planning, is_asked)| (step, (is_planning, is_asked))).collect();
        let steps = all.into_iter().filter_map(|(step, (is_planning, is_asked))| {
            let item = format!("{}/{run}/{step}", scenario.name());
            let prediction = self.by_item.get(item.as_str()).copied();
            (is_asked || prediction.is_some()).then_some(StepOfRun { scenario, step, item, is_planning, prediction })
        });
        steps.collect()
    }

    fn decision<'s>(&'s self, step: &'s StepOfRun<'_>) -> DecisionStep<'s> {
        DecisionStep {
            item: &step.item,
            gold: step.scenario.gold(step.step),
            agents: self.data.agents(step.scenario.language),
        }
    }

    fn conversation(&self, step: &StepOfRun<'_>, called: &Called, unsettled: &[Unsettled<'_>]) -> Conversation {
        let unresolved: Vec<Unresolved> = unsettled
            .iter()
            .map(|one| Unresolved {
                key: one.key.to_owned(),
                predicted: one.predicted.to_vec(),
                actual: one.actual.to_vec(),
            })
            .collect();
        let index = judge_index(step.scenario, step.step);
        let (before, prompt) =
            judge_conversation(self.data, step.scenario, step.step, &called.names, index, &unresolved);
        Conversation { before, prompt }
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

/// Gold plans of a scenario by step: of most planning steps.
struct GoldPlans {
    by_step: BTreeMap<u32, Extraction>,
}

impl GoldPlans {
    fn of(scenario: &Scenario) -> Self {
        let plan = |step: &u32| {
            let text = scenario.label(*step, Suffix::Message)?.content.text()?;
            Some((*step, extract(text)))
        };
        Self { by_step: scenario.planning.iter().filter_map(plan).collect() }
    }

    fn compare(&self, step: &StepOfRun<'_>, compare: ComparePlans) -> PlanStep {
        let gold = self.by_step.get(&step.step).and_then(Extraction::plan);
        let Some(answer) = step.answer() else { return compare(gold, Extracted::Missing, &Costs::OFFICIAL) };
        let extraction = answer.text.as_deref().map_or(Extraction::None, extract);
        compare(gold, extraction.as_extracted(), &Costs::OFFICIAL)
    }
}
