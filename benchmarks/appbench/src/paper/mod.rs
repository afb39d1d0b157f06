//! The paper's metrics, computed as they are described (docs/benchmarks/appbench.md §6): multisets, and plans that are
//! equal up to the order of calls and the spelling of variables.

mod aggregate;
mod canonical;

#[cfg(test)]
mod tests;

use regatta_benchmarks::flat_value;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

pub(crate) use self::aggregate::aggregate;
use self::canonical::Forms;
pub(crate) use self::canonical::slot_of;
use super::data::{Entry, Gold, Phone};
use super::official::counters::{counters, to_counter, to_value};
use super::parse::{Line, paper as parse};
use regatta_pycompat::lower;

counters! {
    /// Counters of one item.
    ItemCounters {
        /// Apps that plan and gold share, each as often as in both.
        app_hit,
        /// Predicted apps.
        app_pred,
        /// Gold apps.
        app_gold,
        /// 1 when the apps are those of the gold, each as often.
        app_em,
        /// APIs that plan and gold share, each as often as in both.
        api_hit,
        /// Predicted calls, those that cannot be read among them.
        api_pred,
        /// Gold calls.
        api_gold,
        /// 1 when the APIs are those of the gold, each as often.
        api_em,
        /// 1 when the plan is the gold's.
        succ,
    }
}

/// A plan: the app of each call, as written, and the call, if it can be read.
struct Plan<'p> {
    apps: Vec<String>,
    calls: Vec<(&'p str, Option<parse::Call>)>,
}

impl<'p> Plan<'p> {
    fn of(phone: &Phone, pairs: impl Iterator<Item = (&'p str, &'p str)>) -> Self {
        let (apps, calls) =
            pairs.map(|(app, text)| (lower(app), (text, parse::call(text, |name| phone.has_api(name))))).unzip();
        Self { apps, calls }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.calls.iter().filter_map(|(_, call)| Some(call.as_ref()?.name.as_str()))
    }

    fn forms(&self, forms: &mut Forms, phone: &Phone) -> Vec<usize> {
        forms.of_plan(
            phone,
            self.apps.iter().map(String::as_str).zip(self.calls.iter().map(|(text, call)| (*text, call.as_ref()))),
        )
    }
}

/// Scores the plan that `lines` are.
pub(crate) fn score(entry: &Entry, phone: &Phone, lines: &[Line<'_>]) -> ItemCounters {
    let plan = Plan::of(phone, lines.iter().map(|line| (line.app, line.call.as_str())));
    let gold = Plan::of(phone, gold_pairs(&entry.gold));
    let apps: Vec<&String> = plan.apps.iter().filter(|app| !app.is_empty()).collect();
    let gold_apps: Vec<String> = entry.gold.used_app.iter().map(|app| lower(app)).collect();
    let app_hit = shared(apps.iter().copied(), gold_apps.iter());
    let api_hit = shared(plan.names(), gold.names());
    let mut forms = Forms::default();
    let (own, wanted) = (plan.forms(&mut forms, phone), gold.forms(&mut forms, phone));
    let all = |hit: usize, predicted: usize, gold: usize| u64::from(hit == predicted && hit == gold);
    ItemCounters {
        app_hit: app_hit as u64,
        app_pred: apps.len() as u64,
        app_gold: gold_apps.len() as u64,
        app_em: all(app_hit, apps.len(), gold_apps.len()),
        api_hit: api_hit as u64,
        api_pred: plan.calls.len() as u64,
        api_gold: gold.calls.len() as u64,
        api_em: all(api_hit, plan.calls.len(), gold.calls.len()),
        succ: u64::from(!own.is_empty()) * all(shared(own.iter(), wanted.iter()), own.len(), wanted.len()),
    }
}

/// Gold calls with their apps; those beyond the apps have none.
pub(crate) fn gold_pairs(gold: &Gold) -> impl Iterator<Item = (&str, &str)> {
    let apps = gold.used_app.iter().map(|app| &**app).chain(std::iter::repeat(""));
    apps.zip(gold.api_results.iter().map(|call| &**call))
}

/// The gold call of each of `lines`, each once, and whether the two are the same call: first those that are, then those of one API.
pub(crate) fn partners(entry: &Entry, phone: &Phone, lines: &[Line<'_>]) -> (Vec<Option<usize>>, Vec<bool>) {
    let plan = Plan::of(phone, lines.iter().map(|line| (line.app, line.call.as_str())));
    let gold = Plan::of(phone, gold_pairs(&entry.gold));
    let mut forms = Forms::default();
    let (own, wanted) = (plan.forms(&mut forms, phone), gold.forms(&mut forms, phone));
    let name = |plan: &Plan<'_>, at: usize| {
        let (app, (_, call)) = (plan.apps.get(at)?.clone(), plan.calls.get(at)?);
        Some((app, call.as_ref()?.name.clone()))
    };
    let (mut partner, mut is_same) = (vec![None; lines.len()], vec![false; lines.len()]);
    let mut is_taken = vec![false; wanted.len()];
    for exactly in [true, false] {
        for at in 0..lines.len() {
            let fits = |other: usize| match exactly {
                true => own.get(at) == wanted.get(other),
                false => name(&plan, at).is_some_and(|own| name(&gold, other) == Some(own)),
            };
            if partner[at].is_none()
                && let Some(found) = (0..wanted.len()).find(|other| !is_taken[*other] && fits(*other))
            {
                (partner[at], is_same[at], is_taken[found]) = (Some(found), exactly, true);
            }
        }
    }
    (partner, is_same)
}

/// Number of elements that two multisets share.
fn shared<T: Hash + Eq>(one: impl Iterator<Item = T>, other: impl Iterator<Item = T>) -> usize {
    let mut left: HashMap<T, usize> = HashMap::new();
    for element in other {
        *left.entry(element).or_default() += 1;
    }
    let take = |element: T| left.get_mut(&element).filter(|count| **count > 0).map(|count| *count -= 1);
    one.filter_map(take).count()
}

impl ItemCounters {
    /// Flat values, from which [`Self::from_values`] makes the counters again.
    pub(crate) fn to_values(self) -> BTreeMap<String, f64> {
        self.entries().map(|(name, counter)| (name.to_owned(), to_value(counter))).into()
    }

    /// The counters whose flat values these are.
    pub(crate) fn from_values(values: &BTreeMap<String, f64>) -> Self {
        Self::of(|name| to_counter(flat_value(values, name)))
    }
}
