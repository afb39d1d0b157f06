//! Calls that were made again, each with the fault that explains it.

use std::collections::BTreeMap;

use crate::endpoint::{Call, CallKind};
use crate::evidence::{Evidence, Reference, Struck};

/// A batch of a lost worker that may be handed in twice was handed in no earlier than this before the loss: the worker acknowledges the sessions of
/// a batch as soon as the broker has confirmed it.
const UNACKNOWLEDGED_MS: u64 = 500;
/// Longest time after a loss until its batch is handed in by others, to whom the broker hands it at once: they wait until the claim of the lost
/// one is silent for longer than its request may take, and money for it may have to wait for a database.
const HANDED_IN_WITHIN_MS: u64 = 60_000;

/// A call beyond those of the undisturbed run.
#[derive(Debug)]
pub(crate) struct Repeat<'e> {
    pub(crate) call: &'e Call,
    /// Fault that cut the same request off before; `None` if no fault explains it.
    pub(crate) cause: Option<&'e Struck>,
}

/// All of a history.
pub(crate) fn repeats<'e>(reference: &Reference, evidence: &'e Evidence) -> Vec<Repeat<'e>> {
    let mut repeats = of_sessions(reference, evidence);
    repeats.extend(of_judges(reference, evidence));
    repeats.extend(of_vectors(reference, evidence));
    repeats.extend(of_batches(reference, evidence));
    repeats
}

/// Calls for sessions that were answered at once.
fn of_sessions<'e>(reference: &Reference, evidence: &'e Evidence) -> Vec<Repeat<'e>> {
    let calls = answered(evidence, CallKind::Live);
    let equal = equal(calls.map(|call| ((call.session.as_str(), call.request), call)));
    let of_request = |((session, request), calls): ((&'e str, u64), Vec<&'e Call>)| {
        let expected = reference.requests.get(&(session.to_owned(), request)).copied().unwrap_or(0);
        let in_flight = |struck: &'e Struck| struck.in_flight.calls.get(session).map_or(&[][..], Vec::as_slice);
        beyond(expected, calls, cuts(evidence, request, in_flight))
    };
    equal.into_iter().flat_map(of_request).collect()
}

/// Calls of judges that do not ask for vectors.
fn of_judges<'e>(reference: &Reference, evidence: &'e Evidence) -> Vec<Repeat<'e>> {
    let calls = answered(evidence, CallKind::Judges).filter(|call| call.texts.is_empty());
    let of_request = |(request, calls)| {
        let expected = reference.judged.get(&request).copied().unwrap_or(0);
        beyond(expected, calls, cuts(evidence, request, |struck| &struck.in_flight.judges))
    };
    equal(calls.map(|call| (call.request, call))).into_iter().flat_map(of_request).collect()
}

/// Calls that ask for a vector more often than processes need. Which similarities share a call is chance, so these are compared text by text: each
/// process keeps the vectors that it has as long as their endpoint is open, and asks once for each that it needs, of texts that the undisturbed run
/// asks for. Calls that are under way at once for one text are one: a process does not wait for the vector that it is about to have.
fn of_vectors<'e>(reference: &Reference, evidence: &'e Evidence) -> Vec<Repeat<'e>> {
    let calls = answered(evidence, CallKind::Judges);
    let of_texts = equal(calls.flat_map(|call| call.texts.iter().map(move |text| (*text, call))));
    let mut repeats: BTreeMap<(u64, u64), Repeat<'_>> = BTreeMap::new();
    for (text, calls) in of_texts {
        let mut cuts = cuts(evidence, text, |struck| &struck.in_flight.texts).into_iter().peekable();
        let (mut asked, mut under_way_until) = (0, None);
        for call in calls {
            let ended_ms = call.ended_ms.unwrap_or(u64::MAX);
            let is_another = under_way_until.is_none_or(|until| call.begun_ms >= until);
            under_way_until = under_way_until.max(Some(ended_ms));
            if !is_another {
                continue;
            }
            let opened = evidence.endpoints_opened_ms.iter().filter(|at| **at <= call.begun_ms).count();
            if reference.texts.contains(&text) && asked < opened {
                asked += 1;
                continue;
            }
            let cause = cuts.next_if(|struck| struck.at_ms <= call.begun_ms);
            // A call of several texts is a repeat once, and explained if all are.
            let of_call = repeats.entry((call.begun_ms, call.request)).or_insert(Repeat { call, cause });
            of_call.cause = of_call.cause.and(cause);
        }
    }
    repeats.into_values().collect()
}

