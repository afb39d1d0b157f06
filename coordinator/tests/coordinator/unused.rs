//! Removals of what nothing refers to, beside uploads and submissions of the same moment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use regatta_backends::blobs::content_key;
use regatta_backends::faults::{Fate, Trouble, Troubles};
use regatta_backends::{Blobs, Ledger, ObjectUses, StorageQuota};
use regatta_catalog::{Input, Sweep, sweep_inputs};
use regatta_coordinator::{GcRequest, OwnerQuotas, Quotas, Retention, UnusedObjects};
use regatta_proto::{Digest, OwnerName, SweepState, json_bytes};
use serde_json::json;

use crate::identity::Desk;
use crate::schedules::night_shift::NightShift;
use crate::stage::{Process, Stage, spec};

const APPLY: GcRequest = GcRequest { keep: None, cached: None, apply: true };

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
async fn unless_a_coordinator_is_told_for_how_long_it_keeps_them_objects_that_nothing_refers_to_stay() {
    let mut stage = Stage::set().await;
    stage.config.keep_unused = None;
    let process = stage.process();
    process.coordinator.plan_for(stage.submission(&spec("s", 2, "")).await, None).await.unwrap();
    let stored = stage.blobs().list("").await.unwrap();
    assert!(stored.len() > 2, "{stored:?}");
    stage.clock.advance(SignedDuration::from_hours(10_000));
    assert_eq!(process.coordinator.collect(APPLY).await.unwrap().unused, UnusedObjects::default());
    assert_eq!(stage.blobs().list("").await.unwrap(), stored);
}

