//! `regatta subset estimate`: the whole, as a run of a subset estimates it.

use std::collections::BTreeMap;

use regatta_deciding::{mean_score, weighted_mean};
use regatta_proto::{Digest, ItemId, ModelRef, json_bytes};
use serde::Serialize;

use super::document::{Errors, SubsetDocument};
use super::history::{MeanMetric, Place, check_fixed, check_whole, definitions, parts};
use super::rendering;
use crate::args::EstimateSubsetArgs;
use crate::ended_run::EndedRun;
use crate::exit::{BadConfiguration, bad_configuration};
use crate::output;

/// Estimates of the whole from a subset. Values are in the metric's own scale.
#[derive(Debug, Serialize)]
pub(super) struct Estimates {
    /// Always true: nothing here was measured on all items.
    pub(super) is_estimate: bool,
    pub(super) run: String,
    /// Digest of the subset.
    pub(super) subset: Digest,
    /// Number of items of the subset.
    pub(super) items: usize,
    /// Number of items of the whole.
    pub(super) of: usize,
    /// Errors of such estimates for models that the subset was not chosen by.
    pub(super) errors: Errors,
    /// Number of these models.
    pub(super) held_out: usize,
    /// Trials of an item in the run.
    pub(super) trials: u16,
    /// `true` if the run has the data set that the subset was chosen from.
    pub(super) same_dataset: bool,
    pub(super) models: Vec<EstimatedModel>,
}

/// Estimate of a model's mean over all items.
#[derive(Debug, Serialize)]
pub(super) struct EstimatedModel {
    pub(super) model: ModelRef,
    pub(super) estimate: f64,
    /// `true` if the subset was chosen by its sessions, among others.
    pub(super) in_history: bool,
}

pub(super) async fn run(args: EstimateSubsetArgs) -> anyhow::Result<()> {
    let subset = SubsetDocument::read(&args.subset).map_err(bad_configuration)?;
    let run = EndedRun::open(&args.run, &args.client).await.map_err(bad_configuration)?;
    let estimates = estimate(&subset, &run)?;
    if args.json {
        output::line(&serde_json::to_string_pretty(&estimates)?);
    } else {
        output::line(&rendering::estimated(&subset, &estimates));
    }
    Ok(())
}

fn estimate(subset: &SubsetDocument, run: &EndedRun) -> anyhow::Result<Estimates> {
    check_fixed(run)?;
    let place = Place { benchmark: subset.benchmark.clone(), setting: subset.setting.clone() };
    check_whole(run, &place)?;
    if !definitions(run, &place).contains(&subset.metric) {
        return Err(BadConfiguration(format!(
            "{} has no {} ({}) of {place} as the subset has it",
            run.name, subset.metric.metric, subset.metric.evaluator
        ))
        .into());
    }
    if place.test(run)? != Some(subset.test) {
        return Err(BadConfiguration(format!(
            "{} has another judge of {}, other models in other roles, or treats filtered sessions otherwise than the runs that the subset \
             was chosen from; its errors say nothing of such a run",
            run.name, subset.benchmark
        ))
        .into());
    }
    let metric = MeanMetric::new(&subset.metric)?;
    let mut models = Vec::new();
    for (model, scores) in parts(run, &place, &metric) {
        let estimate = weighted_mean(scores_of(subset, run, model, &scores)?);
        let in_history = subset.held_out.iter().any(|of| of.model == *model);
        models.push(EstimatedModel { model: model.clone(), estimate: metric.value(estimate), in_history });
    }
    if models.is_empty() {
        return Err(BadConfiguration(format!("{} has no session of {place}", run.name)).into());
    }
    Ok(Estimates {
        is_estimate: true,
        run: run.name.clone(),
        subset: Digest::of(&json_bytes(subset)),
        items: subset.items.len(),
        of: subset.whole.items,
        errors: subset.errors,
        held_out: subset.held_out.len(),
        trials: run.lock.trials,
        same_dataset: place.dataset(run) == Some(subset.dataset),
        models,
    })
}

