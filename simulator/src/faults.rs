//! What goes wrong with a request, and how long it takes: drawn from the simulation's seed and the request itself.

use std::f64::consts::TAU;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use regatta_proto::{Digest, Faults, Latency, Simulation};

/// Longest simulated delay; keeps an absurd spread from hanging a run for ever.
const LONGEST_DELAY: Duration = Duration::from_secs(3600);

/// One way to go wrong; the names are the fields of [`Faults`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    RateLimited,
    RateLimitedWithRetryAfter,
    ServerError,
    Dropped,
    Truncated,
    Slow,
    Garbage,
    ErrorIn200,
}

impl Fault {
    pub(crate) const ALL: [Self; 8] = [
        Self::RateLimited,
        Self::RateLimitedWithRetryAfter,
        Self::ServerError,
        Self::Dropped,
        Self::Truncated,
        Self::Slow,
        Self::Garbage,
        Self::ErrorIn200,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::RateLimitedWithRetryAfter => "rate_limited_with_retry_after",
            Self::ServerError => "server_error",
            Self::Dropped => "dropped",
            Self::Truncated => "truncated",
            Self::Slow => "slow",
            Self::Garbage => "garbage",
            Self::ErrorIn200 => "error_in_200",
        }
    }

    const fn probability(self, faults: &Faults) -> f64 {
        match self {
            Self::RateLimited => faults.rate_limited,
            Self::RateLimitedWithRetryAfter => faults.rate_limited_with_retry_after,
            Self::ServerError => faults.server_error,
            Self::Dropped => faults.dropped,
            Self::Truncated => faults.truncated,
            Self::Slow => faults.slow,
            Self::Garbage => faults.garbage,
            Self::ErrorIn200 => faults.error_in_200,
        }
    }
}

/// The fate of one request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fate {
    /// What goes wrong.
    pub(crate) fault: Option<Fault>,
    /// Time to answer, without the time per generated token.
    pub(crate) latency: Duration,
}

impl Fate {
    /// Draws the fate of the `occurrence`-th sending of `request`.
    pub(crate) fn draw(simulation: &Simulation, request: &Digest, occurrence: u32) -> Self {
        let is_flawless = Fault::ALL.iter().all(|fault| fault.probability(&simulation.faults) == 0.0);
        if is_flawless && !is_random(&simulation.latency) {
            return Self { fault: None, latency: milliseconds(simulation.latency.median_ms) };
        }
        let mut rng = ChaCha8Rng::from_seed(
            *Digest::of_parts([
                b"regatta/simulated-fate/1".as_slice(),
                &simulation.seed.to_le_bytes(),
                request.bytes(),
                &occurrence.to_le_bytes(),
            ])
            .bytes(),
        );
        let fault = draw_fault(&simulation.faults, unit(&mut rng));
        let latency = draw_latency(&simulation.latency, &mut rng);
        Self { fault, latency }
    }
}

/// Time that generating `tokens` takes.
pub(crate) fn generation_time(latency: &Latency, tokens: u64) -> Duration {
    if latency.per_token_ms == 0.0 {
        return Duration::ZERO;
    }
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
    milliseconds(latency.per_token_ms * tokens as f64)
}

/// What is wrong with the numbers of `simulation`, if anything.
pub(crate) fn find_mistake(simulation: &Simulation) -> Option<String> {
    let mut sum = 0.0;
    for (field, p) in simulation.faults.probabilities() {
        if !(0.0..=1.0).contains(&p) {
            return Some(format!("faults.{field} is {p}; a probability is from 0 to 1"));
        }
        sum += p;
    }
    // Decimal fractions that add up to one in the spec may exceed it by rounding.
    if sum > 1.0 + 1e-9 {
        return Some(format!("the probabilities of faults add up to {sum}; at most 1 is possible"));
    }
    let Latency { median_ms, spread, per_token_ms } = simulation.latency;
    for (field, value) in [("median_ms", median_ms), ("spread", spread), ("per_token_ms", per_token_ms)] {
        if !(value.is_finite() && value >= 0.0) {
            return Some(format!("latency.{field} is {value}; give a finite number that is not negative"));
        }
    }
    None
}

fn draw_fault(faults: &Faults, at: f64) -> Option<Fault> {
    let mut end = 0.0;
    Fault::ALL.into_iter().find(|fault| {
        end += fault.probability(faults);
        at < end
    })
}

fn is_random(latency: &Latency) -> bool {
    latency.median_ms > 0.0 && latency.spread > 0.0 && latency.spread != 1.0
}

fn draw_latency(latency: &Latency, rng: &mut ChaCha8Rng) -> Duration {
    if !is_random(latency) {
        return milliseconds(latency.median_ms);
    }
    // Box-Muller; the first uniform must not be zero.
    let normal = (-2.0 * (1.0 - unit(rng)).ln()).sqrt() * (TAU * unit(rng)).cos();
    milliseconds(latency.median_ms * latency.spread.powf(normal))
}

