//! No call is begun while nothing can be recorded.

use futures::FutureExt;
use futures::future::BoxFuture;
use regatta_backends::StoreHealth;
use regatta_llm::{PermitStore, StoreError};
use regatta_proto::{AccountReply, AccountRequest, Digest, Failing, Grant, Party, PoolReply, PoolRequest};
use regatta_worker::SharedPermits;

/// The run's permits, of which none are granted for new calls while its scorer cannot record: what they cost would appear nowhere.
#[derive(Debug)]
pub(crate) struct WhileRecording {
    pub(crate) permits: SharedPermits,
    pub(crate) recording: StoreHealth,
}

impl PermitStore for WhileRecording {
    fn lease<'a>(&'a self, request: &'a PoolRequest) -> BoxFuture<'a, Result<PoolReply, StoreError>> {
        if self.recording.stalled().is_none() {
            return self.permits.lease(request);
        }
        let parties = request.parties.iter().map(|party| Party { waiting: 0, waiting_tokens: 0, ..party.clone() });
        let request = PoolRequest { parties: parties.collect(), ..request.clone() };
        async move {
            let mut reply = self.permits.lease(&request).await?;
            // Fewer than are filled: whoever may fill those in flight would fill each one again that becomes free.
            reply.grants.iter_mut().for_each(|grant| *grant = Grant { slots: 0, requests: 0, tokens: 0 });
            Ok(reply)
        }
        .boxed()
    }

    fn settle<'a>(&'a self, request: &'a AccountRequest) -> BoxFuture<'a, Result<AccountReply, StoreError>> {
        self.permits.settle(request)
    }

    fn failing<'a>(&'a self, failing: &'a Failing) -> BoxFuture<'a, Result<u32, StoreError>> {
        self.permits.failing(failing)
    }

    fn failures<'a>(&'a self, fingerprint: &'a Digest) -> BoxFuture<'a, Result<u32, StoreError>> {
        self.permits.failures(fingerprint)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use regatta_backends::Permits;
    use regatta_proto::{Limits, Share, Signals};

    use super::*;

    #[tokio::test]
    async fn while_nothing_can_be_recorded_no_call_is_begun() {
        let gate = WhileRecording { permits: SharedPermits(Permits::memory()), recording: StoreHealth::default() };
        let party = |in_flight, waiting| Party {
            sweep: "s".parse().unwrap(),
            model: String::new(),
            share: Share { weight: 1, priority: 0 },
            in_flight,
            waiting,
            waiting_tokens: 10 * u64::from(waiting),
            unsent_requests: 0,
            unsent_tokens: 0,
            token_correction: 0,
        };
        let slots = async |in_flight, waiting| {
            let request = PoolRequest {
                pool: "pool".into(),
                holder: "w".parse().unwrap(),
                limits: Limits { concurrency: 8, requests_per_minute: None, tokens_per_minute: None },
                model_limits: BTreeMap::new(),
                parties: vec![party(in_flight, waiting)],
                signals: Signals::default(),
            };
            gate.lease(&request).await.unwrap().grants[0].slots
        };
        assert_eq!(slots(0, 3).await, 3);
        gate.recording.fails("the disk is full");
        assert_eq!(slots(3, 5).await, 0);
        assert_eq!(slots(2, 5).await, 0);
        gate.recording.succeeds();
        assert_eq!(slots(2, 5).await, 7);
    }
}
