//! Uploads within their owners' quotas, and the end of what nothing refers to.

use std::io;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use futures::stream;
use jiff::SignedDuration;
use regatta_backends::SweepRow;
use regatta_proto::{Digest, SweepState};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::identity::{Desk, OPERATOR};
use crate::schedules::night_shift::NightShift;
use crate::stage::{Stage, spec, within};

/// A file of `bytes` bytes that is like no other.
fn file(of: char, bytes: usize) -> Value {
    json!(String::from(of).repeat(bytes - 2))
}

fn path(content: &Value) -> String {
    format!("/v1/content/{}", Digest::of(content.to_string().as_bytes()))
}

impl Desk<'_> {
    async fn upload(&self, token: &str, content: &Value) -> (u16, String) {
        let (status, body) = self.ask(token, "PUT", &path(content), content.clone()).await;
        (status.as_u16(), body["error"].as_str().unwrap_or_default().to_owned())
    }

    /// A token of `owner`, who may have `bytes` stored.
    async fn limited(&self, number: u8, owner: &str, bytes: u64) -> String {
        let token = self.token(number, owner, &["read", "submit"], json!({})).await;
        let quota =
            json!({ "owner": owner, "quota": { "budget": null, "sessions": null }, "storage": { "bytes": bytes } });
        let (status, body) = self.ask(OPERATOR, "POST", "/v1/quotas", quota).await;
        assert_eq!(status, StatusCode::NO_CONTENT, "{body}");
        token
    }

    async fn stored(&self, owner: &str) -> u64 {
        let (_, list) = self.ask(OPERATOR, "GET", "/v1/tokens", Value::Null).await;
        let row = list["owners"].as_array().unwrap().iter().find(|row| row["owner"] == owner);
        row.map_or(0, |row| row["stored_bytes"].as_u64().unwrap())
    }

    async fn collect(&self, apply: bool) -> Value {
        let (status, result) = self.ask(OPERATOR, "POST", "/v1/gc", json!({ "apply": apply })).await;
        assert_eq!(status, StatusCode::OK, "{result}");
        result["unused"].clone()
    }
}

#[tokio::test]
async fn uploads_beyond_an_owners_quota_are_refused_with_what_is_used_and_what_to_do() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    let alice = desk.limited(1, "alice", 20_000).await;
    let bob = desk.token(2, "bob", &["submit"], json!({})).await;
    let (one, two) = (file('a', 12_000), file('b', 12_000));
    assert_eq!(desk.upload(&alice, &one).await.0, 204);
    let (status, problem) = desk.upload(&alice, &two).await;
    assert_eq!(status, 422, "{problem}");
    insta::assert_snapshot!(problem);
    assert_eq!(desk.status(&alice, "HEAD", &path(&two)).await, 404, "nothing of it is stored");
    // What is stored already needs nothing more, whoever has stored it first pays for it, and so does everybody else.
    assert_eq!(desk.upload(&alice, &one).await.0, 204);
    assert_eq!(desk.upload(&bob, &one).await.0, 204);
    assert_eq!(desk.upload(&bob, &two).await.0, 204);
    assert_eq!((desk.stored("alice").await, desk.stored("bob").await), (12_000, 24_000));
    assert_eq!(desk.upload(&alice, &two).await.0, 422, "others have stored it, and she would refer to it too");
}

#[tokio::test]
async fn of_two_uploads_at_once_one_is_taken_under_a_quota_for_one() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    let alice = desk.limited(1, "alice", 20_000).await;
    let (one, two) = (file('a', 12_000), file('b', 12_000));
    let (first, second) = tokio::join!(desk.upload(&alice, &one), desk.upload(&alice, &two));
    let mut statuses = [first.0, second.0];
    statuses.sort_unstable();
    assert_eq!(statuses, [204, 422]);
    assert_eq!(desk.stored("alice").await, 12_000);
}

#[tokio::test]
async fn many_small_files_count_as_blocks() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    let alice = desk.limited(1, "alice", 3 * 4096).await;
    for (number, expected) in [(1, 204), (2, 204), (3, 204), (4, 422)] {
        let (status, problem) = desk.upload(&alice, &json!(number)).await;
        assert_eq!(status, expected, "{problem}");
    }
}

#[tokio::test]
async fn an_upload_that_fails_or_breaks_off_is_not_charged() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    let alice = desk.limited(1, "alice", 20_000).await;
    let content = file('a', 12_000);
    let pieces = [Ok("\"aaaa".to_owned()), Err(io::Error::other("the client went away"))];
    let request = Request::put(path(&content)).header("authorization", format!("Bearer {alice}"));
    let response = desk.router.clone().oneshot(request.body(Body::from_stream(stream::iter(pieces))).unwrap()).await;
    assert_eq!(response.unwrap().status(), StatusCode::BAD_REQUEST);
    let (status, _) = desk.ask(&alice, "PUT", &path(&content), file('b', 12_000)).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "it has another digest");
    assert_eq!(desk.stored("alice").await, 0);
    // The bucket's folder is a file for a while.
    let folder = stage.blob_folder().join("content");
    std::fs::create_dir_all(stage.blob_folder()).unwrap();
    std::fs::write(&folder, "").unwrap();
    let (status, problem) = desk.upload(&alice, &content).await;
    assert_eq!((status, desk.stored("alice").await), (503, 0), "{problem}");
    std::fs::remove_file(&folder).unwrap();
    assert_eq!(desk.upload(&alice, &content).await.0, 204);
    assert_eq!(desk.stored("alice").await, 12_000);
}

