//! The official code's computation, bit for bit: evaluator A (`evaluation.py`) and evaluator B (`analysis.py`), which disagree
//! (docs/benchmarks/appbench.md §5.1, §5.2), and the selection of apps that comes before (§3.2).

mod aggregate;
mod analysis;
pub(crate) mod app_selection;
pub(crate) mod counters;
mod evaluation;
mod lists;
mod ratio;
mod values;

#[cfg(test)]
mod tests;

use regatta_benchmarks::flat_value;
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

pub(crate) use self::aggregate::aggregate;
use self::analysis::Sums;
pub(crate) use self::analysis::{Analysis, Lists};
use self::counters::{to_counter, to_value};
pub(crate) use self::evaluation::Evaluation;
use self::ratio::{ZeroDivision, divide};
use super::data::Entry;
use super::parse::{Line, evaluation as parse, without_backslashes};
use super::topology::{Scale, Topology};

/// Names of flat values other than the counters of evaluator A. Those of evaluator B have a prefix, as some of its counters have the same
/// names.
pub(crate) mod value {
    /// Before names of evaluator B.
    pub(crate) const ANALYSIS: &str = "ana_";
    /// Calls that evaluator A cannot read.
    pub(crate) const UNPARSEABLE: &str = "unparseable_calls";
    /// 1 when all arguments are right (Figure 4).
    pub(crate) const ARGUMENT_EM: &str = "argument_em";
    /// Components of the gold plan.
    pub(crate) const COMPONENTS: &str = "gold_components";
    /// Calls in these.
    pub(crate) const COMPONENT_CALLS: &str = "gold_component_calls";
    /// 1 when an item that has no flag is right; items with flags lack it.
    pub(crate) const UNFLAGGED_MATCH: &str = "unflagged_match";
    /// 1 when an argument that does not depend on others was not predicted, and none that does.
    pub(crate) const INDEPENDENT_KEY_ERROR: &str = "ana_independent_key_missing_error";
    /// 1 when an argument that does not depend on others has a wrong value, and none that does.
    pub(crate) const INDEPENDENT_VALUE_ERROR: &str = "ana_independent_key_value_mismatch_error";
    /// 1 when no apps were selected, so that the official code leaves the item out; such an item has no other value.
    pub(crate) const DROPPED: &str = "dropped";
}

/// Counters of both evaluators for one item.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct ItemCounters {
    /// Evaluator A.
    pub(crate) evaluation: Evaluation,
    /// Evaluator B: lists of names.
    pub(crate) lists: Lists,
    /// Evaluator B: arguments.
    pub(crate) analysis: Analysis,
    /// Predicted calls that evaluator A cannot read.
    pub(crate) unparseable: u64,
    /// True if evaluator A finds all arguments right, which Figure 4 shows.
    pub(crate) argument_em: bool,
    /// The scale of the gold plan; none where the official code cannot read it.
    pub(crate) scale: Option<Scale>,
    /// True if the item has a flag.
    pub(crate) is_flagged: bool,
}

