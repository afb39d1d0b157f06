//! Bills of a pilot's judges, and their part in a session.

use std::collections::BTreeMap;

use regatta_proto::{BenchmarkName, CostSum, Judge, ModelRef, Setting, SweepLock, Usage};

use super::{Pilot, Spent};

/// Judges of a pilot, and what they took.
#[derive(Debug, Clone)]
pub(super) struct Judging {
    bills: Vec<JudgeBill>,
    /// Judges of the benchmarks without an audit.
    judges: BTreeMap<BenchmarkName, Judge>,
}

/// Sessions that were judged, by benchmark and setting.
type Judged = BTreeMap<(BenchmarkName, Setting), u64>;

/// Bill of one judge for all sessions of a pilot that it judged.
#[derive(Debug, Clone, PartialEq)]
struct JudgeBill {
    /// `None` for the only bill of a run of an early version, which is that of all judges.
    judge: Option<ModelRef>,
    usage: Usage,
    cost: CostSum,
    /// Sessions of the benchmarks whose judge it is.
    judged: Judged,
}

/// Average part of judges in a session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JudgedSession {
    /// `None` where those of a call are unknown.
    pub tokens: Option<f64>,
    /// Nano-dollars; `None` where the price of a call is unknown.
    pub nanos: Option<f64>,
}

impl Judging {
    /// Each of `bills` is of one judge, or, in a run of an early version, of all of them. Judged are the sessions of `spent`: without a score
    /// nobody judged them, a filter leaves nothing to judge, and answers of the response cache come with verdicts that are known already.
    pub(super) fn new<'a>(
        bills: impl Iterator<Item = (Option<&'a ModelRef>, Usage, CostSum)>,
        lock: &SweepLock,
        spent: &BTreeMap<(BenchmarkName, Setting, ModelRef), Spent>,
    ) -> Self {
        let mut answered = Judged::new();
        for ((benchmark, setting, _), of) in spent {
            *answered.entry((benchmark.clone(), setting.clone())).or_default() += of.sessions;
        }
        let bills = bills.map(|(judge, usage, cost)| JudgeBill::new(judge, usage, cost, lock, &answered));
        // An audit is part of some sessions alone.
        let unaudited = lock.benchmarks.iter().filter(|(_, of)| of.audit.is_none());
        let judges = unaudited.filter_map(|(name, of)| Some((name.clone(), of.judge.clone()?)));
        Self { bills: bills.collect(), judges: judges.collect() }
    }
}

