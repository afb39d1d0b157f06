use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use regatta_backends::{AttemptState, UnderWay};
use regatta_proto::{AttemptId, AttemptTotals, CellIndex, HeldBatch, OpenAttempt, Outcome, Progress, Report};
use regatta_scorer::ScorerConfig;
use tokio_util::sync::CancellationToken;

use crate::stage::{CALL, Stage, nowhere, report, until};

#[tokio::test]
async fn work_that_a_worker_names_is_known_to_be_held() {
    const LONG: Duration = Duration::from_secs(3600);
    let stage = Stage::set().await;
    let (sweep, key) = (stage.sweep.id.clone(), stage.key(0, 0));
    let line = OpenAttempt {
        key: key.clone(),
        id: AttemptId::of_line("0a", 0).unwrap(),
        number: 1,
        started_at: Timestamp::UNIX_EPOCH,
        totals: AttemptTotals::default(),
        in_flight_at_most: Some(CALL),
    };
    let held = Progress {
        // The ledger knows of no such generation: whatever was told of the line itself, its batch is void.
        batches: vec![HeldBatch { sweep: sweep.clone(), id: "0a".to_owned(), generation: 1 }],
        judging: vec![sweep.clone()],
        ..Progress::of_attempts("w".parse().unwrap(), vec![line])
    };
    assert!(!stage.ledger.is_judging(&sweep, LONG).await.unwrap());
    stage.score(vec![Report::Progress(held.clone())]).await;
    assert!(stage.ledger.is_judging(&sweep, LONG).await.unwrap());
    let under_way = async || stage.ledger.under_way(&sweep, key.cell, &[key.item], LONG).await.unwrap();
    assert_eq!(under_way().await, BTreeMap::from([(key.item, UnderWay::Silent)]));
    let batches = vec![HeldBatch { sweep: sweep.clone(), id: "0a".to_owned(), generation: 0 }];
    stage.score(vec![Report::Progress(Progress { batches, open: Vec::new(), ..held })]).await;
    assert_eq!(under_way().await, BTreeMap::from([(key.item, UnderWay::Told)]));
}

#[tokio::test]
async fn a_second_attempt_at_a_session_is_waste_in_whatever_order_they_come() {
    for turn in [[0, 1], [1, 0]] {
        for batch in [1, 2] {
            let stage = Stage::set().await;
            let first = stage.session(0, 0);
            let both = [first.clone(), stage.again(&first, 2)];
            let metrics = stage.score_in_batches(turn.map(|at| report(&both[at])).to_vec(), batch).await;
            let books = stage.books().await;
            let states: BTreeMap<u32, AttemptState> =
                books.attempts.iter().map(|one| (one.number, one.state)).collect();
            let expected = turn.map(|at| at as u32 + 1);
            assert_eq!(states[&expected[0]], AttemptState::Recorded);
            assert_eq!(states[&expected[1]], AttemptState::Waste);
            let cell = &books.progress[0];
            assert_eq!((cell.recorded, cell.cost.known, cell.wasted.known), (1, CALL + CALL, CALL));
            assert_eq!(metrics.sessions.with_label_values(&["measured"]).get(), 1);
            assert_eq!(metrics.surplus.with_label_values(&["waste"]).get(), 1);
            assert_eq!(metrics.cost_nanodollars.get(), 2 * CALL.0);
        }
    }
}

#[tokio::test]
async fn a_repeated_report_is_counted_once() {
    let stage = Stage::set().await;
    let one = report(&stage.session(0, 0));
    let metrics = stage.score(vec![one.clone(), one.clone()]).await;
    assert_eq!(metrics.surplus.with_label_values(&["repeat"]).get(), 1);
    let later = stage.score(vec![one]).await;
    assert_eq!((metrics.cost_nanodollars.get(), later.cost_nanodollars.get()), (CALL.0, 0));
    assert_eq!(stage.books().await.progress[0].recorded, 1);
}

#[tokio::test]
async fn when_it_is_time_to_stop_what_is_there_is_still_recorded() {
    let stage = Stage::set().await;
    let (scorer, _) = stage.scorer(2);
    let reports = (0..5).map(|item| report(&stage.session(0, item))).collect();
    stage.queue.publish_reports(reports).await.unwrap();
    let stop = CancellationToken::new();
    stop.cancel();
    scorer.run(stop).await.unwrap();
    assert_eq!(stage.books().await.progress[0].recorded, 5);
}

