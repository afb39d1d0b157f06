//! The capital of a gambler who bets that a mean is larger than `m`. If it is not, the capital is a supermartingale that starts at 1, so it
//! ever reaches 1/α with probability at most α (Ville), whatever the number of looks.
//!
//! Bets are fractions `f` of the largest bet without ruin, and the stake is divided over a few fixed fractions (the "diversified Kelly"
//! bets of Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", JRSS-B 86, 2024). Predictable plug-in bets
//! gain about as much, but depend on the order of the draws, and their capital is no monotone function of `m`. These two properties are
//! worth more here: equal draws give equal bounds, and one bisection finds the end of the sequence exactly.

use crate::population::Population;
use crate::rules::Rules;
use crate::unit::Unit;

/// Number of bets.
const BETS: usize = 6;
/// The largest fraction, whatever the rules.
const LARGEST: f64 = 0.9;

/// Fractions of the largest bet, and the parts of the stake that they get. The best fraction is about the difference over the variance: small
/// ones serve close means and noisy scores, large ones wide gaps.
#[derive(Debug)]
pub(crate) struct Bets {
    fractions: [f64; BETS],
    stakes: [f64; BETS],
}

/// Bets of the first rules.
static EQUAL: Bets = Bets { fractions: [0.05, 0.1, 0.2, 0.4, 0.65, LARGEST], stakes: [1.0; BETS] };
/// Bets of the second rules. Differences of 5 to 10 points, which most questions hang on, are told by those in the middle: a fraction with a
/// third of the stake has to win ln 3 before the stake is back, and one with an eighteenth ln 18.
static MIDDLE: Bets = Bets { fractions: [0.05, 0.1, 0.2, 0.35, 0.6, LARGEST], stakes: [1.0, 3.0, 5.0, 5.0, 3.0, 1.0] };

impl Bets {
    pub(crate) fn of(rules: Rules) -> &'static Self {
        match rules {
            Rules::First => &EQUAL,
            Rules::Second => &MIDDLE,
        }
    }
}

/// Factors that are multiplied before a logarithm is taken; none is above 1e12 or below 0.1.
const CHUNK: u32 = 16;

/// Logarithm of the largest factor by which one draw can multiply the capital when the mean is bet to be above the middle of the scale.
pub(crate) fn growth_max() -> f64 {
    libm::log(1.0 + LARGEST)
}

/// Draws in a form from which the capital at any `m` is computed.
pub(crate) enum Draws<'a> {
    /// Independent draws: their order does not matter, and equal ones are counted.
    Independent(Vec<(Unit, u32)>),
    /// Draws without replacement, in order.
    Finite(&'a [Unit], Population),
}

impl<'a> Draws<'a> {
    pub(crate) fn new(units: &'a [Unit], population: Option<Population>) -> Self {
        if let Some(population) = population {
            return Self::Finite(units, population);
        }
        let mut sorted = units.to_vec();
        sorted.sort_by(|one, other| one.low.total_cmp(&other.low).then(one.weight.total_cmp(&other.weight)));
        let mut counted: Vec<(Unit, u32)> = Vec::new();
        for unit in sorted {
            match counted.last_mut() {
                Some((last, count)) if last.low == unit.low && last.weight == unit.weight => *count += 1,
                _ => counted.push((unit, 1)),
            }
        }
        Self::Independent(counted)
    }

    /// Natural logarithm of the capital of bets that the mean is above `m`, where `m` is above 0; infinite if the draws cannot have that
    /// mean. Decreases in `m`. A missing score counts with its least value, so the capital is never larger than with all scores.
    pub(crate) fn log_capital(&self, bets: &Bets, m: f64) -> f64 {
        let logs = match self {
            Self::Independent(counted) => independent(&bets.fractions, counted, m),
            Self::Finite(units, population) => match without_replacement(&bets.fractions, units, population.units, m) {
                Some(logs) => logs,
                None => return f64::INFINITY,
            },
        };
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = logs.iter().zip(bets.stakes).map(|(log, stake)| stake * libm::exp(log - largest)).sum();
        largest + libm::log(sum / bets.stakes.iter().sum::<f64>())
    }
}

/// Logarithm of the capital of each fraction, for independent draws.
fn independent(fractions: &[f64; BETS], counted: &[(Unit, u32)], m: f64) -> [f64; BETS] {
    let mut logs = [0.0; BETS];
    let mut products = [1.0; BETS];
    let mut in_chunk = 0;
    for (unit, count) in counted {
        let factors = fractions.map(|f| 1.0 - f * unit.weight + f * unit.low / m);
        if *count > 1 {
            for (log, factor) in logs.iter_mut().zip(factors) {
                *log += f64::from(*count) * libm::log(factor);
            }
            continue;
        }
        products.iter_mut().zip(factors).for_each(|(product, factor)| *product *= factor);
        in_chunk += 1;
        if in_chunk == CHUNK {
            close(&mut logs, &mut products);
            in_chunk = 0;
        }
    }
    close(&mut logs, &mut products);
    logs
}

/// Logarithm of the capital of each fraction, for draws without replacement. `m` and the units drawn so far determine the mean of the units
/// that are left; `None` if no such mean is possible.
fn without_replacement(fractions: &[f64; BETS], units: &[Unit], population: usize, m: f64) -> Option<[f64; BETS]> {
    let mut logs = [0.0; BETS];
    let mut products = [1.0; BETS];
    let mut in_chunk = 0;
    let mut drawn = 0.0;
    for (before, unit) in units.iter().enumerate() {
        let left = population.saturating_sub(before).max(1) as f64;
        // Mean of `low + (1 - weight) m` over the units that are left, on the scale of the largest unit.
        let mean = m - drawn / left;
        let value = unit.low + (1.0 - unit.weight) * m;
        if mean <= 1e-12 {
            if mean < -1e-9 || value > 1e-9 {
                return None;
            }
            continue;
        }
        for (product, f) in products.iter_mut().zip(fractions) {
            *product *= 1.0 - f + f * value / mean;
        }
        drawn += unit.low - unit.weight * m;
        in_chunk += 1;
        if in_chunk == CHUNK {
            close(&mut logs, &mut products);
            in_chunk = 0;
        }
    }
    close(&mut logs, &mut products);
    Some(logs)
}

fn close(logs: &mut [f64], products: &mut [f64]) {
    for (log, product) in logs.iter_mut().zip(products) {
        *log += libm::log(*product);
        *product = 1.0;
    }
}

/// Natural logarithm of the capital of bets, as sweeps that are planned now make them, that the mean of `units` is above `m`, where `m` is above
/// 0. Infinite if that mean is impossible.
#[must_use]
pub fn log_capital(units: &[Unit], population: Option<Population>, m: f64) -> f64 {
    Draws::new(units, population).log_capital(Bets::of(Rules::NOW), m)
}
