//! `regatta subset choose`: items that stand for all, chosen from runs.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use regatta_deciding::{Anchor, HeldOut, Responses, Subset};
use regatta_proto::{Digest, ItemId};

use super::document::{ChosenItem, Errors, HeldOutModel, SourceRun, SubsetDocument, Whole};
use super::history::{MeanMetric, Place, check_fixed, check_whole, sessions};
use super::rendering;
use crate::args::ChooseSubsetArgs;
use crate::ended_run::EndedRun;
use crate::exit::{BadConfiguration, bad_configuration};
use crate::output;

pub(super) async fn run(args: ChooseSubsetArgs) -> anyhow::Result<()> {
    let mut runs = Vec::with_capacity(args.runs.len());
    for name in &args.runs {
        let run = EndedRun::open(name, &args.client).await.map_err(bad_configuration)?;
        check_fixed(&run)?;
        runs.push(run);
    }
    let subset = choose(&runs, &args)?;
    let mut text = serde_json::to_string_pretty(&subset)?;
    text.push('\n');
    regatta_files::write(&args.output, &text).with_context(|| format!("failed to write {}", args.output.display()))?;
    if args.json {
        output::line(text.trim_end());
    } else {
        output::line(&rendering::chosen(&subset));
    }
    output::note(&format!("written to {}; {}", args.output.display(), rendering::NOT_BY_ITSELF));
    output::note(&rendering::way_to_run(&subset, &args.output));
    Ok(())
}

fn choose(runs: &[EndedRun], args: &ChooseSubsetArgs) -> anyhow::Result<SubsetDocument> {
    check_different(runs)?;
    let place = Place::of(runs, args)?;
    runs.iter().try_for_each(|run| check_whole(run, &place))?;
    let (dataset, test) = (same_dataset(runs, &place)?, same_test(runs, &place)?);
    let metric = MeanMetric::of(runs, &place, args)?;
    let responses = Responses::new(&sessions(runs, &place, &metric)?).map_err(bad_configuration)?;
    let subset = Subset::choose(&responses, args.items as usize, args.seed).map_err(bad_configuration)?;
    let groups = groups(runs, &place);
    let source = |run: &EndedRun| SourceRun { run: run.name.clone(), results: run.results_digest };
    let item = |anchor: &Anchor| -> anyhow::Result<ChosenItem> {
        let group = groups.get(anchor.item.as_str()).map(|group| (*group).to_owned());
        Ok(ChosenItem { item: anchor.item.parse()?, weight: anchor.weight, group })
    };
    let held_out = |of: &HeldOut| -> anyhow::Result<HeldOutModel> {
        Ok(HeldOutModel {
            model: of.model.parse()?,
            whole: metric.value(of.whole),
            estimate: metric.value(of.estimate),
            error: metric.difference(of.error()),
            random_error: metric.difference(of.random_error),
        })
    };
    Ok(SubsetDocument {
        v: SubsetDocument::VERSION,
        dataset,
        test,
        trials: runs.iter().map(|run| run.lock.trials).fold(0, u16::max),
        seed: args.seed,
        runs: runs.iter().map(source).collect(),
        whole: Whole {
            items: responses.items().len(),
            groups: count_groups(responses.items(), &groups),
            incomplete: responses.incomplete(),
            unmeasured: responses.unmeasured().len(),
        },
        errors: Errors {
            mean: metric.difference(subset.error()),
            worst: metric.difference(subset.worst()),
            random_mean: metric.difference(subset.random_error()),
            random_worst: metric.difference(subset.random_worst),
            different_models: responses.different(),
        },
        held_out: subset.held_out.iter().map(held_out).collect::<anyhow::Result<_>>()?,
        items: subset.anchors.iter().map(item).collect::<anyhow::Result<_>>()?,
        benchmark: place.benchmark,
        setting: place.setting,
        metric: metric.definition,
    })
}

