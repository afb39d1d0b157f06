//! Quarantine: requests that keep failing while the endpoint answers others are counted for the whole fleet, sweep by sweep, and no longer
//! sent after too many failures.

use std::sync::Arc;
use std::time::Duration;

use regatta_proto::{ChatRequest, Digest, ErrorClass, Failing, SweepId, Try, fingerprint};

use crate::errors::{Failure, rule};
use crate::permits::store::{PermitStore, StoreError};

/// Time-out of a request to the store, so that no call waits longer for it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Counts failing requests of one endpoint.
pub(crate) struct Quarantine {
    store: Arc<dyn PermitStore>,
    pool: String,
    /// Digest of the endpoint's settings on which failures depend.
    settings: Digest,
    /// Number of failures after which a request is no longer sent.
    after: u32,
}

/// A request that may be quarantined. Its fingerprint is computed when it is first needed, which for almost every request is never.
#[derive(Debug)]
pub(crate) struct Suspect<'a> {
    sweep: &'a SweepId,
    model: &'a str,
    request: &'a ChatRequest,
    fingerprint: Option<Digest>,
}

impl<'a> Suspect<'a> {
    pub(crate) const fn new(sweep: &'a SweepId, model: &'a str, request: &'a ChatRequest) -> Self {
        Self { sweep, model, request, fingerprint: None }
    }

    fn fingerprint(&mut self, at: &Quarantine) -> Digest {
        let made = || fingerprint(self.sweep, &at.pool, &at.settings, self.model, self.request);
        *self.fingerprint.get_or_insert_with(made)
    }
}

impl Quarantine {
    pub(crate) fn new(store: Arc<dyn PermitStore>, pool: String, settings: Digest, after: u32) -> Self {
        Self { store, pool, settings, after: after.max(1) }
    }

    /// Checks that the request may be sent; returns the entry that ends its call if not. A store that does not answer stops no call.
    pub(crate) async fn look(&self, suspect: &mut Suspect<'_>) -> Option<Try> {
        let failures = match within(self.store.failures(&suspect.fingerprint(self))).await {
            Ok(failures) => failures,
            Err(error) => {
                tracing::debug!(%error, "failed to look whether a request is quarantined");
                return None;
            }
        };
        (failures >= self.after)
            .then(|| not_sent(format!("the request had failed {failures} times and was not sent again")))
    }

    /// Counts a failure of the request, if it may be the request's own fault. Returns the entry that ends its call if there have been too
    /// many.
    pub(crate) async fn count(&self, suspect: &mut Suspect<'_>, failure: &Failure) -> Option<Try> {
        if !rule(failure.class).counts_as_poison {
            return None;
        }
        let failing = Failing { fingerprint: suspect.fingerprint(self), class: failure.class };
        let failures = match within(self.store.failing(&failing)).await {
            Ok(failures) => failures,
            Err(error) => {
                tracing::debug!(%error, "failed to count the failure of a request");
                return None;
            }
        };
        let word = rule(failure.class).word;
        (failures >= self.after).then(|| {
            not_sent(format!("the request has failed {failures} times, the last time with {word}: {}", failure.detail))
        })
    }
}

async fn within(answer: impl Future<Output = Result<u32, StoreError>>) -> Result<u32, StoreError> {
    let late = |_| Err(StoreError(format!("nothing within {} s", PATIENCE.as_secs())));
    tokio::time::timeout(PATIENCE, answer).await.unwrap_or_else(late)
}

fn not_sent(detail: String) -> Try {
    Try::not_sent(ErrorClass::Poison, detail)
}
