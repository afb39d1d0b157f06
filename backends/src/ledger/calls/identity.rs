//! Tokens, owners and quotas.

use jiff::Timestamp;
use regatta_proto::{Digest, Money, OwnerName, SweepId, TokenId};

use super::{LedgerFuture, each};
use crate::ledger::{Ledger, NewToken, OwnerRow, PageMark, Quota, StorageQuota, TokenRow};

/// Identity: calls of the API.
impl Ledger {
    /// Stores a token and its owner's quota. Returns `false`, and stores nothing, if there is a token with its id or digest.
    ///
    /// # Errors
    /// [`LedgerError::TooManyTokens`](super::LedgerError::TooManyTokens),
    /// [`LedgerError::TooManyTokensOf`](super::LedgerError::TooManyTokensOf), or when the store fails.
    pub fn create_token(&self, token: NewToken) -> LedgerFuture<'_, bool> {
        each!(self.create_token(token))
    }

    /// The token with this digest, which may be revoked or expired; `None` if there is none.
    ///
    /// # Errors
    /// When the store fails.
    pub fn token<'a>(&'a self, digest: &'a Digest) -> LedgerFuture<'a, Option<TokenRow>> {
        Box::pin(async move { Ok(each!(self.tokens(Some(digest))).await?.pop()) })
    }

    /// All tokens, oldest first.
    ///
    /// # Errors
    /// When the store fails.
    pub fn tokens(&self) -> LedgerFuture<'_, Vec<TokenRow>> {
        each!(self.tokens(None))
    }

    /// At most `limit` tokens that come after `after` (`None`: from the oldest on), oldest first.
    ///
    /// # Errors
    /// When the store fails.
    pub fn tokens_after<'a>(&'a self, after: Option<&'a PageMark>, limit: u32) -> LedgerFuture<'a, Vec<TokenRow>> {
        each!(self.tokens_after(after, limit))
    }

    /// Revokes a token for good; a repeated call keeps the time of the first. Returns `false` if there is no such token.
    ///
    /// # Errors
    /// When the store fails.
    pub fn revoke_token<'a>(&'a self, id: &'a TokenId, at: Timestamp) -> LedgerFuture<'a, bool> {
        each!(self.revoke_token(id, at))
    }

    /// Sets the quotas of an owner, or those of them that are given; earlier grants and stored objects stay.
    ///
    /// # Errors
    /// When the store fails.
    pub fn set_quota<'a>(
        &'a self,
        owner: &'a OwnerName,
        quota: Option<Quota>,
        storage: Option<StorageQuota>,
    ) -> LedgerFuture<'a, ()> {
        each!(self.set_quota(owner, quota, storage))
    }

    /// All owners with a quota, with sweeps, or with stored objects, by name.
    ///
    /// # Errors
    /// When the store fails.
    pub fn owners(&self) -> LedgerFuture<'_, Vec<OwnerRow>> {
        each!(self.owners())
    }

    /// At most `limit` owners with a quota or with sweeps, whose names come after `after`, by name.
    ///
    /// # Errors
    /// When the store fails.
    pub fn owners_after<'a>(&'a self, after: Option<&'a OwnerName>, limit: u32) -> LedgerFuture<'a, Vec<OwnerRow>> {
        each!(self.owners_after(after, limit))
    }

    /// Grants a sweep money up to a total of `wanted`, from the lower of its owner's quota and `quota`. Idempotent: earlier grants of the
    /// sweep are not counted again. A sweep without an owner is granted everything.
    ///
    /// # Errors
    /// [`LedgerError::QuotaExceeded`](super::LedgerError::QuotaExceeded), or when the store fails.
    pub fn grant<'a>(&'a self, sweep: &'a SweepId, wanted: Money, quota: Quota) -> LedgerFuture<'a, ()> {
        each!(self.grant(sweep, wanted, quota))
    }
}
