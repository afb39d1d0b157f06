//! Evaluator A (`evaluation.py`): the numbers of the paper's main tables, with all their oddities (docs/benchmarks/appbench.md §5.1).

use serde_json::{Value, json};

use super::counters::counters;
use super::lists::Names;
use super::ratio::{ZeroDivision, divide, f1};
use super::values::{Past, predicted, same};
use crate::data::Gold;
use crate::parse::evaluation::{Arguments, call, name};
use crate::parse::{Dict, without_backslashes};

counters! {
    /// Counters of evaluator A, under its own names.
    Evaluation {
        /// Items whose apps are those of the gold.
        app_em_count,
        /// Items with any app of the gold: never more than one an item.
        app_hit_count,
        /// Predicted apps.
        total_pred_apps,
        /// Gold apps.
        total_ground_apps,
        /// Items whose APIs are those of the gold.
        api_em_count,
        /// Items with any API of the gold: never more than one an item.
        api_hit_count,
        /// Predicted calls, those that cannot be read among them.
        total_pred_apis,
        /// Gold calls.
        total_ground_apis,
        /// Calls with all arguments right.
        api_argu_em,
        /// Arguments that are right.
        api_argu_hit_count,
        /// Predicted arguments.
        total_pred_api_argu,
        /// Gold arguments.
        total_ground_api_argu,
        /// Calls with all dependent arguments right.
        depend_argu_em,
        /// Dependent arguments that are right.
        depend_argu_hit,
        /// Dependent gold arguments of predicted APIs.
        total_depend_argus,
        /// Other gold arguments of predicted APIs.
        non_total_depend_argus,
        /// Predicted APIs that have dependent arguments.
        pred_api_depending,
        /// Dependent arguments that were not predicted.
        total_depend_k_missing,
        /// Arguments that were not predicted, counted twice.
        total_k_missing,
        /// Dependent arguments with a wrong value.
        total_depend_value_missing,
        /// Arguments with a wrong value, counted twice.
        total_value_missing,
        /// Predicted values that look dependent, and some that count as such afterwards.
        total_pred_depend_args,
        /// Items that are right.
        total_match,
    }
}

/// Counts one item: its predicted apps and the texts of its calls.
pub(super) fn count<S: AsRef<str>>(gold: &Gold, apps: &[S], calls: &[&str]) -> Evaluation {
    let mut counters = Evaluation::default();
    let (apps, gold_apps) = (Names::of(apps), Names::of(&gold.used_app));
    let names_of = |calls: &[&str]| Names::of(calls.iter().map(|call| name(call).unwrap_or_default()));
    let gold_calls: Vec<&str> = gold.api_results.iter().map(|call| &**call).collect();
    let (names, gold_names) = (names_of(calls), names_of(&gold_calls));

    counters.app_em_count = apps.equals(&gold_apps).into();
    counters.app_hit_count = apps.meets(&gold_apps).into();
    counters.total_pred_apps = apps.len() as u64;
    counters.total_ground_apps = gold_apps.len() as u64;
    counters.api_em_count = names.equals(&gold_names).into();
    counters.api_hit_count = names.meets(&gold_names).into();
    counters.total_pred_apis = names.len() as u64;
    counters.total_ground_apis = gold_names.len() as u64;

    let (predicted, gold_arguments) = (by_name(calls), by_name(&gold_calls));
    count_arguments(&mut counters, gold, &predicted, &gold_arguments);
    let is_match =
        counters.app_em_count == 1 && counters.api_em_count == 1 && counters.api_argu_em == gold_arguments.len() as u64;
    counters.total_match = is_match.into();
    counters
}

/// Number of different APIs in the gold.
pub(super) fn gold_names(gold: &Gold) -> u64 {
    let calls: Vec<&str> = gold.api_results.iter().map(|call| &**call).collect();
    by_name(&calls).len() as u64
}

/// Arguments by the name of the API: of several calls of one API, only the last counts.
fn by_name(calls: &[&str]) -> Dict<Arguments> {
    calls.iter().filter_map(|text| call(&without_backslashes(text))).collect()
}

/// True if the value depends on another call: it has no apostrophe.
fn is_dependent(value: &str) -> bool {
    !value.contains('\'')
}

fn count_arguments(counters: &mut Evaluation, gold: &Gold, predictions: &Dict<Arguments>, golds: &Dict<Arguments>) {
    let total = |calls: &Dict<Arguments>| calls.iter().map(|(_, arguments)| arguments.len() as u64).sum();
    counters.total_pred_api_argu = total(predictions);
    counters.total_ground_api_argu = total(golds);
    let values = predictions.iter().flat_map(|(_, arguments)| arguments.iter());
    counters.total_pred_depend_args = values.filter(|(_, value)| is_dependent(value)).count() as u64;
    let mut past = Past::default();
    for (name, arguments) in golds.iter() {
        if let Some(prediction) = predictions.get(name) {
            count_call(counters, gold, prediction, arguments, &mut past);
        }
    }
}

/// Count of all arguments of a kind, and of the dependent ones among them.
#[derive(Default)]
struct Pair {
    all: u64,
    dependent: u64,
}

impl Pair {
    fn add(&mut self, is_dependent: bool) {
        self.all += 1;
        self.dependent += u64::from(is_dependent);
    }
}

