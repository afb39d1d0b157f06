//! Response cache of batches, under the keys of live calls, so that a request answered in one delivery mode is not sent again in the other.

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream;
use regatta_proto::{Call, FailedCall, Lane};

use super::{BatchCall, BatchClient};
use crate::cache::{CachedResponse, Found};

/// Answers that are stored concurrently.
const STORED_AT_ONCE: usize = 16;

impl BatchClient {
    /// The cached answer to `call`, if the call may use the cache. It costs nothing. In the replay-only mode, a call without a cached
    /// answer must not become part of a batch.
    pub fn kept<'a>(&'a self, call: &'a BatchCall<'a>) -> BoxFuture<'a, Option<Call>> {
        Box::pin(async move {
            if !call.cache.reads() {
                return None;
            }
            let key = self.cache.chat_key(call.model, call.role, call.request, Some(&call.session), 0);
            let Found::Kept(kept) = self.cache.find_response(call.cache, &key).await else { return None };
            Some(kept.into_call(call.role, call.attempt, self.model(call.model), call.request, Lane::Batch))
        })
    }

    /// Caches the answers of those calls whose mode writes to the cache.
    pub(super) async fn keep(&self, calls: &[BatchCall<'_>], results: &[Result<Call, FailedCall>]) {
        let wanted = calls.iter().zip(results).filter(|(call, _)| call.cache.writes());
        let answered: Vec<_> = wanted.filter_map(|(call, result)| Some((call, result.as_ref().ok()?))).collect();
        // Collected first, because a stream that still held the closure could not move between threads.
        let storing: Vec<_> = answered.into_iter().map(|(call, answered)| self.keep_one(call, answered)).collect();
        stream::iter(storing).buffer_unordered(STORED_AT_ONCE).for_each(|()| async {}).await;
    }

    async fn keep_one(&self, call: &BatchCall<'_>, answered: &Call) {
        let key = self.cache.chat_key(call.model, call.role, call.request, Some(&call.session), 0);
        self.cache.keep(call.cache, &key, &CachedResponse::of(answered)).await;
    }
}
