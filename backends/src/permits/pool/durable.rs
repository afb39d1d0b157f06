//! What a pool knows after a crash of its store.
//!
//! Permits are leased many times a second, and no lease waits for the disk: a state can be lost. But a lease by which more would have been
//! granted since the last durable state than that one allowed makes its own state durable, before anything is told. So a crash loses no more
//! than was allowed, and that much is taken to have been granted.

use std::mem;

use regatta_proto::{Limits, ModelLimits, PoolRequest};
use serde::{Deserialize, Serialize};

use super::parties::Units;
use super::spent::bucket;
use super::{Pool, SLOTS_VALID_MS};

/// The part of a minute's limit that may be granted between two durable states: fifty of these a minute at most, where the limit is used up,
/// and after a crash so much of one minute is idle.
const PARTS: u64 = 50;

/// More than any limit, and far from overflowing.
const UNLIMITED: u64 = 1 << 48;

/// What was granted since the last durable state, and how much may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Volatile {
    requests: u64,
    tokens: u64,
    requests_max: u64,
    tokens_max: u64,
    /// The factor or a hold is another.
    is_steered: bool,
}

impl Volatile {
    /// Counts what is granted.
    pub(super) const fn grant(&mut self, requests: u64, tokens: u64) {
        self.requests = self.requests.saturating_add(requests);
        self.tokens = self.tokens.saturating_add(tokens);
    }

    /// Notes a change of the factor or a hold.
    pub(super) const fn steer(&mut self) {
        self.is_steered = true;
    }

    const fn is_too_much(&self) -> bool {
        self.is_steered || self.requests > self.requests_max || self.tokens > self.tokens_max
    }
}

impl Pool {
    /// `true` if the state has to be durable before anybody is told what `request` was granted; then it is taken to be.
    pub(in crate::permits) fn becomes_durable(&mut self, request: &PoolRequest) -> bool {
        if !self.volatile.is_too_much() {
            return false;
        }
        let Limits { requests_per_minute, tokens_per_minute, .. } = request.limits;
        let of_models = || request.model_limits.values();
        let requests = of_models().filter_map(|limits: &ModelLimits| limits.requests_per_minute);
        let tokens = of_models().filter_map(|limits: &ModelLimits| limits.tokens_per_minute);
        let requests_max =
            requests.chain(requests_per_minute).min().map_or(UNLIMITED, |limit| u64::from(limit) / PARTS);
        let tokens_max = tokens.chain(tokens_per_minute).min().map_or(UNLIMITED, |limit| limit / PARTS);
        self.volatile = Volatile { requests_max, tokens_max, ..Volatile::default() };
        true
    }

    /// The pool of a durable state, after a crash. What may have been granted since counts as granted now. Who fills slots is to be told
    /// again, as by [`Pool::without_memory`]; and what is unused of a grant cannot be given back, because it may be another grant that its
    /// holder tells of.
    pub(in crate::permits) fn recovered(mut self, clock_ms: u64) -> Self {
        let now = self.clock.read(clock_ms);
        self.registering_until_ms = now + SLOTS_VALID_MS;
        for held in self.holders.values_mut().flat_map(|holder| &mut holder.parties) {
            held.granted = Units::default();
        }
        let Volatile { requests_max, tokens_max, .. } = mem::take(&mut self.volatile);
        self.forgotten.add(bucket(now), requests_max, tokens_max);
        self
    }
}
