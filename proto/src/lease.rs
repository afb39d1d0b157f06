//! Messages between workers and the store of permits: leases of requests, tokens and slots from a pool, and budget leases of money from an
//! account. Everything expires: permits and money that a holder does not renew or use return to the store, as far as that is safe.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    AttemptId, ChatRequest, Digest, ErrorClass, Limits, ModelLimits, ModelRef, Money, Share, SweepId, WorkerId,
    json_bytes,
};

/// A worker's request to the pool of one endpoint, for all its sweeps and models at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PoolRequest {
    /// Name of the pool: [`crate::EndpointSpec::pool`].
    pub pool: String,
    /// The worker that asks.
    pub holder: WorkerId,
    /// Limits of the endpoint.
    pub limits: Limits,
    /// Limits of single models.
    pub model_limits: BTreeMap<String, ModelLimits>,
    /// Demand, use and returns of each sweep and model. A party that is not listed holds nothing any more.
    pub parties: Vec<Party>,
    /// Signals of the endpoint since the last request.
    pub signals: Signals,
}

/// A sweep's use of one model by one worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Party {
    /// The sweep.
    pub sweep: SweepId,
    /// The provider's name of the model; empty for all models without limits of their own.
    pub model: String,
    /// The sweep's share of the pool.
    pub share: Share,
    /// Calls in flight, each on a slot.
    pub in_flight: u32,
    /// Calls that wait for permits.
    pub waiting: u32,
    /// Estimated tokens of the waiting calls.
    pub waiting_tokens: u64,
    /// Requests granted since the last request that were not sent.
    pub unsent_requests: u32,
    /// Tokens granted since the last request that were not sent.
    pub unsent_tokens: u64,
    /// Tokens that ended calls took in excess of their estimates; negative if they took fewer.
    pub token_correction: i64,
}

/// Signals of an endpoint since the last request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Signals {
    /// Number of answered calls.
    pub answered: u32,
    /// Number of calls refused because of a rate limit (429 and similar).
    pub refused: u32,
    /// Time, in milliseconds, for which it asked not to be called, by `Retry-After` or a reset header.
    pub hold_ms: Option<u64>,
    /// The endpoint's message, for the record.
    pub reason: String,
}

/// The answer to a [`PoolRequest`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PoolReply {
    /// A grant for each party, in the order of the request.
    pub grants: Vec<Grant>,
    /// Time, in milliseconds, after which requests and tokens that were not sent expire; slots expire after ten times this.
    pub valid_ms: u64,
    /// Time, in milliseconds, after which to ask again for what was not granted.
    pub retry_ms: u64,
    /// Part of the limits that is used at present, 0..=1; less than 1 after refusals.
    pub factor: f64,
}

/// The permits of one party.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Grant {
    /// Slots that it may fill in total, including those of its calls in flight.
    pub slots: u32,
    /// Requests that it may send now.
    pub requests: u32,
    /// Tokens, as estimated, that these requests may take.
    pub tokens: u64,
}

/// The account of a sweep, or of one of its models.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AccountId {
    /// The sweep.
    pub sweep: SweepId,
    /// The model, if the account is for a single model.
    pub model: Option<ModelRef>,
}

/// A worker's request to an account. It has totals, not differences, so that repeating it changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountRequest {
    /// The account.
    pub account: AccountId,
    /// The worker that asks.
    pub holder: WorkerId,
    /// Total that this holder has spent on it.
    pub spent: Money,
    /// Upper bound of further money that this holder may have been billed without a report.
    pub maybe_spent: Money,
    /// Money reserved for calls that wait or are in flight; it cannot be taken back while this holder renews its lease.
    pub in_flight: Money,
    /// The part of `in_flight` for tries that have been sent, which may be spent already.
    #[serde(default)]
    pub sent: Money,
    /// Total worst case of the tries that it wants to have in flight, including `sent`; part of `in_flight` and of what is granted now.
    #[serde(default)]
    pub to_send: Money,
    /// Total that it wants to hold reserved, including `in_flight`.
    pub wanted: Money,
    /// Least useful amount beyond `in_flight`; less is better left to others, because several workers that each hold a part of a call's
    /// worst case would wait for each other for ever.
    #[serde(default)]
    pub least: Money,
    /// Name of the one that acts for the holder, where several may do so and only one may send. It keeps `to_send` under this name until it
    /// asks for none. While another name has it, a request under this one changes nothing. `None` changes no claim and heeds none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<AttemptId>,
    /// The name stands for good, also without money: no other can claim anything for the holder any more.
    #[serde(default)]
    pub claims_for_good: bool,
}

/// A claim of another name that a request has met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claimed {
    /// Name under which the claim was made.
    pub by: AttemptId,
    /// Time, in milliseconds, since the last request under that name.
    pub silent_ms: u64,
}

/// The answer to an [`AccountRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountReply {
    /// Total that it holds reserved now, including `in_flight`; expires if not renewed within `valid_ms`.
    pub reserved: Money,
    /// The part of `reserved` that it may have in flight; the rest expires if not renewed within `valid_ms`.
    pub may_send: Money,
    /// Money that is neither spent nor reserved.
    pub left: Money,
    /// Most money that could be released if no call in flight cost anything; if it is less than a call's worst case, waiting is useless.
    pub may_come: Money,
    /// Time, in milliseconds, for which `reserved` is valid without renewal.
    pub valid_ms: u64,
    /// Time, in milliseconds, after which a holder returns a reservation that it does not use.
    pub idle_ms: u64,
    /// The claim because of which nothing was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<Claimed>,
    /// The holder was told to have spent more before, so nothing was changed.
    #[serde(default)]
    pub was_overtaken: bool,
}

/// A request that failed, possibly through its own fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failing {
    /// [`fingerprint`] of the request.
    pub fingerprint: Digest,
    /// Error class of the failure.
    pub class: ErrorClass,
}

/// Identifies a request of `sweep` to a model at an endpoint with these [`settings`](crate::EndpointSpec::request_settings). Equal requests
/// have equal fingerprints in every process. Those of two sweeps differ: what one of them sets, such as a short time-out, must not count
/// against the requests of the other.
#[must_use]
pub fn fingerprint(sweep: &SweepId, pool: &str, settings: &Digest, model: &str, request: &ChatRequest) -> Digest {
    let (sweep, request) = (sweep.as_str().as_bytes(), json_bytes(request));
    Digest::of_parts([b"request/2".as_slice(), sweep, pool.as_bytes(), settings.bytes(), model.as_bytes(), &request])
}