/// Refuses a run that is named twice: its sessions would count twice.
fn check_different(runs: &[EndedRun]) -> anyhow::Result<()> {
    let mut known: BTreeMap<Digest, &str> = BTreeMap::new();
    for run in runs {
        if let Some(before) = known.insert(run.results_digest, &run.name) {
            let problem = format!("{before} and {} have the same results; name each run once", run.name);
            return Err(BadConfiguration(problem).into());
        }
    }
    Ok(())
}

/// Refuses runs of different data sets: items of the same name need not be the same.
fn same_dataset(runs: &[EndedRun], place: &Place) -> anyhow::Result<Digest> {
    let digests: BTreeSet<Digest> = runs.iter().filter_map(|run| place.dataset(run)).collect();
    let mut digests = digests.into_iter();
    match (digests.next(), digests.next()) {
        (Some(only), None) => Ok(only),
        (_, _) => {
            let problem = format!("the runs have different data sets of {}; a subset needs one", place.benchmark);
            Err(BadConfiguration(problem).into())
        }
    }
}

/// Refuses runs that another judge graded, or other models took part in: a score of one is not what it is in another.
fn same_test(runs: &[EndedRun], place: &Place) -> anyhow::Result<Digest> {
    let tests: BTreeSet<Digest> =
        runs.iter().filter_map(|run| place.test(run).transpose()).collect::<anyhow::Result<_>>()?;
    let mut tests = tests.into_iter();
    match (tests.next(), tests.next()) {
        (Some(only), None) => Ok(only),
        (_, _) => {
            let problem = format!(
                "the runs differ in the judge of {}, in models of other roles, or in what becomes of filtered sessions (`regatta compare` \
                 says in what); a subset needs runs of one test",
                place.benchmark
            );
            Err(BadConfiguration(problem).into())
        }
    }
}

/// Groups of items that are not independent, by item.
fn groups<'r>(runs: &'r [EndedRun], place: &Place) -> BTreeMap<&'r str, &'r str> {
    let of_runs = runs.iter().filter_map(|run| run.measures.benchmarks.get(&place.benchmark));
    let pair = |(item, group): (&'r ItemId, &'r String)| (item.as_str(), group.as_str());
    of_runs.flat_map(|measures| &measures.groups).map(pair).collect()
}

/// Number of groups among `items`; an item without one is by itself.
fn count_groups(items: &[String], groups: &BTreeMap<&str, &str>) -> usize {
    let shared: BTreeSet<&str> = items.iter().filter_map(|item| groups.get(item.as_str()).copied()).collect();
    shared.len() + items.iter().filter(|item| !groups.contains_key(item.as_str())).count()
}

#[cfg(test)]
mod tests {
    use regatta_proto::{Filtered, Judge};

    use super::*;
    use crate::ended_run::testing::Made;

    fn place() -> Place {
        Place { benchmark: "worfbench".parse().unwrap(), setting: "two-shot".parse().unwrap() }
    }

    fn run(judge: Option<&str>) -> EndedRun {
        let mut run = Made { scores: vec![Some(1.0)], ..Made::default() }.run("nightly");
        let judge = judge.map(|judge| Judge::Plain(judge.parse().unwrap()));
        run.lock.benchmarks.get_mut(&place().benchmark).unwrap().judge = judge;
        run
    }

    #[test]
    fn runs_of_another_judge_or_with_other_filtered_sessions_are_no_history() {
        let judged = || run(Some("openai/gpt-5"));
        assert!(same_test(&[judged(), judged()], &place()).is_ok());
        let mut filtered = judged();
        filtered.lock.filtered = Filtered::Missing;
        for other in [run(Some("openai/gpt-5-mini")), run(None), filtered] {
            let error = same_test(&[judged(), other], &place()).unwrap_err().to_string();
            assert!(error.starts_with("the runs differ in the judge of worfbench"), "{error}");
        }
    }
}
