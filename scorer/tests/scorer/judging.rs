use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use regatta_backends::faults::{Fate, Trouble};
use regatta_backends::{Quota, Silence};
use regatta_proto::{AskedQuestion, Cause, Outcome, Report, SessionOutcome, SweepState, Verdict};
use tokio_util::sync::CancellationToken;

use crate::stage::{CALL, ITEMS, Stage, judge, report, until};

/// A session that cannot be scored without a judge.
fn judged_session(stage: &Stage, cell: u32) -> SessionOutcome {
    let mut all = (0..ITEMS).map(|item| stage.session(cell, item));
    all.find(|session| !stage.questions(session).is_empty()).expect("some reply differs from the gold")
}

fn digests(questions: &[AskedQuestion]) -> BTreeSet<regatta_proto::Digest> {
    questions.iter().map(|asked| asked.digest).collect()
}

/// Number of questions that are claimed and may not have been asked.
async fn in_doubt(stage: &Stage) -> usize {
    let silence = Silence { within: Duration::ZERO, in_doubt: true };
    stage.ledger.silent_questions(&stage.sweep.id, &[judge()], silence, 1_000).await.unwrap().len()
}

const JUDGE_AWAY: Outcome = Outcome::NotMeasured { cause: Cause::JudgeUnavailable };

#[tokio::test]
async fn a_question_is_asked_once_per_sweep_however_many_sessions_wait_for_it() {
    let stage = Stage::set().await;
    let (one, same) = (judged_session(&stage, 0), judged_session(&stage, 1));
    let questions = stage.questions(&one);
    assert_eq!(digests(&questions), digests(&stage.questions(&same)));
    let metrics = stage.score(vec![report(&one)]).await;
    assert_eq!(metrics.questions.get(), questions.len() as u64);
    assert_eq!(digests(&stage.asked().await), digests(&questions));
    assert_eq!(in_doubt(&stage).await, 0, "the queue has confirmed them");
    stage.score(vec![report(&same)]).await;
    assert!(stage.asked().await.is_empty());
    assert_eq!(stage.books().await.waiting, 2);
    stage.score(vec![Report::Judge(stage.judged("j", &questions, true))]).await;
    let books = stage.books().await;
    assert_eq!((books.waiting, books.total(|cell| cell.measured)), (0, 2));
    assert_eq!(books.sessions[0][0].scores, books.sessions[1][0].scores);
    assert_eq!(books.judging.1.known, CALL);
}

#[tokio::test]
async fn a_verdict_of_an_earlier_sweep_is_not_asked_for_again() {
    let stage = Stage::set().await;
    let session = judged_session(&stage, 0);
    stage.score(vec![report(&session), Report::Judge(stage.judged("j", &stage.questions(&session), true))]).await;
    stage.asked().await;
    let twin = stage.twin().await;
    let same = stage.session_of(&twin, 0, session_position(&stage, &session));
    stage.score(vec![report(&same)]).await;
    assert!(stage.asked().await.is_empty());
    assert_eq!(stage.ledger.cell_progress(&twin.id).await.unwrap()[0].measured, 1);
}

#[tokio::test]
async fn judges_of_one_name_at_two_addresses_are_each_asked_and_a_known_address_is_not_asked_again() {
    let stage = Stage::set().await;
    let session = judged_session(&stage, 0);
    let questions = stage.questions(&session);
    stage.score(vec![report(&session), Report::Judge(stage.judged("j", &questions, true))]).await;
    let mut seed = stage.sweep.lock.seed;
    for (address, is_known) in
        [("http://one/v1", false), ("http://two/v1", false), ("http://one/v1", true), ("http://two/v1", true)]
    {
        seed += 1;
        let twin = stage.twin_judged_at(address, seed).await;
        let same = stage.session_of(&twin, 0, session_position(&stage, &session));
        stage.score(vec![report(&same)]).await;
        let jobs = stage.judge_jobs(&twin).await;
        let asked: Vec<_> = jobs.iter().flat_map(|job| job.questions.clone()).collect();
        let expected = if is_known { BTreeSet::new() } else { digests(&questions) };
        assert_eq!(digests(&asked), expected, "{address}");
        for job in &jobs {
            // A worker finds the address in the lock that the job names.
            assert_eq!((&job.sweep, job.lock), (&twin.id, twin.digest));
            assert_eq!(twin.lock.endpoints[&job.judge.endpoint].base_url.as_deref(), Some(address));
        }
        if !is_known {
            assert_eq!(stage.ledger.cell_progress(&twin.id).await.unwrap()[0].measured, 0, "{address}");
            stage.score(vec![Report::Judge(stage.judged_in(&twin, "j", &asked, true))]).await;
        }
        assert_eq!(stage.ledger.cell_progress(&twin.id).await.unwrap()[0].measured, 1, "{address}");
    }
}

fn session_position(stage: &Stage, session: &SessionOutcome) -> usize {
    (0..ITEMS).find(|item| stage.key(0, *item) == session.key).unwrap()
}

