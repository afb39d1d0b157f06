//! A confidence sequence: bounds of a mean that hold at all looks together with the required probability.

use crate::capital::{Bets, Draws};
use crate::interval::Interval;
use crate::population::Population;
use crate::rules::Rules;
use crate::unit::Unit;

/// Precision of the bounds; the error is always on the wider side.
const PRECISION: f64 = 1e-7;
/// Largest number of steps to find a bound; bisection alone takes 24.
const STEPS_MAX: u32 = 60;

/// Bounds of the mean, 0 to 1, of the population that `units` are the first draws of: the ratio of the expected value to the expected
/// weight of a unit. Over all numbers of draws together, each of the two bounds misses the mean with probability at most `level`.
///
/// Without a `population`, draws are independent. With one, they are a uniformly random order of it, and the mean is that of its items.
/// Bets are those of sweeps that are planned now.
#[must_use]
pub fn bounds(units: &[Unit], population: Option<Population>, level: f64) -> Interval {
    let [bounds] = bounds_of(Bets::of(Rules::NOW), units, population, [level]);
    bounds
}

/// Confidence bounds at each of `levels` as [`bounds`] computes them, with the given `bets`.
pub(crate) fn bounds_of<const LEVELS: usize>(
    bets: &Bets,
    units: &[Unit],
    population: Option<Population>,
    levels: [f64; LEVELS],
) -> [Interval; LEVELS] {
    let mirrored: Vec<Unit> = units.iter().map(|unit| unit.mirrored()).collect();
    let (least, most) = (certain(units, population), 1.0 - certain(&mirrored, population));
    let (draws, of_mirrored) = (Draws::new(units, population), Draws::new(&mirrored, population));
    levels.map(|level| {
        let (low, high) = (lower(bets, &draws, level), 1.0 - lower(bets, &of_mirrored, level));
        // An improbable order may have excluded what is certain by now.
        Interval { low: low.min(most).max(least), high: high.max(least).min(most) }.in_order()
    })
}

/// The mean is at least this, whatever the units that were not drawn are.
fn certain(units: &[Unit], population: Option<Population>) -> f64 {
    population.map_or(0.0, |all| units.iter().map(|unit| unit.low).sum::<f64>() / all.weight)
}

fn lower(bets: &Bets, draws: &Draws<'_>, level: f64) -> f64 {
    let threshold = -libm::log(level);
    let beyond = |m: f64| draws.log_capital(bets, m) - threshold;
    // Nothing more can be excluded at 0, and no bet gains at 1.
    let (mut excluded, mut open) = (0.0, 1.0);
    let (mut at_excluded, mut at_open) = (f64::INFINITY, beyond(1.0));
    if at_open >= 0.0 {
        return 1.0;
    }
    for _ in 0..STEPS_MAX {
        if open - excluded <= PRECISION {
            break;
        }
        // False position, halving the value of an end that stays (the Illinois algorithm); bisection while an end is infinite.
        let middle = if at_excluded.is_finite() {
            let guess = (excluded * at_open - open * at_excluded) / (at_open - at_excluded);
            guess.clamp(excluded + PRECISION / 4.0, open - PRECISION / 4.0)
        } else {
            f64::midpoint(excluded, open)
        };
        let found = beyond(middle);
        if found >= 0.0 {
            (excluded, at_excluded) = (middle, found);
            at_open /= 2.0;
        } else {
            (open, at_open) = (middle, found);
            at_excluded /= 2.0;
        }
    }
    excluded
}
