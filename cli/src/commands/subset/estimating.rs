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
