//! Forecast of a sweep's final cost from the cost of its sessions so far.

#[cfg(test)]
mod coverage;
mod foretelling;
mod tasks;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use regatta_backends::{CellProgress, CostMoments, Ledger, LedgerError};
use regatta_catalog::Sweep;
use regatta_proto::{
    BenchmarkLock, BenchmarkName, CellIndex, CostSum, Judge, Level, ModelRef, Money, Setting, SweepId,
};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

pub(crate) use self::foretelling::normal_quantile;
use self::foretelling::{GroupCosts, JudgedCosts, SESSIONS_MIN, Spent, foretell};
use self::tasks::{TaskCosts, by_task};
use crate::estimate::{is_paid, is_priced};
use crate::{Coordinator, CoordinatorError};

/// Dollars at the end of a sweep, with an interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// Expected cost.
    pub expected: Money,
    /// Lower end; never below what is spent.
    pub low: Money,
    /// Upper end.
    pub high: Money,
    /// Probability with which the interval covers: that of the sweep.
    #[serde(default)]
    pub level: Level,
}

/// Cost of a sweep at its end, as far as its sessions so far tell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Foretold {
    /// Everything that is left resembles something that was seen.
    Whole(Forecast),
    /// Lower end of the part that can be told: of a model or a judge that is left too little was seen.
    AtLeast(Money),
}

impl Foretold {
    /// Raises a forecast to at least `spent`, the money spent by now: the forecast may be older than that.
    #[must_use]
    pub fn once_spent(self, spent: Money) -> Self {
        match self {
            Self::Whole(Forecast { expected, low, high, level }) => {
                let [expected, low, high] = [expected, low, high].map(|money| money.max(spent));
                Self::Whole(Forecast { expected, low, high, level })
            }
            Self::AtLeast(least) => Self::AtLeast(least.max(spent)),
        }
    }

    pub(crate) const fn whole(self) -> Option<Forecast> {
        match self {
            Self::Whole(forecast) => Some(forecast),
            Self::AtLeast(_) => None,
        }
    }

    pub(crate) const fn at_least(self) -> Option<Money> {
        match self {
            Self::Whole(_) => None,
            Self::AtLeast(least) => Some(least),
        }
    }
}

/// Forecasts made lately. Making one reads every attempt, so it is made again only after many times as long as that took.
#[derive(Debug, Default)]
pub(crate) struct Forecasts(Mutex<BTreeMap<SweepId, Made>>);

#[derive(Debug, Clone, Copy)]
struct Made {
    foretold: Option<Foretold>,
    holds_until: Instant,
}

/// Least time between two forecasts of a sweep.
const REFRESH_MIN: Duration = Duration::from_secs(1);
/// A forecast may take this part of the time.
const EFFORT: u32 = 50;
/// Sweeps whose forecasts are kept.
const KEPT_MAX: usize = 1024;

/// Sessions of a model in a setting, over all trials, and their tasks.
struct Group<'a> {
    whole: GroupCosts<'a>,
    tasks: BTreeMap<&'a str, TaskCosts>,
}

