//! Pods whose worker is gone.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::time::Instant;

use super::api::Api;
use super::labels::{Owner, PROCESS, ROLE, WORKER, value};

/// Interval between two searches of a worker that starts pods.
const EVERY: Duration = Duration::from_secs(600);
/// Time after the end of a pod's own deadline from when on nobody can want it. It counts from the start on a node, which may be late.
const LATE: SignedDuration = SignedDuration::from_secs(900);

/// When this worker has last searched.
#[derive(Default)]
pub(super) struct Searches(Mutex<Option<Instant>>);

impl Searches {
    /// `true` if it is time; then the next one is later.
    pub(super) fn are_due(&self) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| last.elapsed() >= EVERY);
        if is_due {
            *last = Some(Instant::now());
        }
        is_due
    }
}

/// Removes pods that earlier processes of this worker have left, and those of all workers whose time is over.
pub(super) async fn remove(api: &Api, owner: &Owner) {
    let (pods, now) = match api.pods(ROLE).await {
        Ok(found) => found,
        Err(refusal) => {
            tracing::warn!(
                problem = refusal.told(),
                "failed to look for pods that workers which are gone have left behind"
            );
            return;
        }
    };
    for pod in pods.iter().filter(|pod| is_left(pod, owner, now)) {
        let Some(name) = pod["metadata"]["name"].as_str() else { continue };
        tracing::warn!(pod = name, "removing a pod that a worker which is gone has left behind");
        if let Err(refusal) = api.delete_pod(name).await {
            tracing::warn!(pod = name, problem = refusal.told(), "failed to remove a pod");
        }
    }
}

fn is_left(pod: &Value, owner: &Owner, now: Option<Timestamp>) -> bool {
    let (metadata, seconds_max) = (&pod["metadata"], pod["spec"]["activeDeadlineSeconds"].as_i64());
    let label = |name: &str| metadata["labels"][name].as_str().unwrap_or_default();
    if label(WORKER) == value(&owner.pod) && label(PROCESS) != value(&owner.process) {
        return true;
    }
    let created = metadata["creationTimestamp"].as_str().and_then(|time| time.parse::<Timestamp>().ok());
    match (created, seconds_max, now) {
        (Some(created), Some(seconds), Some(now)) => {
            now.duration_since(created) > SignedDuration::from_secs(seconds) + LATE
        }
        // It says too little to be removed.
        (None, _, _) | (_, None, _) | (_, _, None) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pods_of_an_earlier_process_and_those_whose_time_is_over_are_left() {
        let owner = Owner { pod: "w".to_owned(), process: "2".to_owned() };
        let now: Timestamp = "2026-01-01T01:00:00Z".parse().unwrap();
        let left = |worker: &str, process: &str, created: &str| {
            let labels = json!({WORKER: worker, PROCESS: process});
            let pod = json!({
                "metadata": {"labels": labels, "creationTimestamp": created}, "spec": {"activeDeadlineSeconds": 1500},
            });
            is_left(&pod, &owner, Some(now))
        };
        assert!(left("w", "1", "2026-01-01T00:59:00Z"));
        assert!(!left("w", "2", "2026-01-01T00:59:00Z"), "this process's own");
        assert!(!left("v", "1", "2026-01-01T00:30:00Z"), "another's may still run");
        assert!(left("v", "1", "2026-01-01T00:19:59Z"));
        assert!(!left("v", "1", "long ago"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_search_is_made_with_the_first_pod_and_every_ten_minutes() {
        let searches = Searches::default();
        assert!(searches.are_due() && !searches.are_due());
        tokio::time::advance(EVERY).await;
        assert!(searches.are_due());
    }
}