/// Calls of `kind` that were not refused.
fn answered(evidence: &Evidence, kind: CallKind) -> impl Iterator<Item = &Call> {
    evidence.books.iter().filter(move |call| call.kind == kind && !call.was_refused)
}

/// Calls by what equal ones have in common and in the order of time.
fn equal<'e, K: Ord>(calls: impl Iterator<Item = (K, &'e Call)>) -> BTreeMap<K, Vec<&'e Call>> {
    let mut equal: BTreeMap<K, Vec<&Call>> = BTreeMap::new();
    for (key, call) in calls {
        equal.entry(key).or_default().push(call);
    }
    equal.values_mut().for_each(|calls| calls.sort_by_key(|call| call.begun_ms));
    equal
}

/// Faults that cut `request` off, in order, each as often as it did.
fn cuts<'e>(evidence: &'e Evidence, request: u64, in_flight: impl Fn(&'e Struck) -> &'e [u64]) -> Vec<&'e Struck> {
    let mut cuts = Vec::new();
    for struck in &evidence.struck {
        cuts.extend(in_flight(struck).iter().filter(|cut| **cut == request).map(|_| struck));
    }
    cuts.sort_by_key(|struck| struck.at_ms);
    cuts
}

/// Calls of equal `calls` that are more than `expected`. A fault that cut such a call off explains that it is made once more, later.
fn beyond<'e>(expected: u64, calls: Vec<&'e Call>, cuts: Vec<&'e Struck>) -> Vec<Repeat<'e>> {
    let count = calls.len().saturating_sub(usize::try_from(expected).unwrap_or(usize::MAX));
    let (mut explained, mut others) = (Vec::new(), Vec::new());
    let mut cuts = cuts.into_iter().peekable();
    for call in calls {
        match cuts.next_if(|struck| struck.at_ms <= call.begun_ms) {
            Some(struck) => explained.push(Repeat { call, cause: Some(struck) }),
            None => others.push(Repeat { call, cause: None }),
        }
    }
    // The last ones are those that were made again.
    explained.into_iter().rev().chain(others.into_iter().rev()).take(count).collect()
}

/// A line whose session had been in another batch before.
#[derive(Clone, Copy)]
struct Again<'e> {
    line: &'e Call,
    before: &'e Call,
}

