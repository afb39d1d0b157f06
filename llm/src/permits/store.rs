//! The store of permits and money that all workers of a fleet share, as a worker uses it.

use futures::future::BoxFuture;
use regatta_proto::{AccountReply, AccountRequest, Digest, Failing, PoolReply, PoolRequest};

/// The store did not answer. Nothing was granted, and existing leases hold until they expire.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the store of permits did not answer: {0}")]
pub struct StoreError(pub String);

/// The requests of a worker to the store of permits. Every operation may be repeated, because requests report totals and states, not
/// differences. The exceptions are returns and corrections in [`regatta_proto::Party`], which can get lost with an answer.
pub trait PermitStore: Send + Sync + 'static {
    /// Renews and asks for slots, requests and tokens of a pool.
    fn lease<'a>(&'a self, request: &'a PoolRequest) -> BoxFuture<'a, Result<PoolReply, StoreError>>;

    /// Reports the spending of an account, and requests money.
    fn settle<'a>(&'a self, request: &'a AccountRequest) -> BoxFuture<'a, Result<AccountReply, StoreError>>;

    /// Counts a failure of a request that may be the request's own fault. Returns the number of its failures in the whole fleet.
    fn failing<'a>(&'a self, failing: &'a Failing) -> BoxFuture<'a, Result<u32, StoreError>>;

    /// Number of failures so far, in the whole fleet, of the request with this fingerprint.
    fn failures<'a>(&'a self, fingerprint: &'a Digest) -> BoxFuture<'a, Result<u32, StoreError>>;
}