/// Scores the plan that `lines` are. `revised` are its apps where they come from the selection of apps (docs/benchmarks/appbench.md §3.2),
/// else those of the plan.
pub(crate) fn score(entry: &Entry, lines: &[Line<'_>], revised: Option<&[&str]>) -> ItemCounters {
    let of_plan = super::parse::apps(lines);
    let apps = revised.unwrap_or(&of_plan);
    let calls: Vec<&str> = lines.iter().map(|line| line.call.as_str()).collect();
    let gold = &entry.gold;
    let evaluation = evaluation::count(gold, apps, &calls);
    let (lists, analysis) = analysis::count(gold, apps, &calls);
    let is_unparseable = |call: &&&str| parse::name(&without_backslashes(call)).is_none();
    ItemCounters {
        evaluation,
        lists,
        analysis,
        unparseable: calls.iter().filter(is_unparseable).count() as u64,
        argument_em: evaluation.api_argu_em == evaluation::gold_names(gold),
        scale: Topology::of(gold.used_app.len(), &gold.api_results).ok().map(|topology| topology.scale()),
        is_flagged: !entry.flags.is_empty(),
    }
}

/// The flat values of an item that the official code leaves out, since no apps were selected for it.
pub(crate) fn dropped_values() -> BTreeMap<String, f64> {
    BTreeMap::from([(value::DROPPED.to_owned(), 1.0)])
}

/// True if flat values are those of an item that was left out.
pub(crate) fn is_dropped(values: &BTreeMap<String, f64>) -> bool {
    values.get(value::DROPPED).is_some_and(|dropped| *dropped > 0.0)
}

impl ItemCounters {
    /// The item's entry in the shape of the golden files.
    pub(crate) fn detail(&self) -> Map<String, Value> {
        let mut sums = Sums::default();
        sums.add(&self.lists, &self.analysis);
        let error = |result: Result<Value, ZeroDivision>| result.is_err().then_some(ZeroDivision::NAME);
        let mut analysis = Map::from_iter([
            ("app_em".to_owned(), json!(self.lists.app_em)),
            ("app_f1".to_owned(), json!(self.lists.app_f1)),
            ("api_em".to_owned(), json!(self.lists.api_em)),
            ("api_f1".to_owned(), json!(self.lists.api_f1)),
        ]);
        analysis.extend(self.analysis.entries().map(|(name, counter)| (name.to_owned(), json!(counter))));
        Map::from_iter([
            ("eval".to_owned(), json!(self.evaluation)),
            ("eval_alone_error".to_owned(), json!(error(self.evaluation.metrics(1)))),
            ("ana".to_owned(), Value::Object(analysis)),
            ("ana_alone_error".to_owned(), json!(error(sums.metrics(1)))),
        ])
    }

    /// Flat values, from which [`Self::from_values`] makes the counters again.
    pub(crate) fn to_values(self) -> BTreeMap<String, f64> {
        let plain = |(name, counter): (&str, u64)| (name.to_owned(), to_value(counter));
        let prefixed = |(name, value): (&str, f64)| (format!("{}{name}", value::ANALYSIS), value);
        let mut values: BTreeMap<String, f64> = self.evaluation.entries().map(plain).into();
        values.extend(self.analysis.entries().map(|(name, counter)| prefixed((name, to_value(counter)))));
        values.extend(
            [
                ("app_em", to_value(self.lists.app_em)),
                ("app_f1", self.lists.app_f1),
                ("api_em", to_value(self.lists.api_em)),
                ("api_f1", self.lists.api_f1),
            ]
            .map(prefixed),
        );
        let errors = &self.analysis;
        values.extend(
            [
                (value::UNPARSEABLE, self.unparseable),
                (value::ARGUMENT_EM, self.argument_em.into()),
                (value::DROPPED, 0),
                (value::INDEPENDENT_KEY_ERROR, errors.key_missing_error - errors.depend_key_missing_error),
                (
                    value::INDEPENDENT_VALUE_ERROR,
                    errors.key_value_mismatch_error - errors.depend_key_value_mismatch_error,
                ),
            ]
            .map(plain),
        );
        if let Some(Scale { components, calls }) = self.scale {
            values.extend([(value::COMPONENTS, components as u64), (value::COMPONENT_CALLS, calls as u64)].map(plain));
        }
        if !self.is_flagged {
            values.insert(value::UNFLAGGED_MATCH.to_owned(), to_value(self.evaluation.total_match));
        }
        values
    }

    /// The counters whose flat values these are; nothing for an item that was left out.
    pub(crate) fn from_values(values: &BTreeMap<String, f64>) -> Option<Self> {
        if is_dropped(values) {
            return None;
        }
        let known = |name: &str| values.get(name).copied();
        let value = |name: &str| flat_value(values, name);
        let counter = |name: &str| to_counter(value(name));
        let of_analysis = |name: &str| value(&format!("{}{name}", value::ANALYSIS));
        Some(Self {
            evaluation: Evaluation::of(counter),
            lists: Lists {
                app_em: to_counter(of_analysis("app_em")),
                app_f1: of_analysis("app_f1"),
                api_em: to_counter(of_analysis("api_em")),
                api_f1: of_analysis("api_f1"),
            },
            analysis: Analysis::of(|name| to_counter(of_analysis(name))),
            unparseable: counter(value::UNPARSEABLE),
            argument_em: value(value::ARGUMENT_EM) > 0.0,
            scale: known(value::COMPONENTS).map(|components| Scale {
                components: to_counter(components) as usize,
                calls: counter(value::COMPONENT_CALLS) as usize,
            }),
            is_flagged: known(value::UNFLAGGED_MATCH).is_none(),
        })
    }
}
