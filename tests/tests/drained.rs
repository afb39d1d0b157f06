//! Roles that are told to leave under load, one of them or all: what they had is handed over or waits, and no call is made twice.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stdout, reason = "what was measured is for whoever runs the tests")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures::future::join_all;
use regatta_tests::referee::Referee;
use regatta_tests::regatta::Process;
use regatta_tests::{Deployment, unique_name};
use serde_json::Value;

/// Sessions, and calls of each: a session takes longer than workers wait for sessions to end.
const CONVERSATIONS: (u64, u64) = (24, 16);
/// Time of a call.
const LATENCY: Duration = Duration::from_millis(100);
/// Longest that a worker may take: the second that sessions may go on, and what calls in flight are given.
const GRACE: Duration = Duration::from_secs(1 + 20);

/// A deployment and its sweep.
struct Stage {
    deployment: Deployment,
    referee: Referee,
    spec: PathBuf,
    expected: String,
}

impl Stage {
    async fn new(conversations: (u64, u64)) -> Self {
        let deployment = Deployment::new().await.unwrap();
        let referee = Referee::start(u64::MAX, Duration::ZERO).await.unwrap();
        let spec = referee.conversations(deployment.folder.path(), &unique_name("drained"), conversations, "").unwrap();
        let expected = deployment.results_of_one_process(&spec).await.unwrap();
        referee.begin_new_books(LATENCY);
        Self { deployment, referee, spec, expected }
    }

    async fn start(&self, role: &str, count: usize) -> Vec<Process> {
        join_all((0..count).map(|_| async { self.deployment.start(role).await.unwrap() })).await
    }

    /// The sweep ends as if nobody had left; returns its directory.
    async fn ends_undisturbed(&self, id: &str, (sessions, calls): (u64, u64)) -> PathBuf {
        let (code, directory) = self.deployment.finish(id).await.unwrap();
        assert_eq!(code, Some(0));
        assert_eq!(std::fs::read_to_string(directory.join("results.jsonl")).unwrap(), self.expected);
        assert_eq!((self.referee.calls(), self.referee.repeated()), (sessions * calls, 0), "each call once");
        directory
    }
}

/// Tells all of them to leave, and waits until they have; how long the last one took.
async fn told_to_leave(processes: Vec<Process>) -> Duration {
    let begun = Instant::now();
    let ends = join_all(processes.into_iter().map(Process::terminate_and_listen)).await;
    let took = begun.elapsed();
    for end in ends {
        let (code, said) = end.unwrap();
        assert_eq!(code, Some(0), "they leave in order: {said}");
        // Whoever is woken by an error looks for its cause, and there is none.
        assert!(!said.contains(" ERROR "), "{said}");
    }
    took
}

/// Attempts of a sweep that ended as others went on with their sessions.
fn handed_over(directory: &Path) -> usize {
    let attempts = std::fs::read_to_string(directory.join("attempts.jsonl")).unwrap();
    let states = attempts.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["state"].clone());
    states.filter(|state| state == "handed_over").count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_leaves_under_load_hands_over_in_time_and_no_call_is_made_twice() {
    let stage = Stage::new(CONVERSATIONS).await;
    let _coordinator = stage.start("coordinator", 1).await;
    let _scorer = stage.start("scorer", 1).await;
    let leaving = stage.start("worker", 1).await;
    let id = stage.deployment.submit(&stage.spec).await.unwrap();
    stage.referee.has_read(40).await;
    // However long the other one takes to start, conversations are under way when this one is told to leave.
    stage.referee.answer_after(Duration::from_secs(1));
    let _staying = stage.start("worker", 1).await;
    let took = told_to_leave(leaving).await;
    stage.referee.answer_after(LATENCY);
    let directory = stage.ends_undisturbed(&id, CONVERSATIONS).await;
    let handed_over = handed_over(&directory);
    println!("a worker under load left after {took:.1?}, and handed {handed_over} conversations over");
    assert!(handed_over > 0, "it had begun more than it could end");
    assert!(took < GRACE, "{took:?}");
}

/// Takes all workers away and brings others, then the same with the scorers and the coordinator, `times` times within one sweep.
async fn scaled_to_zero(times: u64, conversations: (u64, u64)) {
    let stage = Stage::new(conversations).await;
    let mut coordinator = stage.start("coordinator", 1).await;
    let (mut workers, mut scorers) = (stage.start("worker", 3).await, stage.start("scorer", 2).await);
    let id = stage.deployment.submit(&stage.spec).await.unwrap();
    let some = conversations.0 * conversations.1 / (3 * times);
    let mut left_after = Vec::new();
    for _ in 0..times {
        stage.referee.has_read(stage.referee.calls() + some).await;
        // However slow the machine is that tells them, conversations are under way when they leave.
        stage.referee.answer_after(Duration::from_secs(1));
        left_after.push(told_to_leave(workers).await);
        stage.referee.answer_after(LATENCY);
        let calls = stage.referee.calls();
        // Nobody is there who could: what is not made now is made by those who come.
        assert!(calls < conversations.0 * conversations.1, "the sweep had ended before");
        workers = stage.start("worker", 3).await;
        told_to_leave(scorers).await;
        // Slow machines may have made most calls by then.
        stage.referee.has_read((calls + some).min(conversations.0 * conversations.1)).await;
        told_to_leave(coordinator).await;
        (coordinator, scorers) = (stage.start("coordinator", 1).await, stage.start("scorer", 2).await);
    }
    let directory = stage.ends_undisturbed(&id, conversations).await;
    println!("all workers left after {left_after:.1?}; {} conversations were handed over", handed_over(&directory));
    assert!(handed_over(&directory) > 0, "conversations were under way");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_roles_are_scaled_to_zero_and_back_within_a_sweep() {
    scaled_to_zero(1, (32, 10)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes a minute: ten times to zero and back"]
async fn all_roles_are_scaled_to_zero_and_back_ten_times_within_a_sweep() {
    scaled_to_zero(10, (240, 16)).await;
}
