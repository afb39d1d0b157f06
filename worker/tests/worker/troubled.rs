use std::time::Duration;

use regatta_backends::Blobs;
use regatta_proto::{Cause, CellIndex, Digest, EndpointKind, EndpointSpec, Job, Outcome, Report, Simulation};
use regatta_worker::Policy;

use crate::stage::Stage;

const INTERNAL: Outcome = Outcome::NotMeasured { cause: Cause::Internal };

#[tokio::test]
async fn a_job_that_does_not_fit_its_sweep_is_not_measured() {
    let (stage, server) = Stage::with(Simulation::default()).await;
    let mut no_cell = stage.job(0, 0);
    no_cell.key.cell = CellIndex(99);
    let no_item = stage.job(0, usize::MAX);
    stage.publish([no_cell, no_item]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    for _ in 0..2 {
        let outcome = reports.outcome().await;
        assert_eq!(outcome.outcome, INTERNAL);
        assert!(outcome.transcript.events.is_empty());
    }
    worker.leave().await;
    assert_eq!((stage.waiting().await, server.counters().total_requests()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_session_whose_sweep_cannot_be_read_is_not_measured() {
    let stage = Stage::set().await;
    let mut job = stage.job(0, 0);
    job.lock = Digest::of(b"nowhere");
    stage.publish([job]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    assert_eq!(reports.outcome().await.outcome, INTERNAL);
    worker.leave().await;
    assert_eq!(stage.waiting().await, 0);
}

#[tokio::test(start_paused = true)]
async fn questions_whose_sweep_cannot_be_read_are_reported_as_unanswered() {
    let stage = Stage::set().await;
    let mut job = stage.judge_job(&[("a", "b"), ("c", "d")]);
    job.lock = Digest::of(b"nowhere");
    stage.publish_any(vec![Job::Judge(job.clone())]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    let outcome = reports.verdicts().await;
    let asked: Vec<_> = outcome.unanswered.into_iter().map(|(asked, _)| asked).collect();
    assert_eq!((asked, outcome.verdicts), (job.questions, Vec::new()));
    worker.leave().await;
    assert_eq!(stage.waiting().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_blob_store_that_comes_back_is_waited_for() {
    let stage = Stage::set().await;
    let (locks, away) = (stage.blob_folder().join("locks"), stage.blob_folder().join("away"));
    std::fs::rename(&locks, &away).unwrap();
    let mut job = stage.job(0, 0);
    job.key.cell = CellIndex(99);
    stage.publish([job]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    let begun = tokio::time::Instant::now();
    reports.progress(|_| true).await;
    std::fs::rename(&away, &locks).unwrap();
    reports.outcome().await;
    assert!(begun.elapsed() < Duration::from_secs(60), "it was not given up");
    worker.leave().await;
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_leaves_while_it_cannot_read_a_sweep_hands_the_session_over() {
    let stage = Stage::set().await;
    let mut job = stage.job(0, 0);
    job.lock = Digest::of(b"nowhere");
    stage.publish([job]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |config| config.drain = Duration::from_secs(1)).await;
    reports.progress(|_| true).await;
    worker.leave().await;
    let rest = reports.rest(&stage.queue).await;
    assert!(matches!(rest[..], [Report::HandedOver { .. }]), "{rest:?}");
    let left = stage.take_all().await;
    assert_eq!(left.iter().map(|(job, _)| job.attempt).collect::<Vec<_>>(), [2]);
}

#[tokio::test]
async fn no_file_that_a_spec_names_is_read_by_a_worker_that_trusts_no_specs() {
    let mut stage = Stage::set().await;
    let lines = br#"{"item": "i", "pred_texts": ["a"], "gold_texts": ["b"], "sim": [[0.5]]}"#;
    let file = stage.blob_folder().with_file_name("verdicts.jsonl");
    std::fs::write(&file, lines).unwrap();
    let stored = Blobs::directory(stage.blob_folder()).unwrap().put_content(lines.to_vec().into()).await.unwrap();
    // A route that no coordinator tells of, and one whose verdicts the submitter has stored.
    stage.route.endpoint = EndpointSpec { path: Some(file), ..EndpointSpec::of_kind(EndpointKind::Recorded) };
    let mut good = stage.route.clone();
    (good.name, good.queue, good.endpoint.content) = ("good".parse().unwrap(), "good".to_owned(), Some(stored));
    let job = || vec![Job::Judge(stage.judge_job(&[("a", "b")]))];
    stage.publish_any(job()).await;
    stage.queue.declare_jobs(&good.queue).await.unwrap();
    stage.queue.publish_jobs(&good.queue, job()).await.unwrap();
    let mut reports = stage.reports().await;
    stage.tell(vec![stage.route.clone(), good], Vec::new()).await;
    stage.policy = Policy::closed();
    let worker = stage.start_untold("closed", |_| {});
    assert_eq!(reports.verdicts().await.verdicts.len(), 1);
    worker.leave().await;
    assert_eq!(stage.waiting().await, 1, "the other is not served");
    stage.policy = Policy::trusting();
    let worker = stage.start("trusting", |_| {}).await;
    assert_eq!(reports.verdicts().await.verdicts.len(), 1);
    worker.leave().await;
    assert_eq!(stage.waiting().await, 0);
}