#[tokio::test]
async fn files_of_others_in_folders_of_the_same_names_stay() {
    let stage = Stage::set().await;
    let process = stage.process();
    for key in ["content/about.html", "datasets/bbh.json", "datasets/agnews/train.csv", "locks/ab"] {
        stage.blobs().put(key, Bytes::from_static(b"theirs")).await.unwrap();
    }
    let before = stage.blobs().list("").await.unwrap();
    process.coordinator.collect(APPLY).await.unwrap();
    stage.clock.advance(SignedDuration::from_hours(10_000));
    assert_eq!(process.coordinator.collect(APPLY).await.unwrap().unused.objects, 0);
    assert_eq!(stage.blobs().list("").await.unwrap(), before);
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
async fn no_data_is_removed_while_a_sweep_cannot_tell_what_it_needs() {
    let stage = Stage::set().await;
    let process = stage.process();
    let sweep = stage.submit(&process, &spec("s", 2, "")).await;
    let unused = stage.blobs().put_content(Bytes::from_static(b"unused")).await.unwrap();
    process.coordinator.collect(APPLY).await.unwrap();
    stage.clock.advance(SignedDuration::from_hours(24));
    let (locks, aside) = (stage.blob_folder().join("locks"), stage.blob_folder().join("aside"));
    std::fs::rename(&locks, &aside).unwrap();
    let told = process.coordinator.collect(APPLY).await.unwrap();
    assert_eq!(told.unused, UnusedObjects::default());
    let [problem] = &told.problems[..] else { panic!("{told:?}") };
    assert!(problem.contains(sweep.id.as_str()) && problem.contains("is not in the blob store"), "{problem}");
    assert!(stage.blobs().content_size(&unused).await.unwrap().is_some());
    std::fs::rename(&aside, &locks).unwrap();
    assert_eq!(process.coordinator.collect(APPLY).await.unwrap().unused.objects, 1);
}

/// A sweep that ended long ago and may go.
async fn ended(stage: &Stage, process: &Process, name: &str) -> Arc<Sweep> {
    let sweep = stage.submit(process, &spec(name, 2, "")).await;
    assert!(stage.end(&sweep.id, SweepState::Complete, stage.clock_now()).await);
    sweep
}

const OLD: GcRequest =
    GcRequest { keep: Some(Retention { days: Some(0), nights: 0, transcripts_days: None }), cached: None, apply: true };

#[tokio::test]
async fn a_manifest_that_cannot_be_read_keeps_files_alone_and_is_named_beside_what_is_removed() {
    let stage = Stage::set().await;
    let process = stage.process();
    let old = ended(&stage, &process, "old").await;
    let sweep = stage.submit(&process, &spec("s", 2, "")).await;
    let unused = stage.blobs().put_content(Bytes::from_static(b"unused")).await.unwrap();
    process.coordinator.collect(APPLY).await.unwrap();
    stage.clock.advance(SignedDuration::from_hours(25));
    let manifest = stage.blobs().list("datasets/").await.unwrap().remove(0);
    let whole = stage.blobs().get(&manifest).await.unwrap().unwrap();
    stage.blobs().put(&manifest, Bytes::from_static(b"{}")).await.unwrap();
    let told = process.coordinator.collect(OLD).await.unwrap();
    assert_eq!(told.going.iter().map(|going| &going.sweep).collect::<Vec<_>>(), [&old.id]);
    assert_eq!(told.unused.objects, 1, "the lock of the sweep that is gone");
    assert_eq!(stage.blobs().size(&format!("locks/{}.json", old.digest)).await.unwrap(), None);
    assert!(stage.blobs().content_size(&unused).await.unwrap().is_some(), "the manifest may name it");
    let [problem] = &told.problems[..] else { panic!("{told:?}") };
    assert!(problem.starts_with(&manifest) && problem.contains(sweep.id.as_str()), "{problem}");
    stage.blobs().put(&manifest, whole).await.unwrap();
    let told = process.coordinator.collect(APPLY).await.unwrap();
    assert_eq!((told.unused.objects, told.problems), (1, vec![]));
}

#[tokio::test]
async fn a_schedule_whose_submission_or_document_cannot_be_read_keeps_files_and_its_nights() {
    let shift = NightShift::on_disk("2026-11-23T00:00:00Z").await;
    let (stage, process) = (&shift.stage, shift.stage.process());
    shift.schedule(&process, json!({})).await;
    shift.pass(60);
    process.coordinator.look_after_schedules().await.unwrap();
    shift.end_sweeps(SweepState::Complete).await;
    process.coordinator.look_after_schedules().await.unwrap();
    process.coordinator.pause_schedule(&"nightly".parse().unwrap(), true).await.unwrap();
    let old = ended(stage, &process, "old").await;
    let unused = stage.blobs().put_content(Bytes::from_static(b"unused")).await.unwrap();
    process.coordinator.collect(APPLY).await.unwrap();
    shift.pass(25 * 3600);
    let submission = process.coordinator.schedule(&"nightly".parse().unwrap()).await.unwrap().submission;
    stage.blobs().delete(&content_key(&submission)).await.unwrap();
    let told = process.coordinator.collect(OLD).await.unwrap();
    assert_eq!(told.going.iter().map(|going| &going.sweep).collect::<Vec<_>>(), [&old.id], "the last night is kept");
    assert!(stage.blobs().content_size(&unused).await.unwrap().is_some());
    let [problem] = &told.problems[..] else { panic!("{told:?}") };
    assert!(problem.starts_with("the submission of schedule nightly cannot be read"), "{problem}");
    // Written by a later version.
    stage.run_sql("UPDATE schedules SET document = '{\"v\": 2}'");
    let told = process.coordinator.collect(OLD).await.unwrap();
    assert_eq!((told.going.len(), told.kept), (0, 1), "{told:?}");
    assert!(stage.blobs().content_size(&unused).await.unwrap().is_some());
    let [nights, files] = &told.problems[..] else { panic!("{told:?}") };
    assert!(
        nights.starts_with("schedule nightly cannot be read, so its nights are kept, and sweeps that it names: "),
        "{nights}"
    );
    assert!(files.starts_with("the submission of schedule nightly cannot be read"), "{files}");
}

/// A bucket that does not let these objects be deleted.
#[derive(Default)]
struct Keeps(Mutex<BTreeSet<String>>);

impl Fate for Keeps {
    fn keeps(&self, key: &str) -> bool {
        self.0.lock().unwrap().contains(key)
    }
}

#[tokio::test]
async fn an_object_that_cannot_be_deleted_is_named_and_does_not_hold_up_the_others() {
    let mut stage = Stage::set().await;
    let kept = Arc::new(Keeps::default());
    stage.in_memory = Some(Blobs::memory().troubled(Troubles::new(kept.clone())));
    let process = stage.process();
    let mut unused = Vec::new();
    for content in ["a", "b", "c"] {
        unused.push(content_key(&stage.blobs().put_content(content.into()).await.unwrap()));
    }
    let (one, other) = (ended(&stage, &process, "one").await, ended(&stage, &process, "other").await);
    let of_one = ["a.json", "b.json"].map(|file| format!("sweeps/{}/{file}", one.id));
    for key in &of_one {
        stage.blobs().put(key, Bytes::from_static(b"{}")).await.unwrap();
    }
    process.coordinator.collect(APPLY).await.unwrap();
    stage.clock.advance(SignedDuration::from_hours(25));
    kept.0.lock().unwrap().extend([unused[0].clone(), of_one[0].clone()]);
    let told = process.coordinator.collect(OLD).await.unwrap();
    assert_eq!(told.going.iter().map(|going| &going.sweep).collect::<Vec<_>>(), [&other.id]);
    assert_eq!((told.kept, told.left), (0, 0));
    let [of_sweep, of_object] = &told.problems[..] else { panic!("{told:?}") };
    assert!(
        of_sweep.starts_with(&format!("failed to remove sweep {}: 1 object cannot be deleted", one.id)),
        "{of_sweep}"
    );
    assert!(of_sweep.contains(&of_one[0]) && of_object.contains(&unused[0]), "{told:?}");
    assert_eq!(stage.blobs().list("").await.unwrap(), [unused[0].clone(), of_one[0].clone()], "the others are gone");
    // The marks are those of a dead removal by then.
    kept.0.lock().unwrap().clear();
    stage.clock.advance(SignedDuration::from_mins(15));
    let told = process.coordinator.collect(OLD).await.unwrap();
    assert_eq!(told.going.iter().map(|going| &going.sweep).collect::<Vec<_>>(), [&one.id]);
    assert_eq!((told.unused.objects, told.problems), (1, vec![]));
    assert!(stage.blobs().list("").await.unwrap().is_empty());
}

#[tokio::test]
async fn as_many_sweeps_as_a_request_removes_hold_up_no_others_when_they_cannot_be_deleted() {
    let mut stage = Stage::set().await;
    let kept = Arc::new(Keeps::default());
    stage.in_memory = Some(Blobs::memory().troubled(Troubles::new(kept.clone())));
    let process = stage.process();
    for number in 0..50 {
        let stays = ended(&stage, &process, &format!("stays-{number}")).await;
        let key = format!("sweeps/{}/a.json", stays.id);
        stage.blobs().put(&key, Bytes::from_static(b"{}")).await.unwrap();
        kept.0.lock().unwrap().insert(key);
    }
    stage.clock.advance(SignedDuration::from_hours(1));
    let newer = ended(&stage, &process, "newer").await;
    stage.clock.advance(SignedDuration::from_hours(25));
    let mut removed = Vec::new();
    for _ in 0..2 {
        let told = process.coordinator.collect(OLD).await.unwrap();
        removed.extend(told.going.into_iter().map(|going| going.sweep));
    }
    assert_eq!(removed, std::slice::from_ref(&newer.id));
}

#[tokio::test]
async fn nothing_that_only_another_database_may_refer_to_is_removed() {
    let stage = Stage::set().await;
    let process = stage.process();
    let unused = stage.blobs().put_content(Bytes::from_static(b"unused")).await.unwrap();
    process.coordinator.collect(APPLY).await.unwrap();
    stage.clock.advance(SignedDuration::from_hours(24));
    // As a coordinator over a copy of the database leaves it.
    let name = "ledgers/7000000000000000001-16384.json";
    stage.blobs().put(name, Bytes::from_static(b"{}")).await.unwrap();
    let told = process.coordinator.collect(APPLY).await.unwrap();
    let [problem] = &told.problems[..] else { panic!("{told:?}") };
    assert!(problem.contains(name) && problem.contains("a prefix of its own"), "{problem}");
    assert!(stage.blobs().content_size(&unused).await.unwrap().is_some());
    stage.blobs().delete(name).await.unwrap();
    let told = process.coordinator.collect(APPLY).await.unwrap();
    assert_eq!((told.unused.objects, told.problems), (1, vec![]));
}

/// Counts the calls to a store.
#[derive(Default)]
struct Calls(AtomicUsize);

impl Fate for Calls {
    fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        async { Ok(()) }.boxed()
    }
}

