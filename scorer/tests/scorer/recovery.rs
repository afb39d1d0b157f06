//! Sessions whose records are lost are recorded again from what is stored.

use proptest::prelude::*;
use regatta_backends::{AttemptState, Quota};
use regatta_proto::{Cause, Money, Outcome, SessionOutcome, SweepState};
use regatta_scorer::Past;

use crate::stage::{CALL, Stage, report};

const CAUSE: Cause = Cause::EndpointUnavailable;

/// The same blobs with a ledger that knows nothing.
async fn after_the_ledger_is_lost(stage: Stage) -> Stage {
    let stage = stage.in_memory().await;
    let past = Past::read(&stage.blobs(), &stage.sweep.id).await.unwrap();
    let (scorer, _) = stage.scorer(512);
    scorer.recover_lost(&stage.sweep, &past).await.unwrap();
    assert!(
        scorer.recover_lost(&stage.sweep, &past).await.unwrap().is_nothing(),
        "a second time there is nothing left"
    );
    stage
}

fn unmeasured(mut session: SessionOutcome) -> SessionOutcome {
    session.outcome = Outcome::NotMeasured { cause: CAUSE };
    session
}

#[tokio::test]
async fn a_lost_ledger_is_the_same_again() {
    let stage = Stage::set().await;
    let all: Vec<_> = (0..5).map(|item| stage.session(0, item)).collect();
    let waste = stage.again(&all[1], 2);
    stage.score_in_batches(all.iter().chain([&waste]).map(report).collect(), 2).await;
    let before = stage.books().await;
    assert!(!stage.asked().await.is_empty());
    let stage = after_the_ledger_is_lost(stage).await;
    assert_eq!(stage.books().await, before);
    let asked = stage.queue.depth(&stage.judge_queue()).await.unwrap();
    assert_eq!(asked, 0, "questions are asked when the sweep goes on");
}

#[tokio::test]
async fn what_a_resume_has_undone_is_undone_again() {
    let stage = Stage::set().await;
    let (away, other) = (unmeasured(stage.session(0, 0)), stage.session(0, 1));
    stage.score(vec![report(&away), report(&other)]).await;
    stage.ledger.reopen_unmeasured(&stage.sweep.id, Quota::default()).await.unwrap();
    stage.score(vec![report(&stage.again(&stage.session(0, 0), 2))]).await;
    let mut before = stage.books().await;
    assert_eq!(before.progress[0].wasted.known, CALL);
    let stage = after_the_ledger_is_lost(stage).await;
    // Nothing of it is dispatched any more; what is missing is planned when the sweep goes on.
    before.progress.iter_mut().for_each(|cell| cell.dispatched = 0);
    let mut after = stage.books().await;
    after.progress.iter_mut().for_each(|cell| cell.dispatched = 0);
    assert_eq!(after, before);
}

#[tokio::test]
async fn an_attempt_that_the_ledger_still_takes_for_running_gets_its_result() {
    let stage = Stage::set().await;
    let session = stage.session(0, 0);
    stage.score(vec![report(&session)]).await;
    let before = stage.books().await;
    let stage = stage.in_memory().await;
    let open = regatta_proto::OpenAttempt {
        key: session.key.clone(),
        id: session.attempt.id.clone(),
        number: 1,
        started_at: session.attempt.started_at,
        totals: regatta_proto::AttemptTotals::default(),
        in_flight_at_most: Some(CALL),
    };
    stage.ledger.record_progress(vec![(open, "w".parse().unwrap())]).await.unwrap();
    let (scorer, _) = stage.scorer(512);
    let recovery = scorer.recover_lost(&stage.sweep, &Past::default()).await.unwrap();
    assert_eq!((recovery.sessions, recovery.surplus), (1, 0));
    assert_eq!(stage.books().await, before);
}

#[tokio::test]
async fn a_sweep_that_had_ended_without_a_session_goes_on_when_that_is_found() {
    let stage = Stage::set().await;
    stage.score(vec![report(&stage.session(0, 0))]).await;
    let stage = stage.in_memory().await;
    stage.transition(SweepState::Running, SweepState::Incomplete).await;
    let (scorer, _) = stage.scorer(512);
    let recovery = scorer.recover_lost(&stage.sweep, &Past::default()).await.unwrap();
    assert_eq!((recovery.sessions, stage.state().await), (1, SweepState::Running));
}

#[tokio::test]
async fn nothing_is_recorded_from_a_damaged_segment() {
    let stage = Stage::set().await;
    stage.score(vec![report(&stage.session(0, 0))]).await;
    let folder = stage.blob_folder().join(format!("sweeps/{}/transcripts", stage.sweep.id));
    let segment = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&segment).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let stage = stage.in_memory().await;
    let (scorer, _) = stage.scorer(512);
    let recovery = scorer.recover_lost(&stage.sweep, &Past::default()).await.unwrap();
    assert!(recovery.is_nothing());
    assert_eq!(recovery.unreadable.len(), 1);
}