#[tokio::test]
async fn an_unanswered_question_leaves_its_sessions_unmeasured_until_they_are_judged_again() {
    let stage = Stage::set().await;
    let sessions = [judged_session(&stage, 0), judged_session(&stage, 1)];
    let questions = stage.questions(&sessions[0]);
    let away = Report::Judge(stage.judged("away", &questions, false));
    stage.score(sessions.iter().map(report).chain([away]).collect()).await;
    stage.asked().await;
    assert_eq!(stage.books().await.outcomes(), [JUDGE_AWAY, JUDGE_AWAY]);

    stage.transition(SweepState::Running, SweepState::Incomplete).await;
    let reopened = stage.ledger.reopen_unmeasured(&stage.sweep.id, Quota::default()).await.unwrap();
    assert_eq!(reopened.to_judge, 2);
    stage.transition(SweepState::Incomplete, SweepState::Running).await;
    let rejudge = Report::Rejudge { sweep: stage.sweep.id.clone(), lock: stage.sweep.digest };
    stage.score(vec![rejudge.clone()]).await;
    let jobs = stage.judge_jobs(&stage.sweep).await;
    assert!(jobs.iter().all(|job| job.generation == Some(1)), "workers drop those of before");
    let asked: Vec<AskedQuestion> = jobs.into_iter().flat_map(|job| job.questions).collect();
    assert_eq!(digests(&asked), digests(&questions));
    stage.score(vec![rejudge]).await;
    assert!(stage.asked().await.is_empty(), "said twice, asked once");

    stage.score(vec![Report::Judge(stage.judged("back", &questions, true))]).await;
    let books = stage.books().await;
    assert_eq!(books.outcomes(), [Outcome::Measured, Outcome::Measured]);
    assert_eq!(books.attempts.len(), 2, "no session ran again");
    assert_eq!(books.total(|cell| cell.wasted.known.0), 0, "and nothing was paid in vain");
}

#[tokio::test]
async fn judging_again_settles_what_was_answered_in_the_meantime_without_asking() {
    let stage = Stage::set().await;
    let session = judged_session(&stage, 0);
    let questions = stage.questions(&session);
    stage.score(vec![report(&session), Report::Judge(stage.judged("away", &questions, false))]).await;
    stage.asked().await;
    stage.score(vec![Report::Judge(stage.judged("late", &questions, true))]).await;
    stage.transition(SweepState::Running, SweepState::Incomplete).await;
    stage.ledger.reopen_unmeasured(&stage.sweep.id, Quota::default()).await.unwrap();
    stage.score(vec![Report::Rejudge { sweep: stage.sweep.id.clone(), lock: stage.sweep.digest }]).await;
    assert!(stage.asked().await.is_empty());
    assert_eq!(stage.books().await.outcomes(), [Outcome::Measured]);
}

#[tokio::test(start_paused = true)]
async fn questions_that_could_not_be_sent_are_sent_when_the_batch_is_repeated() {
    let mut stage = Stage::set().await.in_memory().await;
    // A broker that does not have the judge's queue refuses to take jobs for it.
    stage.queue = regatta_backends::Queue::memory();
    let session = judged_session(&stage, 0);
    let (scorer, metrics) = stage.scorer(512);
    stage.queue.publish_reports(vec![report(&session)]).await.unwrap();
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { scorer.run(stop).await }
    });
    until(async || metrics.failed_batches.get() >= 1).await;
    stage.queue.declare_jobs(&stage.judge_queue()).await.unwrap();
    until(async || stage.queue.depth(&stage.judge_queue()).await.unwrap() > 0).await;
    stop.cancel();
    running.await.unwrap().unwrap();
    assert_eq!(digests(&stage.asked().await), digests(&stage.questions(&session)));
}

/// A broker whose next answer is lost.
struct AnswerIsLost(AtomicBool);

impl Fate for AnswerIsLost {
    fn after(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        async { if self.0.swap(false, Ordering::Relaxed) { Err(Trouble) } else { Ok(()) } }.boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn questions_that_may_have_been_sent_are_not_sent_again() {
    let stage = Stage::set().await.in_memory().await;
    let session = judged_session(&stage, 0);
    let fate = Arc::new(AnswerIsLost(AtomicBool::new(false)));
    let (running, metrics) = stage.scorer_of_a_broker(fate.clone()).await;
    fate.0.store(true, Ordering::Relaxed);
    stage.queue.publish_reports(vec![report(&session)]).await.unwrap();
    until(async || stage.queue.depth(&stage.judge_queue()).await.unwrap() > 0).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    running.end().await;
    assert!(!fate.0.load(Ordering::Relaxed) && metrics.failed_batches.get() == 0);
    let asked = stage.asked().await;
    assert_eq!(digests(&asked), digests(&stage.questions(&session)));
    assert_eq!(asked.len(), digests(&asked).len(), "each once");
    assert_eq!(in_doubt(&stage).await, asked.len());
}

#[tokio::test]
async fn a_verdict_that_does_not_fit_its_question_leaves_the_session_unmeasured_instead_of_waiting() {
    let stage = Stage::set().await;
    let session = judged_session(&stage, 0);
    let mut outcome = stage.judged("j", &stage.questions(&session), true);
    for (_, verdict) in &mut outcome.verdicts {
        *verdict = Verdict::Similarity { micro: vec![vec![0; 99]; 99] };
    }
    stage.score(vec![report(&session), Report::Judge(outcome)]).await;
    assert_eq!(stage.books().await.outcomes(), [Outcome::NotMeasured { cause: Cause::Internal }]);
}
