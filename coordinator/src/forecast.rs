//! Forecast of a sweep's final cost from the cost of its sessions so far.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use regatta_backends::CellProgress;
use regatta_catalog::Sweep;
use regatta_proto::{CostSum, Level, Money, SweepId};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::estimate::is_priced;
use crate::{Coordinator, CoordinatorError};

/// A forecast is made once this part of the sessions is measured, ...
const PART_MIN: f64 = 0.01;
/// ... and at least so many of each cell that still has sessions to run, or of all cells together.
const SESSIONS_MIN: u64 = 8;

/// Sums over the known costs of one cell's sessions.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct CellCosts {
    /// Number of sessions in the cell.
    pub(crate) sessions: u64,
    /// Number of sessions whose cost is known.
    pub(crate) seen: u64,
    /// Number of sessions that are still to be run, or under way.
    pub(crate) left: u64,
    /// `true` if everybody who is paid for a session has a price.
    pub(crate) is_priced: bool,
    /// Sum of the known costs in nanodollars.
    pub(crate) sum: f64,
    /// Sum of the squares of the known costs.
    pub(crate) squares: f64,
}

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

/// Forecasts made lately. Making one reads every attempt, so it is made again only after many times as long as that took.
#[derive(Debug, Default)]
pub(crate) struct Forecasts(Mutex<BTreeMap<SweepId, Made>>);

#[derive(Debug, Clone, Copy)]
struct Made {
    forecast: Option<Forecast>,
    holds_until: Instant,
}

/// Least time between two forecasts of a sweep.
const REFRESH_MIN: Duration = Duration::from_secs(1);
/// A forecast may take this part of the time.
const EFFORT: u32 = 50;
/// Newton's steps at most towards a normal quantile; the farthest that a level asks for takes ten.
const STEPS: u32 = 50;
/// Sweeps whose forecasts are kept.
const KEPT_MAX: usize = 1024;

impl Forecasts {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<SweepId, Made>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Coordinator {
    /// Cost of `sweep` at its end with an interval at the sweep's level, from what the ledger knows; at times a few seconds old.
    pub(crate) async fn forecast(
        &self,
        sweep: &Sweep,
        progress: &[CellProgress],
    ) -> Result<Option<Forecast>, CoordinatorError> {
        let begun = Instant::now();
        let known = self.forecasts.lock().get(&sweep.id).copied();
        if let Some(made) = known.filter(|made| begun < made.holds_until) {
            return Ok(made.forecast);
        }
        let forecast = self.make_forecast(sweep, progress).await?;
        let holds_until = Instant::now() + (begun.elapsed() * EFFORT).max(REFRESH_MIN);
        let mut made = self.forecasts.lock();
        if made.len() >= KEPT_MAX {
            made.clear();
        }
        made.insert(sweep.id.clone(), Made { forecast, holds_until });
        Ok(forecast)
    }

