//! Runs and scenarios of the official evaluator (docs/benchmarks/orchestrationbench.md §5.2 to §5.6).

use super::rounding::round4;
use super::step_values::{CallValues, DecisionValues, PlanValues, StepValues};
use crate::data::{Scenario, Suffix};
use crate::decision::{Confusion, Crash};
use crate::plan::{RunScore, ScenarioScore, python_sum};

/// The runs of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScenarioRuns {
    /// Id without the language.
    pub(crate) id: String,
    /// Runs in order.
    pub(crate) runs: Vec<Run>,
}

/// Number of decisions of each kind in the labels of a scenario, those of agents that do not exist included. A call
/// with unreadable arguments counts as a call here, but as a rejection elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct GoldCases {
    /// Decisions without calls, which are rejections.
    pub(crate) rejections: u32,
    /// Decisions with calls.
    pub(crate) calls: u32,
}

impl GoldCases {
    /// Counts the whole scenario, as the official code does.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        Self::of_steps(scenario, |_| true)
    }

    /// Counts a run in which only the steps that `is_scored` accepts were asked and measured, so that a model is not
    /// charged with steps that it was never asked. Steps of agents that do not exist count when all other steps were
    /// scored.
    pub(crate) fn of_run(scenario: &Scenario, is_scored: impl Fn(u32) -> bool) -> Self {
        let asked = scenario.decisions.iter().filter(|decision| decision.is_asked).map(|decision| decision.step);
        let is_whole = asked.chain(scenario.planning.iter().copied()).all(&is_scored);
        Self::of_steps(scenario, |step| is_whole || is_scored(step))
    }

    fn of_steps(scenario: &Scenario, is_counted: impl Fn(u32) -> bool) -> Self {
        let mut cases = Self::default();
        for ((step, suffix), entry) in &scenario.labels {
            if *suffix == Suffix::Message && entry.agent.is_some() && is_counted(*step) {
                match scenario.label(*step, Suffix::Call) {
                    Some(_) => cases.calls += 1,
                    None => cases.rejections += 1,
                }
            }
        }
        cases
    }
}

/// One run of a scenario: the steps of each kind in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Run {
    /// Counts of the scenario's labels, restricted to the scored steps.
    pub(crate) gold: GoldCases,
    /// Planning steps.
    pub(crate) plans: Vec<PlanValues>,
    /// Decision steps.
    pub(crate) decisions: Vec<DecisionValues>,
}

impl Run {
    /// Sorts steps, given in order, by kind.
    pub(crate) fn of(gold: GoldCases, steps: impl IntoIterator<Item = StepValues>) -> Self {
        let mut run = Self { gold, ..Self::default() };
        for step in steps {
            match step {
                StepValues::Plan(plan) => run.plans.push(plan),
                StepValues::Decision(decision) => run.decisions.push(decision),
            }
        }
        run
    }

    /// Scores the plans; a run with an exception is dropped.
    pub(crate) fn plan(&self) -> RunScore {
        let unreadable = self.plans.iter().filter(|plan| plan.is_unreadable).find_map(|plan| plan.exception);
        if let Some(exception) = unreadable.or_else(|| self.plans.iter().find_map(|plan| plan.exception)) {
            return RunScore { dropped: Some(exception.name()), ..RunScore::default() };
        }
        let of = |value: fn(&PlanValues) -> f64| self.plans.iter().filter(|plan| plan.has_gold).map(value).collect();
        RunScore {
            dropped: None,
            overall: of(|plan| plan.overall),
            structure: of(|plan| plan.structure),
            component: of(|plan| plan.component),
            failed: self.plans.iter().map(|plan| plan.failures).sum(),
        }
    }

