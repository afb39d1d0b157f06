use std::collections::BTreeSet;

use proptest::prelude::*;
use regatta_proto::{AttemptTotals, Cause, OpenAttempt, Outcome, Progress, Report};

use crate::stage::{Books, CALL, ITEMS, Stage, attempt, report};

/// Reports of two workers and a judge about ten of twelve sessions.
fn reports(stage: &Stage) -> Vec<Report> {
    let mut reports = Vec::new();
    let mut asked = BTreeSet::new();
    for (cell, item) in (0..2).flat_map(|cell| (0..ITEMS - 1).map(move |item| (cell, item))) {
        let mut session = stage.session(cell, item);
        match (cell, item) {
            (0, 1) => session.outcome = Outcome::ModelFailure { cause: Cause::ContextLength },
            (1, 2) => session.outcome = Outcome::NotMeasured { cause: Cause::Timeout },
            (0, 3) => session = handed_over(stage, &mut reports),
            _ => {}
        }
        if session.outcome == Outcome::Measured {
            for question in stage.questions(&session) {
                if asked.insert(question.digest) {
                    let name = format!("judge-{}", asked.len());
                    reports.push(Report::Judge(stage.judged(&name, &[question], true)));
                }
            }
        }
        if item == 4 {
            reports.push(in_progress(stage, cell, item));
        }
        reports.push(report(&session));
    }
    assert!(asked.len() >= 3, "else there is little to put into another order");
    reports
}

/// The first worker paid a call and left; the second one paid another.
fn handed_over(stage: &Stage, reports: &mut Vec<Report>) -> regatta_proto::SessionOutcome {
    let first = stage.session(0, 3);
    let mut second = stage.again(&first, 2);
    second.transcript.events.splice(0..0, first.transcript.events.clone());
    let totals = first.transcript.totals_of(1);
    reports.push(Report::HandedOver { key: first.key, attempt: first.attempt, totals, taken_over: false });
    second
}

fn in_progress(stage: &Stage, cell: u32, item: usize) -> Report {
    let key = stage.key(cell, item);
    let attempt = attempt(&key, 1);
    let open = OpenAttempt {
        key,
        id: attempt.id,
        number: 1,
        started_at: attempt.started_at,
        totals: AttemptTotals::default(),
        in_flight_at_most: Some(CALL),
    };
    Report::Progress(Progress::of_attempts(attempt.worker, vec![open]))
}

/// The books after these reports, and everything that was asked.
async fn books_after(order: &[usize], batch: usize) -> (Books, Vec<regatta_proto::Digest>) {
    let stage = Stage::set().await;
    let reports = reports(&stage);
    stage.score_in_batches(order.iter().map(|at| reports[*at].clone()).collect(), batch).await;
    (stage.books().await, stage.asked().await.into_iter().map(|asked| asked.digest).collect())
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Positions of all reports, each up to three times, in any order; and the size of a batch.
fn any_way(count: usize) -> impl Strategy<Value = (Vec<usize>, usize)> {
    (prop::collection::vec(1..=3_usize, count), 1..=count * 2).prop_flat_map(|(times, batch)| {
        let all: Vec<usize> = times.iter().enumerate().flat_map(|(at, times)| vec![at; *times]).collect();
        (Just(all).prop_shuffle(), Just(batch))
    })
}

#[test]
fn any_order_any_repetition_and_any_batching_give_the_same_books() {
    let count = run(async { reports(&Stage::set().await).len() });
    let (expected, _) = run(books_after(&(0..count).collect::<Vec<_>>(), count));
    assert_eq!((expected.total(|cell| cell.recorded), expected.total(|cell| cell.settled)), (10, 10));
    assert_eq!(expected.waiting, 0);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    runner
        .run(&any_way(count), |(order, batch)| {
            let (books, asked) = run(books_after(&order, batch));
            prop_assert_eq!(&books, &expected);
            let once: BTreeSet<_> = asked.iter().collect();
            prop_assert_eq!(once.len(), asked.len(), "a question was asked twice");
            Ok(())
        })
        .unwrap();
}
