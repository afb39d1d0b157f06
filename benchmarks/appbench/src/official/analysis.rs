//! Evaluator B (`analysis.py`): the analysis of errors of the paper's Table 4 (docs/benchmarks/appbench.md §5.2).

use std::collections::HashSet;

use serde_json::{Value, json};

use super::counters::counters;
use super::lists::Names;
use super::ratio::{ZeroDivision, divide};
use super::values::{Past, predicted, same};
use crate::data::Gold;
use crate::parse::Dict;
use crate::parse::analysis::{Arguments, call};

counters! {
    /// Counters of evaluator B, under its own names.
    Analysis {
        /// Items that are right.
        succ_count,
        /// Dependent arguments that are right.
        depend_argument_correct_count,
        /// Gold arguments of predicted APIs that were not predicted.
        key_missing,
        /// The dependent ones of these.
        depend_key_missing,
        /// Arguments with a wrong value.
        key_value_mismatch,
        /// The dependent ones of these.
        depend_key_value_mismatch,
        /// Gold arguments of predicted APIs.
        total_argument_count,
        /// Wrong values of a date or a time.
        date_related_value_error,
        /// Wrong values of a place.
        location_related_value_error,
        /// Items with an argument that was not predicted.
        key_missing_error,
        /// Items with a wrong value.
        key_value_mismatch_error,
        /// Items with a dependent argument that was not predicted.
        depend_key_missing_error,
        /// Items with a wrong value of a dependent argument.
        depend_key_value_mismatch_error,
    }
}

/// Comparison of the names of apps and APIs of one item with those of its gold.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Lists {
    /// 1 when the apps are those of the gold.
    pub(crate) app_em: u64,
    /// F1 of the apps.
    pub(crate) app_f1: f64,
    /// 1 when the APIs are those of the gold.
    pub(crate) api_em: u64,
    /// F1 of the APIs.
    pub(crate) api_f1: f64,
}

/// Parts of keys that make a wrong value one of time.
const TIME: [&str; 2] = ["date", "time"];
/// Parts of keys that make a wrong value one of place.
const PLACE: [&str; 5] = ["from", "to", "city", "where_to", "destination"];

/// Counts one item: its predicted apps and the texts of its calls.
pub(super) fn count<S: AsRef<str>>(gold: &Gold, apps: &[S], calls: &[&str]) -> (Lists, Analysis) {
    let read = |calls: &[&str]| -> Vec<(String, Arguments)> { calls.iter().filter_map(|text| call(text)).collect() };
    let gold_calls: Vec<&str> = gold.api_results.iter().map(|call| &**call).collect();
    let (calls, gold_calls) = (read(calls), read(&gold_calls));
    let names_of = |calls: &[(String, Arguments)]| Names::of(calls.iter().map(|(name, _)| name));
    let (apps, gold_apps) = (Names::of(apps), Names::of(&gold.used_app));
    let (names, gold_names) = (names_of(&calls), names_of(&gold_calls));
    let lists = Lists {
        app_em: apps.equals(&gold_apps).into(),
        app_f1: apps.f1(&gold_apps),
        api_em: names.equals(&gold_names).into(),
        api_f1: names.f1(&gold_names),
    };
    let mut counters = count_arguments(gold, &calls.into_iter().collect(), &gold_calls.into_iter().collect());
    let is_right = (counters.key_missing, counters.key_value_mismatch, lists.app_em, lists.api_em) == (0, 0, 1, 1);
    counters.succ_count = is_right.into();
    (lists, counters)
}

fn count_arguments(gold: &Gold, predictions: &Dict<Arguments>, golds: &Dict<Arguments>) -> Analysis {
    let returned: HashSet<&str> = gold.result_arguments.iter().flatten().map(|name| &**name).collect();
    let mut counters = Analysis::default();
    let mut past = Past::default();
    for (name, arguments) in golds.iter() {
        let Some(prediction) = predictions.get(name) else { continue };
        counters.total_argument_count += arguments.len() as u64;
        for (key, right) in arguments.iter() {
            let is_dependent = u64::from(returned.contains(right.as_str()));
            let Some(value) = prediction.get(key) else {
                counters.key_missing += 1;
                counters.depend_key_missing += is_dependent;
                continue;
            };
            let value = predicted(value);
            if same(right, &value) {
                counters.depend_argument_correct_count += is_dependent;
                past.push(key, value);
            } else if past.repeats(key, &value) {
                counters.depend_argument_correct_count += is_dependent;
            } else {
                counters.key_value_mismatch += 1;
                counters.depend_key_value_mismatch += is_dependent;
                counters.date_related_value_error += u64::from(TIME.iter().any(|part| key.contains(part)));
                counters.location_related_value_error += u64::from(PLACE.iter().any(|part| key.contains(part)));
            }
        }
    }
    counters.key_missing_error = u64::from(counters.key_missing > 0);
    counters.key_value_mismatch_error = u64::from(counters.key_value_mismatch > 0);
    counters.depend_key_missing_error = u64::from(counters.depend_key_missing > 0);
    counters.depend_key_value_mismatch_error = u64::from(counters.depend_key_value_mismatch > 0);
    counters
}

/// Sums over items.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Sums {
    pub(super) lists: Lists,
    pub(super) counters: Analysis,
}

impl Sums {
    pub(super) fn add(&mut self, lists: &Lists, counters: &Analysis) {
        self.lists.app_em += lists.app_em;
        self.lists.app_f1 += lists.app_f1;
        self.lists.api_em += lists.api_em;
        self.lists.api_f1 += lists.api_f1;
        self.counters.add(counters);
    }

    /// Metrics that the code prints for `items` items. An error where the code would divide by zero: it raises when nothing is wrong.
    pub(super) fn metrics(&self, items: u64) -> Result<Value, ZeroDivision> {
        let Self { lists, counters } = self;
        let of_items = |sum: f64| divide(sum, items as f64);
        let of_arguments = |count: u64| divide(count as f64, counters.total_argument_count as f64);
        let of_mismatches = |count: u64| divide(count as f64, counters.key_value_mismatch as f64);
        let flagged = |count: u64| of_items(count as f64);
        Ok(json!({
            "app": { "em": flagged(lists.app_em)?, "f1": of_items(lists.app_f1)? },
            "api": { "em": flagged(lists.api_em)?, "f1": of_items(lists.api_f1)? },
            "succ": flagged(counters.succ_count)?,
            "analysis": {
                "all_key_missing": of_arguments(counters.key_missing)?,
                "depend_key_missing": of_arguments(counters.depend_key_missing)?,
                // The spelling is the official one.
                "indendpent_key_missing": of_arguments(counters.key_missing - counters.depend_key_missing)?,
                "all_key_value_mismatch": of_arguments(counters.key_value_mismatch)?,
                "depend_key_value_mismatch": of_arguments(counters.depend_key_value_mismatch)?,
                "independent_key_value_mismatch":
                    of_arguments(counters.key_value_mismatch - counters.depend_key_value_mismatch)?,
                "date_value_error": of_mismatches(counters.date_related_value_error)?,
                "location_value_error": of_mismatches(counters.location_related_value_error)?,
                "percent_key_missing": flagged(counters.key_missing_error)?,
                "percent_depend_key_missing": flagged(counters.depend_key_missing_error)?,
                "percent_key_value_mismatch": flagged(counters.key_value_mismatch_error)?,
                "percent_depend_key_value_mismatch": flagged(counters.depend_key_value_mismatch_error)?,
            },
        }))
    }
}
