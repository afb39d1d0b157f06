//! Each check of an end can fail, and says what it saw.

use bytes::Bytes;
use regatta_proto::{Job, JudgeJob};

use super::*;
use crate::plan::Plan;

/// Lets a sweep end undisturbed, then `tampers` with what it has left; returns what the checks say.
fn said_after(tampers: impl AsyncFnOnce(&World) -> Option<SweepState>) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let world = World::set(&Plan::calm(0, Workload::Calls)).await.unwrap();
        let mut processes = world.start_all();
        assert_eq!(world.until_end(&mut processes).await, Some(SweepState::Complete));
        processes.end_all();
        let ended = tampers(&world).await;
        check(&world, ended).await.unwrap().iter().map(ToString::to_string).collect()
    })
}

async fn put_results(world: &World, results: Vec<u8>) {
    let key = format!("sweeps/{}/results.jsonl", world.sweep.id);
    world.stores.blobs.put(&key, Bytes::from(results)).await.unwrap();
}

fn job(world: &World) -> (String, Job) {
    let (name, endpoint) = world.sweep.lock.endpoints.first_key_value().unwrap();
    let job = JudgeJob {
        sweep: world.sweep.id.clone(),
        lock: world.sweep.digest,
        judge: "sim/lexical".parse().unwrap(),
        questions: Vec::new(),
        generation: Some(0),
    };
    (endpoint.queue(name, &world.sweep.id), Job::Judge(job))
}

#[test]
fn a_sweep_that_nobody_disturbs_fails_no_check() {
    assert_eq!(said_after(async |_| Some(SweepState::Complete)), [""; 0]);
}

#[test]
fn a_sweep_that_does_not_end_is_found() {
    assert_eq!(said_after(async |_| None), ["the sweep does not end"]);
}

#[test]
fn results_that_differ_are_found_with_their_line() {
    let said = said_after(async |world| {
        let results = String::from_utf8(world.results().await.unwrap()).unwrap();
        let mut lines: Vec<&str> = results.split('\n').collect();
        lines.swap(2, 3);
        put_results(world, lines.join("\n").into_bytes()).await;
        Some(SweepState::Complete)
    });
    assert_eq!(said, ["results.jsonl differs from an undisturbed run's at line 3"]);
    let said = said_after(async |world| {
        let mut results = world.results().await.unwrap();
        results.truncate(results.len() / 2);
        put_results(world, results).await;
        Some(SweepState::Complete)
    });
    assert!(said[0].starts_with("results.jsonl differs from an undisturbed run's at line "), "{said:?}");
}

#[test]
fn a_sweep_that_ends_otherwise_is_found_with_the_first_session_that_differs() {
    let said = said_after(async |world| {
        let results = String::from_utf8(world.results().await.unwrap()).unwrap();
        let first = results.lines().next().unwrap();
        put_results(world, results.replacen(first, "{\"item\":\"lost\"}", 1).into_bytes()).await;
        Some(SweepState::Incomplete)
    });
    assert_eq!(said, ["the sweep ended incomplete: {\"item\":\"lost\"}"]);
    let said = said_after(async |_| Some(SweepState::Incomplete));
    assert_eq!(said, ["the sweep ended incomplete: no line of its results differs from an undisturbed run's"]);
    assert_eq!(difference(None, b"a\n"), "it has left no results");
}

#[test]
fn jobs_that_are_left_are_found_with_their_queue() {
    let said = said_after(async |world| {
        let (queue, job) = job(world);
        world.stores.queue.publish_jobs(&queue, vec![job]).await.unwrap();
        Some(SweepState::Complete)
    });
    let queue = said[0].strip_prefix("1 jobs were left in ").unwrap();
    assert!(said.len() == 1 && queue.ends_with(".sim"), "{said:?}");
}

#[test]
fn a_message_that_nobody_can_handle_is_found() {
    let said = said_after(async |world| {
        let (queue, job) = job(world);
        world.stores.queue.publish_jobs(&queue, vec![job]).await.unwrap();
        let mut consumer = world.stores.queue.consume_jobs(&queue, 1).await.unwrap();
        while world.stores.queue.dead_letters().await.unwrap() == 0 {
            consumer.next().await.unwrap().receipt.hand_back().await;
        }
        Some(SweepState::Complete)
    });
    assert_eq!(said, ["1 messages were set aside"]);
}
