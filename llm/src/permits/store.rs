//! The one store of permits and money that all workers of a fleet share, as far as a worker needs it.

use futures::future::BoxFuture;
use regatta_proto::{AccountReply, AccountRequest, Digest, Failing, PoolReply, PoolRequest};

/// Why the store did not answer. Nothing was granted, and whatever is held goes on until it expires.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the store of permits did not answer: {0}")]
pub struct StoreError(pub String);

/// What a worker asks of the store of permits. Every operation may be repeated: requests tell totals and states, not differences, but
/// for what [`regatta_proto::Party`] gives back and corrects, which a lost answer may lose with it.
pub trait PermitStore: Send + Sync + 'static {
    /// Renews and asks for slots, requests and tokens of a pool.
    fn lease<'a>(&'a self, request: &'a PoolRequest) -> BoxFuture<'a, Result<PoolReply, StoreError>>;

    /// Tells what was spent on an account, and asks for money.
    fn settle<'a>(&'a self, request: &'a AccountRequest) -> BoxFuture<'a, Result<AccountReply, StoreError>>;

    /// Counts a failure of a request that may be the request's own fault; returns how often it has failed in the whole fleet.
    fn failing<'a>(&'a self, failing: &'a Failing) -> BoxFuture<'a, Result<u32, StoreError>>;

    /// How often the request with this fingerprint has failed so far in the whole fleet.
    fn failures<'a>(&'a self, fingerprint: &'a Digest) -> BoxFuture<'a, Result<u32, StoreError>>;
}
