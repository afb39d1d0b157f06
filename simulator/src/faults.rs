//! Faults and latencies of requests, drawn from the simulation's seed and the request itself.

use std::f64::consts::TAU;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use regatta_proto::{Digest, Faults, Latency, SimulatedBatches, Simulation};

/// Longest simulated delay, so that an extreme spread does not hang a run.
const LONGEST_DELAY: Duration = Duration::from_secs(3600);

/// A kind of fault; the names are the fields of [`Faults`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// 429.
    RateLimited,
    /// 429 with `Retry-After`.
    RateLimitedWithRetryAfter,
    /// 500.
    ServerError,
    /// The connection ends before an answer.
    Dropped,
    /// The connection ends within the body.
    Truncated,
    /// The answer takes much longer than others.
    Slow,
    /// The body is no answer.
    Garbage,
    /// An error object under status 200.
    ErrorIn200,
    /// The stream has an error event.
    StreamError,
    /// The stream ends before its last event.
    StreamCut,
    /// The body never ends.
    SlowLoris,
    /// 503, or 529 in Anthropic's format.
    Overloaded,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 12] = [
        Self::RateLimited,
        Self::RateLimitedWithRetryAfter,
        Self::ServerError,
        Self::Dropped,
        Self::Truncated,
        Self::Slow,
        Self::Garbage,
        Self::ErrorIn200,
        Self::StreamError,
        Self::StreamCut,
        Self::SlowLoris,
        Self::Overloaded,
    ];

    /// Name of the fault's field in a spec.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::RateLimitedWithRetryAfter => "rate_limited_with_retry_after",
            Self::ServerError => "server_error",
            Self::Dropped => "dropped",
            Self::Truncated => "truncated",
            Self::Slow => "slow",
            Self::Garbage => "garbage",
            Self::ErrorIn200 => "error_in_200",
            Self::StreamError => "stream_error",
            Self::StreamCut => "stream_cut",
            Self::SlowLoris => "slow_loris",
            Self::Overloaded => "overloaded",
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
            Self::StreamError => faults.stream_error,
            Self::StreamCut => faults.stream_cut,
            Self::SlowLoris => faults.slow_loris,
            Self::Overloaded => faults.overloaded,
        }
    }

    /// `true` if the fault only affects streamed answers.
    pub const fn needs_stream(self) -> bool {
        matches!(self, Self::StreamError | Self::StreamCut)
    }
}

/// The fate of one request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fate {
    /// The fault; `None` if the request is answered normally.
    pub fault: Option<Fault>,
    /// Time to answer, without the time per generated token.
    pub latency: Duration,
    /// Time to the first token of a streamed answer.
    pub first_token: Duration,
}

impl Fate {
    /// Draws the fate of the `occurrence`-th time that `request` is sent.
    pub fn draw(simulation: &Simulation, request: &Digest, occurrence: u32) -> Self {
        let is_flawless = Fault::ALL.iter().all(|fault| fault.probability(&simulation.faults) == 0.0);
        if is_flawless && !is_random(&simulation.latency) {
            return Self::with_latency(None, &simulation.latency, 1.0);
        }
        let mut rng = generator(b"regatta/simulated-fate/1", simulation.seed, request, occurrence);
        let fault = draw_fault(&simulation.faults, unit(&mut rng));
        Self::with_latency(fault, &simulation.latency, draw_delay(&simulation.latency, &mut rng))
    }

    /// A fate with `delay` times the median latencies.
    fn with_latency(fault: Option<Fault>, latency: &Latency, delay: f64) -> Self {
        let median = latency.median_ms;
        let first_token = latency.first_token_ms.unwrap_or(median);
        Self { fault, latency: milliseconds(median * delay), first_token: milliseconds(first_token * delay) }
    }
}

/// The fault of one request of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineFault {
    Failed,
    Expired,
}