#[tokio::test]
async fn costs_of_attempts_without_a_transcript_come_back_from_what_the_sweep_left_behind() {
    let stage = Stage::set().await;
    let session = stage.session(0, 0);
    let lost = stage.again(&session, 2);
    let open = regatta_proto::OpenAttempt {
        key: session.key.clone(),
        id: lost.attempt.id.clone(),
        number: 2,
        started_at: session.attempt.started_at,
        totals: lost.transcript.totals_of(2),
        in_flight_at_most: Some(CALL),
    };
    stage.ledger.record_progress(vec![(open, "w".parse().unwrap())]).await.unwrap();
    stage.score(vec![report(&session)]).await;
    stage.transition(SweepState::Running, SweepState::Tabulating).await;
    stage.score(vec![stage.tabulate()]).await;
    let before = stage.books().await;
    let stage = after_the_ledger_is_lost(stage).await;
    stage.transition(SweepState::Running, SweepState::Tabulating).await;
    stage.score(vec![stage.tabulate()]).await;
    let after = stage.books().await;
    assert_eq!(after.progress[0].wasted.known, CALL);
    assert_eq!(after.progress, before.progress);
    assert_eq!(after.attempts.iter().filter(|one| one.state == AttemptState::Lost).count(), 1);
}

/// A sweep with one session that a judge was paid for, and its reports.
async fn judged_to_the_end() -> Stage {
    let stage = Stage::set().await;
    let session = stage.session(0, 0);
    stage.score(vec![report(&session)]).await;
    let judged = stage.judged("j-1", &stage.questions(&session), true);
    stage.score(vec![regatta_proto::Report::Judge(judged)]).await;
    stage.transition(SweepState::Running, SweepState::Tabulating).await;
    stage.score(vec![stage.tabulate()]).await;
    stage
}

#[tokio::test]
async fn costs_of_judges_come_back_from_what_the_sweep_left_behind_and_their_verdicts_are_asked_for_again() {
    let stage = judged_to_the_end().await;
    let before = stage.books().await;
    assert_eq!((before.judging.1.known, before.waiting), (CALL, 0));
    let stage = after_the_ledger_is_lost(stage).await;
    let after = stage.books().await;
    assert_eq!((after.judging, after.waiting), (before.judging, 1));
}

#[tokio::test]
async fn what_judges_were_paid_is_unknown_where_the_summary_that_says_it_is_damaged() {
    let stage = judged_to_the_end().await;
    let summary = stage.blob_folder().join(format!("sweeps/{}/summary.json", stage.sweep.id));
    std::fs::write(&summary, b"{\"sweep\":").unwrap();
    let stage = after_the_ledger_is_lost(stage).await;
    let (usage, cost) = stage.books().await.judging;
    assert_eq!((cost.known, cost.unknown_calls, usage.unmetered_calls), (Money::ZERO, 1, 1), "and not nothing");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Each item's attempts in order, measured or not, the sweep resumed after each of them.
    #[test]
    fn any_history_of_attempts_and_resumes_is_recovered(
        histories in prop::collection::vec(prop::collection::vec(any::<bool>(), 0..4), 1..=4),
        batch in 1_usize..4,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let stage = Stage::set().await;
            let rounds = histories.iter().map(Vec::len).max().unwrap_or(0);
            for round in 0..rounds {
                let mut reports = Vec::new();
                for (item, history) in histories.iter().enumerate() {
                    // A session that has a result is not run again, and so has no later attempts but surplus ones.
                    let Some(is_measured) = history.get(round) else { continue };
                    let session = stage.again(&stage.session(0, item), round as u32 + 1);
                    reports.push(report(&if *is_measured { session } else { unmeasured(session) }));
                }
                stage.score_in_batches(reports, batch).await;
                if round + 1 < rounds {
                    stage.ledger.reopen_unmeasured(&stage.sweep.id, Quota::default()).await.unwrap();
                }
            }
            let before = stage.books().await;
            let results = |books: &crate::stage::Books| -> Vec<_> {
                let rows = books.sessions.iter().flatten();
                rows.filter(|row| !matches!(row.outcome, Outcome::NotMeasured { .. })).cloned().collect()
            };
            let stage = after_the_ledger_is_lost(stage).await;
            let after = stage.books().await;
            assert_eq!(results(&after), results(&before));
            assert_eq!(after.progress[0].cost, before.progress[0].cost);
            assert_eq!(after.waiting, before.waiting);
            assert_eq!(after.attempts.len(), before.attempts.len());
        });
    }
}