#[tokio::test]
async fn documents_are_read_once_for_all_pages_of_objects() {
    let mut stage = Stage::set().await;
    let calls = Arc::new(Calls::default());
    stage.in_memory = Some(Blobs::memory().troubled(Troubles::new(calls.clone())));
    let process = stage.process();
    stage.submit(&process, &spec("s", 2, "")).await;
    let alice: OwnerName = "alice".parse().unwrap();
    // More than a page, which somebody has used again.
    let use_all = async |owner| {
        let objects =
            (0..20_001_u32).map(|number| (content_key(&Digest::of(&number.to_be_bytes())), Some(9))).collect();
        let quota = StorageQuota::default();
        let uses = ObjectUses { owner, objects, is_upload: false, quota, at: stage.clock_now() };
        assert_eq!(stage.ledger.begin_uses(uses).await.unwrap(), [""; 0]);
    };
    use_all(Some(alice.clone())).await;
    stage.clock.advance(SignedDuration::from_hours(24));
    use_all(None).await;
    let before = calls.0.load(Ordering::SeqCst);
    let told = process.coordinator.collect(GcRequest { keep: None, cached: None, apply: false }).await.unwrap().unused;
    assert_eq!((told.objects, told.credited), (0, BTreeMap::from([(alice, 20_001 * 4096)])));
    assert_eq!(calls.0.load(Ordering::SeqCst) - before, 3, "a lock, a manifest and the names of databases");
}

