use std::collections::BTreeMap;

use regatta_proto::{Limits, ModelLimits, Signals};

use super::*;

mod crashes;
mod fleet;
mod laws;
mod rules;

/// Any moment; pools know none before it.
const START: u64 = 1_790_000_000_000;

/// A sweep's use of the model "m" that has `waiting` calls of `tokens` each, and nothing else.
fn party(sweep: &str, waiting: u32, tokens: u64) -> Party {
    Party {
        sweep: SweepId::new(sweep).unwrap(),
        model: "m".to_owned(),
        share: Share::default(),
        in_flight: 0,
        waiting,
        waiting_tokens: u64::from(waiting) * tokens,
        unsent_requests: 0,
        unsent_tokens: 0,
        token_correction: 0,
    }
}

fn limits(
    concurrency: u32,
    requests_per_minute: impl Into<Option<u32>>,
    tokens_per_minute: impl Into<Option<u64>>,
) -> Limits {
    let (requests_per_minute, tokens_per_minute) = (requests_per_minute.into(), tokens_per_minute.into());
    Limits { concurrency, requests_per_minute, tokens_per_minute }
}

fn request(holder: &str, limits: Limits, parties: Vec<Party>) -> PoolRequest {
    PoolRequest {
        pool: "pool".to_owned(),
        holder: WorkerId::new(holder).unwrap(),
        limits,
        model_limits: BTreeMap::new(),
        parties,
        signals: Signals::default(),
    }
}

/// `ms` after [`START`].
fn after(ms: u64) -> u64 {
    START + ms
}

fn in_flight(in_flight: u32, party: Party) -> Party {
    Party { in_flight, ..party }
}

fn slots(reply: &PoolReply) -> Vec<u32> {
    reply.grants.iter().map(|grant| grant.slots).collect()
}