impl JudgeBill {
    fn new(judge: Option<&ModelRef>, usage: Usage, cost: CostSum, lock: &SweepLock, answered: &Judged) -> Self {
        let is_its = |judges: &Judge| judge.is_none_or(|judge| judges.ids().contains(&judge));
        let is_judged =
            |benchmark: &BenchmarkName| lock.benchmarks.get(benchmark).is_some_and(|of| of.judges().any(is_its));
        let judged = answered.iter().filter(|((benchmark, _), _)| is_judged(benchmark));
        let judged = judged.map(|(place, sessions)| (place.clone(), *sessions)).collect();
        Self { judge: judge.cloned(), usage, cost, judged }
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
    /// The part of `judge` in a session of `place`; `None` where the pilot does not tell it: it had another judge there, one that it never
    /// asked, or one whose bill cannot be divided.
    #[must_use]
    pub fn judged_session(
        &self,
        place: &(BenchmarkName, Setting),
        judge: Option<&Judge>,
        weight: &Weight<'_>,
    ) -> Option<JudgedSession> {
        let Judging { bills, judges } = &self.judging;
        let has_bill = |id: &ModelRef| bills.iter().any(|bill| bill.judge.as_ref().is_none_or(|judge| judge == id));
        if judges.get(&place.0) != judge || !judge.into_iter().flat_map(Judge::ids).all(has_bill) {
            return None;
        }
        let mut sum = JudgedSession { tokens: Some(0.0), nanos: Some(0.0) };
        for bill in bills.iter().filter(|bill| bill.judged.contains_key(place)) {
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
            judge: Some("x/judge".parse().unwrap()),
            usage: Usage { input: 100, ..Usage::default() },
            cost: CostSum { known: Money(1000), unknown_calls: 0 },
            judged: judged.iter().cloned().collect(),
        };
        let judges = judged.iter().map(|((benchmark, _), _)| (benchmark.clone(), judge("x/judge"))).collect();
        let judging = Judging { bills: vec![bill], judges };
        Pilot { sweep: "s".parse().unwrap(), pairs: Vec::new(), spent: BTreeMap::new(), judging }
    }

    fn judge(id: &str) -> Judge {
        Judge::Plain(id.parse().unwrap())
    }

    #[test]
    fn a_bill_is_divided_by_what_sessions_are_expected_to_ask() {
        let (turn, session) = (place("flowbench", "turn"), place("flowbench", "session"));
        let pilot = pilot(&[(turn.clone(), 10), (session.clone(), 5)]);
        let weight = |of: &(BenchmarkName, Setting)| Some(if *of == session { 7.0 } else { 0.0 });
        let nanos = |of| pilot.judged_session(of, Some(&judge("x/judge")), &weight).unwrap().nanos;
        assert_eq!((nanos(&turn), nanos(&session)), (Some(0.0), Some(200.0)));
        let unjudged = pilot.judged_session(&place("worfbench", "zero-shot"), None, &weight).unwrap();
        assert_eq!(unjudged.nanos, Some(0.0), "nobody judges it");
    }

    #[test]
    fn without_weights_sessions_of_one_benchmark_are_alike_and_those_of_several_are_not() {
        let [one, two, other] = [place("a", "one"), place("a", "two"), place("b", "one")];
        let unknown = |_: &(BenchmarkName, Setting)| None;
        let of_one = pilot(&[(one.clone(), 3), (two, 1)]);
        let expected = JudgedSession { tokens: Some(25.0), nanos: Some(250.0) };
        assert_eq!(of_one.judged_session(&one, Some(&judge("x/judge")), &unknown), Some(expected));
        assert_eq!(
            pilot(&[(one.clone(), 3), (other, 1)]).judged_session(&one, Some(&judge("x/judge")), &unknown),
            None
        );
        assert_eq!(
            pilot(&[(one.clone(), 4)]).judged_session(&one, Some(&judge("x/judge")), &unknown),
            Some(expected),
            "one place needs none"
        );
    }

    #[test]
    fn a_bill_is_that_of_the_sessions_that_were_asked_and_says_nothing_of_places_without_any() {
        let [asked, cached] = [place("a", "one"), place("b", "one")];
        let unknown = |_: &(BenchmarkName, Setting)| None;
        let pilot = pilot(&[(asked.clone(), 4), (cached.clone(), 0)]);
        assert_eq!(pilot.judged_session(&asked, Some(&judge("x/judge")), &unknown).unwrap().nanos, Some(250.0));
        assert_eq!(pilot.judged_session(&cached, Some(&judge("x/judge")), &unknown), None);
    }

    #[test]
    fn of_judges_that_the_pilot_did_not_ask_it_tells_nothing() {
        let one = place("a", "one");
        let pilot = pilot(&[(one.clone(), 4)]);
        let part = |judge: Option<&Judge>| pilot.judged_session(&one, judge, &|_| None);
        assert_eq!(part(Some(&judge("x/other"))), None, "another judge than that of the pilot");
        assert_eq!(part(None).map(|of| of.nanos), None, "the pilot had a judge, and this sweep has none");
        let judging = Judging { bills: Vec::new(), ..pilot.judging.clone() };
        let silent = Pilot { judging, ..pilot.clone() };
        assert_eq!(silent.judged_session(&one, Some(&judge("x/judge")), &|_| None), None, "it never answered");
    }
}