#[tokio::test]
async fn one_request_records_so_many_objects_of_earlier_versions() {
    let mut stage = Stage::set().await;
    stage.in_memory = Some(Blobs::memory());
    let process = stage.process();
    for number in 0..5_001 {
        stage.blobs().put_content(format!("{number}").into()).await.unwrap();
    }
    let recorded = async || stage.ledger.idle_objects(stage.clock_now(), None, 10_000).await.unwrap().len();
    assert!(process.coordinator.collect(APPLY).await.unwrap().unused.left);
    assert_eq!(recorded().await, 5_000);
    assert!(!process.coordinator.collect(APPLY).await.unwrap().unused.left);
    assert_eq!(recorded().await, 5_001);
}

#[tokio::test]
async fn a_bucket_that_lets_nothing_be_deleted_is_tried_a_few_times() {
    let mut stage = Stage::set().await;
    let kept = Arc::new(Keeps::default());
    stage.in_memory = Some(Blobs::memory().troubled(Troubles::new(kept.clone())));
    let process = stage.process();
    for number in 0..100 {
        let digest = stage.blobs().put_content(format!("{number}").into()).await.unwrap();
        kept.0.lock().unwrap().insert(content_key(&digest));
    }
    process.coordinator.collect(APPLY).await.unwrap();
    stage.clock.advance(SignedDuration::from_hours(24));
    let told = process.coordinator.collect(APPLY).await.unwrap();
    let [problem] = &told.problems[..] else { panic!("{told:?}") };
    assert!(
        problem.contains("16 objects cannot be deleted; the next removal tries again: failed to delete"),
        "{problem}"
    );
    assert_eq!((told.unused.objects, stage.blobs().list("").await.unwrap().len()), (0, 100));
}

#[tokio::test]
async fn a_sweep_whose_removal_has_begun_refers_to_nothing() {
    let stage = Stage::set().await;
    let process = stage.process();
    let sweep = stage.submit(&process, &spec("s", 2, "")).await;
    process.coordinator.cancel(&sweep.id).await.unwrap();
    assert!(stage.ledger.begin_removal(&sweep.id, 0).await.unwrap());
    // As a coordinator of the version before does it.
    stage.blobs().delete(&format!("locks/{}.json", sweep.digest)).await.unwrap();
    stage.clock.advance(SignedDuration::from_hours(25));
    let told = process.coordinator.collect(GcRequest { keep: None, cached: None, apply: false }).await.unwrap();
    assert!(told.going.len() == 1 && told.unused.objects > 2, "{told:?}");
}

