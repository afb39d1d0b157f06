//! States of a sweep, as leader and scorer change them one after the other.

use jiff::Timestamp;
use regatta_backends::Ledger;
use regatta_proto::{SweepId, SweepState};

/// State of a sweep.
pub async fn state(ledger: &Ledger, sweep: &SweepId) -> SweepState {
    ledger.sweep(sweep).await.unwrap().unwrap().state
}

/// Moves a sweep on, by way of `tabulating` where it has to go there. `false` if it was not in the state `from`.
pub async fn transition(ledger: &Ledger, sweep: &SweepId, from: SweepState, to: SweepState, at: Timestamp) -> bool {
    if from.may_become(to) {
        return ledger.transition(sweep, &[from], to, at).await.unwrap();
    }
    ledger.transition(sweep, &[from], SweepState::Tabulating, at).await.unwrap()
        && ledger.transition(sweep, &[SweepState::Tabulating], to, at).await.unwrap()
}
