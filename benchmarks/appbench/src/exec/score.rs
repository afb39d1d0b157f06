//! Comparison of an executed plan with the true calls (docs/benchmarks/appbench.md §7, step 6).

use serde_json::{Value, json};

use super::counts::Counts;
use super::outcome::Outcome;
use super::plan::{Execution, execute};
use super::schedule::Schedule;
use super::world::Executed;
use crate::data::{Data, Entry};

/// The score of one item.
#[derive(Debug, Clone)]
pub(crate) struct ExecScore {
    /// Executed calls that are true ones, each counted as often as it is true.
    pub(crate) hit: usize,
    /// Executed calls.
    pub(crate) pred: usize,
    /// True calls.
    pub(crate) gold: usize,
    /// True if there was no error, and the executed calls are the true ones.
    pub(crate) success: bool,
    /// The executed and refused calls, and the world after them.
    pub(crate) execution: Execution,
}

/// Executes a plan and scores what happened.
pub(crate) fn score(data: &Data, entry: &Entry, text: &str) -> ExecScore {
    let execution = execute(data, entry, text);
    let counts = Counts::of(execution.calls.iter().map(|done| &done.call), &entry.gold);
    let success = execution.errors.is_empty() && counts.all_hit();
    ExecScore { hit: counts.hit, pred: counts.pred, gold: counts.gold, success, execution }
}

impl ExecScore {
    /// The item's entry in the shape of the golden files.
    pub(crate) fn golden(&self) -> Value {
        let done = &self.execution.calls;
        let calls: Vec<Value> = done.iter().map(|done| call_json(&done.call)).collect();
        let errors: Vec<Value> =
            self.execution.errors.iter().map(|(position, refusal)| json!([position, refusal.as_str()])).collect();
        let warnings: Vec<Value> = done
            .iter()
            .flat_map(|done| done.call.warnings.iter().map(|warning| (done.position, warning)))
            .map(|(position, warning)| json!([position, warning.kind(), warning.argument()]))
            .collect();
        json!({
            "calls": calls, "errors": errors, "warnings": warnings,
            "hit": self.hit, "pred": self.pred, "gold": self.gold, "success": u8::from(self.success),
        })
    }

    /// The same as [`Self::golden`], with the schedule of steps, their number, and the calls with side effects.
    pub(crate) fn detail(&self) -> Value {
        let schedule = Schedule::of(&self.execution);
        let ledger: Vec<Value> = self.execution.world.ledger().iter().map(call_json).collect();
        let mut detail = self.golden();
        if let Value::Object(fields) = &mut detail {
            fields.insert("makespan".to_owned(), json!(schedule.makespan()));
            fields.insert("schedule".to_owned(), json!(schedule.steps));
            fields.insert("ledger".to_owned(), json!(ledger));
        }
        detail
    }

    /// Counts that enter sums.
    pub(crate) fn outcome(&self) -> Outcome {
        let makespan = Some(Schedule::of(&self.execution).makespan());
        let (hit, pred, gold) = (self.hit, self.pred, self.gold);
        Outcome { hit, pred, gold, success: self.success, has_error: self.has_error(), makespan }
    }

    /// True if some call was not executed.
    pub(crate) fn has_error(&self) -> bool {
        !self.execution.errors.is_empty()
    }
}

fn call_json(call: &Executed) -> Value {
    json!([call.app, call.api, call.inputs])
}
