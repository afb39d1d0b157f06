//! Checks of a history at its end.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use regatta_proto::SweepState;

use crate::plan::Workload;
use crate::referee::{Call, Identity};
use crate::world::{CONCURRENCY, World, undisturbed};

/// Time within which a worker that has published an intent has acknowledged the sessions of the batch, and somebody may have handed it in.
const ACKNOWLEDGED_WITHIN_MS: u64 = 200;

/// A check that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// The sweep has not ended within six hours.
    NoEnd,
    /// It ended in another state than `complete`.
    Ended {
        /// The state.
        state: SweepState,
        /// The first line of `results.jsonl` that differs from an undisturbed run's, or that there is none.
        difference: String,
    },
    /// It has not left the results of an undisturbed run.
    OtherResults {
        /// The first line that differs, counted from 1.
        line: usize,
    },
    /// A call was paid more often than lost processes excuse.
    Repeated {
        /// The session that made it.
        session: String,
        /// Number of times that it was paid.
        times: u64,
        /// Worker of each call and its time, in milliseconds since the start.
        made: Vec<(usize, u128)>,
    },
    /// A call began while as many were under way as the endpoint's limit allows, without those of processes that stood still.
    TooManyAtOnce {
        /// Largest number of them.
        calls: usize,
    },
    /// The endpoint bills more than the most that the sweep may have cost, or less than it is known to have.
    WrongCost {
        /// Nano-dollars that the endpoint bills.
        billed: u64,
        /// Nano-dollars that the sweep is known to have cost, and at most.
        told: (u64, u64),
    },
    /// Messages were set aside.
    DeadLetters(u64),
    /// Jobs were left in a queue.
    Left {
        /// The queue.
        queue: String,
        /// Number of jobs.
        jobs: u64,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoEnd => f.write_str("the sweep does not end"),
            Self::Ended { state, difference } => write!(f, "the sweep ended {state}: {difference}"),
            Self::OtherResults { line } => write!(f, "results.jsonl differs from an undisturbed run's at line {line}"),
            Self::Repeated { session, times, made } => {
                write!(f, "a call of the session {session} was paid {times} times:")?;
                made.iter().try_for_each(|(process, at_ms)| write!(f, " by process {process} at {at_ms} ms"))
            }
            Self::TooManyAtOnce { calls } => write!(f, "{calls} calls were under way at once"),
            Self::WrongCost { billed, told: (known, at_most) } => {
                write!(f, "{billed} nano-dollars are billed, and {known} to {at_most} are told")
            }
            Self::DeadLetters(messages) => write!(f, "{messages} messages were set aside"),
            Self::Left { queue, jobs } => write!(f, "{jobs} jobs were left in {queue}"),
        }
    }
}

/// Checks that `world` fails, whose sweep ended in this state; `None` if it did not end.
pub(crate) async fn check(
    world: &World,
    ended: Option<SweepState>,
) -> Result<Vec<Finding>, Box<dyn std::error::Error>> {
    let mut findings = Vec::new();
    match ended {
        None => findings.push(Finding::NoEnd),
        Some(SweepState::Complete) => findings.extend(other_results(world).await),
        Some(state) => {
            let found = world.results().await;
            let difference = difference(found.as_deref(), &undisturbed(world.plan.workload).results);
            findings.push(Finding::Ended { state, difference });
        }
    }
    world.referee.settle_batches().await;
    let expected = &undisturbed(world.plan.workload).paid;
    let paid = if world.plan.workload == Workload::Batches { paid_in_batches(world) } else { world.referee.paid() };
    for (identity, times) in paid {
        let allowed = expected.get(&identity).copied().unwrap_or(1) + u64::from(world.was_untold(&identity));
        if times > allowed {
            let session =
                world.session(&identity).map_or_else(|| format!("{:?}", identity.session), ToString::to_string);
            let made = world.referee.calls().into_iter().filter(|call| call.identity == identity && call.is_paid);
            let made = made.map(|call| (call.caller.0, call.at_ms)).collect();
            findings.push(Finding::Repeated { session, times, made });
        }
    }
    let calls = world.referee.most_under_way();
    if calls > CONCURRENCY {
        findings.push(Finding::TooManyAtOnce { calls });
    }
    if ended.is_some() {
        let (cost, billed) = (world.cost().await?, world.referee.billed().await);
        if billed > cost.at_most || billed < cost.known.known {
            let told = (cost.known.known.0, cost.at_most.0);
            findings.push(Finding::WrongCost { billed: billed.0, told });
        }
    }
    let dead = world.stores.queue.dead_letters().await?;
    if dead > 0 {
        findings.push(Finding::DeadLetters(dead));
    }
    for (name, endpoint) in &world.sweep.lock.endpoints {
        let queue = endpoint.queue(name, &world.sweep.id);
        let jobs = world.stores.queue.depth(&queue).await.unwrap_or(0);
        if ended.is_some() && jobs > 0 {
            findings.push(Finding::Left { queue, jobs });
        }
    }
    Ok(findings)
}

/// Number of times that each call was paid by the batch lane, beyond what a lost worker excuses: one that is lost between the intent to hand in
/// a batch and the acknowledgement of its sessions leaves both. So it excuses batches that were handed in after it had published its intent.
fn paid_in_batches(world: &World) -> BTreeMap<Identity, u64> {
    let within = u128::from(ACKNOWLEDGED_WITHIN_MS + 4 * world.plan.latency_ms);
    let losses = world.plan.losses_of_workers();
    let mut made: BTreeMap<Identity, Vec<u128>> = BTreeMap::new();
    for call in world.referee.calls().into_iter().filter(|call| call.is_paid) {
        made.entry(call.identity).or_default().push(call.at_ms);
    }
    let is_excused = |first: u128, again: u128| {
        losses.iter().any(|lost| u128::from(*lost) <= again && u128::from(*lost) <= first + within)
    };
    let count = |times: Vec<u128>| 1 + times.windows(2).filter(|pair| !is_excused(pair[0], pair[1])).count() as u64;
    made.into_iter().map(|(identity, times)| (identity, count(times))).collect()
}

fn difference(found: Option<&[u8]>, expected: &[u8]) -> String {
    let Some(found) = found else { return "it has left no results".to_owned() };
    let mut both = lines(found).into_iter().zip(lines(expected));
    match both.find(|(found, expected)| found != expected) {
        Some((found, _)) => String::from_utf8_lossy(found).into_owned(),
        None => "no line of its results differs from an undisturbed run's".to_owned(),
    }
}

async fn other_results(world: &World) -> Option<Finding> {
    let (expected, found) = (&undisturbed(world.plan.workload).results, world.results().await.unwrap_or_default());
    if found == *expected {
        return None;
    }
    let (expected, found) = (lines(expected), lines(&found));
    let differs = (0..).find(|&line| expected.get(line) != found.get(line));
    Some(Finding::OtherResults { line: differs.unwrap_or(0) + 1 })
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split(|byte| *byte == b'\n').collect()
}

/// One number for what happened.
pub(crate) fn digest(calls: &[Call], lasted: Duration) -> u64 {
    let mut hasher = DefaultHasher::new();
    lasted.hash(&mut hasher);
    for Call { identity, caller, at_ms, answered_ms, is_paid, line: _ } in calls {
        (&identity.session, &identity.model, caller.0, at_ms, answered_ms, is_paid).hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests;