    async fn make_forecast(
        &self,
        sweep: &Sweep,
        progress: &[CellProgress],
    ) -> Result<Option<Forecast>, CoordinatorError> {
        // The ledger knows of the rounds so far alone, and results decide whether others follow.
        if sweep.lock.decide.is_some() {
            return Ok(None);
        }
        let moments: BTreeMap<_, _> = self.ledger.cost_moments(&sweep.id).await?.into_iter().collect();
        let cells: Vec<CellCosts> = progress
            .iter()
            .map(|cell| {
                let known = moments.get(&cell.index).copied().unwrap_or_default();
                CellCosts {
                    sessions: cell.items,
                    seen: known.sessions,
                    left: cell.items.saturating_sub(cell.recorded),
                    is_priced: sweep.cell(cell.index).is_some_and(|cell| is_priced(sweep, cell)),
                    sum: known.sum,
                    squares: known.squares,
                }
            })
            .collect();
        let (_, mut spent) = self.ledger.judge_costs(&sweep.id).await?;
        progress.iter().for_each(|cell| spent += cell.cost);
        Ok(forecast(&cells, spent, sweep.lock.level))
    }
}

/// Forecasts the end of a sweep of these cells that has spent `spent` so far, waste and judges included; `None` while too little is known, where a
/// call has an unknown price or those of a cell that is left may have one, and once no session is left to run.
///
/// A cell's remaining sessions are taken to cost what its others did; those of a cell of which too little is known, what those of all
/// cells did. The interval holds both the uncertainty of the mean and the spread of the sessions to come. What was spent beyond the
/// sessions that count (waste, judges) grows in proportion.
pub(crate) fn forecast(cells: &[CellCosts], spent: CostSum, level: Level) -> Option<Forecast> {
    let mut to_run = cells.iter().filter(|cell| cell.left > 0).peekable();
    if spent.unknown_calls > 0 || to_run.peek().is_none() || to_run.any(|cell| !cell.is_priced) {
        return None;
    }
    let spent = spent.known;
    let sessions: u64 = cells.iter().map(|cell| cell.sessions).sum();
    let all = cells.iter().fold(CellCosts::default(), |sum, cell| CellCosts {
        sessions,
        seen: sum.seen + cell.seen,
        left: sum.left + cell.left,
        is_priced: sum.is_priced && cell.is_priced,
        sum: sum.sum + cell.sum,
        squares: sum.squares + cell.squares,
    });
    if all.seen < SESSIONS_MIN || (all.seen as f64) < PART_MIN * sessions as f64 {
        return None;
    }
    let overhead = if all.sum > 0.0 { (spent.0 as f64 / all.sum).max(1.0) } else { 1.0 };
    let (mut to_come, mut variance) = (0.0, 0.0);
    for cell in cells {
        let left = cell.left as f64;
        let known = if cell.seen >= SESSIONS_MIN { cell } else { &all };
        let n = known.seen as f64;
        let mean = known.sum / n;
        let spread = ((known.squares - n * mean * mean) / (n - 1.0)).max(0.0);
        to_come += left * mean;
        variance += left * left * spread / n + left * spread;
    }
    let money = |nanos: f64| Money(nanos.max(0.0).round() as u64);
    let (to_come, half) = (to_come * overhead, normal_quantile(level.upper()) * variance.sqrt() * overhead);
    Some(Forecast {
        expected: spent + money(to_come),
        low: spent + money(to_come - half),
        high: spent + money(to_come + half),
        level,
    })
}

/// The standard normal deviate below which `probability` (0.5 up to 0.9995) lies.
fn normal_quantile(probability: f64) -> f64 {
    let density = |z: f64| (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
    // From 0 on the distribution function is concave, so that Newton's steps never pass the quantile by.
    let mut z = 0.0;
    for _ in 0..STEPS {
        let step = (probability - 0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)) / density(z);
        z += step;
        if step.abs() <= 1e-12 * z {
            break;
        }
    }
    z
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cell(sessions: u64, costs: &[f64]) -> CellCosts {
        CellCosts {
            sessions,
            seen: costs.len() as u64,
            left: sessions - costs.len() as u64,
            is_priced: true,
            sum: costs.iter().sum(),
            squares: costs.iter().map(|cost| cost * cost).sum(),
        }
    }

    fn known(nanos: u64) -> CostSum {
        CostSum { known: Money(nanos), unknown_calls: 0 }
    }

    #[test]
    fn nothing_is_forecast_before_the_first_per_cent() {
        assert_eq!(forecast(&[cell(10_000, &[5.0; 99])], known(495), Level::USUAL), None);
        assert!(forecast(&[cell(10_000, &[5.0; 100])], known(500), Level::USUAL).is_some());
        assert_eq!(forecast(&[cell(10, &[5.0; 7])], known(35), Level::USUAL), None, "a handful says nothing");
    }

    #[test]
    fn equal_costs_leave_no_doubt() {
        let forecast = forecast(&[cell(100, &[5.0; 10])], known(50), Level::USUAL).unwrap();
        assert_eq!(forecast, Forecast { expected: Money(500), low: Money(500), high: Money(500), level: Level::USUAL });
    }

    #[test]
    fn each_cell_goes_on_at_its_own_cost() {
        let forecast = forecast(&[cell(100, &[1.0; 10]), cell(100, &[9.0; 20])], known(190), Level::USUAL).unwrap();
        assert_eq!(forecast.expected, Money(1000));
    }

    #[test]
    fn what_is_spent_on_waste_and_judges_goes_on_in_proportion() {
        let forecast = forecast(&[cell(100, &[5.0; 10])], known(75), Level::USUAL).unwrap();
        assert_eq!(forecast.expected, Money(750));
    }

    #[test]
    fn the_interval_is_as_wide_as_the_level_of_the_sweep_asks() {
        // Costs of 10 and 30 in turn: 100 more sessions have the variance 100² · s²/10 + 100 · s², with s² = 1000/9.
        let costs: Vec<f64> = [1e9, 3e9].repeat(5);
        let error = (1e4 * (1e19 / 9.0) / 10.0 + 1e2 * (1e19 / 9.0_f64)).sqrt();
        // Normal quantiles of published tables.
        for (level, deviates) in
            [(0.9, 1.644_853_627), (0.95, 1.959_963_985), (0.99, 2.575_829_304), (0.999, 3.290_526_731)]
        {
            let level = Level::new(level).unwrap();
            let found = forecast(&[cell(110, &costs)], known(20_000_000_000), level).unwrap();
            let half = (found.high.0 - found.low.0) as f64 / 2.0;
            assert!((half / error - deviates).abs() < 1e-8, "{level}: {} of {deviates}", half / error);
            assert_eq!(found.level, level);
        }
    }

    #[test]
    fn nothing_is_forecast_once_no_session_is_left_to_run() {
        assert_eq!(forecast(&[cell(10, &[2.0; 10])], known(20), Level::USUAL), None);
    }

    #[test]
    fn sessions_that_have_ended_without_a_measurement_are_not_run_once_more() {
        let failed = CellCosts { left: 50, ..cell(100, &[5.0; 10]) };
        assert_eq!(forecast(&[failed], known(50), Level::USUAL).unwrap().expected, Money(300));
    }

    #[test]
    fn nothing_is_forecast_of_calls_of_unknown_price_done_or_to_come() {
        let one = cell(100, &[5.0; 10]);
        let unknown = CostSum { known: Money(50), unknown_calls: 1 };
        assert_eq!(forecast(&[one], unknown, Level::USUAL), None);
        let unpriced = CellCosts { is_priced: false, ..cell(100, &[]) };
        assert_eq!(forecast(&[one, unpriced], known(50), Level::USUAL), None);
        // It has ended, with costs that its provider told.
        let ended = CellCosts { is_priced: false, ..cell(10, &[5.0; 10]) };
        assert!(forecast(&[one, ended], known(100), Level::USUAL).is_some());
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_expected_cost_and_never_less_than_what_is_spent(
            costs in proptest::collection::vec(0u32..1_000_000, 8..60), more in 0u64..5000, waste in 0u64..1_000_000,
        ) {
            let costs: Vec<f64> = costs.into_iter().map(f64::from).collect();
            let spent = Money(costs.iter().sum::<f64>() as u64 + waste);
            if let Some(forecast) = forecast(&[cell(costs.len() as u64 + more, &costs)], known(spent.0), Level::USUAL) {
                prop_assert!(spent <= forecast.low && forecast.low <= forecast.expected && forecast.expected <= forecast.high);
            }
        }
    }
}