/// Somebody uploads an object as soon as the ledger has heard of its owner.
struct UploadsMeanwhile {
    ledger: Ledger,
    upload: ObjectUses,
    is_begun: AtomicBool,
}

impl Fate for UploadsMeanwhile {
    fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        async {
            let is_known = !self.ledger.owners().await.unwrap().is_empty();
            if is_known && !self.is_begun.swap(true, Ordering::SeqCst) {
                assert_eq!(self.ledger.begin_uses(self.upload.clone()).await.unwrap(), [""; 0]);
            }
            Ok(())
        }
        .boxed()
    }
}

#[tokio::test]
async fn a_submission_that_is_refused_takes_back_no_charge_of_an_upload_beside_it() {
    let mut stage = Stage::set().await;
    let alice: OwnerName = "alice".parse().unwrap();
    let submission = stage.submission(&spec("s", 2, "")).await;
    let file = submission.data.values().next().unwrap().files[0].digest;
    stage.blobs().delete(&content_key(&file)).await.unwrap();
    let upload = ObjectUses {
        owner: Some(alice.clone()),
        objects: BTreeMap::from([(content_key(&file), Some(9000))]),
        is_upload: true,
        quota: StorageQuota::default(),
        at: stage.clock_now(),
    };
    let ledger = stage.ledger.clone();
    let fate = Arc::new(UploadsMeanwhile { ledger: ledger.clone(), upload, is_begun: AtomicBool::new(false) });
    stage.ledger = stage.ledger.troubled(Troubles::new(fate.clone()));
    let process = stage.process();
    let error = process.coordinator.plan_for(submission, Some(&alice)).await.map(drop).unwrap_err();
    assert!(regatta_proto::causes(&error).contains("is not stored"), "{error}");
    assert!(fate.is_begun.load(Ordering::SeqCst));
    ledger.end_uses(&alice, &[content_key(&file)], true).await.unwrap();
    assert_eq!(ledger.owners().await.unwrap()[0].stored_bytes, 9000);
}

/// Somebody removes a file of a schedule as soon as the ledger has heard of the schedule's submission.
struct RemovesMeanwhile {
    ledger: Ledger,
    submission: String,
    file: String,
    is_done: AtomicBool,
}

impl Fate for RemovesMeanwhile {
    fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        async {
            let known = self.ledger.object_states(std::slice::from_ref(&self.submission)).await.unwrap();
            if !known.is_empty() && !self.is_done.swap(true, Ordering::SeqCst) {
                let later: Timestamp = "2100-01-01T00:00:00Z".parse().unwrap();
                let rows = self.ledger.idle_objects(later, None, 1000).await.unwrap();
                let seen = rows.into_iter().filter(|row| row.key == self.file).map(|row| (row.key, row.used_at));
                let marked = self.ledger.begin_object_removal(&seen.collect(), Timestamp::UNIX_EPOCH).await;
                assert_eq!(marked.unwrap(), std::slice::from_ref(&self.file));
            }
            Ok(())
        }
        .boxed()
    }
}

#[tokio::test]
async fn a_schedule_whose_data_is_removed_while_it_is_written_is_refused() {
    let mut shift = NightShift::on_disk("2026-11-23T00:00:00Z").await;
    let request = shift.request(json!({})).await;
    let submission = content_key(&Digest::of(&json_bytes(&request.submission)));
    let file = content_key(&request.submission.data.values().next().unwrap().files[0].digest);
    let ledger = shift.stage.ledger.clone();
    let fate =
        RemovesMeanwhile { ledger: ledger.clone(), submission, file: file.clone(), is_done: AtomicBool::new(false) };
    shift.stage.ledger = ledger.troubled(Troubles::new(Arc::new(fate)));
    let error = shift.stage.process().coordinator.put_schedule(request, None, None).await.unwrap_err().to_string();
    assert!(error.contains(&file) && error.contains("upload it again"), "{error}");
    assert!(ledger.schedules().await.unwrap().is_empty());
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
    let removing = tokio::spawn(async move { coordinator.keep_removing(stopped).await });
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
