//! The controller against endpoints that refuse for different reasons, beside the best factor that somebody who knows the endpoint could
//! have set. Time jumps in ticks.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

const TICK_MS: u64 = 20;
/// Sessions that want to call, and calls that the spec allows at once.
const SESSIONS: u64 = 64;
/// Mean time that a refused call waits before it is tried again, in milliseconds.
const BACK_OFF_MS: u64 = 1_000;
/// Duration of a refusal, in milliseconds.
const REFUSAL_MS: u64 = 20;
const RUN_MS: u64 = 300_000;

/// The rule by which an endpoint refuses calls.
#[derive(Debug, Clone, Copy)]
enum Refuses {
    /// Each call with this probability.
    Constantly(f64),
    /// Calls beyond this many at once.
    Load(u64),
    /// All calls in the first so many milliseconds of each minute.
    InBursts(u64),
    /// Calls beyond so many a second, but for a bucket of so many.
    TokenBucket(f64, f64),
    /// Calls beyond this many at once, and each of the others with this probability.
    LoadAndConstantly(u64, f64),
}

#[derive(Debug, Clone, Copy)]
struct Scene {
    refuses: Refuses,
    latency_ms: u64,
    seed: u64,
}

#[derive(Debug, Clone, Copy)]
struct Totals {
    answered: u64,
    refused: u64,
}

impl Totals {
    fn refused_share(self) -> f64 {
        self.refused as f64 / (self.answered + self.refused).max(1) as f64
    }
}

impl Scene {
    /// Runs five minutes with the controller, or with a factor that never changes.
    fn run(self, fixed: Option<f64>) -> Totals {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut steering = Steering::default();
        let (mut in_flight, mut back_off): (Vec<(u64, bool)>, Vec<u64>) = (Vec::new(), Vec::new());
        let (mut untold, mut totals) = (Signals::default(), Totals { answered: 0, refused: 0 });
        let mut bucket = match self.refuses {
            Refuses::TokenBucket(_, most) => most,
            _ => 0.0,
        };
        for now in (0..RUN_MS).step_by(TICK_MS as usize) {
            if let Refuses::TokenBucket(rate, most) = self.refuses {
                bucket = (bucket + rate * TICK_MS as f64 / 1000.0).min(most);
            }
            in_flight.retain(|(until, is_answered)| {
                if *until <= now {
                    untold.answered += u32::from(*is_answered);
                    untold.refused += u32::from(!is_answered);
                    totals.answered += u64::from(*is_answered);
                    totals.refused += u64::from(!is_answered);
                    if !is_answered {
                        back_off.push(now + rng.random_range(0..2 * BACK_OFF_MS));
                    }
                }
                *until > now
            });
            back_off.retain(|until| *until > now);
            if now % 260 == 0 {
                let signals = std::mem::take(&mut untold);
                steering.hear(now, now, &signals, in_flight.len() as u64);
            }
            let slots = ((SESSIONS as f64 * fixed.unwrap_or_else(|| steering.factor())) as u64).max(1);
            while (in_flight.len() as u64) < slots && (in_flight.len() + back_off.len()) < SESSIONS as usize {
                let working = in_flight.iter().filter(|(_, is_answered)| *is_answered).count() as u64;
                let is_answered = match self.refuses {
                    Refuses::Constantly(part) => !rng.random_bool(part),
                    Refuses::Load(most) => working < most,
                    Refuses::InBursts(first) => now % 60_000 >= first,
                    Refuses::TokenBucket(..) => bucket >= 1.0,
                    Refuses::LoadAndConstantly(most, part) => working < most && !rng.random_bool(part),
                };
                if is_answered {
                    bucket -= 1.0;
                }
                let takes = if is_answered {
                    rng.random_range(self.latency_ms / 2..=self.latency_ms * 3 / 2)
                } else {
                    REFUSAL_MS
                };
                in_flight.push((now + takes, is_answered));
            }
        }
        totals
    }

    /// The most that any of some factors gets answered.
    fn best(self) -> Totals {
        let runs = [0.1, 0.25, 0.5, 0.75, 1.0].into_iter().map(|factor| self.run(Some(factor)));
        runs.max_by_key(|totals| totals.answered).unwrap()
    }
}

/// For short, usual and long calls: at least `least` of the answers of the best factor, and hardly a larger share refused than without
/// any steering.
#[track_caller]
fn holds(refuses: Refuses, least: f64) {
    for (seed, latency_ms) in [(1, 200), (2, 1_000), (3, 8_000)] {
        let scene = Scene { refuses, latency_ms, seed };
        let (steered, best, unsteered) = (scene.run(None), scene.best(), scene.run(Some(1.0)));
        let part = steered.answered as f64 / best.answered as f64;
        let (refused, without) = (steered.refused_share(), unsteered.refused_share());
        let told = format!(
            "{refuses:?}, {latency_ms} ms: {part:.3} of the best, refused {refused:.3}, unsteered {without:.3}"
        );
        assert!(part >= least && refused <= without + 0.08, "{told}");
    }
}

#[test]
fn refusals_that_load_does_not_cause_cost_little() {
    for (part, least) in [(0.02, 0.9), (0.1, 0.9), (0.3, 0.85)] {
        holds(Refuses::Constantly(part), least);
    }
}

#[test]
fn an_endpoint_that_takes_fewer_calls_at_once_is_filled() {
    for (most, least) in [(48, 0.9), (16, 0.9), (6, 0.8)] {
        holds(Refuses::Load(most), least);
    }
}

#[test]
fn bursts_of_refusals_are_sat_out() {
    holds(Refuses::InBursts(5_000), 0.9);
    holds(Refuses::InBursts(15_000), 0.7);
}

#[test]
fn a_bucket_is_emptied_as_fast_as_it_fills() {
    holds(Refuses::TokenBucket(2.0, 10.0), 0.9);
    holds(Refuses::TokenBucket(20.0, 100.0), 0.9);
}

#[test]
fn both_kinds_of_refusals_are_told_apart() {
    holds(Refuses::LoadAndConstantly(32, 0.1), 0.85);
}
