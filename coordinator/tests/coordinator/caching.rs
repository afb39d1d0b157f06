//! Cached responses that are removed by their age, and sweeps that need them.

use std::time::{Duration, SystemTime};

use jiff::SignedDuration;
use regatta_backends::Ledger;
use regatta_backends::blobs::{response_folder, response_key};
use regatta_coordinator::{CachedWish, GcRequest, GcResult};
use regatta_proto::{Digest, SweepState};
use tokio_util::sync::CancellationToken;

use crate::stage::{Process, Stage, spec};

const DAY: u64 = 24 * 3600;

/// Stores a response that was written so many days after the clock of the stage began.
async fn cached(stage: &Stage, question: &str, day: u64) -> String {
    let key = response_key(&Digest::of(question.as_bytes()));
    put(stage, &key, day).await;
    key
}

async fn put(stage: &Stage, key: &str, day: u64) {
    stage.blobs().put(key, "answer".into()).await.unwrap();
    let file = std::fs::File::options().write(true).open(stage.blob_folder().join(key)).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(day * DAY)).unwrap();
}

async fn gc(process: &Process, days: u32, from: u8, apply: bool) -> GcResult {
    let cached = Some(CachedWish { days, from });
    process.coordinator.collect(GcRequest { keep: None, cached, apply }).await.unwrap()
}

async fn there(stage: &Stage) -> Vec<String> {
    stage.blobs().list("answers/").await.unwrap()
}

#[tokio::test]
async fn responses_that_are_older_than_they_are_kept_go_and_only_if_that_is_asked_for() {
    let stage = Stage::set().await;
    let process = stage.process();
    let (old, young) = (cached(&stage, "old", 1).await, cached(&stage, "young", 80).await);
    let beside = format!("{}notes.txt", response_folder(3));
    put(&stage, &beside, 1).await;
    stage.clock.advance(SignedDuration::from_hours(24 * 100));
    let nothing = process.coordinator.collect(GcRequest { keep: None, cached: None, apply: true }).await.unwrap();
    assert_eq!((nothing.cached.objects, there(&stage).await.len()), (0, 3));
    let told = gc(&process, 30, 0, false).await;
    assert_eq!((told.cached.objects, told.cached.bytes, told.cached.next), (1, 6, None));
    assert!(there(&stage).await.contains(&old));
    let done = gc(&process, 30, 0, true).await;
    assert_eq!((done.cached.objects, done.problems.len()), (1, 0));
    let mut left = vec![young, beside];
    left.sort();
    assert_eq!(there(&stage).await, left, "files of others stay");
}

#[tokio::test]
async fn no_response_goes_while_a_sweep_runs_that_can_only_replay_them() {
    let stage = Stage::set().await;
    let process = stage.process();
    let old = cached(&stage, "old", 1).await;
    stage.clock.advance(SignedDuration::from_hours(24 * 100));
    let sweep = stage.submit(&process, &spec("s", 2, "cache: replay\n")).await;
    let kept = gc(&process, 30, 0, true).await;
    let [problem] = &kept.problems[..] else { panic!("{kept:?}") };
    assert!(problem.contains(sweep.id.as_str()) && problem.contains("once it has ended"), "{problem}");
    assert_eq!(there(&stage).await, [old]);
    assert!(stage.end(&sweep.id, SweepState::Complete, stage.clock_now()).await);
    assert_eq!(gc(&process, 30, 0, true).await.cached.objects, 1);
    assert!(there(&stage).await.is_empty());
}

#[tokio::test]
async fn a_sweep_that_can_ask_again_keeps_no_response() {
    let stage = Stage::set().await;
    let process = stage.process();
    cached(&stage, "old", 1).await;
    stage.clock.advance(SignedDuration::from_hours(24 * 100));
    stage.submit(&process, &spec("s", 2, "cache: read_write\n")).await;
    assert_eq!(gc(&process, 30, 0, true).await.cached.objects, 1);
}

#[tokio::test]
async fn a_request_that_goes_on_looks_at_the_folders_that_are_left_and_at_nothing_else() {
    let stage = Stage::set().await;
    let process = stage.process();
    let digest = Digest::of(b"old");
    cached(&stage, "old", 1).await;
    stage.submit(&process, &spec("s", 2, "")).await;
    stage.clock.advance(SignedDuration::from_hours(24 * 100));
    let first = digest.bytes()[0];
    assert!((1..u8::MAX).contains(&first), "the digest has a folder between the first and the last one");
    let after = gc(&process, 30, first + 1, false).await;
    assert_eq!((after.cached.objects, after.kept), (0, 0));
    assert_eq!(gc(&process, 30, first, false).await.cached.objects, 1);
}

/// A stage whose leader keeps responses for `cached_days`, a hundred days after one was written and twenty after another: their keys.
async fn stage_that_keeps(cached_days: Option<u32>) -> (Stage, String, String) {
    let mut stage = Stage::set().await;
    // No thread beside the test's: time passes when nothing is left to do. Responses are files all the same, because those have an age.
    stage.ledger = Ledger::in_memory().unwrap();
    stage.config.cached_days = cached_days;
    let (old, young) = (cached(&stage, "old", 1).await, cached(&stage, "young", 81).await);
    stage.clock.advance(SignedDuration::from_hours(24 * 101));
    (stage, old, young)
}

/// Passes so many hours of a leader that removes what is old.
async fn leads_for(process: &Process, hours: u64) {
    let (coordinator, stop) = (process.coordinator.clone(), CancellationToken::new());
    let stopped = stop.clone();
    let removing = tokio::spawn(async move { coordinator.keep_removing(stopped).await });
    tokio::time::sleep(Duration::from_secs(hours * 3600)).await;
    stop.cancel();
    removing.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_leader_removes_responses_that_are_older_than_it_keeps_them_by_itself() {
    let (stage, _, young) = stage_that_keeps(Some(30)).await;
    leads_for(&stage.process(), 7).await;
    assert_eq!(there(&stage).await, [young]);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_not_told_for_how_long_keeps_responses_for_good() {
    let (stage, ..) = stage_that_keeps(None).await;
    leads_for(&stage.process(), 7).await;
    assert_eq!(there(&stage).await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_leader_leaves_responses_to_a_sweep_that_can_only_replay_them_until_it_has_ended() {
    let (stage, _, young) = stage_that_keeps(Some(30)).await;
    let process = stage.process();
    let sweep = stage.submit(&process, &spec("s", 2, "cache: replay\n")).await;
    leads_for(&process, 7).await;
    assert_eq!(there(&stage).await.len(), 2);
    assert!(stage.end(&sweep.id, SweepState::Complete, stage.clock_now()).await);
    leads_for(&process, 7).await;
    assert_eq!(there(&stage).await, [young]);
}

#[tokio::test(start_paused = true)]
async fn the_leader_removes_no_response_that_another_database_may_have_cached() {
    let (stage, _, young) = stage_that_keeps(Some(30)).await;
    let process = stage.process();
    let neighbour = "ledgers/copy.json";
    stage.blobs().put(neighbour, "{}".into()).await.unwrap();
    leads_for(&process, 7).await;
    assert_eq!(there(&stage).await.len(), 2);
    stage.blobs().delete(neighbour).await.unwrap();
    leads_for(&process, 7).await;
    assert_eq!(there(&stage).await, [young]);
}
