//! Scoring of a step's answer by each evaluator.

use std::collections::HashMap;

use regatta_benchmarks::{Drawing, Score, Scores, Verdicts, delegated};
use regatta_proto::{ChatRequest, Evaluator, Event, Question, Reply, Transcript};
use serde_json::Value;

use super::aggregate::{PaperStepValues, PlanValues, StepValues};
use super::data::{Data, Scenario, Suffix};
use super::decision::{Answer, Called, DecisionStep, Unsettled, decided, score_official, score_paper};
use super::extraction::{Extraction, extract};
use super::judge::{Conversation, Judging};
use super::metrics::derive;
use super::plan::{Costs, Extracted, drawings, score_step_official, score_step_paper};
use super::protocol::{Unresolved, decision_request, judge_conversation, judge_index, planning_request};

/// Number of judges that the paper asks; in details, a step that needs none has this many equal scores.
pub(crate) const PAPER_JUDGES: usize = 3;
/// Text that the official client of compatible servers puts in place of missing content
/// (docs/benchmarks/orchestrationbench.md §3.4).
const NO_CONTENT: &str = "\n\n";

/// Gold plans by position of their scenario and step; some planning steps have none.
#[derive(Debug, Default)]
pub(crate) struct GoldPlans {
    plans: HashMap<(usize, u32), Extraction>,
}

impl GoldPlans {
    /// Extracts the gold plans of a data set.
    pub(crate) fn of(data: &Data) -> Self {
        let mut plans = HashMap::new();
        for (position, scenario) in data.scenarios.iter().enumerate() {
            for step in &scenario.planning {
                let label = scenario.label(*step, Suffix::Message);
                if let Some(text) = label.and_then(|label| label.content.text()) {
                    plans.insert((position, *step), extract(text));
                }
            }
        }
        Self { plans }
    }

    /// Returns the gold plan of a step, if it has a readable one.
    fn plan(&self, position: usize, step: u32) -> Option<&regatta_pycompat::yaml::Dict> {
        self.plans.get(&(position, step)).and_then(Extraction::plan)
    }
}

/// A step of the data set.
#[derive(Clone, Copy)]
pub(crate) struct Step<'d> {
    /// The data.
    pub(crate) data: &'d Data,
    /// Gold plans of the data set.
    pub(crate) gold_plans: &'d GoldPlans,
    /// Position of the scenario.
    pub(crate) position: usize,
    /// The scenario.
    pub(crate) scenario: &'d Scenario,
    /// The step.
    pub(crate) step: u32,
    /// Id that judgements of the step refer to.
    pub(crate) item: &'d str,
}

/// Returns the answer of the model, or of the agent that did the step; `None` when the call failed.
pub(crate) fn answer(transcript: &Transcript) -> Option<Answer> {
    let is_recorded = transcript.events.iter().any(|event| matches!(event, Event::Recorded(_)));
    let reply = delegated::reply(transcript)?;
    Some(if is_recorded { Answer::of_reply(&reply) } else { of_call(&reply) })
}

/// Takes the answer from a reply as the official client does.
pub(crate) fn of_call(reply: &Reply) -> Answer {
    let mut answer = Answer::of_reply(reply);
    answer.text.get_or_insert_with(|| NO_CONTENT.to_owned());
    answer
}

