//! The pace at which calls of two runs were answered.
//!
//! A call's time runs from the successful try's being sent to the end of its answer: it holds no wait for a permit, no failed try and no pause
//! before a retry. Logarithms are compared, because what takes twice as long does so for short and for long answers alike.

use std::collections::BTreeMap;

use regatta_proto::{ItemId, Level};
use regatta_report::{Difference, mean_difference};

use crate::ended_run::{Answers, Took};

/// Item and trial.
type Session = (ItemId, u16);
/// Spending of a session in run A and in run B.
type InBoth<'t> = (&'t Session, [&'t Took; 2]);

/// Time that calls took for as much, over the sessions that both runs have answers of their own of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pace {
    pub(crate) per: Per,
    /// Geometric mean over the sessions, in seconds, in A.
    pub(crate) a_s: f64,
    pub(crate) b_s: f64,
    /// Mean difference of natural logarithms, above 0 where B took longer.
    pub(crate) difference: Difference,
}

/// The unit that times are divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Per {
    OutputToken,
    /// Where a session has no tokens, or does not know how many.
    Call,
}

impl Per {
    const ALL: [Self; 2] = [Self::OutputToken, Self::Call];

    /// `None` where the session has none.
    fn count(self, took: &Took) -> Option<f64> {
        let count = match self {
            Self::OutputToken => took.output_tokens?,
            Self::Call => f64::from(took.calls),
        };
        (count > 0.0).then_some(count)
    }
}

impl Pace {
    /// `None` without a session of both runs that took any time. `seed` draws the sign-flips.
    pub(super) fn of(
        took: &[BTreeMap<Session, Took>; 2],
        groups: &BTreeMap<ItemId, String>,
        seed: u64,
        level: Level,
    ) -> Option<Self> {
        let [a, b] = took;
        let is_timed = |took: &Took| took.answers == Answers::Own && took.seconds > 0.0;
        let in_both = a.iter().filter_map(|(session, of_a)| Some((session, [of_a, b.get(session)?])));
        let in_both: Vec<InBoth<'_>> = in_both.filter(|(_, took)| took.iter().all(|took| is_timed(took))).collect();
        let (per, [a, b]) = Per::ALL.into_iter().find_map(|per| Some((per, logarithms(per, &in_both)?)))?;
        let difference = mean_difference(groups, &b, &a, seed, level)?;
        let typical = |of: &BTreeMap<Session, f64>| (of.values().sum::<f64>() / of.len() as f64).exp();
        Some(Self { per, a_s: typical(&a), b_s: typical(&b), difference })
    }
}

/// Logarithm of the seconds per unit of each session in each run; `None` where one has no such unit.
fn logarithms(per: Per, sessions: &[InBoth<'_>]) -> Option<[BTreeMap<Session, f64>; 2]> {
    let of = |run: usize| -> Option<BTreeMap<Session, f64>> {
        let of_session = |(session, took): &InBoth<'_>| {
            let took = took[run];
            Some(((*session).clone(), (took.seconds / per.count(took)?).ln()))
        };
        sessions.iter().map(of_session).collect()
    };
    Some([of(0)?, of(1)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of twelve sessions of two calls, each longer than the one before; `factor` times as slow.
    fn run(factor: f64) -> BTreeMap<Session, Took> {
        let session = |at: u32| {
            let tokens = f64::from(at + 1) * 10.0;
            let seconds = factor * tokens / 100.0;
            let took = Took { answers: Answers::Own, calls: 2, dollars: None, seconds, output_tokens: Some(tokens) };
            ((format!("i{at:02}").parse().unwrap(), 0), took)
        };
        (0..12).map(session).collect()
    }

    fn pace(a: BTreeMap<Session, Took>, b: BTreeMap<Session, Took>) -> Option<Pace> {
        Pace::of(&[a, b], &BTreeMap::new(), 1, Level::USUAL)
    }

    #[test]
    fn sessions_of_other_lengths_have_the_same_pace() {
        let found = pace(run(1.0), run(3.0)).unwrap();
        assert_eq!(found.per, Per::OutputToken);
        assert!((found.a_s - 0.01).abs() < 1e-9 && (found.b_s - 0.03).abs() < 1e-9, "{found:?}");
        assert!((found.difference.value - 3f64.ln()).abs() < 1e-9 && found.difference.n == 12, "{found:?}");
    }

    #[test]
    fn without_tokens_the_pace_is_that_of_calls() {
        let without = |factor: f64, tokens: Option<f64>| {
            let mut sessions = run(factor);
            sessions.values_mut().take(1).for_each(|took| took.output_tokens = tokens);
            sessions
        };
        for (a, b) in [(Some(0.0), Some(10.0)), (Some(10.0), None)] {
            let found = pace(without(1.0, a), without(2.0, b)).unwrap();
            assert_eq!(found.per, Per::Call);
            assert!((found.difference.value - 2f64.ln()).abs() < 1e-9, "{found:?}");
        }
    }

    #[test]
    fn sessions_that_one_run_did_not_ask_for_have_no_pace() {
        let mut cached = run(1.0);
        cached.values_mut().skip(4).for_each(|took| (took.answers, took.seconds) = (Answers::Cached, 0.0));
        assert_eq!(pace(run(1.0), cached.clone()).unwrap().difference.n, 4);
        cached.values_mut().for_each(|took| took.answers = Answers::Cached);
        assert_eq!(pace(run(1.0), cached), None);
    }
}