#[tokio::test]
async fn a_submission_is_charged_for_what_it_refers_to_and_leaves_behind() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    // Its files were stored before there were quotas.
    let submission = stage.submission(&spec("s", 2, "")).await;
    let files: u64 = submission.data.values().flat_map(|data| &data.files).map(|file| file.size.max(4096)).sum();
    let alice = desk.limited(1, "alice", files).await;
    let refused = desk.submit(&alice, "s", 2, "").await.unwrap_err();
    assert!(refused.starts_with("422") && refused.contains("the storage quota of alice"), "{refused}");
    let bob = desk.limited(2, "bob", 1 << 30).await;
    desk.submit(&bob, "s", 2, "").await.unwrap();
    // A manifest and a lock beside.
    let stored = desk.stored("bob").await;
    assert!((files + 2 * 4096..files + 100_000).contains(&stored), "{stored} with {files} of files");
    desk.submit(&bob, "s", 2, "").await.unwrap();
    assert_eq!(desk.stored("bob").await, stored, "the same once more");
    desk.submit(&bob, "t", 2, "").await.unwrap();
    let of_lock = desk.stored("bob").await - stored;
    assert!((4096..files).contains(&of_lock), "{of_lock}");
}

#[tokio::test]
async fn what_nothing_refers_to_goes_after_a_day_and_its_owner_is_credited() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    let alice = desk.limited(1, "alice", 20_000).await;
    let (one, two) = (file('a', 12_000), file('b', 12_000));
    assert_eq!(desk.upload(&alice, &one).await.0, 204);
    stage.clock.advance(SignedDuration::from_hours(23));
    assert_eq!(desk.collect(true).await["objects"], 0, "its submission may still come");
    assert_eq!(desk.upload(&alice, &two).await.0, 422);
    stage.clock.advance(SignedDuration::from_hours(1));
    let told = desk.collect(false).await;
    assert_eq!(told, json!({ "objects": 1, "bytes": 12_000, "credited": { "alice": 12_000 }, "left": false }));
    assert_eq!(desk.status(&alice, "HEAD", &path(&one)).await, 204, "it was only told");
    assert_eq!(desk.collect(true).await, told);
    assert_eq!(desk.status(&alice, "HEAD", &path(&one)).await, 404);
    assert_eq!(desk.stored("alice").await, 0);
    assert_eq!(desk.collect(true).await["objects"], 0);
    assert_eq!(desk.upload(&alice, &two).await.0, 204);
}

#[tokio::test]
async fn what_a_sweep_needs_stays_until_the_sweep_is_removed() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    let alice = desk.token(1, "alice", &["read", "submit"], json!({})).await;
    let submitted = desk.submit(&alice, "s", 2, "").await.unwrap();
    let inputs = format!("/v1/sweeps/{}/inputs", submitted.id);
    let (_, listed) = desk.ask(&alice, "GET", &inputs, Value::Null).await;
    let stored = desk.stored("alice").await;
    stage.clock.advance(SignedDuration::from_hours(1000));
    assert_eq!(desk.collect(true).await["objects"], 0);
    for input in listed.as_array().unwrap() {
        let one = format!("{inputs}/{}", input["digest"].as_str().unwrap());
        assert_eq!(desk.status(&alice, "GET", &one).await, 200, "{input}");
    }
    assert_eq!(desk.stored("alice").await, stored);
    assert!(stage.end(&submitted.id, SweepState::Complete, stage.clock_now()).await);
    stage.clock.advance(SignedDuration::from_hours(48));
    let everything = json!({ "keep": { "days": 1 }, "apply": true });
    let (_, result) = desk.ask(OPERATOR, "POST", "/v1/gc", everything).await;
    assert_eq!(result["going"].as_array().unwrap().len(), 1, "{result}");
    assert_eq!(result["unused"]["objects"], listed.as_array().unwrap().len(), "its lock, its manifest and all files");
    assert_eq!(desk.stored("alice").await, 0);
    for folder in ["content/", "datasets/", "locks/"] {
        assert!(stage.blobs().list(folder).await.unwrap().is_empty(), "{folder}");
    }
}

