//! One ranking of the models over all benchmarks and settings of a sweep, from its comparisons in pairs.

mod letters;

use std::collections::BTreeMap;

use regatta_proto::{CostSum, Flag, Level, ModelRef, Money};
use serde::{Deserialize, Serialize};

use self::letters::letters;
use crate::comparison::Percentiles;
use crate::pairs::{ModelOrders, PairFamily};
use crate::report::numbers::per_session;
use crate::statistics::{Rank, ranks};
use crate::summary::{LeaderboardRow, SessionCounts, Spending};

/// A model over all benchmarks and settings of the sweep.
///
/// A model is ahead of another if it is better in at least one setting and worse in none. Each benchmark's p-values are corrected over
/// its pairs; here they are corrected over the benchmarks too, so that one wrong order in the whole ranking has a probability of at most
/// that which the level of the sweep leaves: 5 % at 95 %.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// Model under test.
    pub model: ModelRef,
    /// `true` if answers came from a simulated endpoint.
    pub simulated: bool,
    /// Places that it may have among all models of the sweep; absent for the only model, and for one without any value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<Rank>,
    /// Significance groups, a letter each: models that share a letter are not told apart. Empty without a rank.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub groups: String,
    /// Comparisons with other models of the same setting in which it is better.
    pub better: u32,
    /// Comparisons in which it is worse.
    pub worse: u32,
    /// Comparisons that show no difference.
    pub tied: u32,
    /// Sessions.
    pub sessions: SessionCounts,
    /// Money of all attempts, waste included.
    pub cost: CostSum,
    /// Money of the attempts that led to scores, over the sessions that have one and were not cut off; absent when some of it is unknown, or
    /// answers came from the response cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_per_session: Option<Money>,
    /// Sessions with a score that a filter, the length of the context or a refusal of the model ended.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut_off: u64,
    /// Sessions with a score of which answers came from the response cache, or may have.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// Seconds of the sessions that have a score and an answered call, with failed tries and waits; absent where answers came from the
    /// response cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_seconds: Option<Percentiles>,
    /// Seconds of answered calls, each from sending the last try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_seconds: Option<Percentiles>,
    /// Sessions with a score by flag of the model's answers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub flags: BTreeMap<Flag, u64>,
}

impl Standing {
    /// Money of a session as people read it, with how many of those that have a score it is over where some were cut off; `None` where it is
    /// absent.
    #[must_use]
    pub fn rendered_per_session(&self) -> Option<String> {
        per_session(self.cost_per_session, self.cut_off, self.sessions.scored())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Seconds of sessions and of calls of a model.
pub(crate) type Times = (Option<Percentiles>, Option<Percentiles>);

/// The models of `rows`, best first; those that are tied are in the order of `models`, which is that of the lock.
pub(crate) fn standings(
    models: &[ModelRef],
    rows: &[LeaderboardRow],
    families: &[PairFamily],
    level: Level,
    times: impl Fn(&ModelRef) -> Times,
) -> Vec<Standing> {
    let mut all: Vec<Standing> = models.iter().filter_map(|model| totals(model, rows, &times)).collect();
    let has_value = |model: &ModelRef| {
        let mut of_model = rows.iter().filter(|row| row.model == *model);
        of_model.any(|row| row.headline().next().is_some_and(|metric| metric.estimate.value.is_some()))
    };
    // Who has no value may be better than all others: it counts among the places that these may have, but has none itself.
    let present: Vec<ModelRef> = all.iter().map(|standing| standing.model.clone()).collect();
    let contests = Contests::count(&present, families, level);
    if present.len() > 1 {
        let ahead = contests.ahead();
        let found = ranks(present.len(), &ahead).into_iter().zip(letters(present.len(), &ahead));
        for (standing, (rank, groups)) in all.iter_mut().zip(found).filter(|(standing, _)| has_value(&standing.model)) {
            (standing.rank, standing.groups) = (Some(rank), groups);
        }
    }
    for standing in &mut all {
        (standing.better, standing.worse, standing.tied) = contests.of(&standing.model);
    }
    // Stable: values of models that are tied differ by chance.
    all.sort_by_key(|standing| standing.rank.map_or((u32::MAX, u32::MAX), |rank| (rank.best, rank.worst)));
    all
}

fn totals(model: &ModelRef, rows: &[LeaderboardRow], times: impl Fn(&ModelRef) -> Times) -> Option<Standing> {
    let own = || rows.iter().filter(|row| row.model == *model);
    own().next()?;
    let (mut sessions, mut spending, mut flags) = (SessionCounts::default(), Spending::default(), BTreeMap::new());
    for row in own() {
        sessions.add(&row.sessions);
        spending.add(&row.spending);
        row.flags.iter().for_each(|(flag, count)| *flags.entry(*flag).or_default() += count);
    }
    let cached = own().map(|row| row.cached).sum();
    let (session_seconds, call_seconds) = times(model);
    Some(Standing {
        model: model.clone(),
        simulated: own().any(|row| row.simulated),
        rank: None,
        groups: String::new(),
        better: 0,
        worse: 0,
        tied: 0,
        sessions,
        cost: spending.cost,
        cost_per_session: spending.per_session(sessions.scored(), cached),
        cut_off: spending.cut_off,
        cached,
        session_seconds,
        call_seconds,
        flags,
    })
}

/// Comparisons of models: by the better and the worse of both, how often; and who is tied with whom.
struct Contests<'m> {
    models: &'m [ModelRef],
    won: BTreeMap<(usize, usize), u32>,
    tied: Vec<(usize, usize)>,
}

impl<'m> Contests<'m> {
    fn count(models: &'m [ModelRef], families: &[PairFamily], level: Level) -> Self {
        let mut contests = Self { models, won: BTreeMap::new(), tied: Vec::new() };
        let place = |model: &ModelRef| models.iter().position(|of| of == model);
        let orders = ModelOrders::new(families, level);
        for pair in families.iter().flat_map(|family| &family.pairs).filter(|pair| pair.is_of_models()) {
            match orders.of(pair) {
                Some((better, worse)) => {
                    let (Some(better), Some(worse)) = (place(&better.model), place(&worse.model)) else { continue };
                    *contests.won.entry((better, worse)).or_default() += 1;
                }
                None => contests.tied.extend(place(&pair.one.model).zip(place(&pair.other.model))),
            }
        }
        contests
    }

    /// Pairs of which the first is ahead of the second.
    fn ahead(&self) -> Vec<(usize, usize)> {
        let is_unopposed = |pair: &&(usize, usize)| !self.won.contains_key(&(pair.1, pair.0));
        self.won.keys().filter(is_unopposed).copied().collect()
    }

    /// Comparisons of `model` that it won, lost, and that are tied.
    fn of(&self, model: &ModelRef) -> (u32, u32, u32) {
        let Some(own) = self.models.iter().position(|of| of == model) else { return (0, 0, 0) };
        let sum = |is_own: &dyn Fn(&(usize, usize)) -> bool| {
            self.won.iter().filter(|(pair, _)| is_own(pair)).map(|(_, count)| count).sum()
        };
        let tied = self.tied.iter().filter(|(one, other)| *one == own || *other == own).count() as u32;
        (sum(&|pair| pair.0 == own), sum(&|pair| pair.1 == own), tied)
    }
}

#[cfg(test)]
mod tests;
