//! Waste by cause: each call beyond the undisturbed run is put down to the fault that cut such a call off.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::evidence::{Evidence, Reference, booked};
use crate::plan::Fault;

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

/// Waste of a history, by cause; no cause is there twice.
pub(crate) fn by_cause(reference: &Reference, evidence: &Evidence) -> Vec<Waste> {
    let mut causes: BTreeMap<Option<Fault>, (u64, u64)> = BTreeMap::new();
    for (session, made) in booked(&evidence.books) {
        let expected = reference.sessions.get(session).copied().unwrap_or_default();
        let mut calls = made.calls.saturating_sub(expected.calls);
        let mut cost = made.cost.saturating_sub(expected.cost);
        for struck in &evidence.struck {
            // A lost worker may leave any line of a batch twice.
            let of_session = struck.in_flight.calls.get(session).copied().unwrap_or(0);
            let explained = calls.min(if made.is_batched { struck.in_flight.workers } else { of_session });
            if explained > 0 {
                let part = cost * explained / calls;
                add(&mut causes, Some(struck.fault), explained, part);
                calls -= explained;
                cost -= part;
            }
        }
        if calls > 0 {
            add(&mut causes, None, calls, cost);
        }
    }
    causes.into_iter().map(|(cause, (calls, nanodollars))| Waste { cause, calls, nanodollars }).collect()
}

fn add(causes: &mut BTreeMap<Option<Fault>, (u64, u64)>, cause: Option<Fault>, calls: u64, cost: u64) {
    let (sum, cost_sum) = causes.entry(cause).or_default();
    *sum += calls;
    *cost_sum += cost;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::{Call, CallKind};
    use crate::evidence::{InFlight, Struck};

    fn call(session: &str, kind: CallKind, cost: u64) -> Call {
        let session = session.to_owned();
        Call { session, kind, client: 1, begun_ms: 0, ended_ms: Some(1), was_refused: false, cost }
    }

    fn struck(fault: Fault, sessions: &[&str], workers: u64) -> Struck {
        let calls = sessions.iter().map(|session| ((*session).to_owned(), 1)).collect();
        let in_flight = InFlight { calls, judges: 0, workers };
        let target = "somebody".to_owned();
        Struck { fault, target, at_ms: 0, ended_ms: 0, recovered_after_ms: Some(0), in_flight, had_two_leaders: false }
    }

    fn evidence(again: Vec<Call>, struck: Vec<Struck>) -> (Reference, Evidence) {
        let undisturbed =
            [call("x", CallKind::Live, 50), call("y", CallKind::Live, 70), call("n", CallKind::Batched, 20)];
        let books = undisturbed.iter().cloned().chain(again).collect();
        (Reference::of(String::new(), &undisturbed), Evidence { books, struck, ..Evidence::default() })
    }

    fn waste(again: Vec<Call>, struck: Vec<Struck>) -> Vec<(Option<Fault>, u64, u64)> {
        let (reference, evidence) = evidence(again, struck);
        let waste = by_cause(&reference, &evidence).into_iter();
        waste.map(|Waste { cause, calls, nanodollars }| (cause, calls, nanodollars)).collect()
    }

    #[test]
    fn a_call_is_put_down_to_the_fault_that_cut_it_off() {
        let faults = vec![struck(Fault::KillLeader, &[], 0), struck(Fault::KillWorker, &["x"], 1)];
        let found = waste(vec![call("x", CallKind::Live, 50)], faults);
        assert_eq!(found, [(Some(Fault::KillWorker), 1, 50)]);
    }

    #[test]
    fn calls_of_one_session_are_shared_by_the_faults_that_explain_them_and_the_rest_has_no_cause() {
        let faults = vec![struck(Fault::KillWorker, &["x"], 1), struck(Fault::KillBroker, &["x", "y"], 3)];
        let again = (0..3).map(|_| call("x", CallKind::Live, 50)).collect();
        let found = waste(again, faults);
        assert_eq!(found, [(None, 1, 50), (Some(Fault::KillWorker), 1, 50), (Some(Fault::KillBroker), 1, 50)]);
    }

    #[test]
    fn a_line_of_a_batch_is_put_down_to_a_lost_worker() {
        let faults = vec![struck(Fault::KillScorer, &[], 0), struck(Fault::PauseWorker, &[], 1)];
        let found = waste(vec![call("n", CallKind::Batched, 20)], faults);
        assert_eq!(found, [(Some(Fault::PauseWorker), 1, 20)]);
    }

    #[test]
    fn where_nothing_was_made_again_there_is_no_waste() {
        assert_eq!(waste(Vec::new(), vec![struck(Fault::KillWorker, &["x"], 1)]), []);
    }
}
