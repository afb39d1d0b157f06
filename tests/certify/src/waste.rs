//! Waste by cause: each call beyond the undisturbed run is put down to the fault that cut such a call off.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::endpoint::CallKind;
use crate::evidence::{Evidence, Reference};
use crate::plan::Fault;
use crate::repeats::repeats;

/// Calls beyond the undisturbed run with one cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Waste {
    /// Kind of the fault in whose calls in flight they are; `None` if no fault explains them.
    pub cause: Option<Fault>,
    /// Number of calls.
    pub calls: u64,
    /// Their cost, in nano-dollars.
    pub nanodollars: u64,
}

/// Waste of a history, by cause; no cause is there twice. Calls of judges are not among it.
pub(crate) fn by_cause(reference: &Reference, evidence: &Evidence) -> Vec<Waste> {
    let mut causes: BTreeMap<Option<Fault>, (u64, u64)> = BTreeMap::new();
    for repeat in repeats(reference, evidence).iter().filter(|repeat| repeat.call.kind != CallKind::Judges) {
        let (calls, cost) = causes.entry(repeat.cause.map(|struck| struck.fault)).or_default();
        *calls += 1;
        *cost += repeat.call.cost;
    }
    causes.into_iter().map(|(cause, (calls, nanodollars))| Waste { cause, calls, nanodollars }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Call;
    use crate::evidence::{InFlight, Struck};

    fn call(session: &str, kind: CallKind, begun_ms: u64) -> Call {
        let (session, texts, ended_ms) = (session.to_owned(), Vec::new(), Some(begun_ms + 1));
        Call { session, kind, request: 1, texts, client: 1, begun_ms, ended_ms, was_refused: false, cost: 50 }
    }

    fn struck(fault: Fault, at_ms: u64, sessions: &[&str], workers: u64) -> Struck {
        let calls = sessions.iter().map(|session| ((*session).to_owned(), vec![1])).collect();
        let in_flight = InFlight { calls, workers, ..InFlight::default() };
        let (target, recovered_after_ms) = ("somebody".to_owned(), Some(0));
        Struck { fault, target, at_ms, ended_ms: at_ms, recovered_after_ms, in_flight, had_two_leaders: false }
    }

    fn waste(again: Vec<Call>, struck: Vec<Struck>) -> Vec<(Option<Fault>, u64, u64)> {
        let undisturbed = [call("x", CallKind::Live, 0), call("y", CallKind::Live, 0), call("n", CallKind::Batched, 0)];
        let books = undisturbed.iter().cloned().chain(again).collect();
        let evidence = Evidence { books, struck, ..Evidence::default() };
        let waste = by_cause(&Reference::of(String::new(), &undisturbed), &evidence).into_iter();
        waste.map(|Waste { cause, calls, nanodollars }| (cause, calls, nanodollars)).collect()
    }

    #[test]
    fn a_call_is_put_down_to_the_fault_that_cut_it_off() {
        let faults = vec![struck(Fault::KillLeader, 10, &[], 0), struck(Fault::KillWorker, 20, &["x"], 1)];
        assert_eq!(waste(vec![call("x", CallKind::Live, 30)], faults), [(Some(Fault::KillWorker), 1, 50)]);
    }

    #[test]
    fn calls_of_one_session_are_shared_by_the_faults_that_explain_them_and_the_rest_has_no_cause() {
        let faults = vec![struck(Fault::KillWorker, 10, &["x"], 1), struck(Fault::KillBroker, 30, &["x", "y"], 3)];
        let found = waste([20, 40, 50].map(|begun_ms| call("x", CallKind::Live, begun_ms)).into(), faults);
        assert_eq!(found, [(None, 1, 50), (Some(Fault::KillWorker), 1, 50), (Some(Fault::KillBroker), 1, 50)]);
    }

    #[test]
    fn a_line_of_a_batch_is_put_down_to_a_lost_worker() {
        let faults = vec![struck(Fault::KillScorer, 0, &[], 0), struck(Fault::PauseWorker, 0, &[], 1)];
        let in_another_batch = Call { request: 2, ..call("n", CallKind::Batched, 20) };
        assert_eq!(waste(vec![in_another_batch], faults), [(Some(Fault::PauseWorker), 1, 50)]);
    }

    #[test]
    fn where_nothing_was_made_again_there_is_no_waste() {
        assert_eq!(waste(Vec::new(), vec![struck(Fault::KillWorker, 10, &["x"], 1)]), []);
        assert_eq!(waste(vec![call("-", CallKind::Judges, 20), call("-", CallKind::Judges, 30)], Vec::new()), []);
    }
}