/// Each item's weight and the model's mean score in it. Refuses a model that lacks one: the others do not stand for its cluster.
fn scores_of(
    subset: &SubsetDocument,
    run: &EndedRun,
    model: &ModelRef,
    scores: &BTreeMap<&ItemId, Vec<Option<f64>>>,
) -> anyhow::Result<Vec<(f64, f64)>> {
    let score = |item: &ItemId| scores.get(item).and_then(|sessions| mean_score(sessions));
    let missing: Vec<&ItemId> =
        subset.items.iter().map(|chosen| &chosen.item).filter(|item| score(item).is_none()).collect();
    if let Some(first) = missing.first() {
        let why = match scores.contains_key(*first) {
            true => "has no score; `regatta resume` tries again what was not measured",
            false => "was not run",
        };
        return Err(BadConfiguration(format!(
            "{} lacks {} of the {} items of the subset for {model}, so that there is no estimate; {first} {why}",
            run.name,
            missing.len(),
            subset.items.len()
        ))
        .into());
    }
    Ok(subset.items.iter().filter_map(|chosen| Some((chosen.weight, score(&chosen.item)?))).collect())
}

#[cfg(test)]
mod tests {
    use regatta_proto::{Filtered, Judge};

    use super::super::document::{ChosenItem, Whole};
    use super::*;
    use crate::ended_run::testing::Made;

    fn place() -> Place {
        Place { benchmark: "worfbench".parse().unwrap(), setting: "two-shot".parse().unwrap() }
    }

    /// A run of three items, of which the second is wrong.
    fn run() -> EndedRun {
        Made { scores: vec![Some(1.0), Some(0.0), Some(1.0)], ..Made::default() }.run("tonight")
    }

    /// The first two items of such a run, of which the first stands for the third as well.
    fn subset() -> SubsetDocument {
        let history = run();
        let item = |id: &str, weight| ChosenItem { item: id.parse().unwrap(), weight, group: None };
        SubsetDocument {
            v: SubsetDocument::VERSION,
            benchmark: place().benchmark,
            setting: place().setting,
            dataset: place().dataset(&history).unwrap(),
            test: place().test(&history).unwrap().unwrap(),
            metric: definitions(&history, &place())[0].clone(),
            trials: 1,
            seed: 0,
            runs: Vec::new(),
            whole: Whole { items: 3, groups: 3, incomplete: 0, unmeasured: 0 },
            errors: Errors { mean: 0.01, worst: 0.02, random_mean: 0.1, random_worst: 0.2, different_models: 5 },
            held_out: Vec::new(),
            items: vec![item("item-000", 2.0), item("item-001", 1.0)],
        }
    }

    #[test]
    fn a_run_of_the_same_test_is_estimated_from_by_weight() {
        let found = estimate(&subset(), &run()).unwrap();
        assert!((found.models[0].estimate - 2.0 / 3.0).abs() < 1e-12, "{found:?}");
        assert!(found.same_dataset && found.is_estimate);
    }

    #[test]
    fn a_run_of_another_judge_or_with_other_filtered_sessions_is_not_estimated_from() {
        let (mut judged, mut filtered) = (run(), run());
        let judge = Judge::Plain("openai/gpt-5".parse().unwrap());
        judged.lock.benchmarks.get_mut(&place().benchmark).unwrap().judge = Some(judge);
        filtered.lock.filtered = Filtered::Missing;
        for other in [judged, filtered] {
            let error = estimate(&subset(), &other).unwrap_err().to_string();
            assert!(
                error.starts_with("tonight has another judge of worfbench, other models in other roles,"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_run_of_other_data_is_estimated_from_by_the_ids_of_items_and_the_estimate_says_so() {
        let mut other = run();
        other.lock.benchmarks.get_mut(&place().benchmark).unwrap().dataset = Digest::of(b"other data");
        let found = estimate(&subset(), &other).unwrap();
        assert!(!found.same_dataset);
        assert!(rendering::estimated(&subset(), &found).contains("The run has another data set than the subset"));
    }

    #[test]
    fn a_run_without_the_metric_of_the_subset_is_not_estimated_from() {
        let mut other = run();
        other.measures.benchmarks.clear();
        let error = estimate(&subset(), &other).unwrap_err().to_string();
        assert_eq!(error, "tonight has no success (official) of worfbench two-shot as the subset has it");
    }
}
