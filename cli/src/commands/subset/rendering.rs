//! Subsets and their estimates as people read them, in at most 100 columns.

use std::collections::BTreeSet;
use std::path::Path;

use regatta_benchmarks::Unit;
use regatta_proto::counted;

use super::document::SubsetDocument;
use super::estimating::Estimates;
use crate::figures::grouped;
use crate::plain_table::{fitted, plain_table};

/// Said wherever a subset is written.
pub(super) const NOT_BY_ITSELF: &str = "no run and no report uses it by itself";

/// The way to run the items of `subset` alone, which is in the file `path`.
pub(super) fn way_to_run(subset: &SubsetDocument, path: &Path) -> String {
    format!(
        "to run these items alone, list them in a spec, as `items` of benchmarks.{} with the setting {}: jq -c '[.items[].item]' {} writes the list",
        subset.benchmark,
        subset.setting,
        path.display()
    )
}

/// A chosen subset with the models that were held out.
pub(super) fn chosen(subset: &SubsetDocument) -> String {
    let (unit, errors, count) = (subset.metric.unit, &subset.errors, subset.items.len());
    let mut table = plain_table();
    let random = format!("{count} random");
    table.set_header(["model", "all items", "estimate", "error", random.as_str()]);
    for of in &subset.held_out {
        table.add_row([
            of.model.to_string(),
            value(of.whole, unit),
            value(of.estimate, unit),
            signed(of.error, unit),
            size(of.random_error, unit),
        ]);
    }
    let mut lines = vec![
        format!("{count} of {} items stand for all of them:", grouped(subset.whole.items as u64)),
        about(subset),
        fitted(table),
        "Each model was held out: the items of its estimate were chosen by the others.".to_owned(),
        format!(
            "Off by {} in the mean and {} at worst; {count} random items by {} and {}.",
            size(errors.mean, unit),
            size(errors.worst, unit),
            size(errors.random_mean, unit),
            size(errors.random_worst, unit)
        ),
        format!(
            "A further model like these is off by more than {} about once in {}.",
            size(errors.worst, unit),
            errors.different_models + 1
        ),
    ];
    let alike = subset.held_out.len().saturating_sub(errors.different_models);
    if alike > 0 {
        let models = counted(alike as u64, "model answers", "models answer");
        lines.push(format!("{models} every item as another one does: held out with it, and counted once."));
    }
    if errors.mean >= errors.random_mean {
        lines.push("Random items err no more: this history does not tell which items stand for others.".to_owned());
    }
    lines.extend(groups(subset));
    lines.extend(missing(subset));
    lines.join("\n")
}

/// Estimates of the whole from a run of a subset.
pub(super) fn estimated(subset: &SubsetDocument, estimates: &Estimates) -> String {
    let (unit, errors) = (subset.metric.unit, &estimates.errors);
    let mut table = plain_table();
    table.set_header(["model", "estimate", "off by, mean", "at worst", "items chosen by it"]);
    for of in &estimates.models {
        let in_history = if of.in_history { "yes, among others" } else { "no" };
        table.add_row([
            of.model.to_string(),
            value(of.estimate, unit),
            size(errors.mean, unit),
            size(errors.worst, unit),
            in_history.to_owned(),
        ]);
    }
    let mut lines = vec![
        format!("An estimate, not a measurement, from {} of {} items:", estimates.items, grouped(estimates.of as u64)),
        about(subset),
        fitted(table),
        format!("Errors are those of {} models that were held out when the items were chosen;", estimates.held_out),
        "they are no interval, and hold for models like these.".to_owned(),
    ];
    if estimates.trials < subset.trials {
        let trials = counted(estimates.trials.into(), "trial", "trials");
        lines.push(format!(
            "The run has {trials} an item, the history up to {}: with fewer, estimates are off by more.",
            subset.trials
        ));
    }
    if !estimates.same_dataset {
        lines.push("The run has another data set than the subset: items were matched by their ids.".to_owned());
    }
    lines.join("\n")
}

/// `worfbench two-shot, f1_chain (official)`.
fn about(subset: &SubsetDocument) -> String {
    format!("{} {}, {} ({})", subset.benchmark, subset.setting, subset.metric.metric, subset.metric.evaluator)
}

/// A line on groups of items that are not independent, where there are any.
fn groups(subset: &SubsetDocument) -> Option<String> {
    let whole = subset.whole;
    let shared: BTreeSet<&str> = subset.items.iter().filter_map(|chosen| chosen.group.as_deref()).collect();
    let alone = subset.items.iter().filter(|chosen| chosen.group.is_none()).count();
    (whole.groups < whole.items).then(|| {
        format!(
            "The items are of {} of {} groups; items of one group are not independent.",
            grouped((shared.len() + alone) as u64),
            grouped(whole.groups as u64)
        )
    })
}

/// Lines on items that some model has no score of, where there are any.
fn missing(subset: &SubsetDocument) -> Vec<String> {
    let whole = subset.whole;
    let mut lines = Vec::new();
    if whole.incomplete > 0 {
        let items = counted(whole.incomplete as u64, "item has", "items have");
        lines.push(format!("{items} no score of some model: counted in the whole, and not chosen."));
    }
    if whole.unmeasured > 0 {
        let items = counted(whole.unmeasured as u64, "item has", "items have");
        lines.push(format!("{items} no score of any model, and no part in the whole."));
    }
    lines
}

