//! Sequences against another implementation and against their guarantees; contests and audits.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod audits;
mod contests;
mod golden;
mod laws;
mod promises;
mod recorded;

use regatta_deciding::{Contest, Over, Question, Rules, Unit};

/// A unit with an exactly known score and weight 1.
fn unit(value: f64) -> Unit {
    Unit { low: value, high: value, weight: 1.0 }
}

/// A contest of `contestants` contestants over units of these sizes.
fn contest(contestants: usize, sizes: Vec<u32>, question: Question) -> Contest {
    Contest {
        sizes,
        contestants,
        first_trials: 1,
        most_trials: 1,
        question,
        margin: 0.02,
        level: 0.05,
        rounds: 20,
        over: Over::NewItems,
        rules: Rules::NOW,
    }
}
