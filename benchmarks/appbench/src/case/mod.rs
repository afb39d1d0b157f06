//! Golden cases of every kind (docs/benchmarks/appbench.md §11).

mod predictions;
mod topology;

#[cfg(test)]
mod fuzz;

use std::collections::BTreeMap;

use regatta_proto::{Evaluator, FileSet};
use serde_json::{Map, Value, json};

pub(crate) use self::predictions::read as read_predictions;
use self::predictions::{Prediction, read_lines};
use super::data::Data;
use super::official::app_selection::{self, Selection};
use super::parse::{analysis, apps, evaluation, lines, without_backslashes};
use super::{exec, official, paper};
use regatta_benchmarks::DataError;
use regatta_benchmarks::case::{Case, PREDICTIONS_FILE, case_place, predictions};
use regatta_benchmarks::source_location::SourceLocation;

/// Longer lists of selected apps are not written out in golden files.
const LISTED_MAX: usize = 15;

/// Scores a case: its outputs by file name.
///
/// # Errors
/// When an input cannot be read, or the kind or evaluator of the case is unknown.
pub(crate) fn score(case: &Case, files: &FileSet, data: &Data) -> Result<BTreeMap<String, Value>, DataError> {
    let place = SourceLocation::file(files.origin(), PREDICTIONS_FILE);
    let content = predictions(files)?;
    let mut outputs = BTreeMap::new();
    for (file, evaluator) in &case.outputs {
        let (aggregate, items) = match (case.kind.as_str(), evaluator) {
            ("predictions", Evaluator::Official) => {
                grouped(&read_lines(data, &place, content)?, official_item, |items| {
                    official::aggregate(items.iter().copied())
                })
            }
            ("predictions", Evaluator::Paper) => {
                let item = |prediction: &Prediction<'_>| {
                    let counters = paper::score(prediction.entry, &data.phone, &lines(prediction.plan()));
                    (counters, json!(counters))
                };
                grouped(&read_lines(data, &place, content)?, item, |items| paper::aggregate(items.iter().copied()))
            }
            ("predictions", Evaluator::Exec) => {
                let item = |prediction: &Prediction<'_>| {
                    let scored = exec::score(data, prediction.entry, prediction.plan());
                    (scored.outcome(), scored.golden())
                };
                grouped(&read_lines(data, &place, content)?, item, |items| {
                    exec::aggregate(items.iter().copied().copied())
                })
            }
            ("hierarchical", Evaluator::Official) => hierarchical(data, &read_lines(data, &place, content)?),
            ("topology", Evaluator::Official) => topology::score(&place, content)?,
            ("predictions" | "hierarchical" | "topology", other) => {
                return Err(
                    case_place(files).error("outputs", format!("{other} does not score cases of kind {}", case.kind))
                );
            }
            (other, _) => {
                let problem = format!("{other:?} is unknown; known: predictions, hierarchical, topology");
                return Err(case_place(files).error("kind", problem));
            }
        };
        outputs.insert(file.clone(), json!({ "evaluator": evaluator, "aggregate": aggregate, "items": items }));
    }
    Ok(outputs)
}

/// Scores each prediction with `item`, and those of each group together with `aggregate`. Both come in the order of the lines.
fn grouped<T>(
    predictions: &[Prediction<'_>],
    item: impl Fn(&Prediction<'_>) -> (T, Value),
    aggregate: impl Fn(&[&T]) -> Value,
) -> (Value, Map<String, Value>) {
    let mut items = Map::new();
    let scored: Vec<(&str, T)> = predictions
        .iter()
        .map(|prediction| {
            let (counters, detail) = item(prediction);
            items.insert(prediction.id.clone(), detail);
            (prediction.group.as_str(), counters)
        })
        .collect();
    let groups = by_group(scored.iter().map(|(group, counters)| (*group, counters)));
    (groups.into_iter().map(|(group, items)| (group.to_owned(), aggregate(&items))).collect(), items)
}

/// Elements of each group, groups in the order of their first elements.
fn by_group<'g, T>(elements: impl Iterator<Item = (&'g str, T)>) -> Vec<(&'g str, Vec<T>)> {
    let mut groups: Vec<(&str, Vec<T>)> = Vec::new();
    for (group, element) in elements {
        match groups.iter_mut().find(|(name, _)| *name == group) {
            Some((_, elements)) => elements.push(element),
            None => groups.push((group, vec![element])),
        }
    }
    groups
}

fn official_item(prediction: &Prediction<'_>) -> (official::ItemCounters, Value) {
    let lines = lines(prediction.plan());
    let calls = || lines.iter().map(|line| line.call.as_str());
    let counters = official::score(prediction.entry, &lines, None);
    let mut detail = Map::from_iter([
        ("apps".to_owned(), json!(apps(&lines))),
        ("api_names".to_owned(), calls().map(|call| evaluation::name(call).unwrap_or_default()).collect()),
    ]);
    detail.extend(counters.detail());
    let read = calls().map(|call| evaluation::call(&without_backslashes(call)).map(|(_, arguments)| arguments));
    detail.insert("args".to_owned(), read.map(|arguments| json!(arguments)).collect());
    let read = calls().map(|call| analysis::call(call).map(|(_, arguments)| arguments));
    detail.insert("ana_args".to_owned(), read.map(|arguments| json!(arguments)).collect());
    detail.insert("apis".to_owned(), calls().collect());
    (counters, Value::Object(detail))
}

/// An item of the hierarchical setting, scored with the apps of its plan and with the revised ones.
struct Both {
    direct: official::ItemCounters,
    revised: official::ItemCounters,
}

fn hierarchical(data: &Data, predictions: &[Prediction<'_>]) -> (Value, Map<String, Value>) {
    let item = |prediction: &Prediction<'_>| {
        let selection = Selection::of(&data.phone, &prediction.app_selection);
        let mut detail = Map::from_iter([
            ("dropped".to_owned(), json!(selection.is_dropped())),
            ("attempts".to_owned(), json!(selection.attempts)),
        ]);
        if selection.is_dropped() {
            return (None, Value::Object(detail));
        }
        let lines = lines(prediction.plan());
        let direct_apps = apps(&lines);
        let revised_apps = selection.revise(&direct_apps);
        let both = Both {
            direct: official::score(prediction.entry, &lines, None),
            revised: official::score(prediction.entry, &lines, Some(&revised_apps)),
        };
        let mut selected = selection.apps.clone();
        selected.sort_unstable();
        let answer = prediction.app_selection.get(selection.attempts - 1).map_or("", String::as_str);
        let all = || app_selection::selected(&data.phone, answer);
        let listed: Vec<&str> = all().take(LISTED_MAX + 1).collect();
        let listed = Some(listed).filter(|apps| apps.len() <= LISTED_MAX);
        detail.extend([
            ("selected_list".to_owned(), json!(listed)),
            ("selected_len".to_owned(), json!(all().count())),
            ("selected".to_owned(), json!(selected)),
            ("apps".to_owned(), json!(direct_apps)),
            ("apps_revised".to_owned(), json!(revised_apps)),
            ("direct".to_owned(), Value::Object(both.direct.detail())),
            ("revised".to_owned(), Value::Object(both.revised.detail())),
        ]);
        (Some(both), Value::Object(detail))
    };
    grouped(predictions, item, |items| {
        let scored = || items.iter().copied().flatten();
        json!({
            "direct": official::aggregate(scored().map(|both| &both.direct)),
            "revised": official::aggregate(scored().map(|both| &both.revised)),
            "dropped": items.len() - scored().count(),
        })
    })
}
