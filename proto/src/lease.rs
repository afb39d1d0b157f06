//! What workers and the store of permits say to each other: leases of requests, tokens and slots from a pool, and of money from an
//! account. Everything is bounded in time: what a holder does not renew or use goes back, as far as that is safe.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    ChatRequest, Digest, ErrorClass, Limits, ModelLimits, ModelRef, Money, Share, SweepId, WorkerId, json_bytes,
};

/// What one worker asks of the pool of one endpoint, for all its sweeps and models at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PoolRequest {
    /// Which pool: [`crate::EndpointSpec::pool`].
    pub pool: String,
    /// Who asks.
    pub holder: WorkerId,
    /// Limits of the endpoint.
    pub limits: Limits,
    /// Limits of single models.
    pub model_limits: BTreeMap<String, ModelLimits>,
    /// What each sweep and model wants, uses and gives back. A party that is not named holds nothing here any more.
    pub parties: Vec<Party>,
    /// What the endpoint has said since the last request.
    pub signals: Signals,
}

/// A sweep's use of one model, within one worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Party {
    /// The sweep.
    pub sweep: SweepId,
    /// The provider's name of the model; empty for all that have no limits of their own.
    pub model: String,
    /// The sweep's part.
    pub share: Share,
    /// Calls in flight, each on a slot.
    pub in_flight: u32,
    /// Calls that wait for permits.
    pub waiting: u32,
    /// Tokens that these will take, as estimated.
    pub waiting_tokens: u64,
    /// Of the requests granted since the last request, those that were not sent.
    pub unsent_requests: u32,
    /// Of the tokens granted since the last request, those that were not sent.
    pub unsent_tokens: u64,
    /// Correction of the tokens sent: what calls that ended took in excess of the estimates; negative when they took less.
    pub token_correction: i64,
}

/// What an endpoint has said since the last request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Signals {
    /// Calls it answered.
    pub answered: u32,
    /// Calls it refused for being too many (429 and its like).
    pub refused: u32,
    /// It asked, by `Retry-After` or a reset header, to be left alone for this long, in milliseconds.
    pub hold_ms: Option<u64>,
    /// In its own words, for the record.
    pub reason: String,
}

/// What a worker gets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PoolReply {
    /// One for each party, in the order of the request.
    pub grants: Vec<Grant>,
    /// Requests and tokens not sent within this time, in milliseconds, are void; slots that are not renewed within ten times this.
    pub valid_ms: u64,
    /// When it is worth asking again, in milliseconds, for what was not granted.
    pub retry_ms: u64,
    /// The part of the limits that is used at present, 0..=1: less than 1 after refusals.
    pub factor: f64,
}

/// What one party gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Grant {
    /// Slots it may fill in all, those of its calls in flight included.
    pub slots: u32,
    /// Requests it may send now.
    pub requests: u32,
    /// Tokens these may take, as estimated.
    pub tokens: u64,
}

/// The account of a sweep, or of one of its models.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AccountId {
    /// The sweep.
    pub sweep: SweepId,
    /// The model, when the account is only for it.
    pub model: Option<ModelRef>,
}

/// What one worker asks of an account. Totals, not differences, so that a repeated request changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountRequest {
    /// Which account.
    pub account: AccountId,
    /// Who asks.
    pub holder: WorkerId,
    /// Everything this holder has spent on it, ever.
    pub spent: Money,
    /// On top, everything that may have been billed to this holder without being told.
    pub maybe_spent: Money,
    /// Reserved for calls that wait or are under way: cannot be taken back while this holder is heard of.
    pub in_flight: Money,
    /// Of it, for tries that are under way: may be spent already.
    #[serde(default)]
    pub sent: Money,
    /// Of it and of what is granted now, worst cases of tries that it would like to be allowed to have under way in all, `sent` included.
    #[serde(default)]
    pub to_send: Money,
    /// What it would like to hold reserved in all, `in_flight` included.
    pub wanted: Money,
    /// Beyond `in_flight`, less than this is of no use to it, and better left to others: several workers that hold a part of a call's
    /// worst case each would wait for one another for ever.
    #[serde(default)]
    pub least: Money,
}

/// What a worker gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountReply {
    /// What it holds reserved now, `in_flight` included; void when not renewed within `valid_ms`.
    pub reserved: Money,
    /// Of it, what it may have under way; the part that is not is void when not renewed within `valid_ms`.
    pub may_send: Money,
    /// Not reserved by anybody, and not spent.
    pub left: Money,
    /// How much could come free at most, if no call in flight cost anything: with less than a call's worst case, waiting is no use.
    pub may_come: Money,
    /// How long `reserved` holds without renewal, in milliseconds.
    pub valid_ms: u64,
    /// Delay, in milliseconds, after which a holder gives a reservation back that it has no use for.
    pub idle_ms: u64,
}

/// A request that has failed in a way that may be its own fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failing {
    /// [`fingerprint`] of the request.
    pub fingerprint: Digest,
    /// How it failed.
    pub class: ErrorClass,
}

/// Identifies a request to a model: equal requests have equal fingerprints, whoever sends them.
#[must_use]
pub fn fingerprint(pool: &str, model: &str, request: &ChatRequest) -> Digest {
    Digest::of_parts([b"request/1".as_slice(), pool.as_bytes(), model.as_bytes(), &json_bytes(request)])
}
