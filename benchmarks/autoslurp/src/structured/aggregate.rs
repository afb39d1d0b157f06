//! Sessions together: the `aggregate` of golden files, from flat values alone.

use std::collections::BTreeMap;

use regatta_benchmarks::{Score, Table};
use serde_json::{Map, Value, json};

use super::reason::Reason;
use super::value;
use crate::data::Utterance;

/// The part of the data set that needs other people's services.
pub(crate) const PART_EXTERNAL: &str = "external";
/// The part of the data set that the simulated servers serve.
pub(crate) const PART_LOCAL: &str = "local";

/// The part that an utterance belongs to.
pub(crate) fn part_of(utterance: &Utterance) -> &'static str {
    if utterance.is_external() { PART_EXTERNAL } else { PART_LOCAL }
}

/// Sums over sessions.
#[derive(Debug, Default)]
struct Sums {
    sessions: usize,
    of: BTreeMap<&'static str, f64>,
    /// Sessions that have the value at all.
    having: BTreeMap<&'static str, usize>,
}

impl Sums {
    fn add(&mut self, score: &Score, names: &[&'static str]) {
        self.sessions += 1;
        for name in names {
            let value = score.values.get(*name);
            *self.of.entry(*name).or_default() += value.copied().unwrap_or_default();
            *self.having.entry(*name).or_default() += usize::from(value.is_some());
        }
    }

    /// The mean over the sessions that have the value.
    fn mean(&self, name: &str) -> Option<f64> {
        let having = self.having.get(name).copied().unwrap_or_default();
        (having > 0).then(|| self.sum(name) / having as f64)
    }

    fn sum(&self, name: &str) -> f64 {
        self.of.get(name).copied().unwrap_or_default()
    }

    fn rate(&self, name: &str) -> Option<f64> {
        (self.sessions > 0).then(|| self.sum(name) / self.sessions as f64)
    }
}

/// The aggregate of sessions, each with the domain of its utterance.
pub(crate) fn tabulate<'s>(sessions: impl IntoIterator<Item = (&'s str, &'s Score)>) -> Table {
    const WHOLE: [&str; 4] = [value::SUCCESS, value::LENIENT, value::INTENT_STRICT, value::INTENT_VALUES];
    let mut all = Sums::default();
    let mut domains: BTreeMap<&str, Sums> = BTreeMap::new();
    let mut reasons = [0_u64; Reason::ALL.len()];
    for (domain, score) in sessions {
        all.add(score, &WHOLE);
        domains.entry(domain).or_default().add(score, &[value::INTENT_STRICT, value::INTENT_VALUES]);
        for (reason, count) in Reason::ALL.iter().zip(&mut reasons) {
            let name = format!("{}{}", value::REASON, reason.as_str());
            *count += u64::from(score.values.get(&name).is_some_and(|value| *value > 0.0));
        }
    }
    let reasons = Reason::ALL.iter().zip(reasons).filter(|(_, count)| *count > 0);
    let reasons: Map<String, Value> =
        reasons.map(|(reason, count)| (reason.as_str().to_owned(), json!(count))).collect();
    let domains: Map<String, Value> = domains
        .into_iter()
        .map(|(domain, sums)| {
            let intent = json!({
                "n": sums.sessions,
                "strict": sums.rate(value::INTENT_STRICT),
                "ignore_slot_names": sums.rate(value::INTENT_VALUES),
            });
            (domain.to_owned(), intent)
        })
        .collect();
    Table {
        aggregate: json!({
            "items": all.sessions,
            "passes": all.sum(value::SUCCESS) as u64,
            "success_rate": all.rate(value::SUCCESS),
            "success_rate_lenient": all.rate(value::LENIENT),
            "reasons": reasons,
            "intent_by_domain": domains,
        }),
        columns: vec![
            ("Success rate".to_owned(), all.rate(value::SUCCESS)),
            ("Success rate, lenient".to_owned(), all.rate(value::LENIENT)),
            ("Intent accuracy".to_owned(), all.mean(value::INTENT_STRICT)),
            ("Intent accuracy, slot names ignored".to_owned(), all.mean(value::INTENT_VALUES)),
        ],
    }
}