/// Draws the fault of the `occurrence`-th time that `request` is sent in a batch.
pub(crate) fn draw_line_fault(simulation: &Simulation, request: &Digest, occurrence: u32) -> Option<LineFault> {
    let SimulatedBatches { failed, expired, .. } = simulation.batch;
    if failed == 0.0 && expired == 0.0 {
        return None;
    }
    match unit(&mut generator(b"regatta/simulated-batch-line/1", simulation.seed, request, occurrence)) {
        at if at < failed => Some(LineFault::Failed),
        at if at < failed + expired => Some(LineFault::Expired),
        _ => None,
    }
}

/// The random generator of one sending of a request; each `purpose` has its own.
fn generator(purpose: &[u8], seed: u64, request: &Digest, occurrence: u32) -> ChaCha8Rng {
    let parts = [purpose, &seed.to_le_bytes(), request.bytes(), &occurrence.to_le_bytes()];
    ChaCha8Rng::from_seed(*Digest::of_parts(parts).bytes())
}

/// Time to generate `tokens`.
pub(crate) fn generation_time(latency: &Latency, tokens: u64) -> Duration {
    // Token counts are far below 2^53.
    milliseconds(latency.per_token_ms * tokens as f64)
}

fn draw_fault(faults: &Faults, at: f64) -> Option<Fault> {
    let mut end = 0.0;
    Fault::ALL.into_iter().find(|fault| {
        end += fault.probability(faults);
        at < end
    })
}

fn is_random(latency: &Latency) -> bool {
    let is_delayed = latency.median_ms > 0.0 || latency.first_token_ms.is_some_and(|median| median > 0.0);
    is_delayed && latency.spread > 0.0 && latency.spread != 1.0
}

/// Factor between a delay and its median.
fn draw_delay(latency: &Latency, rng: &mut ChaCha8Rng) -> f64 {
    if !is_random(latency) {
        return 1.0;
    }
    // Box-Muller; the first uniform must not be zero.
    let normal = (-2.0 * (1.0 - unit(rng)).ln()).sqrt() * (TAU * unit(rng)).cos();
    latency.spread.powf(normal)
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
            stream_error: 0.09,
            stream_cut: 0.1,
            slow_loris: 0.11,
            overloaded: 0.12,
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
        let latency = Latency { median_ms: 800.0, spread: 2.0, ..Latency::default() };
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
            let latency = Latency { median_ms: 250.0, spread, ..Latency::default() };
            let fates = fates(&Simulation { latency, ..Simulation::default() }, 5);
            assert!(fates.iter().all(|fate| fate.latency == Duration::from_millis(250)));
        }
    }

    #[test]
    fn the_fate_depends_on_seed_request_and_occurrence_alone() {
        let latency = Latency { median_ms: 100.0, spread: 1.5, ..Latency::default() };
        let simulation = Simulation { seed: 7, latency, ..Simulation::default() };
        let (a, b) = (Digest::of(b"a"), Digest::of(b"b"));
        let fate = Fate::draw(&simulation, &a, 0);
        assert_eq!(fate, Fate::draw(&simulation, &a, 0));
        assert_ne!(fate, Fate::draw(&simulation, &a, 1));
        assert_ne!(fate, Fate::draw(&simulation, &b, 0));
        assert_ne!(fate, Fate::draw(&Simulation { seed: 8, ..simulation.clone() }, &a, 0));
    }

    #[test]
    fn a_latency_beyond_measure_is_cut_to_an_hour() {
        assert_eq!(milliseconds(1e300), LONGEST_DELAY);
    }

    #[test]
    fn the_first_token_of_a_stream_takes_its_own_time_with_the_same_spread() {
        let latency = Latency { median_ms: 800.0, spread: 2.0, first_token_ms: Some(80.0), ..Latency::default() };
        for fate in fates(&Simulation { latency, ..Simulation::default() }, 20) {
            let ratio = fate.latency.as_secs_f64() / fate.first_token.as_secs_f64();
            assert!((ratio - 10.0).abs() < 1e-3, "{ratio}");
        }
        let latency = Latency { first_token_ms: None, ..latency };
        let fates = fates(&Simulation { latency, ..Simulation::default() }, 20);
        assert!(fates.iter().all(|fate| fate.latency == fate.first_token));
    }
}