fn milliseconds(ms: f64) -> Duration {
    Duration::try_from_secs_f64(ms / 1000.0).unwrap_or(LONGEST_DELAY).min(LONGEST_DELAY)
}

/// Uniform in 0..1, from the 53 high bits of one word.
fn unit(rng: &mut ChaCha8Rng) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit exactly")]
    let word = (rng.next_u64() >> 11) as f64;
    word / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fates(simulation: &Simulation, count: u32) -> Vec<Fate> {
        (0..count).map(|n| Fate::draw(simulation, &Digest::of(b"request"), n)).collect()
    }

    #[test]
    fn the_names_and_probabilities_are_those_of_the_spec() {
        let faults = Faults {
            rate_limited: 0.01,
            rate_limited_with_retry_after: 0.02,
            server_error: 0.03,
            dropped: 0.04,
            truncated: 0.05,
            slow: 0.06,
            slow_ms: 0,
            garbage: 0.07,
            error_in_200: 0.08,
        };
        assert_eq!(Fault::ALL.map(|fault| (fault.name(), fault.probability(&faults))), faults.probabilities());
    }

    #[test]
    fn faults_come_as_often_as_their_probabilities_say() {
        let faults = Faults { dropped: 0.3, garbage: 0.1, ..Faults::default() };
        let fates = fates(&Simulation { faults, ..Simulation::default() }, 20_000);
        let share = |fault| fates.iter().filter(|fate| fate.fault == fault).count() as f64 / 20_000.0;
        assert!((share(Some(Fault::Dropped)) - 0.3).abs() < 0.02);
        assert!((share(Some(Fault::Garbage)) - 0.1).abs() < 0.02);
        assert!((share(None) - 0.6).abs() < 0.02);
    }

    #[test]
    fn latency_has_the_median_and_the_spread_of_the_spec() {
        let latency = Latency { median_ms: 800.0, spread: 2.0, per_token_ms: 0.0 };
        let mut drawn: Vec<f64> = fates(&Simulation { latency, ..Simulation::default() }, 20_001)
            .iter()
            .map(|fate| fate.latency.as_secs_f64() * 1000.0)
            .collect();
        drawn.sort_by(f64::total_cmp);
        let (median, high) = (drawn[10_000], drawn[16_827]);
        assert!((median / 800.0 - 1.0).abs() < 0.05, "{median}");
        assert!((high / median - 2.0).abs() < 0.1, "{}", high / median);
    }

    #[test]
    fn a_spread_of_one_or_zero_is_a_constant_latency() {
        for spread in [0.0, 1.0] {
            let latency = Latency { median_ms: 250.0, spread, per_token_ms: 0.0 };
            let fates = fates(&Simulation { latency, ..Simulation::default() }, 5);
            assert!(fates.iter().all(|fate| fate.latency == Duration::from_millis(250)));
        }
    }

    #[test]
    fn the_fate_depends_on_seed_request_and_occurrence_alone() {
        let latency = Latency { median_ms: 100.0, spread: 1.5, per_token_ms: 0.0 };
        let simulation = Simulation { seed: 7, latency, ..Simulation::default() };
        let (a, b) = (Digest::of(b"a"), Digest::of(b"b"));
        let fate = Fate::draw(&simulation, &a, 0);
        assert_eq!(fate, Fate::draw(&simulation, &a, 0));
        assert_ne!(fate, Fate::draw(&simulation, &a, 1));
        assert_ne!(fate, Fate::draw(&simulation, &b, 0));
        assert_ne!(fate, Fate::draw(&Simulation { seed: 8, ..simulation }, &a, 0));
    }

    #[test]
    fn a_latency_beyond_measure_is_cut_to_an_hour() {
        assert_eq!(milliseconds(1e300), LONGEST_DELAY);
    }

    #[test]
    fn a_number_that_cannot_be_is_named() {
        let with = |faults| Simulation { faults, ..Simulation::default() };
        let negative = with(Faults { slow: -0.1, ..Faults::default() });
        assert_eq!(find_mistake(&negative).unwrap(), "faults.slow is -0.1; a probability is from 0 to 1");
        let too_many = with(Faults { slow: 0.75, dropped: 0.5, ..Faults::default() });
        assert_eq!(
            find_mistake(&too_many).unwrap(),
            "the probabilities of faults add up to 1.25; at most 1 is possible"
        );
        let latency = Latency { median_ms: f64::NAN, ..Latency::default() };
        assert!(find_mistake(&Simulation { latency, ..Simulation::default() }).is_some());
        let tenths = Faults { slow: 0.7, dropped: 0.1, garbage: 0.2, ..Faults::default() };
        assert_eq!(find_mistake(&with(tenths)), None);
    }
}
