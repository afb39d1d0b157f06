//! A scorer whose stores are away, and not another's. What it has been given is overtaken by nothing, so all of its partitions wait for it: it gives
//! everything back, so that another one records it, and takes no reports until its stores are back.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio::time::error::Elapsed;
use tokio_util::sync::CancellationToken;

use crate::{Scorer, ScorerError};

/// Time for which its stores have answered nothing when a scorer gives its reports back, if they were never delivered before; twice as long after
/// each redelivery. Where the stores of all are away, each scorer would else deliver them to the next one, until they count as reports that
/// nobody can record.
const STANDS_ASIDE_AFTER: Duration = Duration::from_secs(10);
/// The longest such time.
const STANDS_ASIDE_AT_LAST: Duration = Duration::from_secs(20 * 60);
/// Time between two looks at the stores.
const LOOKS_EVERY: Duration = Duration::from_secs(3);
/// Time in which a store is to answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// Reports that a scorer holds, as far as they decide whether it stands aside.
pub(crate) struct InHand(Mutex<State>);

struct State {
    is_empty: bool,
    /// Most redeliveries of a report that it has held since its stores last answered.
    redeliveries: u32,
    /// When its stores last answered: when they were asked, or recorded something.
    answered_at: Instant,
}

impl InHand {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Self(Mutex::new(State { is_empty: true, redeliveries: 0, answered_at: Instant::now() }))
    }

    /// It has reports, of which one was delivered so often before.
    pub(crate) fn holds(&self, redeliveries: u32) {
        let mut state = self.locked();
        state.is_empty = false;
        state.redeliveries = state.redeliveries.max(redeliveries);
    }

    /// It is done with what it had, and has recorded it if `is_recorded`.
    pub(crate) fn is_empty(&self, is_recorded: bool) {
        let mut state = self.locked();
        state.is_empty = true;
        if is_recorded {
            (state.redeliveries, state.answered_at) = (0, Instant::now());
        }
    }

    /// Notes that the stores have answered. `true` if nothing is held.
    fn answers(&self) -> bool {
        let mut state = self.locked();
        (state.redeliveries, state.answered_at) = (0, Instant::now());
        state.is_empty
    }

    fn is_out_of_patience(&self) -> bool {
        let state = self.locked();
        state.answered_at.elapsed() >= patience(state.redeliveries)
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Scorer {
    /// Returns when this scorer should stand aside: its stores have not answered for a while, and others are there to take its reports. One without
    /// reports stands aside too, so that nobody hands it any.
    pub(crate) async fn must_stand_aside(&self, in_hand: &InHand) {
        loop {
            tokio::time::sleep(LOOKS_EVERY).await;
            if self.stores_answer().await {
                if in_hand.answers() {
                    self.health.succeeds();
                }
            } else if in_hand.is_out_of_patience() && self.is_one_of_several().await {
                return;
            }
        }
    }

    /// Returns when the stores answer again, or when it is time to stop.
    pub(crate) async fn until_stores_answer(&self, stop: &CancellationToken) {
        let since = Instant::now();
        tracing::warn!("its stores do not answer; it leaves the reports to other scorers until they do");
        let answered = async {
            while !self.stores_answer().await {
                tokio::time::sleep(LOOKS_EVERY).await;
            }
        };
        if stop.run_until_cancelled(answered).await.is_some() {
            // Whoever holds nothing fails at nothing.
            self.health.succeeds();
            tracing::info!(lasted_s = since.elapsed().as_secs(), "its stores are back; it takes reports again");
        }
    }

    /// `true` if ledger and blobs answer, whatever they say.
    async fn stores_answer(&self) -> bool {
        let (ledger, blobs) = tokio::join!(
            tokio::time::timeout(ANSWERS_WITHIN, self.ledger.check_rights()),
            // There is no such object.
            tokio::time::timeout(ANSWERS_WITHIN, self.catalog.blobs().size("answers")),
        );
        answers(ledger) && answers(blobs)
    }

    /// `true` if the broker says so.
    async fn is_one_of_several(&self) -> bool {
        self.queue.report_consumers().await.is_ok_and(|consumers| consumers > 1)
    }
}

/// Time for which stores may be silent while a scorer has reports that were redelivered so often.
fn patience(redeliveries: u32) -> Duration {
    STANDS_ASIDE_AFTER.saturating_mul(1 << redeliveries.min(16)).min(STANDS_ASIDE_AT_LAST)
}

/// `true` for an answer that came in time, whatever it says.
fn answers<T, E: Into<ScorerError>>(asked: Result<Result<T, E>, Elapsed>) -> bool {
    match asked {
        Ok(answer) => answer.err().is_none_or(|error| !error.into().is_outage()),
        Err(_) => false,
    }
}
