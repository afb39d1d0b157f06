//! Bills of a pilot's judges, and their part in a session.

use std::collections::BTreeMap;

use regatta_proto::{BenchmarkName, CostSum, Judge, ModelRef, Setting, SweepLock, Usage};

use super::Pilot;

/// Sessions that ran and were asked, by benchmark and setting: answers of the response cache come with verdicts that are known already.
pub type Ran = BTreeMap<(BenchmarkName, Setting), u64>;

/// Bill of one judge for all sessions of a pilot that it judged.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeBill {
    usage: Usage,
    cost: CostSum,
    /// Sessions of the benchmarks whose judge it is.
    judged: Ran,
}

/// Average part of judges in a session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JudgedSession {
    /// `None` where those of a call are unknown.
    pub tokens: Option<f64>,
    /// Nano-dollars; `None` where the price of a call is unknown.
    pub nanos: Option<f64>,
}

impl JudgeBill {
    /// The bill of `judge`, or, where a run of an early version has one for all of them, that of every judge in `lock`.
    #[must_use]
    pub fn new(judge: Option<&ModelRef>, usage: Usage, cost: CostSum, lock: &SweepLock, ran: &Ran) -> Self {
        let is_its = |judges: &Judge| judge.is_none_or(|judge| judges.ids().contains(&judge));
        let is_judged = |benchmark: &BenchmarkName| {
            lock.benchmarks.get(benchmark).is_some_and(|of| of.judge.as_ref().is_some_and(is_its))
        };
        let judged = ran.iter().filter(|((benchmark, _), _)| is_judged(benchmark));
        Self { usage, cost, judged: judged.map(|(place, sessions)| (place.clone(), *sessions)).collect() }
    }

    /// Part of the bill for one session of `place`; `None` where nobody knows. A bill says nothing of the sessions that it is for, so those of
    /// several places have it in proportion to `weight`, which is what a session of a place is expected to ask.
    fn part(&self, place: &(BenchmarkName, Setting), weight: &Weight<'_>) -> Option<f64> {
        let asked = || self.judged.iter().filter(|(_, sessions)| **sessions > 0);
        let evenly = || 1.0 / self.judged.values().sum::<u64>() as f64;
        if self.judged.get(place).is_none_or(|sessions| *sessions == 0) {
            return None;
        }
        if asked().count() == 1 {
            return Some(evenly());
        }
        let weights = asked().map(|(place, sessions)| Some(*sessions as f64 * weight(place)?));
        let whole = weights.sum::<Option<f64>>().filter(|whole| *whole > 0.0);
        let is_of_one_benchmark = || asked().all(|((benchmark, _), _)| *benchmark == place.0);
        match whole.zip(weight(place)) {
            Some((whole, weight)) => Some(weight / whole),
            None => is_of_one_benchmark().then(evenly),
        }
    }
}

/// Questions that a session of a place is expected to put to judges, in any unit; `None` where that is unknown.
type Weight<'a> = dyn Fn(&(BenchmarkName, Setting)) -> Option<f64> + 'a;

impl Pilot {
    /// The judges' part in a session of `place`; `None` where the bill of a judge that judged it cannot be divided.
    #[must_use]
    pub fn judged_session(&self, place: &(BenchmarkName, Setting), weight: &Weight<'_>) -> Option<JudgedSession> {
        let mut sum = JudgedSession { tokens: Some(0.0), nanos: Some(0.0) };
        for bill in self.judging.iter().filter(|bill| bill.judged.contains_key(place)) {
            let part = bill.part(place, weight)?;
            let tokens = bill.usage.complete().map(|usage| usage.total() as f64 * part);
            let nanos = (bill.cost.unknown_calls == 0).then_some(bill.cost.known.0 as f64 * part);
            sum.tokens = sum.tokens.zip(tokens).map(|(sum, tokens)| sum + tokens);
            sum.nanos = sum.nanos.zip(nanos).map(|(sum, nanos)| sum + nanos);
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use regatta_proto::Money;

    use super::*;

    fn place(benchmark: &str, setting: &str) -> (BenchmarkName, Setting) {
        (benchmark.parse().unwrap(), setting.parse().unwrap())
    }

    /// A pilot whose one judge took a thousand nano-dollars and a hundred tokens.
    fn pilot(judged: &[((BenchmarkName, Setting), u64)]) -> Pilot {
        let bill = JudgeBill {
            usage: Usage { input: 100, ..Usage::default() },
            cost: CostSum { known: Money(1000), unknown_calls: 0 },
            judged: judged.iter().cloned().collect(),
        };
        Pilot { sweep: "s".parse().unwrap(), pairs: Vec::new(), spent: BTreeMap::new(), judging: vec![bill] }
    }

    #[test]
    fn a_bill_is_divided_by_what_sessions_are_expected_to_ask() {
        let (turn, session) = (place("flowbench", "turn"), place("flowbench", "session"));
        let pilot = pilot(&[(turn.clone(), 10), (session.clone(), 5)]);
        let weight = |of: &(BenchmarkName, Setting)| Some(if *of == session { 7.0 } else { 0.0 });
        let nanos = |of| pilot.judged_session(of, &weight).unwrap().nanos;
        assert_eq!((nanos(&turn), nanos(&session)), (Some(0.0), Some(200.0)));
        assert_eq!(nanos(&place("worfbench", "zero-shot")), Some(0.0), "nobody judged it");
    }

    #[test]
    fn without_weights_sessions_of_one_benchmark_are_alike_and_those_of_several_are_not() {
        let [one, two, other] = [place("a", "one"), place("a", "two"), place("b", "one")];
        let unknown = |_: &(BenchmarkName, Setting)| None;
        let of_one = pilot(&[(one.clone(), 3), (two, 1)]);
        let expected = JudgedSession { tokens: Some(25.0), nanos: Some(250.0) };
        assert_eq!(of_one.judged_session(&one, &unknown), Some(expected));
        assert_eq!(pilot(&[(one.clone(), 3), (other, 1)]).judged_session(&one, &unknown), None);
        assert_eq!(pilot(&[(one.clone(), 4)]).judged_session(&one, &unknown), Some(expected), "one place needs none");
    }

    #[test]
    fn a_bill_is_that_of_the_sessions_that_were_asked_and_says_nothing_of_places_without_any() {
        let [asked, cached] = [place("a", "one"), place("b", "one")];
        let unknown = |_: &(BenchmarkName, Setting)| None;
        let pilot = pilot(&[(asked.clone(), 4), (cached.clone(), 0)]);
        assert_eq!(pilot.judged_session(&asked, &unknown).unwrap().nanos, Some(250.0));
        assert_eq!(pilot.judged_session(&cached, &unknown), None);
    }
}