#[tokio::test]
async fn what_a_schedule_needs_stays_until_the_schedule_is_deleted() {
    let shift = NightShift::at("2026-11-23T00:00:00Z").await;
    let process = shift.stage.process();
    let desk = Desk::open(&shift.stage, &process);
    let alice = desk.token(1, "alice", &["read", "submit"], json!({})).await;
    let request = serde_json::to_value(shift.request(json!({ "cron": "0 2 * * 0" })).await).unwrap();
    assert_eq!(desk.ask(&alice, "POST", "/v1/schedules", request).await.0, StatusCode::OK);
    shift.pass(3 * 86_400);
    let content = shift.stage.blobs().list("content/").await.unwrap();
    // The lock of the night that was planned to see whether it can be.
    assert_eq!(desk.collect(true).await["objects"], 2);
    assert_eq!(shift.stage.blobs().list("content/").await.unwrap(), content);
    assert_eq!(desk.status(&alice, "POST", "/v1/schedules/nightly/run").await, 200);
    process.coordinator.look_after_schedules().await.unwrap();
    assert_eq!(shift.states(&process).await, ["2026-11-26T00:00:00Z running"]);
    shift.end_sweeps(SweepState::Complete).await;
    assert_eq!(desk.status(&alice, "DELETE", "/v1/schedules/nightly").await, 204);
    shift.pass(3 * 86_400);
    let (_, result) = desk.ask(OPERATOR, "POST", "/v1/gc", json!({ "keep": { "days": 1 }, "apply": true })).await;
    assert_eq!(result["going"].as_array().unwrap().len(), 1, "{result}");
    assert!(shift.stage.blobs().list("content/").await.unwrap().is_empty());
    assert_eq!(desk.stored("alice").await, 0);
}

#[tokio::test]
async fn who_refers_to_a_file_no_more_is_credited_although_others_do() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    let alice = desk.token(1, "alice", &["submit"], json!({})).await;
    let bob = desk.token(2, "bob", &["submit"], json!({})).await;
    let content = file('a', 12_000);
    for token in [&alice, &bob] {
        assert_eq!(desk.upload(token, &content).await.0, 204);
    }
    stage.clock.advance(SignedDuration::from_hours(23));
    assert_eq!(desk.upload(&bob, &content).await.0, 204);
    stage.clock.advance(SignedDuration::from_hours(2));
    let expected = json!({ "objects": 0, "bytes": 0, "credited": { "alice": 12_000 }, "left": false });
    assert_eq!(desk.collect(false).await, expected);
    assert_eq!(desk.collect(true).await, expected);
    assert_eq!((desk.stored("alice").await, desk.stored("bob").await), (0, 12_000));
    assert_eq!(desk.status(&alice, "HEAD", &path(&content)).await, 204);
}

#[tokio::test]
async fn files_of_versions_without_quotas_go_too_a_day_after_they_were_found() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    let old = stage.blobs().put_content("of an earlier version".into()).await.unwrap();
    stage.blobs().put("sweeps/s/results.jsonl", "not known by its digest".into()).await.unwrap();
    assert_eq!(desk.collect(true).await["objects"], 0);
    stage.clock.advance(SignedDuration::from_hours(24));
    assert_eq!(desk.collect(true).await["objects"], 1);
    assert_eq!(stage.blobs().content_size(&old).await.unwrap(), None);
    assert_eq!(stage.blobs().list("").await.unwrap(), ["sweeps/s/results.jsonl"]);
}

#[tokio::test]
async fn a_submission_and_a_schedule_whose_client_goes_away_are_finished() {
    let shift = NightShift::on_disk("2026-11-23T00:00:00Z").await;
    let (stage, process) = (&shift.stage, shift.stage.process());
    let desk = Desk::open(stage, &process);
    let alice = desk.token(1, "alice", &["submit"], json!({})).await;
    let schedule = serde_json::to_value(shift.request(json!({ "cron": "0 2 * * 0" })).await).unwrap();
    let submission = serde_json::to_value(stage.submission(&spec("t", 2, "")).await).unwrap();
    let entries = async |folder: &str| stage.blobs().list(folder).await.unwrap().len();
    for (path, body) in [("/v1/sweeps", submission), ("/v1/schedules", schedule)] {
        let before = entries("locks/").await;
        let until_its_lock_is_stored = async {
            while entries("locks/").await == before {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            () = within(until_its_lock_is_stored) => {}
            (status, body) = desk.ask(&alice, "POST", path, body) => assert_eq!(status, 200, "{body}"),
        }
    }
    let is_written = async || {
        let (sweeps, schedules) = (stage.ledger.sweeps().await.unwrap(), stage.ledger.schedules().await.unwrap());
        sweeps.len() + schedules.len() == 2
    };
    within(async {
        while !is_written().await {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_submission_whose_data_was_removed_is_refused_though_the_coordinator_has_it_in_memory() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    let alice = desk.token(1, "alice", &["read", "submit"], json!({})).await;
    desk.submit(&alice, "s", 2, "").await.unwrap();
    let submission = stage.submission(&spec("t", 2, "")).await;
    std::fs::remove_dir_all(stage.blob_folder().join("content")).unwrap();
    let submission = serde_json::to_value(submission).unwrap();
    let (status, body) = desk.ask(&alice, "POST", "/v1/sweeps", submission).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{body}");
    let problem = body["error"].as_str().unwrap();
    assert!(problem.starts_with("data.worfbench: ") && problem.contains("upload it again"), "{problem}");
    let sweeps: Vec<SweepRow> = stage.ledger.sweeps().await.unwrap();
    assert_eq!(sweeps.len(), 1, "no sweep runs without its data");
}