/// Lines that were answered more often than undisturbed. A worker publishes one batch at a time and acknowledges its sessions once the broker has
/// confirmed it; lost in between, it leaves both, so that the sessions come to be in other batches, one or several, before that one is handed in
/// or after it. Therefore each lost worker explains the lines that have one batch in common, and only if it was handed in about the time of the
/// loss: before, its sessions were already acknowledged.
fn of_batches<'e>(reference: &Reference, evidence: &'e Evidence) -> Vec<Repeat<'e>> {
    let mut lines: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
    for call in evidence.books.iter().filter(|call| call.kind == CallKind::Batched) {
        lines.entry(&call.session).or_default().push(call);
    }
    let mut again = Vec::new();
    for (session, mut lines) in lines {
        lines.sort_by_key(|line| line.begun_ms);
        let expected = reference.sessions.get(session).map_or(0, |booked| booked.calls);
        for position in usize::try_from(expected).unwrap_or(usize::MAX)..lines.len() {
            again.push(Again { line: lines[position], before: lines[position.saturating_sub(1)] });
        }
    }
    again.sort_by_key(|again| again.before.begun_ms);
    let mut losses: Vec<&Struck> = Vec::new();
    for struck in &evidence.struck {
        losses.extend((0..struck.in_flight.workers).map(|_| struck));
    }
    losses.sort_by_key(|struck| struck.ended_ms);
    // Whoever is lost leaves a copy of a batch, and never one that is handed in twice.
    let mut repeats: Vec<Repeat<'_>> = again
        .extract_if(.., |again| again.line.request == again.before.request)
        .map(|again| Repeat { call: again.line, cause: None })
        .collect();
    while let Some(first) = again.first().copied() {
        let with = |has_it: &dyn Fn(&Again<'e>) -> bool| -> Vec<Again<'e>> {
            again.iter().filter(|again| has_it(again)).copied().collect()
        };
        // The batch of the lost worker was handed in before the others, or after them.
        let earlier = with(&|again| again.before.request == first.before.request);
        let later = with(&|again| again.line.request == first.line.request);
        // The loss that is over first: a later one may explain a later batch.
        let by_earlier = losses.iter().position(|struck| earlier.iter().all(|again| is_about(struck, again.before)));
        let by_later = losses.iter().position(|struck| {
            later.iter().all(|again| is_about(struck, again.before) && is_about(struck, again.line))
        });
        let (group, position) = match (by_earlier, by_later) {
            (None, Some(_)) => (later, by_later),
            (Some(_), Some(_)) if later.len() > earlier.len() => (later, by_later),
            _ => (earlier, by_earlier),
        };
        let cause = position.map(|position| losses.remove(position));
        again.retain(|again| group.iter().all(|one| !std::ptr::eq(one.line, again.line)));
        repeats.extend(group.into_iter().map(|again| Repeat { call: again.line, cause }));
    }
    repeats
}