impl Step<'_> {
    /// Returns the request at the step; `None` where the agent does not exist.
    pub(crate) fn request(&self) -> Option<ChatRequest> {
        if self.is_planning() {
            return Some(planning_request(self.data, self.scenario, self.step));
        }
        decision_request(self.data, self.scenario, self.step)
    }

    /// Scores an answer with `evaluators`.
    ///
    /// # Errors
    /// With the questions that judges must answer first.
    pub(crate) fn score(
        &self,
        answer: Option<&Answer>,
        evaluators: &[Evaluator],
        verdicts: &dyn Verdicts,
    ) -> Result<Scores, Vec<Question>> {
        let (mut scores, mut missing) = (Scores::new(), Vec::<Question>::new());
        for evaluator in evaluators {
            match self.score_one(answer, *evaluator, Judging::Verdicts(verdicts)) {
                Ok(score) => {
                    scores.insert(*evaluator, score);
                }
                Err(question) if !missing.contains(&question) => missing.push(*question),
                Err(_) => {}
            }
        }
        if missing.is_empty() { Ok(scores) } else { Err(missing) }
    }

    /// Scores a step without an answer.
    pub(crate) fn score_failure(&self, evaluators: &[Evaluator]) -> Scores {
        let one = |evaluator: &Evaluator| Some((*evaluator, self.score_one(None, *evaluator, Judging::Skip).ok()?));
        evaluators.iter().filter_map(one).collect()
    }

    fn score_one(
        &self,
        answer: Option<&Answer>,
        evaluator: Evaluator,
        judging: Judging<'_>,
    ) -> Result<Score, Box<Question>> {
        let (mut values, detail) = match evaluator {
            Evaluator::Official | Evaluator::OfficialFixed => {
                let (values, detail) = self.official(answer, judging)?;
                (values.to_values(), detail)
            }
            _ => {
                let (values, detail) = self.paper(answer, judging, PAPER_JUDGES)?;
                (values.to_values(), detail)
            }
        };
        let is_gold_call =
            !self.is_planning() && self.scenario.gold(self.step).is_some_and(|gold| !gold.calls.is_empty());
        derive(&mut values, is_gold_call);
        Ok(Score { values, detail })
    }

    /// Scores an answer with the official evaluator; returns the values and the entry in the golden files' `items`.
    ///
    /// # Errors
    /// With the question that a judge must answer first.
    pub(crate) fn official(
        &self,
        answer: Option<&Answer>,
        judging: Judging<'_>,
    ) -> Result<(StepValues, Value), Box<Question>> {
        if self.is_planning() {
            let plan = self.compare(answer, score_step_official);
            return Ok((StepValues::Plan(PlanValues::of(&plan)), plan.entry()));
        }
        let ask = |called: &Called, unsettled: &[Unsettled<'_>]| self.conversation(called, unsettled);
        let decision = score_official(self.decision(), answer, judging, ask)?;
        Ok((StepValues::Decision(decision.values()), decision.entry()))
    }

    /// Scores an answer with the paper's evaluator and `judges` judges; returns the values and the entry.
    ///
    /// # Errors
    /// With the question that a judge must answer first.
    pub(crate) fn paper(
        &self,
        answer: Option<&Answer>,
        judging: Judging<'_>,
        judges: usize,
    ) -> Result<(PaperStepValues, Value), Box<Question>> {
        if self.is_planning() {
            let plan = self.compare(answer, score_step_paper);
            return Ok((PaperStepValues::Plan(plan.score()), plan.entry()));
        }
        let ask = |called: &Called, unsettled: &[Unsettled<'_>]| self.conversation(called, unsettled);
        let decision = score_paper(self.decision(), answer, judging, ask)?;
        Ok((PaperStepValues::Decision(decision.values()), decision.entry(judges)))
    }

    /// Returns `true` if the answer is unreadable: without a plan at a planning step, or with calls whose arguments
    /// cannot be merged at a decision step.
    pub(crate) fn is_unreadable(&self, answer: &Answer) -> bool {
        if self.is_planning() {
            return answer.text.as_deref().is_none_or(|text| extract(text).plan().is_none());
        }
        decided(answer).is_err()
    }

    /// Draws the plan of an answer over the gold plan; empty at decision steps.
    pub(crate) fn drawings(&self, answer: Option<&Answer>) -> Vec<Drawing> {
        let gold = self.gold_plans.plan(self.position, self.step).filter(|_| self.is_planning());
        let Some(gold) = gold else { return Vec::new() };
        let extraction = answer.and_then(|answer| answer.text.as_deref()).map(extract);
        drawings(&format!("Plan of step {}", self.step), extraction.as_ref().and_then(Extraction::plan), gold)
    }

    /// Returns `true` for a planning step and `false` for a decision step.
    pub(crate) fn is_planning(&self) -> bool {
        self.scenario.planning.contains(&self.step)
    }

    fn compare<T>(
        &self,
        answer: Option<&Answer>,
        compare: fn(Option<&regatta_pycompat::yaml::Dict>, Extracted<'_>, &Costs) -> T,
    ) -> T {
        let gold = self.gold_plans.plan(self.position, self.step);
        let Some(answer) = answer else { return compare(gold, Extracted::Missing, &Costs::OFFICIAL) };
        let extraction = answer.text.as_deref().map_or(Extraction::None, extract);
        compare(gold, extraction.as_extracted(), &Costs::OFFICIAL)
    }

    fn decision(&self) -> DecisionStep<'_> {
        DecisionStep {
            item: self.item,
            gold: self.scenario.gold(self.step),
            agents: self.data.agents(self.scenario.language),
        }
    }

    fn conversation(&self, called: &Called, unsettled: &[Unsettled<'_>]) -> Conversation {
        let unresolved: Vec<Unresolved> = unsettled
            .iter()
            .map(|one| Unresolved {
                key: one.key.to_owned(),
                predicted: one.predicted.to_vec(),
                actual: one.actual.to_vec(),
            })
            .collect();
        let index = judge_index(self.scenario, self.step);
        let tools: Vec<&str> = called.tools().collect();
        let (before, prompt) = judge_conversation(self.data, self.scenario, self.step, &tools, index, &unresolved);
        Conversation { before, prompt }
    }
}
