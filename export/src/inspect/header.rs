//! Head of a log: the task that was run, and its results.

use std::collections::BTreeMap;

use regatta_proto::{Cell, SweepState};
use serde_json::{Map, Value, json};

use super::sample::Sample;
use super::usage::{self, Sum, Sums};
use super::{events::drop_nothing, moment};
use crate::documents::{SummaryMetric, SummaryRow};
use crate::error::ExportError;
use crate::ids::derived;
use crate::run::Run;

/// Version of the format.
const VERSION: u32 = 2;

/// A log's header, with sums over its samples.
pub(super) struct Header {
    /// Cell of the first trial.
    cell: Cell,
    row: SummaryRow,
    by_model: Sums,
    by_role: Sums,
    /// Sessions without a score, by cause.
    errors: BTreeMap<String, u64>,
}

impl Header {
    pub(super) fn new(run: &Run, cell: &Cell) -> Result<Self, ExportError> {
        let missing = || {
            let Cell { benchmark, setting, model, .. } = cell;
            let problem = format!("it has no row of {benchmark} {setting} {model}, of which there are sessions");
            ExportError::content(&run.directory.join("summary.json"), problem)
        };
        Ok(Self {
            cell: cell.clone(),
            row: run.row(cell).ok_or_else(missing)?.clone(),
            by_model: Sums::new(),
            by_role: Sums::new(),
            errors: BTreeMap::new(),
        })
    }

    /// `true` if sessions of `cell` are samples of this log.
    pub(super) fn is_of(&self, cell: &Cell) -> bool {
        (&self.cell.benchmark, &self.cell.setting, &self.cell.model) == (&cell.benchmark, &cell.setting, &cell.model)
    }

    /// In the form that the format's own tools list: time, task and id.
    pub(super) fn file_name(&self, run: &Run) -> String {
        let plain = |text: String| -> String {
            text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect()
        };
        let time = run.summary.created_at.strftime("%Y-%m-%dT%H-%M-%S+00-00").to_string();
        let task = plain(format!("{}-{}-{}", self.cell.benchmark, self.cell.setting, self.cell.model));
        format!("{}_{task}_{}.eval", time, self.task_id(run))
    }

    fn task_id(&self, run: &Run) -> String {
        let Cell { benchmark, setting, model, .. } = &self.cell;
        derived(11, &["task", run.summary.sweep.as_str(), benchmark.as_str(), setting.as_str(), &model.to_string()])
    }

    /// Adds the usage of `sample`, and its error.
    pub(super) fn add(&mut self, sample: &Sample) {
        for (all, of_sample) in [(&mut self.by_model, &sample.by_model), (&mut self.by_role, &sample.by_role)] {
            for (name, sum) in of_sample {
                all.entry(name.clone()).or_insert(Sum::NONE).add(sum.usage, sum.cost);
            }
        }
        if let Some(cause) = &sample.unmeasured {
            *self.errors.entry(cause.clone()).or_default() += 1;
        }
    }

    /// `_journal/start.json`.
    pub(super) fn start(&self, run: &Run) -> Value {
        json!({"version": VERSION, "eval": self.eval(run), "plan": plan()})
    }

    /// `header.json`.
    pub(super) fn document(&self, run: &Run) -> Value {
        let (status, error) = self.status(run);
        let mut document = json!({
            "version": VERSION,
            "status": status,
            "eval": self.eval(run),
            "plan": plan(),
            "results": self.results(),
            "stats": {
                "started_at": moment(run.summary.created_at),
                "completed_at": moment(run.summary.ended_at),
                "model_usage": usage::document(&self.by_model),
                "role_usage": usage::document(&self.by_role),
            },
            "invalidated": false,
        });
        if let Some(message) = error {
            document["error"] = json!({"message": message, "traceback": message, "traceback_ansi": message});
        }
        document
    }

    fn eval(&self, run: &Run) -> Value {
        let Cell { benchmark, setting, model, .. } = &self.cell;
        let locked = run.lock.benchmarks.get(benchmark);
        let mut eval = json!({
            "eval_id": derived(11, &["eval", &self.task_id(run)]),
            "run_id": derived(11, &["run", run.summary.sweep.as_str()]),
            "created": moment(run.summary.created_at),
            "task": format!("{benchmark}/{setting}"),
            "task_id": self.task_id(run),
            "task_version": 0,
            "task_display_name": format!("{benchmark} · {setting}"),
            "task_attribs": {},
            "task_args": {"benchmark": benchmark, "setting": setting},
            "task_args_passed": {"benchmark": benchmark, "setting": setting},
            "dataset": {"name": benchmark, "samples": self.row.items, "shuffled": false},
            "model": model.to_string(),
            "model_generate_config": self.generate_config(run),
            "model_args": {},
            "config": {"epochs": run.lock.trials, "fail_on_error": false, "log_samples": true},
            "packages": {"regatta": run.lock.regatta},
            "metadata": {
                "sweep": run.summary.sweep,
                "state": run.summary.state,
                "seed": run.lock.seed,
                "dataset_digest": locked.map(|locked| locked.dataset.to_string()),
                "evaluators": locked.map(|locked| &locked.evaluators),
                "judge": self.row.judge,
                "simulated": self.row.simulated,
                "coverage": self.row.coverage,
                "cells": run.cells.iter().filter(|cell| self.is_of(cell)).map(|cell| cell.index.0).collect::<Vec<_>>(),
            },
        });
        drop_nothing(&mut eval["metadata"]);
        eval
    }

