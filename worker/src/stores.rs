//! The stores that all workers of a fleet share, as the `llm` crate wants them.

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use regatta_backends::blobs::response_key;
use regatta_backends::{Blobs, Permits};
use regatta_llm::{PermitStore, ResponseStore, StoreError};
use regatta_proto::{AccountReply, AccountRequest, Digest, Failing, PoolReply, PoolRequest};

/// Permits and money from the fleet's store.
#[derive(Debug, Clone)]
pub struct SharedPermits(pub Permits);

impl PermitStore for SharedPermits {
    fn lease<'a>(&'a self, request: &'a PoolRequest) -> BoxFuture<'a, Result<PoolReply, StoreError>> {
        self.0.lease(request).map(|reply| reply.map_err(unanswered)).boxed()
    }

    fn settle<'a>(&'a self, request: &'a AccountRequest) -> BoxFuture<'a, Result<AccountReply, StoreError>> {
        self.0.settle(request).map(|reply| reply.map_err(unanswered)).boxed()
    }

    fn failing<'a>(&'a self, failing: &'a Failing) -> BoxFuture<'a, Result<u32, StoreError>> {
        self.0.failing(failing).map(|count| count.map_err(unanswered)).boxed()
    }

    fn failures<'a>(&'a self, fingerprint: &'a Digest) -> BoxFuture<'a, Result<u32, StoreError>> {
        self.0.failures(fingerprint).map(|count| count.map_err(unanswered)).boxed()
    }
}

/// The response cache as blobs.
#[derive(Debug, Clone)]
pub struct CachedResponses(pub Blobs);

impl ResponseStore for CachedResponses {
    fn get<'a>(&'a self, key: &'a Digest) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>> {
        async move { self.0.get(&response_key(key)).await.map_err(unanswered) }.boxed()
    }

    fn put<'a>(&'a self, key: &'a Digest, answer: Bytes) -> BoxFuture<'a, Result<(), StoreError>> {
        async move { self.0.put(&response_key(key), answer).await.map_err(unanswered) }.boxed()
    }
}

/// Keeps nothing and has nothing, for calls whose cache is off.
#[derive(Debug, Clone, Copy)]
pub struct NoResponses;

impl ResponseStore for NoResponses {
    fn get<'a>(&'a self, _: &'a Digest) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>> {
        async { Ok(None) }.boxed()
    }

    fn put<'a>(&'a self, _: &'a Digest, _: Bytes) -> BoxFuture<'a, Result<(), StoreError>> {
        async { Ok(()) }.boxed()
    }
}

fn unanswered(error: impl std::fmt::Display) -> StoreError {
    StoreError(error.to_string())
}
