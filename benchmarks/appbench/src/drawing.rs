//! The plan of an answer over the gold one, for people who look at a session: a node a call, an edge from each call that returns a name to
//! each that takes it.

use regatta_benchmarks::Drawing;

use super::data::{Entry, Phone};
use super::paper;
use super::parse::lines;
use super::topology::links;

/// Calls that are looked at; links may be as many as the square of them.
const CALLS_MAX: usize = 200;

/// The plan that `text` is over that of `entry`.
pub(crate) fn drawing(entry: &Entry, phone: &Phone, text: &str) -> Drawing {
    let mut own = lines(text);
    own.truncate(CALLS_MAX);
    let calls: Vec<&str> = own.iter().map(|line| line.call.as_str()).collect();
    let gold: Vec<(&str, &str)> = paper::gold_pairs(&entry.gold).take(CALLS_MAX).collect();
    let gold_calls: Vec<&str> = gold.iter().map(|(_, call)| *call).collect();
    let label = |(app, call): (&str, &str)| if app.is_empty() { call.to_owned() } else { format!("{app}: {call}") };
    let labels: Vec<String> = own.iter().map(|line| label((line.app, &line.call))).collect();
    let gold_labels: Vec<String> = gold.iter().copied().map(label).collect();
    let (partner, is_same) = paper::partners(entry, phone, &own);
    Drawing::over("Plan", (&labels, &links(&calls)), (&gold_labels, &links(&gold_calls)), &partner, |call, _| {
        is_same.get(call).copied().unwrap_or(false)
    })
}