/// A value of a metric.
fn value(of: f64, unit: Unit) -> String {
    match unit {
        Unit::Plain => format!("{of:.3}"),
        Unit::Percent => format!("{:.1} %", of * unit.factor()),
        Unit::OutOfTen | Unit::Turns => format!("{of:.2}"),
        Unit::Money => format!("${of:.4}"),
    }
}

/// The size of a difference.
fn size(of: f64, unit: Unit) -> String {
    match unit {
        Unit::Plain => format!("{of:.3}"),
        Unit::Percent => format!("{:.1} pp", of * unit.factor()),
        Unit::OutOfTen | Unit::Turns => format!("{of:.2}"),
        Unit::Money => format!("${of:.4}"),
    }
}

/// A difference with its sign.
fn signed(of: f64, unit: Unit) -> String {
    let sign = if of < 0.0 { '-' } else { '+' };
    format!("{sign}{}", size(of.abs(), unit))
}

#[cfg(test)]
mod tests {
    use regatta_proto::Digest;
    use serde_json::json;

    use super::super::estimating::EstimatedModel;
    use super::*;

    fn subset() -> SubsetDocument {
        let held_out = |model: &str, whole: f64, estimate: f64| json!({ "model": model, "whole": whole, "estimate": estimate, "error": estimate - whole, "random_error": 0.084 });
        serde_json::from_value(json!({
            "v": 1, "benchmark": "dialogues", "setting": "turn/single/flowchart", "dataset": Digest::of(b"data"),
            "test": Digest::of(b"test"), "trials": 3,
            "metric": {
                "evaluator": "official", "metric": "success", "measure": { "mean": { "value": "success" } }, "low": 0.0, "high": 1.0,
                "better": "higher", "unit": "percent", "headline": true,
            },
            "seed": 1,
            "runs": [{ "run": "runs/history", "results": Digest::of(b"results") }],
            "whole": { "items": 1200, "groups": 80, "incomplete": 2, "unmeasured": 1 },
            "errors": { "mean": 0.0186, "worst": 0.032, "random_mean": 0.084, "random_worst": 0.15, "different_models": 5 },
            "held_out": [
                held_out("openai/gpt-5", 0.625, 0.657),
                held_out("openai/gpt-5-mini", 0.5, 0.48),
                held_out("anthropic/claude-sonnet-4-6", 0.71, 0.72),
                held_out("here/llama-3.3-70b", 0.375, 0.394),
                held_out("sim/noisy-0.5", 0.25, 0.262),
            ],
            "items": [
                { "item": "a-1", "weight": 600.5, "group": "a" },
                { "item": "a-2", "weight": 300.5, "group": "a" },
                { "item": "b-1", "weight": 299.0 },
            ],
        }))
        .unwrap()
    }

    fn is_narrow(text: &str) -> bool {
        text.lines().all(|line| line.chars().count() <= 100)
    }

    #[test]
    fn a_subset_is_shown_with_its_errors_beside_those_of_random_items() {
        let shown = chosen(&subset());
        assert!(is_narrow(&shown), "{shown}");
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn whoever_chose_a_subset_is_told_how_to_run_it_alone() {
        assert_eq!(
            way_to_run(&subset(), Path::new("subset.json")),
            "to run these items alone, list them in a spec, as `items` of benchmarks.dialogues with the setting turn/single/flowchart: \
             jq -c '[.items[].item]' subset.json writes the list"
        );
    }

    #[test]
    fn a_history_that_does_no_better_than_random_items_says_so() {
        let mut subset = subset();
        assert!(!chosen(&subset).contains("Random items err no more"));
        subset.errors.mean = 0.09;
        assert!(chosen(&subset).contains("Random items err no more"));
    }

    #[test]
    fn a_model_under_two_names_is_counted_once() {
        let mut subset = subset();
        subset.errors.different_models = 4;
        let shown = chosen(&subset);
        assert!(shown.contains("about once in 5."), "{shown}");
        assert!(shown.contains("1 model answers every item as another one does: held out with it"), "{shown}");
    }

    #[test]
    fn an_estimate_says_that_it_is_one_and_how_far_others_were_off() {
        let subset = subset();
        let model = |model: &str, estimate: f64, in_history: bool| EstimatedModel {
            model: model.parse().unwrap(),
            estimate,
            in_history,
        };
        let estimates = Estimates {
            is_estimate: true,
            run: "runs/tonight".to_owned(),
            subset: Digest::of(b"subset"),
            items: 3,
            of: 1200,
            errors: subset.errors,
            held_out: 5,
            trials: 1,
            same_dataset: false,
            models: vec![model("openai/gpt-5", 0.661, true), model("openai/gpt-6", 0.7, false)],
        };
        let shown = estimated(&subset, &estimates);
        assert!(is_narrow(&shown), "{shown}");
        insta::assert_snapshot!(shown);
    }
}
