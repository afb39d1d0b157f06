//! Plan scores of a run and of a scenario (docs/benchmarks/orchestrationbench.md §5.2, §5.3).

use serde_json::{Value as Json, json};

use super::sum::python_sum;

/// The planning steps of one scenario in one run.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct RunScore {
    /// Exception that drops the run; nothing else in it counts then.
    pub(crate) dropped: Option<&'static str>,
    /// Similarity of each step with gold, in order.
    pub(crate) overall: Vec<f64>,
    /// Similarities of structure graphs.
    pub(crate) structure: Vec<f64>,
    /// Similarities of component graphs.
    pub(crate) component: Vec<f64>,
    /// Number of failures.
    pub(crate) failed: u32,
}

impl RunScore {
    /// Number of steps that were compared.
    pub(crate) fn compared(&self) -> u32 {
        u32::try_from(self.overall.len()).unwrap_or(u32::MAX)
    }

    /// Entry of the run in golden vectors, under `runs`, `plan`.
    pub(crate) fn entry(&self) -> Json {
        match self.dropped {
            Some(class) => json!({ "dropped": true, "exception": class }),
            None => json!({
                "dropped": false, "scores": self.overall, "compared": self.compared(), "failed": self.failed,
            }),
        }
    }
}

/// Plan scores of a scenario over all runs, as in the official code. Nothing is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct ScenarioScore {
    /// `workflow_evaluation_with_failure`: the metric Plan.
    pub(crate) with_failure: f64,
    /// `workflow_evaluation_without_failure`.
    pub(crate) without_failure: f64,
    /// `average_structural_GED`.
    pub(crate) structural: f64,
    /// `average_component_GED`.
    pub(crate) component: f64,
    /// `failed_workflow_generation`.
    pub(crate) failed: u32,
    /// `total_comparison_steps_evaluated`.
    pub(crate) compared: u32,
}

impl ScenarioScore {
    /// Computes the scores from runs in order.
    pub(crate) fn of(runs: &[RunScore]) -> Self {
        let kept = || runs.iter().filter(|run| run.dropped.is_none());
        let sum = |values: fn(&RunScore) -> &Vec<f64>| python_sum(kept().flat_map(values).copied());
        let compared: u32 = kept().map(RunScore::compared).sum();
        let failed: u32 = kept().map(|run| run.failed).sum();
        let total = sum(|run| &run.overall);
        Self {
            with_failure: ratio(total, compared + failed),
            without_failure: ratio(total, compared),
            structural: ratio(sum(|run| &run.structure), compared),
            component: ratio(sum(|run| &run.component), compared),
            failed,
            compared,
        }
    }

    /// Entry of the plan scores in the official record of a scenario.
    pub(crate) fn entry(&self) -> Json {
        json!({
            "workflow_evaluation_with_failure": self.with_failure,
            "workflow_evaluation_without_failure": self.without_failure,
            "average_structural_GED": self.structural,
            "average_component_GED": self.component,
            "failed_workflow_generation": self.failed,
            "total_comparison_steps_evaluated": self.compared,
            "workflow_error": null,
        })
    }
}

fn ratio(sum: f64, of: u32) -> f64 {
    if of == 0 { 0.0 } else { sum / f64::from(of) }
}