impl Forecasts {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<SweepId, Made>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Coordinator {
    /// Cost of `sweep` at its end with an interval at the sweep's level, from what the ledger knows; at times a few seconds old.
    pub(crate) async fn foretold(
        &self,
        sweep: &Sweep,
        progress: &[CellProgress],
    ) -> Result<Option<Foretold>, CoordinatorError> {
        let begun = Instant::now();
        let known = self.forecasts.lock().get(&sweep.id).copied();
        if let Some(made) = known.filter(|made| begun < made.holds_until) {
            return Ok(made.foretold);
        }
        let foretold = foretold_cost(&self.ledger, sweep, progress).await?;
        let holds_until = Instant::now() + (begun.elapsed() * EFFORT).max(REFRESH_MIN);
        let mut made = self.forecasts.lock();
        if made.len() >= KEPT_MAX {
            made.clear();
        }
        made.insert(sweep.id.clone(), Made { foretold, holds_until });
        Ok(foretold)
    }
}

/// Cost of `sweep` at its end with an interval at the sweep's level, from what `ledger` knows. Reads every attempt. `None` while hardly anything
/// is known, where prices are unknown, once nothing is left, and of a sweep with a question (`decide`).
///
/// # Errors
/// When the ledger fails.
pub async fn foretold_cost(
    ledger: &Ledger,
    sweep: &Sweep,
    progress: &[CellProgress],
) -> Result<Option<Foretold>, LedgerError> {
    // The ledger knows of the rounds so far alone, and results decide whether others follow.
    if sweep.lock.decide.is_some() {
        return Ok(None);
    }
    let mut moments: BTreeMap<CellIndex, Vec<(String, CostMoments)>> = BTreeMap::new();
    for (cell, task, known) in ledger.cost_moments(&sweep.id).await? {
        moments.entry(cell).or_default().push((task, known));
    }
    let mut groups: BTreeMap<(&BenchmarkName, &Setting, &ModelRef), Group<'_>> = BTreeMap::new();
    for (of, cell) in progress.iter().filter_map(|of| Some((of, sweep.cell(of.index)?))) {
        let group = groups.entry((&cell.benchmark, &cell.setting, &cell.model)).or_insert_with(|| Group {
            whole: GroupCosts { is_priced: is_priced(sweep, cell), ..GroupCosts::of(&cell.model) },
            tasks: BTreeMap::new(),
        });
        group.whole.sessions += of.items;
        group.whole.left += of.items.saturating_sub(of.recorded);
        for item in sweep.selected(cell).iter().filter_map(|index| sweep.item(cell, *index)) {
            group.tasks.entry(&item.task).or_default().sessions += 1;
        }
        for (task, known) in moments.get(&of.index).into_iter().flatten() {
            group.tasks.entry(task.as_str()).or_default().known.merge(known);
        }
    }
    let bills: BTreeMap<ModelRef, CostSum> =
        ledger.costs_by_judge(&sweep.id).await?.into_iter().map(|of| (of.judge, of.cost)).collect();
    let mut spent = Spent::default();
    progress.iter().for_each(|cell| spent.by_agents += cell.cost);
    bills.values().for_each(|cost| spent.by_judges += *cost);
    let groups: Vec<GroupCosts<'_>> = groups.values().flat_map(|group| by_task(&group.whole, &group.tasks)).collect();
    Ok(foretell(&groups, &judged(sweep, progress, &bills), spent, sweep.lock.level))
}

/// Sessions and bills of the judges that are paid.
fn judged(sweep: &Sweep, progress: &[CellProgress], bills: &BTreeMap<ModelRef, CostSum>) -> Vec<JudgedCosts> {
    let mut judges: BTreeMap<&ModelRef, BTreeMap<(&BenchmarkName, &Setting, &ModelRef), JudgedCosts>> = BTreeMap::new();
    for (of, cell) in progress.iter().filter_map(|of| Some((of, sweep.cell(of.index)?))) {
        // Audited sessions are a random part of all: the part of a bill for one is that for all, divided by their number.
        let asked = sweep.benchmark(cell).into_iter().flat_map(BenchmarkLock::judges);
        for judge in asked.flat_map(Judge::ids).filter(|judge| is_paid(&sweep.lock, judge)) {
            let groups = judges.entry(judge).or_default();
            let group = groups.entry((&cell.benchmark, &cell.setting, &cell.model)).or_default();
            group.sessions += of.items;
            group.scored += of.measured + of.model_failures;
            group.left += of.items.saturating_sub(of.settled);
        }
    }
    // A bill does not say which of the judge's sessions it is for.
    let judged = judges.into_iter().map(|(judge, groups)| {
        let mut all = JudgedCosts { is_known: true, ..JudgedCosts::default() };
        for group in groups.into_values() {
            all.sessions += group.sessions;
            all.scored += group.scored;
            all.left += group.left;
            // Who needs no new verdict, or a single one, has its score first: the first sessions are the cheaper ones.
            all.is_known &= group.left == 0 || group.scored >= SESSIONS_MIN.max(group.left);
            all.left_for_one = all.left_for_one.max(group.left as f64 / group.scored.max(1) as f64);
        }
        JudgedCosts { nanos: bills.get(judge).map_or(0.0, |cost| cost.known.0 as f64), ..all }
    });
    judged.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forecast_of_a_moment_ago_is_not_below_what_is_spent_by_now() {
        let level = Level::USUAL;
        let of =
            |expected, low, high| Forecast { expected: Money(expected), low: Money(low), high: Money(high), level };
        assert_eq!(Foretold::AtLeast(Money(5)).once_spent(Money(7)).at_least(), Some(Money(7)));
        assert_eq!(Foretold::AtLeast(Money(9)).once_spent(Money(7)).at_least(), Some(Money(9)));
        assert_eq!(Foretold::Whole(of(6, 5, 9)).once_spent(Money(7)).whole(), Some(of(7, 7, 9)));
    }
}