    /// Scores the decisions.
    ///
    /// # Errors
    /// The first exception of the official code.
    pub(crate) fn decisions(&self) -> Result<RunDecisions, Crash> {
        if let Some(crash) = self.decisions.iter().find_map(|decision| decision.crash.as_ref()) {
            return Err(crash.clone());
        }
        let mut confusion = Confusion::default();
        for decision in self.decisions.iter().filter(|decision| decision.is_answered) {
            confusion += decision.confusion;
        }
        let calls: Vec<CallValues> = self.decisions.iter().filter_map(|decision| decision.call).collect();
        let right: Vec<f64> = calls.iter().map(|call| call.value_f1).filter(|f1| *f1 > 0.0).collect();
        Ok(RunDecisions {
            name: round4(mean(calls.iter().map(|call| call.name_f1))),
            key: round4(mean(calls.iter().map(|call| call.key_f1))),
            value: ratio(python_sum(right.iter().copied()), right.len()),
            perfect: perfect(&calls),
            confusion,
            gold: self.gold,
        })
    }
}

/// Scores of a run's decisions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RunDecisions {
    /// Mean F1 of tool names over the calls where a call is right, rounded.
    pub(crate) name: f64,
    /// Mean F1 of argument keys over the same calls, rounded.
    pub(crate) key: f64,
    /// Mean of the value F1s above zero, not rounded.
    pub(crate) value: f64,
    /// Calls that the official code counts as perfect; no score depends on it.
    pub(crate) perfect: u32,
    /// Counts of calls and rejections.
    pub(crate) confusion: Confusion,
    /// Counts of the labels, restricted to the scored steps.
    pub(crate) gold: GoldCases,
}

/// Scores of a scenario's decisions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ScenarioDecisions {
    /// `function_name_accuracy`.
    pub(crate) name: f64,
    /// `arguments_key_score`.
    pub(crate) key: f64,
    /// `arguments_value_score_not_count_rejection`.
    pub(crate) value: f64,
    /// Sum of the runs' perfect calls.
    pub(crate) perfect: u32,
    /// Sum of the runs' counts.
    pub(crate) confusion: Confusion,
    /// Sum of the runs' gold cases.
    pub(crate) gold: GoldCases,
}

impl ScenarioRuns {
    /// Scores the plans of all runs.
    pub(crate) fn plan(&self) -> ScenarioScore {
        let runs: Vec<RunScore> = self.runs.iter().map(Run::plan).collect();
        ScenarioScore::of(&runs)
    }

    /// Scores the decisions of all runs.
    ///
    /// # Errors
    /// The first exception of any run; the scenario then has neither scores nor counts.
    pub(crate) fn decisions(&self) -> Result<ScenarioDecisions, Crash> {
        let runs = self.runs.iter().map(Run::decisions).collect::<Result<Vec<_>, _>>()?;
        let (mut confusion, mut gold) = (Confusion::default(), GoldCases::default());
        for run in &runs {
            confusion += run.confusion;
            gold.rejections += run.gold.rejections;
            gold.calls += run.gold.calls;
        }
        Ok(ScenarioDecisions {
            name: round4(mean(runs.iter().map(|run| run.name))),
            key: round4(mean(runs.iter().map(|run| run.key))),
            value: round4(mean(runs.iter().map(|run| run.value))),
            perfect: runs.iter().map(|run| run.perfect).sum(),
            confusion,
            gold,
        })
    }
}

/// Mean with the terms added in order; 0 for an empty list.
fn mean(numbers: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = numbers.len();
    ratio(numbers.fold(0.0, |sum, number| sum + number), count)
}

fn ratio(sum: f64, count: usize) -> f64 {
    if count == 0 { 0.0 } else { sum / count as f64 }
}

/// The official code lists the values of judged steps first and the keys in the order of the steps, and compares the
/// two position by position.
fn perfect(calls: &[CallValues]) -> u32 {
    let values = calls.iter().filter(|call| call.is_judged).chain(calls.iter().filter(|call| !call.is_judged));
    let both = calls.iter().zip(values).filter(|(key, value)| key.key_f1 == 1.0 && value.value_f1 == 1.0);
    u32::try_from(both.count()).unwrap_or(u32::MAX)
}
