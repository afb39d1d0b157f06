//! Removals of what nothing refers to, beside uploads and submissions of the same moment.

use std::collections::BTreeMap;

use bytes::Bytes;
use jiff::SignedDuration;
use regatta_backends::blobs::content_key;
use regatta_backends::{Blobs, Ledger, StorageQuota};
use regatta_catalog::{Input, sweep_inputs};
use regatta_coordinator::{GcRequest, OwnerQuotas, Quotas};
use regatta_proto::{Digest, OwnerName};
use serde_json::json;

use crate::identity::Desk;
use crate::stage::{Stage, spec};

const APPLY: GcRequest = GcRequest { keep: None, apply: true };

#[tokio::test]
async fn a_sweep_whose_data_was_removed_since_it_was_planned_is_not_entered() {
    let stage = Stage::set().await;
    let process = stage.process();
    let (coordinator, alice): (_, OwnerName) = (&process.coordinator, "alice".parse().unwrap());
    let planned = coordinator.plan_for(stage.submission(&spec("s", 2, "")).await, Some(&alice)).await.unwrap();
    stage.clock.advance(SignedDuration::from_hours(24));
    assert!(coordinator.collect(APPLY).await.unwrap().unused.objects > 2);
    let error = coordinator.enter_for(&planned, Some(&alice)).await.unwrap_err().to_string();
    assert!(error.contains("because nothing referred to it; upload it again"), "{error}");
    assert!(stage.ledger.sweeps().await.unwrap().is_empty());
    // Whoever does as it says gets the sweep, with its data.
    let planned = coordinator.plan_for(stage.submission(&spec("s", 2, "")).await, Some(&alice)).await.unwrap();
    assert!(coordinator.enter_for(&planned, Some(&alice)).await.unwrap().created);
}

#[tokio::test]
async fn a_sweep_that_is_planned_and_entered_in_time_keeps_its_data() {
    let stage = Stage::set().await;
    let process = stage.process();
    let (coordinator, alice): (_, OwnerName) = (&process.coordinator, "alice".parse().unwrap());
    let planned = coordinator.plan_for(stage.submission(&spec("s", 2, "")).await, Some(&alice)).await.unwrap();
    stage.clock.advance(SignedDuration::from_hours(23));
    assert_eq!(coordinator.collect(APPLY).await.unwrap().unused.objects, 0);
    coordinator.enter_for(&planned, Some(&alice)).await.unwrap();
    stage.clock.advance(SignedDuration::from_hours(1000));
    assert_eq!(coordinator.collect(APPLY).await.unwrap().unused.objects, 0);
    for input in sweep_inputs(&stage.blobs(), &planned.digest).await.unwrap() {
        assert!(stage.blobs().size(&Input::key(&input)).await.unwrap().is_some(), "{input:?}");
    }
}

#[tokio::test]
async fn what_is_being_removed_is_not_there_and_is_not_uploaded_meanwhile() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    let alice = desk.token(1, "alice", &["submit"], json!({})).await;
    let content = json!("some file");
    let digest = Digest::of(content.to_string().as_bytes());
    let path = format!("/v1/content/{digest}");
    assert_eq!(desk.ask(&alice, "PUT", &path, content.clone()).await.0, 204);
    let row = stage.ledger.idle_objects(stage.clock_now(), None, 9).await.unwrap().remove(0);
    let seen = BTreeMap::from([(row.key.clone(), row.used_at)]);
    assert_eq!(stage.ledger.begin_object_removal(&seen, stage.clock_now()).await.unwrap(), [content_key(&digest)]);
    assert_eq!(desk.status(&alice, "HEAD", &path).await, 404, "or nobody would upload it");
    let (status, body) = desk.ask(&alice, "PUT", &path, content.clone()).await;
    assert_eq!(status, 409, "its deletion may still be under way: {body}");
    assert!(body["error"].as_str().unwrap().contains("upload it again"), "{body}");
    // The coordinator that has begun this has died.
    stage.clock.advance(SignedDuration::from_mins(15));
    assert_eq!(desk.ask(&alice, "PUT", &path, content).await.0, 204);
    assert_eq!(desk.status(&alice, "HEAD", &path).await, 204);
}

