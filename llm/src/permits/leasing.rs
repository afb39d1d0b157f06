//! The task of an endpoint that asks the store of permits, whenever something is due and never more often.

use std::sync::Arc;
use std::time::Duration;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use regatta_proto::{PoolReply, PoolRequest};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::Pool;
use super::state::Due;
use super::store::{PermitStore, StoreError};

/// Time-out of a request to the store.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// Time-out of the final flush when the endpoint is closed; afterwards its leases expire.
const FINAL_FLUSH_TIMEOUT: Duration = Duration::from_secs(3);
/// Longest time between two looks at what is due.
const LOOK_MAX: Duration = Duration::from_secs(5);

pub(super) struct Leasing {
    pub(super) pool: Arc<Pool>,
    pub(super) store: Arc<dyn PermitStore>,
    /// Rewritten for each request, except for holder and pool.
    pub(super) request: PoolRequest,
    pub(super) rng: ChaCha8Rng,
    pub(super) closing: CancellationToken,
}

impl Leasing {
    /// Runs until the endpoint is closed.
    pub(super) async fn run(mut self) {
        while !self.closing.is_cancelled() {
            let begun = Instant::now();
            let due = self.pool.locked().look(begun);
            match due {
                Due::Ask => self.ask().await,
                Due::Look(at) => {
                    let latest = begun + LOOK_MAX;
                    self.wait(at.map_or(latest, |at| at.min(latest))).await;
                }
            }
            self.pool.hand_on_to_all();
        }
        self.release().await;
    }

    async fn wait(&self, at: Instant) {
        tokio::select! {
            biased;
            () = self.closing.cancelled() => {}
            () = self.pool.look.notified() => {}
            () = sleep_until(at) => {}
        }
    }

    async fn ask(&mut self) {
        let asked = self.pool.locked().tell(&mut self.request, Instant::now());
        let reply = self.lease(PATIENCE).await;
        let (now, jitter) = (Instant::now(), self.rng.random_range(0.0..1.0));
        let mut state = self.pool.locked();
        match reply {
            Ok(reply) => {
                let was_away = state.granted(&asked, &self.request, &reply, jitter);
                drop(state);
                self.pool.metrics.factor(reply.factor);
                if was_away {
                    tracing::info!(pool = self.request.pool, "the store of permits answers again");
                }
            }
            Err(error) => {
                let is_first = state.unanswered(&asked, &self.request, now, jitter);
                drop(state);
                if is_first {
                    tracing::warn!(%error, pool = self.request.pool, "no permits beyond those held until the store answers");
                }
            }
        }
    }

    async fn lease(&self, patience: Duration) -> Result<PoolReply, StoreError> {
        match timeout(patience, self.store.lease(&self.request)).await {
            Ok(reply) => reply,
            Err(_) => Err(StoreError(format!("nothing within {} s", patience.as_secs()))),
        }
    }

    /// Returns all leases.
    async fn release(mut self) {
        let is_known = {
            let mut state = self.pool.locked();
            let is_known = state.is_known();
            state.tell(&mut self.request, Instant::now());
            is_known
        };
        self.request.parties.retain(|party| party.in_flight > 0);
        if is_known && let Err(error) = self.lease(FINAL_FLUSH_TIMEOUT).await {
            tracing::debug!(%error, pool = self.request.pool, "leases are left to end by themselves");
        }
    }
}