fn count_call<'g>(
    counters: &mut Evaluation,
    gold: &Gold,
    prediction: &Arguments,
    arguments: &'g Arguments,
    past: &mut Past<'g>,
) {
    let (mut wanted, mut hits, mut no_key, mut no_value) =
        (Pair::default(), Pair::default(), Pair::default(), Pair::default());
    for (key, right) in arguments.iter() {
        let is_dependent = is_dependent(right);
        wanted.add(is_dependent);
        let Some(value) = prediction.get(key) else {
            no_key.add(is_dependent);
            continue;
        };
        let value = predicted(value);
        if same(right, &value) {
            hits.add(is_dependent);
            past.push(key, value);
        } else if user_said(gold, key).is_some_and(|said| same(said, &value)) {
            hits.add(is_dependent);
            counters.total_pred_depend_args += u64::from(is_dependent);
            past.push(key, value);
        } else if past.repeats(key, &value) {
            hits.add(is_dependent);
            counters.total_pred_depend_args += u64::from(is_dependent);
        } else {
            no_value.add(is_dependent);
        }
    }
    counters.api_argu_hit_count += hits.all;
    counters.depend_argu_hit += hits.dependent;
    counters.total_depend_argus += wanted.dependent;
    counters.non_total_depend_argus += wanted.all - wanted.dependent;
    counters.pred_api_depending += u64::from(wanted.dependent > 0);
    counters.depend_argu_em += u64::from(wanted.dependent > 0 && hits.dependent == wanted.dependent);
    counters.api_argu_em += u64::from(hits.all == wanted.all);
    counters.total_depend_k_missing += no_key.dependent;
    counters.total_depend_value_missing += no_value.dependent;
    // The code adds both a second time.
    counters.total_k_missing += 2 * no_key.all;
    counters.total_value_missing += 2 * no_value.all;
}

/// The literal that the user gave for `#key`.
fn user_said<'g>(gold: &'g Gold, key: &str) -> Option<&'g str> {
    let name = key.strip_prefix('#')?;
    gold.user_aware_arguments.iter().find(|(of, _)| **of == *name).map(|(_, value)| &**value)
}

impl Evaluation {
    /// The six numbers that the code prints for `items` items.
    pub(super) fn metrics(&self, items: u64) -> Result<Value, ZeroDivision> {
        let f = |counter: u64| counter as f64;
        let of_lists = |hit: u64, predicted: u64, gold: u64| -> Result<f64, ZeroDivision> {
            Ok(f1(divide(f(hit), f(predicted))?, divide(f(hit), f(gold))?))
        };
        let app = of_lists(self.app_hit_count, self.total_pred_apps, self.total_ground_apps)?;
        let api = of_lists(self.api_hit_count, self.total_pred_apis, self.total_ground_apis)?;
        let argument = if self.total_pred_api_argu == 0 {
            0.0
        } else {
            of_lists(self.api_argu_hit_count, self.total_pred_api_argu, self.total_ground_api_argu)?
        };
        let or_one = |part: f64, whole: f64| divide(part, whole).unwrap_or(1.0);
        let dependent = f1(
            or_one(f(self.depend_argu_hit), f(self.total_pred_depend_args)),
            or_one(f(self.depend_argu_hit), f(self.total_depend_argus)),
        );
        let hit = f(self.api_argu_hit_count) - f(self.depend_argu_hit);
        // Hits that are counted as dependent afterwards can make this zero or negative.
        let precision = or_one(hit, f(self.total_pred_api_argu) - f(self.total_pred_depend_args));
        let recall = if self.total_depend_argus == 0 {
            1.0
        } else {
            divide(hit, f(self.total_ground_api_argu) - f(self.total_depend_argus))?
        };
        Ok(json!({
            "app_hit_f1": app,
            "api_hit_f1": api,
            "argu_hit_f1": argument,
            "complete_match": divide(f(self.total_match), f(items))?,
            "depend_argu_hit_f1": dependent,
            "non_depend_argu_hit_f1": f1(precision, recall),
        }))
    }

    /// Numbers that the code can print but does not; null where there is nothing to divide by.
    pub(super) fn extra(&self, items: u64) -> Value {
        let ratio = |part: u64, whole: u64| divide(part as f64, whole as f64).ok();
        json!({
            "app_exact_match": ratio(self.app_em_count, items),
            "app_precision": ratio(self.app_hit_count, self.total_pred_apps),
            "app_recall": ratio(self.app_hit_count, self.total_ground_apps),
            "api_exact_match": ratio(self.api_em_count, items),
            "api_precision": ratio(self.api_hit_count, self.total_pred_apis),
            "api_recall": ratio(self.api_hit_count, self.total_ground_apis),
            "argu_exact_match": ratio(self.api_argu_em, self.total_pred_apis),
            "argu_precision": ratio(self.api_argu_hit_count, self.total_pred_api_argu),
            "argu_recall": ratio(self.api_argu_hit_count, self.total_ground_api_argu),
            "depend_argu_exact_match": ratio(self.depend_argu_em, self.pred_api_depending),
            "depend_k_missing": ratio(self.total_depend_k_missing, self.total_pred_depend_args),
            "depend_value_missing": ratio(self.total_depend_value_missing, self.total_pred_depend_args),
            "k_missing_rate_api_unit": ratio(self.total_k_missing, self.total_pred_apis),
            "value_missing_rate_api_unit": ratio(self.total_value_missing, self.total_pred_apis),
            "k_missing_rate_sample_unit": ratio(self.total_k_missing, items),
            "value_missing_rate_sample_unit": ratio(self.total_value_missing, items),
        })
    }
}