/// True if the batch of `line` was handed in about the time at which `struck` lost a worker.
fn is_about(struck: &Struck, line: &Call) -> bool {
    let (from, to) = (struck.at_ms.saturating_sub(UNACKNOWLEDGED_MS), struck.ended_ms + HANDED_IN_WITHIN_MS);
    (from..=to).contains(&line.begun_ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::InFlight;
    use crate::plan::Fault;

    fn call(session: &str, request: u64, begun_ms: u64) -> Call {
        let (session, texts, ended_ms) = (session.to_owned(), Vec::new(), Some(begun_ms + 10));
        Call {
            session,
            kind: CallKind::Live,
            request,
            texts,
            client: 1,
            begun_ms,
            ended_ms,
            was_refused: false,
            cost: 50,
        }
    }

    fn judged(request: u64, begun_ms: u64) -> Call {
        Call { kind: CallKind::Judges, ..call("-", request, begun_ms) }
    }

    fn vectors(texts: &[u64], begun_ms: u64) -> Call {
        Call { texts: texts.to_vec(), ..judged(begun_ms, begun_ms) }
    }

    fn line(session: &str, batch: u64, begun_ms: u64) -> Call {
        Call { kind: CallKind::Batched, ..call(session, batch, begun_ms) }
    }

    fn struck(at_ms: u64, in_flight: InFlight) -> Struck {
        let (fault, target) = (Fault::KillWorker, "somebody".to_owned());
        let recovered_after_ms = Some(0);
        Struck { fault, target, at_ms, ended_ms: at_ms + 500, recovered_after_ms, in_flight, had_two_leaders: false }
    }

    fn cut(at_ms: u64, session: &str, request: u64) -> Struck {
        struck(at_ms, InFlight { calls: [(session.to_owned(), vec![request])].into(), ..InFlight::default() })
    }

    fn lost(at_ms: u64, workers: u64) -> Struck {
        struck(at_ms, InFlight { workers, ..InFlight::default() })
    }

    /// Times at which calls were made again, with those of the faults that explain them.
    fn again(undisturbed: &[Call], books: Vec<Call>, struck: Vec<Struck>) -> Vec<(u64, Option<u64>)> {
        // Two processes from the beginning, and one that took the place of another.
        let endpoints_opened_ms = vec![0, 0, 1_000];
        let evidence = Evidence { books, struck, endpoints_opened_ms, ..Evidence::default() };
        let repeats = repeats(&Reference::of(String::new(), undisturbed), &evidence);
        let mut told: Vec<_> =
            repeats.iter().map(|one| (one.call.begun_ms, one.cause.map(|struck| struck.at_ms))).collect();
        told.sort_unstable();
        told
    }

    #[test]
    fn a_request_that_was_cut_off_may_be_made_once_more_after_that() {
        let (first, cut) = ([call("x", 1, 0)], || vec![cut(50, "x", 1)]);
        let then = |begun_ms| vec![call("x", 1, 0), call("x", 1, begun_ms)];
        assert_eq!(again(&first, then(60), cut()), [(60, Some(50))]);
        assert_eq!(again(&first, then(40), cut()), [(40, None)], "nothing had happened yet");
        let twice = vec![call("x", 1, 0), call("x", 1, 60), call("x", 1, 70)];
        assert_eq!(again(&first, twice, cut()), [(60, Some(50)), (70, None)]);
    }

    #[test]
    fn another_request_or_another_session_is_not_explained() {
        let undisturbed = [call("x", 1, 0), call("x", 2, 20), call("y", 1, 0)];
        let with = |more| undisturbed.iter().cloned().chain([more]).collect();
        assert_eq!(again(&undisturbed, with(call("x", 2, 60)), vec![cut(50, "x", 1)]), [(60, None)]);
        assert_eq!(again(&undisturbed, with(call("y", 1, 60)), vec![cut(50, "x", 1)]), [(60, None)]);
        assert_eq!(
            again(&undisturbed, with(call("x", 3, 60)), Vec::new()),
            [(60, None)],
            "nobody asks that undisturbed"
        );
    }

    #[test]
    fn a_request_that_is_made_twice_undisturbed_is_no_repeat() {
        let twice = [call("x", 1, 0), call("x", 1, 60)];
        assert_eq!(again(&twice, twice.to_vec(), vec![cut(50, "x", 1)]), []);
    }

    #[test]
    fn a_judges_request_is_made_as_often_as_undisturbed_and_never_if_it_was_not() {
        let undisturbed = [judged(1, 0), judged(1, 5)];
        assert_eq!(again(&undisturbed, undisturbed.to_vec(), Vec::new()), []);
        assert_eq!(again(&undisturbed, vec![judged(1, 0), judged(1, 5), judged(2, 10)], Vec::new()), [(10, None)]);
        let three = || vec![judged(1, 0), judged(1, 5), judged(1, 60)];
        assert_eq!(again(&undisturbed, three(), Vec::new()), [(60, None)]);
        let of_judges = struck(50, InFlight { judges: vec![1], ..InFlight::default() });
        assert_eq!(again(&undisturbed, three(), vec![of_judges]), [(60, Some(50))]);
    }

    #[test]
    fn each_process_may_ask_for_a_vector_once_in_whatever_call() {
        let undisturbed = [vectors(&[1, 2, 3], 0)];
        let twice = vec![vectors(&[1], 0), vectors(&[2, 3], 20), vectors(&[3, 1], 40), vectors(&[2], 60)];
        assert_eq!(again(&undisturbed, twice.clone(), Vec::new()), []);
        let more = |call| twice.iter().cloned().chain([call]).collect();
        assert_eq!(again(&undisturbed, more(vectors(&[1, 2], 80)), Vec::new()), [(80, None)]);
        assert_eq!(again(&undisturbed, more(vectors(&[1, 2], 1_080)), Vec::new()), [], "a process has begun");
        assert_eq!(again(&undisturbed, more(vectors(&[2, 4], 1_080)), Vec::new()), [(1_080, None)], "another text");
    }

    #[test]
    fn jobs_of_one_process_may_ask_for_a_vector_at_once() {
        let undisturbed = [vectors(&[1], 0)];
        let at_once = vec![vectors(&[1], 0), vectors(&[1], 5), vectors(&[1], 12), vectors(&[1], 40)];
        assert_eq!(again(&undisturbed, at_once, Vec::new()), []);
        let one_by_one = vec![vectors(&[1], 0), vectors(&[1], 10), vectors(&[1], 40)];
        assert_eq!(again(&undisturbed, one_by_one, Vec::new()), [(40, None)]);
    }

    #[test]
    fn a_vector_that_was_on_its_way_to_a_process_that_was_cut_off_may_be_asked_for_again() {
        let undisturbed = [vectors(&[1, 2], 0)];
        let books = || vec![vectors(&[1, 2], 0), vectors(&[1, 2], 20), vectors(&[1, 2], 60)];
        let cut_off = |texts: &[u64]| struck(50, InFlight { texts: texts.to_vec(), ..InFlight::default() });
        assert_eq!(again(&undisturbed, books(), vec![cut_off(&[1, 2])]), [(60, Some(50))]);
        assert_eq!(again(&undisturbed, books(), vec![cut_off(&[1])]), [(60, None)], "not all of its texts");
    }

    #[test]
    fn a_lost_worker_explains_one_batch_of_about_the_time_of_the_loss() {
        let undisturbed = [line("x", 0, 0), line("y", 0, 0)];
        let twice = |first_ms| {
            let of_batch = |batch, at_ms| ["x", "y"].map(|session| line(session, batch, at_ms));
            of_batch(1, first_ms).into_iter().chain(of_batch(2, 120_000)).collect::<Vec<_>>()
        };
        let at_most = || vec![lost(10_000, 1)];
        assert_eq!(again(&undisturbed, twice(9_600), at_most()), [(120_000, Some(10_000)), (120_000, Some(10_000))]);
        assert_eq!(again(&undisturbed, twice(12_000), at_most()), [(120_000, Some(10_000)), (120_000, Some(10_000))]);
        assert_eq!(
            again(&undisturbed, twice(9_400), at_most()),
            [(120_000, None), (120_000, None)],
            "long acknowledged"
        );
        assert_eq!(again(&undisturbed, twice(71_000), at_most()), [(120_000, None), (120_000, None)], "long after");
    }

    #[test]
    fn two_batches_need_two_lost_workers() {
        let undisturbed = [line("x", 0, 0), line("y", 0, 0)];
        let books = vec![line("x", 1, 10_100), line("y", 2, 10_200), line("x", 3, 20_000), line("y", 4, 20_000)];
        let told = again(&undisturbed, books.clone(), vec![lost(10_000, 1)]);
        assert_eq!(told, [(20_000, None), (20_000, Some(10_000))]);
        let told = again(&undisturbed, books, vec![lost(10_000, 2)]);
        assert_eq!(told, [(20_000, Some(10_000)), (20_000, Some(10_000))]);
    }

    #[test]
    fn sessions_of_the_batch_of_a_lost_worker_may_be_in_several_of_others() {
        let undisturbed = [line("x", 0, 0), line("y", 0, 0)];
        let explained = [(20_000, Some(10_000)), (20_000, Some(10_000))];
        let after_others = [line("x", 1, 10_100), line("y", 2, 10_200), line("x", 3, 20_000), line("y", 3, 20_000)];
        assert_eq!(again(&undisturbed, after_others.to_vec(), vec![lost(10_000, 1)]), explained);
        let before_others = [line("x", 1, 10_100), line("y", 1, 10_100), line("x", 2, 20_000), line("y", 3, 20_000)];
        assert_eq!(again(&undisturbed, before_others.to_vec(), vec![lost(10_000, 1)]), explained);
    }

    #[test]
    fn no_loss_explains_a_batch_that_is_handed_in_twice() {
        let undisturbed = [line("x", 0, 0)];
        let books = vec![line("x", 1, 10_100), line("x", 1, 20_000)];
        assert_eq!(again(&undisturbed, books, vec![lost(10_000, 3)]), [(20_000, None)]);
    }

    #[test]
    fn a_batch_of_long_after_a_loss_does_not_join_those_of_about_its_time() {
        let undisturbed = [line("x", 0, 0), line("y", 0, 0)];
        let books = vec![line("x", 1, 10_100), line("y", 2, 10_200), line("x", 3, 200_000), line("y", 3, 200_000)];
        assert_eq!(again(&undisturbed, books, vec![lost(10_000, 1)]), [(200_000, None), (200_000, Some(10_000))]);
    }
}