#[tokio::test]
async fn a_removal_that_broke_off_goes_on_with_the_next_one() {
    let stage = Stage::set().await;
    let process = stage.process();
    stage.blobs().put_content(Bytes::from_static(b"old")).await.unwrap();
    process.coordinator.collect(APPLY).await.unwrap();
    stage.clock.advance(SignedDuration::from_hours(24));
    let now = stage.clock_now();
    let row = stage.ledger.idle_objects(now, None, 9).await.unwrap().remove(0);
    stage.ledger.begin_object_removal(&BTreeMap::from([(row.key, row.used_at)]), now).await.unwrap();
    assert_eq!(process.coordinator.collect(APPLY).await.unwrap().unused.objects, 0, "another is at it");
    stage.clock.advance(SignedDuration::from_mins(15));
    assert_eq!(process.coordinator.collect(APPLY).await.unwrap().unused.objects, 1);
    assert!(stage.blobs().list("").await.unwrap().is_empty());
}

#[tokio::test]
async fn nothing_is_removed_while_a_sweep_cannot_tell_what_it_needs() {
    let stage = Stage::set().await;
    let process = stage.process();
    stage.submit(&process, &spec("s", 2, "")).await;
    let unused = stage.blobs().put_content(Bytes::from_static(b"unused")).await.unwrap();
    process.coordinator.collect(APPLY).await.unwrap();
    stage.clock.advance(SignedDuration::from_hours(24));
    let (locks, aside) = (stage.blob_folder().join("locks"), stage.blob_folder().join("aside"));
    std::fs::rename(&locks, &aside).unwrap();
    let error = process.coordinator.collect(APPLY).await.unwrap_err().to_string();
    assert!(error.contains("is not in the blob store"), "{error}");
    assert!(stage.blobs().content_size(&unused).await.unwrap().is_some());
    std::fs::rename(&aside, &locks).unwrap();
    assert_eq!(process.coordinator.collect(APPLY).await.unwrap().unused.objects, 1);
}

#[tokio::test]
async fn the_policys_storage_quotas_count_beside_those_of_the_ledger() {
    let stage = Stage::set().await;
    let others = OwnerQuotas { storage: StorageQuota { bytes: Some(4096) }, ..OwnerQuotas::default() };
    let process = stage.process_with(Quotas { others, ..Quotas::default() });
    let desk = Desk::open(&stage, &process);
    let alice = desk.token(1, "alice", &["submit"], json!({ "storage": { "bytes": 1 << 20 } })).await;
    let upload = async |content: serde_json::Value| {
        let path = format!("/v1/content/{}", Digest::of(content.to_string().as_bytes()));
        desk.ask(&alice, "PUT", &path, content).await.0.as_u16()
    };
    assert_eq!((upload(json!(1)).await, upload(json!(2)).await), (204, 422));
}

#[tokio::test(start_paused = true)]
async fn the_leader_removes_what_nothing_refers_to_by_itself() {
    let mut stage = Stage::set().await;
    // No thread beside the test's: time passes when nothing is left to do.
    (stage.ledger, stage.in_memory) = (Ledger::in_memory().unwrap(), Some(Blobs::memory()));
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    let alice = desk.token(1, "alice", &["submit"], json!({})).await;
    let content = json!("unused");
    let unused = Digest::of(content.to_string().as_bytes());
    assert_eq!(desk.ask(&alice, "PUT", &format!("/v1/content/{unused}"), content).await.0, 204);
    // This deployment has never heard of it: it may be another's.
    let unknown = stage.blobs().put_content(Bytes::from_static(b"unknown")).await.unwrap();
    let stop = tokio_util::sync::CancellationToken::new();
    let (coordinator, stopped) = (process.coordinator.clone(), stop.clone());
    let removing = tokio::spawn(async move { coordinator.keep_removing_unused(stopped).await });
    let pass = async |hours: u64| {
        stage.clock.advance(SignedDuration::from_hours(hours as i64));
        tokio::time::sleep(std::time::Duration::from_secs(hours * 3600)).await;
    };
    pass(7).await;
    assert!(stage.blobs().content_size(&unused).await.unwrap().is_some(), "it is used for a day after its upload");
    pass(24).await;
    assert_eq!(stage.blobs().content_size(&unused).await.unwrap(), None);
    assert!(stage.blobs().content_size(&unknown).await.unwrap().is_some());
    stop.cancel();
    removing.await.unwrap();
}
