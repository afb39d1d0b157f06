//! Intervals of the numbers in a benchmark's own aggregates, which only its official code computes.

use regatta_benchmarks::Tables;
use regatta_proto::{Evaluator, Level};
use serde::Serialize;
use serde_json::Value;

use super::group::GroupResult;
use super::jackknife::{Removal, spread_over};
use crate::statistics::interval_of;

/// A number of an aggregate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct AggregateNumber {
    /// Place in the aggregate, a JSON pointer.
    pub(crate) pointer: String,
    pub(crate) value: f64,
    /// Lower end of the interval over new items like these. Absent where a session has no score, since nobody knows how much of this number
    /// is missing then, where fewer than two groups of clusters move the number, and where it is not there without one of them.
    pub(crate) low: Option<f64>,
    /// Upper end.
    pub(crate) high: Option<f64>,
    /// Groups of clusters that move the number.
    pub(crate) clusters: u32,
}

/// Numbers of the aggregate of `evaluator`, of all trials or of the one at `trial`, in the order of their names: those that the benchmark
/// knows for averages over sessions. Empty without the evaluator.
pub(crate) fn numbers(
    suite: &dyn Tables,
    group: &GroupResult,
    evaluator: Evaluator,
    trial: Option<usize>,
    level: Level,
) -> Vec<AggregateNumber> {
    let cell = trial.and_then(|at| group.cells.get(at));
    let (tables, sessions) = match cell {
        Some(cell) => (&cell.tables, &cell.sessions),
        None => (&group.tables, &group.sessions),
    };
    let Some((_, table)) = tables.iter().find(|(of, _)| *of == evaluator) else { return Vec::new() };
    let left_out = group.left_out.iter().filter_map(|left_out| {
        let (_, singles, all) = left_out.tables.iter().find(|(of, _, _)| *of == evaluator)?;
        let table = match trial {
            Some(at) => singles.get(at)?,
            None => all,
        };
        Some((left_out.items, &table.aggregate))
    });
    let left_out: Vec<(u32, &Value)> = left_out.collect();
    let is_whole = sessions.scored() == sessions.total;
    let mut found = Vec::new();
    push_numbers(&table.aggregate, String::new(), &mut |pointer, value| {
        let Some(range) = suite.aggregate_range(evaluator, &pointer) else { return };
        let left: Option<Vec<(u32, f64)>> =
            left_out.iter().map(|(items, without)| Some((*items, without.pointer(&pointer)?.as_f64()?))).collect();
        let (ends, clusters) = match left.filter(|_| is_whole) {
            Some(left) => interval(value, &left, group.items, range, level),
            None => (None, 0),
        };
        let (low, high) = (ends.map(|(low, _)| low), ends.map(|(_, high)| high));
        found.push(AggregateNumber { pointer, value, low, high, clusters });
    });
    found
}

fn push_numbers(value: &Value, pointer: String, push: &mut dyn FnMut(String, f64)) {
    match value {
        Value::Number(number) => {
            if let Some(number) = number.as_f64() {
                push(pointer, number);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                push_numbers(field, format!("{pointer}/{name}"), push);
            }
        }
        // Places in a list are no names: without some of the items another number may stand there.
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// The interval of a number that is `value`, and what it is without one group of clusters after another, each with its number of items
/// among `items`; and how many groups move it.
fn interval(value: f64, left: &[(u32, f64)], items: u32, range: (f64, f64), level: Level) -> (Option<(f64, f64)>, u32) {
    // A number may be about some of the items alone, as those of one domain. Whoever does not move it may not make it look better known.
    let is_moved = |left: f64| (left - value).abs() > 1e-12 * value.abs().max(1.0);
    let moving = (0..).zip(left).filter(|(_, (_, left))| is_moved(*left));
    let removals: Vec<Removal> = moving
        .map(|(cluster, (of_cluster, left))| Removal {
            cluster,
            part: f64::from(*of_cluster) / f64::from(items),
            items,
            left: *left,
        })
        .collect();
    let clusters = removals.len() as u32;
    if clusters < 2 {
        return (None, clusters);
    }
    let (from, to) = range;
    let is_within = |value: f64| (from..=to).contains(&value);
    let is_scale =
        from.is_finite() && to.is_finite() && is_within(value) && left.iter().all(|(_, left)| is_within(*left));
    let ends = interval_of(value, is_scale.then_some(range), &spread_over(value, removals), 0.0, level);
    // Without a scale the interval is symmetric, and may reach below what can be.
    (ends.map(|(low, high)| (low.max(from.min(value)), high.min(to.max(value)))), clusters)
}

#[cfg(test)]
mod tests;
