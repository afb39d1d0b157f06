//! Tests in paused time; none waits for real.

use std::sync::atomic::{AtomicU32, Ordering};

use futures::FutureExt;
use futures::future::join_all;
use prometheus::Registry;
use proptest::prelude::*;
use regatta_proto::{EndpointKind, Limits, ModelLimits};
use tokio::time::{sleep, timeout};

mod laws;
mod leases;
mod lines;
mod minutes;
mod slots;

use super::fake::{FakeStore, VALID};
use super::*;

const MINUTE: Duration = Duration::from_secs(60);

fn spec(limits: Limits) -> EndpointSpec {
    EndpointSpec { limits, ..EndpointSpec::of_kind(EndpointKind::Openai) }
}

fn slots(concurrency: u32) -> Limits {
    Limits { concurrency, ..Limits::default() }
}

fn governor(store: &FakeStore, spec: &EndpointSpec) -> Arc<Governor> {
    let context = store.context(&Registry::new(), "w");
    let metrics = Arc::new(EndpointMetrics::new(Arc::clone(&context.metrics), &"main".parse().unwrap()));
    Arc::new(Governor::open(spec, &context, metrics))
}

fn sweep(name: &str) -> SweepId {
    name.parse().unwrap()
}

/// A call of the sweep `s`.
fn ask(sweep: &SweepId) -> Ask<'_> {
    Ask { sweep, share: Share::default(), model: "m", tokens: 0, line: Line::New }
}

async fn sent(governor: &Governor, ask: &Ask<'_>) -> Permit {
    let mut permit = governor.acquire(ask).await;
    assert!(permit.sent());
    permit
}

/// Sends calls over `workers` for a while. Returns the time and the tokens of each.
async fn traffic(workers: &[Arc<Governor>], calls: usize, tokens: impl Fn(usize) -> (u64, u64)) -> Vec<(Instant, u64)> {
    let (log, sweep) = (Mutex::new(Vec::new()), sweep("s"));
    let calls = (0..calls).map(|number| {
        let (log, sweep, governor) = (&log, &sweep, &workers[number % workers.len()]);
        let (estimate, real) = tokens(number);
        async move {
            let permit = sent(governor, &Ask { tokens: estimate, ..ask(sweep) }).await;
            log.lock().unwrap().push((Instant::now(), real));
            sleep(Duration::from_millis(300)).await;
            permit.answered(Some(real));
        }
    });
    join_all(calls).await;
    let mut log = log.into_inner().unwrap();
    log.sort();
    log
}

/// The maximum over all sliding minutes.
fn busiest_minute(log: &[(Instant, u64)], of: impl Fn(u64) -> u64) -> u64 {
    let minute = |at: Instant| log.iter().filter(move |(other, _)| at <= *other && *other < at + MINUTE);
    log.iter().map(|(at, _)| minute(*at).map(|(_, tokens)| of(*tokens)).sum()).max().unwrap()
}
