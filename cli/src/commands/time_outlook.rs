//! The time that a sweep takes at least, before it begins: its calls, by the limits of their endpoints and the time of a call.

use std::collections::BTreeMap;
use std::time::Duration;

use regatta_coordinator::CellEstimate;
use regatta_proto::{EndpointKind, EndpointName, EndpointSpec, Lane, SweepLock};

use crate::figures::{grouped, time};

/// Seconds until a model begins to answer, where nobody knows.
const FIRST_TOKEN_S: f64 = 1.0;
/// Tokens each second of an answer, where nobody knows.
const TOKENS_PER_SECOND: f64 = 50.0;

/// Sessions, calls and tokens that one endpoint has to answer.
#[derive(Debug, Clone, Copy, Default)]
struct Load {
    sessions: u64,
    calls: u64,
    input: u64,
    output: u64,
}

/// The limit that takes longest to keep.
#[derive(Debug)]
struct Bound {
    seconds: f64,
    limit: String,
}

/// A line on the time that the calls of `cells` take; `None` where no call can be foreseen. Calls of all roles count for the endpoint of the
/// model under test, because estimates do not tell them apart; judges are asked meanwhile.
pub(super) fn line(lock: &SweepLock, cells: &[CellEstimate]) -> Option<String> {
    let mut loads: BTreeMap<&EndpointName, Load> = BTreeMap::new();
    for one in cells {
        let (Some(calls), Some(input), Some(output)) = (one.calls, one.input_tokens, one.output_tokens) else {
            continue;
        };
        let load = loads.entry(&one.cell.model.endpoint).or_default();
        load.sessions += one.sessions;
        load.calls += calls;
        load.input += input;
        load.output += output;
    }
    let known = loads.into_iter().filter(|(_, load)| load.calls > 0);
    let known = known.filter_map(|(name, load)| Some((name, lock.endpoints.get(name)?, load)));
    let (live, batches): (Vec<_>, Vec<_>) = known.partition(|(_, endpoint, _)| endpoint.lane == Lane::Live);
    let bounds = live.iter().map(|(name, endpoint, load)| (name, bound(endpoint, *load)));
    let longest = bounds.max_by(|one, other| one.1.seconds.total_cmp(&other.1.seconds));
    let mut parts = Vec::new();
    if let Some((name, longest)) = longest {
        let beside = if cells.iter().any(|one| one.calls.is_none()) { " beside external agents" } else { "" };
        let is_assumed = live.iter().any(|(_, endpoint, _)| endpoint.kind != EndpointKind::Simulated);
        let assumed = if is_assumed { assumption() } else { String::new() };
        parts.push(format!("about {}{beside}, at {} of {name}{assumed}", seconds(longest.seconds), longest.limit));
    }
    if !batches.is_empty() {
        parts.push("batches may take their provider a day".to_owned());
    }
    (!parts.is_empty()).then(|| format!("time: {}", parts.join("; ")))
}

fn assumption() -> String {
    let each = 1000.0 / TOKENS_PER_SECOND;
    format!(", if a call takes {FIRST_TOKEN_S:.0} s and {each:.0} ms for each token of its answer (assumed)")
}

fn seconds(of: f64) -> String {
    Duration::try_from_secs_f64(of.ceil()).map_or_else(|_| "for ever".to_owned(), time)
}

/// Time in which an endpoint answers `load`, and the limit that it is due to.
fn bound(endpoint: &EndpointSpec, load: Load) -> Bound {
    let limits = &endpoint.limits;
    let at_once = u64::from(limits.concurrency).min(load.sessions).max(1);
    // A session makes one call after another.
    let rounds = load.calls as f64 / at_once as f64;
    let minutes = |count: u64, limit: Option<u64>| limit.map_or(0.0, |limit| 60.0 * count as f64 / limit.max(1) as f64);
    let (requests, tokens) = (limits.requests_per_minute.map(u64::from), limits.tokens_per_minute);
    let said = |count: u64, what: &str| format!("{} {what}", grouped(count));
    let side_by_side = if at_once == 1 { "call at once" } else { "calls at once" };
    let bounds = [
        Bound { seconds: rounds * call_seconds(endpoint, load), limit: said(at_once, side_by_side) },
        Bound { seconds: minutes(load.calls, requests), limit: said(requests.unwrap_or(0), "requests per minute") },
        Bound {
            seconds: minutes(load.input + load.output, tokens),
            limit: said(tokens.unwrap_or(0), "tokens per minute"),
        },
    ];
    let [first, others @ ..] = bounds;
    others.into_iter().fold(first, |longest, of| if of.seconds > longest.seconds { of } else { longest })
}

/// Seconds of a call: known of simulated endpoints, assumed of others.
fn call_seconds(endpoint: &EndpointSpec, load: Load) -> f64 {
    let tokens = load.output as f64 / load.calls.max(1) as f64;
    if endpoint.kind != EndpointKind::Simulated {
        return FIRST_TOKEN_S + tokens / TOKENS_PER_SECOND;
    }
    let latency = endpoint.simulation.as_ref().map(|simulation| simulation.latency);
    latency.map_or(0.0, |latency| (latency.median_ms + latency.per_token_ms * tokens) / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: Load = Load { sessions: 200, calls: 1000, input: 900_000, output: 100_000 };

    fn endpoint(change: impl FnOnce(&mut EndpointSpec)) -> EndpointSpec {
        let mut endpoint = EndpointSpec::of_kind(EndpointKind::Openai);
        endpoint.limits.concurrency = 10;
        change(&mut endpoint);
        endpoint
    }

    fn found(endpoint: &EndpointSpec, load: Load) -> (f64, String) {
        let bound = bound(endpoint, load);
        (bound.seconds, bound.limit)
    }

    #[test]
    fn calls_take_as_long_as_the_limit_that_is_hardest_to_keep() {
        // Answers of 100 tokens take 3 s, and ten calls run at once.
        assert_eq!(found(&endpoint(|_| ()), LOAD), (300.0, "10 calls at once".to_owned()));
        let slow = endpoint(|endpoint| endpoint.limits.requests_per_minute = Some(100));
        assert_eq!(found(&slow, LOAD), (600.0, "100 requests per minute".to_owned()));
        let scarce = endpoint(|endpoint| endpoint.limits.tokens_per_minute = Some(50_000));
        assert_eq!(found(&scarce, LOAD), (1200.0, "50,000 tokens per minute".to_owned()));
    }

    #[test]
    fn no_more_calls_run_at_once_than_there_are_sessions() {
        let few = Load { sessions: 2, ..LOAD };
        assert_eq!(found(&endpoint(|_| ()), few), (1500.0, "2 calls at once".to_owned()));
        let one = Load { sessions: 1, ..LOAD };
        assert_eq!(found(&endpoint(|_| ()), one), (3000.0, "1 call at once".to_owned()));
    }

    #[test]
    fn the_time_of_a_simulated_call_is_known() {
        let simulated = endpoint(|endpoint| {
            let latency = regatta_proto::Latency { median_ms: 100.0, per_token_ms: 1.0, ..Default::default() };
            endpoint.kind = EndpointKind::Simulated;
            endpoint.simulation = Some(regatta_proto::Simulation { latency, ..Default::default() });
        });
        assert_eq!(found(&simulated, LOAD), (20.0, "10 calls at once".to_owned()));
    }
}