#[tokio::test(start_paused = true)]
async fn where_a_queue_is_of_one_sweep_that_cannot_be_read_its_reports_wait_until_it_can() {
    let stage = Stage::set().await.in_memory().await;
    let (locks, away) = (stage.blob_folder().join("locks"), stage.blob_folder().join("away"));
    std::fs::rename(&locks, &away).unwrap();
    let (scorer, metrics) =
        stage.scorer_with(ScorerConfig { linger: Duration::ZERO, shares_queue: false, ..ScorerConfig::default() });
    stage.queue.publish_reports(vec![report(&stage.session(0, 0)), report(&stage.session(0, 1))]).await.unwrap();
    let health = scorer.health();
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { scorer.run(stop).await }
    });
    until(async || metrics.failed_batches.get() >= 50).await;
    assert!(health.stalled().unwrap().reason.contains("is not in the blob store"));
    std::fs::rename(&away, &locks).unwrap();
    until(async || stage.books().await.progress[0].recorded == 2).await;
    stop.cancel();
    running.await.unwrap().unwrap();
    assert_eq!(stage.queue.dead_letters().await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_for_long_costs_no_report() {
    let stage = Stage::set().await.in_memory().await;
    // No segment can be written while a file stands where their folder belongs.
    let sweeps = stage.blob_folder().join("sweeps");
    std::fs::remove_dir_all(&sweeps).ok();
    std::fs::write(&sweeps, "").unwrap();
    let (scorer, metrics) = stage.scorer(512);
    stage.queue.publish_reports(vec![report(&stage.session(0, 0))]).await.unwrap();
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { scorer.run(stop).await }
    });
    until(async || metrics.failed_batches.get() >= 50).await;
    std::fs::remove_file(&sweeps).unwrap();
    until(async || stage.books().await.progress[0].recorded == 1).await;
    stop.cancel();
    running.await.unwrap().unwrap();
    assert_eq!(stage.queue.dead_letters().await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_report_that_can_never_be_recorded_ends_as_a_dead_letter_and_takes_no_other_with_it() {
    let stage = Stage::set().await.in_memory().await;
    let mut no_cell = stage.session(0, 1);
    no_cell.key.cell = CellIndex(9);
    let mut no_sweep = stage.session(0, 2);
    no_sweep.lock = nowhere();
    let (scorer, metrics) = stage.scorer(512);
    let reports = [stage.session(0, 0), no_cell, stage.session(0, 3), no_sweep, stage.session(0, 4)];
    stage.queue.publish_reports(reports.iter().map(report).collect()).await.unwrap();
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { scorer.run(stop).await }
    });
    until(async || stage.queue.dead_letters().await.unwrap() == 1).await;
    until(async || stage.queue.reports_set_aside().await.unwrap() == 1).await;
    until(async || stage.books().await.progress[0].recorded == 3).await;
    stop.cancel();
    running.await.unwrap().unwrap();
    assert!(metrics.failed_batches.get() > 0);
    assert_eq!(stage.queue.dead_letters().await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_row_that_the_ledger_refuses_is_not_tried_as_if_the_ledger_were_away() {
    let stage = Stage::set().await;
    let sessions: Vec<_> = (0..3).map(|item| stage.session(0, item)).collect();
    stage.refuse_rows_of(sessions[1].key.item);
    let (scorer, metrics) = stage.scorer(512);
    stage.queue.publish_reports(sessions.iter().map(report).collect()).await.unwrap();
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { scorer.run(stop).await }
    });
    until(async || stage.queue.dead_letters().await.unwrap() == 1).await;
    until(async || stage.books().await.progress[0].recorded == 2).await;
    stop.cancel();
    running.await.unwrap().unwrap();
    // Twice each time that it is delivered, instead of for ten minutes.
    assert!(metrics.failed_batches.get() <= 50, "{}", metrics.failed_batches.get());
}

#[tokio::test]
async fn a_transcript_is_found_where_its_session_says() {
    let stage = Stage::set().await;
    let sessions: Vec<_> = (0..3).map(|item| stage.session(1, item)).collect();
    stage.score(sessions.iter().map(report).collect()).await;
    for attempt in stage.ledger.attempts(&stage.sweep.id).await.unwrap() {
        let place = attempt.transcript.unwrap();
        let segment =
            stage.blobs().get(&format!("sweeps/{}/{}", stage.sweep.id, place.segment)).await.unwrap().unwrap();
        let text = String::from_utf8(zstd::decode_all(&segment[..]).unwrap()).unwrap();
        let line: serde_json::Value = serde_json::from_str(text.lines().nth(place.line as usize).unwrap()).unwrap();
        let session = sessions.iter().find(|session| session.key == attempt.key).unwrap();
        assert_eq!(session.outcome, Outcome::Measured);
        assert_eq!(line["attempt_id"], session.attempt.id.as_str());
        assert_eq!(line["transcript"], serde_json::to_value(&session.transcript).unwrap());
    }
}