    fn generate_config(&self, run: &Run) -> Value {
        let model = run.lock.model(&self.cell.model);
        let mut config = json!({
            "temperature": model.and_then(|model| model.temperature),
            "top_p": model.and_then(|model| model.top_p),
            "max_tokens": model.and_then(|model| model.max_tokens),
        });
        drop_nothing(&mut config);
        config
    }

    /// Each metric is a score of its own.
    fn results(&self) -> Value {
        let sessions = &self.row.sessions;
        let metrics = self.row.metrics.iter();
        let (headline, others): (Vec<_>, Vec<_>) = metrics.partition(|metric| metric.headline);
        json!({
            "total_samples": sessions.total,
            "completed_samples": sessions.scored(),
            "scores": headline.into_iter().chain(others).map(score).collect::<Vec<_>>(),
        })
    }

    /// A log has an error where sessions have no score: its numbers are of the others.
    fn status(&self, run: &Run) -> (&'static str, Option<String>) {
        let counts = self.row.sessions;
        let missing = counts.total - counts.scored();
        if missing == 0 {
            return ("success", None);
        }
        if run.summary.state == SweepState::Cancelled {
            return ("cancelled", None);
        }
        let mut reasons: Vec<String> = self.errors.iter().map(|(cause, count)| format!("{count} × {cause}")).collect();
        if counts.not_run > 0 {
            reasons.push(format!("{} not run", counts.not_run));
        }
        let total = counts.total;
        ("error", Some(format!("{missing} of {total} sessions have no score: {}", reasons.join(", "))))
    }
}

fn plan() -> Value {
    json!({"name": "plan", "steps": [{"solver": "regatta", "params": {}, "params_passed": {}}], "config": {}})
}

/// A metric without a value has no number here. One that is withheld has its bounds in the place of its value, which is in the metadata.
fn score(metric: &SummaryMetric) -> Value {
    let name = if metric.of_sums { "ratio_of_sums" } else { "mean" };
    let numbers = [(name, metric.value), ("ci_low", metric.low), ("ci_high", metric.high)];
    let bounds = [("withheld_bound_low", metric.bound_low), ("withheld_bound_high", metric.bound_high)];
    let shown = if metric.withheld { &bounds[..] } else { &numbers[..] };
    let number = |(name, value): &(&str, Option<f64>)| {
        value.map(|value| ((*name).to_owned(), json!({"name": name, "value": value})))
    };
    let mut metadata = json!({"items": metric.n, "headline": metric.headline});
    if metric.withheld {
        let why = format!("{} of {} sessions measured, below the sweep's minimum", metric.scored, metric.total);
        let values: Map<_, _> = numbers.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        metadata["withheld"] = json!({"why": why, "values": values});
    }
    // Two evaluators may have metrics of one name.
    let of_evaluator = format!("{}.{}", metric.evaluator, metric.metric);
    json!({
        "name": of_evaluator,
        "scorer": of_evaluator,
        "scored_samples": metric.scored,
        "unscored_samples": metric.total - metric.scored,
        "params": {},
        "metrics": shown.iter().filter_map(number).collect::<Map<_, _>>(),
        "metadata": metadata,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_withheld_is_no_mean_of_the_log() {
        let metric = |withheld: bool| -> SummaryMetric {
            serde_json::from_value(json!({
                "evaluator": "official", "metric": "f1", "headline": true, "value": 1.0, "low": 0.1, "high": 1.0, "n": 1,
                "scored": 8, "total": 35, "bound_low": 0.2, "bound_high": 1.0, "withheld": withheld,
            }))
            .unwrap()
        };
        let told = score(&metric(false));
        assert_eq!((&told["metrics"]["mean"]["value"], &told["metadata"]["withheld"]), (&json!(1.0), &Value::Null));
        let told = score(&metric(true));
        let names: Vec<&String> = told["metrics"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["withheld_bound_low", "withheld_bound_high"]);
        assert_eq!(told["metadata"]["withheld"]["why"], "8 of 35 sessions measured, below the sweep's minimum");
        assert_eq!(told["metadata"]["withheld"]["values"]["mean"], 1.0);
    }
}
