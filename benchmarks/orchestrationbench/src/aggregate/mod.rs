//! Aggregation from steps to a language (docs/benchmarks/orchestrationbench.md §5.2 to §5.7, §6): values of steps
//! that are stored as numbers, and the aggregate of each evaluator.

mod official;
mod official_record;
mod paper;
mod rounding;
mod statistics;
mod step_values;
#[cfg(test)]
mod tests;

pub(crate) use self::official::{GoldCases, Run, ScenarioRuns};
pub(crate) use self::official_record::{run_record, scenario_record};
pub(crate) use self::paper::{PaperScenario, aggregate_paper};
pub(crate) use self::statistics::{KeyMetrics, aggregate_official};
pub(crate) use self::step_values::{
    CallValues, DecisionValues, PaperDecisionValues, PaperStepValues, PlanValues, StepValues,
};
