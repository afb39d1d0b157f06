//! Messages that are too large for the queue.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use prometheus::Registry;
use regatta_backends::{Queue, QueueError};
use regatta_proto::{
    AttemptId, AttemptTotals, Cause, Event, Job, OpenAttempt, Outcome, Progress, Reply, Report, SessionOutcome,
    Transcript,
};
use tokio_util::task::TaskTracker;

use super::super::publishing::{Publishing, publish};
use super::super::{Held, Origin, Publication};
use super::{JOBS, batch, ended, handed_over, held_here, job, key};
use crate::WorkerMetrics;

/// Takes no message whose transcripts say more than 9 bytes.
#[derive(Default)]
struct Narrow {
    jobs: Mutex<Vec<Job>>,
    reports: Mutex<Vec<Report>>,
    /// Calls to come that fail because nobody is there.
    away_for: AtomicU32,
}

impl Narrow {
    fn is_away(&self) -> Result<(), QueueError> {
        let one_less = |left: u32| left.checked_sub(1);
        match self.away_for.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less) {
            Ok(_) => Err(QueueError::NoSuchQueue { queue: "q".into() }),
            Err(_) => Ok(()),
        }
    }
}

fn fits(transcripts: &[&Transcript]) -> Result<(), QueueError> {
    let said = |event: &Event| match event {
        Event::Recorded(reply) => reply.text.as_ref().map_or(0, |text| text.len()),
        _ => 0,
    };
    let bytes = transcripts.iter().flat_map(|transcript| &transcript.events).map(said).sum();
    if bytes > 9 {
        return Err(QueueError::TooLarge { queue: "q".into(), bytes, limit: 9 });
    }
    Ok(())
}

impl Publishing for Narrow {
    async fn jobs(&self, _: &str, jobs: Vec<Job>, _: bool) -> Result<(), QueueError> {
        for job in &jobs {
            match job {
                Job::Session(job) => fits(&[&job.transcript])?,
                Job::Batch(batch) => {
                    fits(&batch.sessions.iter().map(|session| &session.transcript).collect::<Vec<_>>())?
                }
                Job::Judge(_) => {}
            }
        }
        self.is_away()?;
        self.jobs.lock().unwrap().extend(jobs);
        Ok(())
    }

    async fn reports(&self, reports: &mut Vec<Report>) -> Result<(), QueueError> {
        for report in &*reports {
            if let Report::Session(ended) = report {
                fits(&[&ended.transcript])?;
            }
        }
        self.is_away()?;
        self.reports.lock().unwrap().append(reports);
        Ok(())
    }
}

fn not_measured(item: u32) -> Report {
    let outcome = Outcome::NotMeasured { cause: Cause::Internal };
    match ended(item, "") {
        Report::Session(ended) => {
            Report::Session(Box::new(SessionOutcome { outcome, transcript: Transcript::default(), ..*ended }))
        }
        other => other,
    }
}

/// A session of one call, which cost 7 nano-dollars, and a failed try that may have cost 9 more.
fn paid(item: u32, text: &str) -> Report {
    let call = serde_json::json!({ "call": {
        "role": "agent", "attempt": 1, "model": "sim/a", "request": { "messages": [{ "role": "user", "content": text }] },
        "reply": { "text": text, "finish": "stop" }, "usage": { "input": 3, "output": 4 }, "cost": 7, "latency_us": 0,
        "tries": [{ "class": "timeout", "detail": text, "latency_us": 0, "at_most": 9 }],
    } });
    let events = vec![Event::Recorded(Reply::said(text)), serde_json::from_value(call).unwrap()];
    match ended(item, "") {
        Report::Session(ended) => {
            Report::Session(Box::new(SessionOutcome { transcript: Transcript { events }, ..*ended }))
        }
        other => other,
    }
}

#[tokio::test]
async fn what_a_session_cost_is_told_although_its_transcript_cannot_be_published() {
    let narrow = Narrow::default();
    let metrics = WorkerMetrics::register(&Registry::new()).unwrap();
    let publication =
        Publication { reports: vec![paid(0, "much too long for it")], jobs: Vec::new(), origin: Origin::Nobody };
    publish(&narrow, &metrics, vec![publication]).await;
    let told = narrow.reports.lock().unwrap().remove(0);
    let Report::Session(told) = &told else { panic!("{told:?}") };
    assert_eq!(told.outcome, Outcome::NotMeasured { cause: Cause::Internal });
    let totals = told.transcript.totals_of(1);
    let found = (totals.calls, totals.cost.known.0, totals.maybe_spent.0, totals.usage.output);
    assert_eq!(found, (1, 7, 9, 4));
    assert!(!serde_json::to_string(told).unwrap().contains("much too long"), "{told:?}");
}

/// Publishes the publications of as many jobs to a narrow queue; returns what it took, and how many of the jobs are delivered again.
async fn squeezed(publications: Vec<(Report, Option<(String, Job)>)>) -> (Narrow, u64) {
    squeezed_into(Narrow::default(), publications).await
}

async fn squeezed_into(narrow: Narrow, publications: Vec<(Report, Option<(String, Job)>)>) -> (Narrow, u64) {
    let queue = Queue::memory();
    queue.declare_jobs(JOBS).await.unwrap();
    queue.publish_jobs(JOBS, vec![job(); publications.len()]).await.unwrap();
    let mut consumer = queue.consume_jobs(JOBS, 9).await.unwrap();
    let unsettled = TaskTracker::new();
    let mut held = Vec::new();
    for (report, job) in publications {
        let receipt = consumer.next().await.unwrap().receipt;
        let origin = Origin::Batch(Held::new(receipt, &unsettled), held_here());
        held.push(Publication { reports: vec![report], jobs: job.into_iter().collect(), origin });
    }
    consumer.stop();
    let metrics = WorkerMetrics::register(&Registry::new()).unwrap();
    publish(&narrow, &metrics, held).await;
    unsettled.close();
    unsettled.wait().await;
    (narrow, queue.depth(JOBS).await.unwrap())
}

#[tokio::test]
async fn a_session_whose_report_is_too_large_is_not_measured_and_no_other_is_repeated() {
    let publications = vec![(ended(1, "short"), None), (ended(2, "much too long"), None), (ended(3, "short"), None)];
    let (taken, again) = squeezed(publications).await;
    assert_eq!(*taken.reports.lock().unwrap(), [ended(1, "short"), not_measured(2), ended(3, "short")]);
    assert_eq!(again, 0);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_too_large_while_the_queue_is_away_has_no_other_session_repeated() {
    let publications = vec![(ended(1, "much too long"), None), (ended(2, "short"), None)];
    let narrow = Narrow { away_for: AtomicU32::new(5), ..Narrow::default() };
    let (taken, again) = squeezed_into(narrow, publications).await;
    assert_eq!(*taken.reports.lock().unwrap(), [not_measured(1), ended(2, "short")]);
    assert_eq!(again, 0);
}

#[tokio::test]
async fn a_batch_that_is_too_large_for_a_message_is_cut_in_halves_and_a_session_too_large_for_any_is_not_measured() {
    let reports = [1, 2, 3].map(|item| handed_over(item, "short").0);
    let jobs = vec![("next".to_owned(), batch(&["short", "much too long", "short"]))];
    // Nobody is told that they are attempts of the batch that is cut.
    let lines = [0, 1, 2].map(|line| OpenAttempt {
        key: key(1),
        id: AttemptId::of_line("0a1b", line).unwrap(),
        number: 2,
        started_at: jiff::Timestamp::UNIX_EPOCH,
        totals: AttemptTotals::default(),
        in_flight_at_most: None,
    });
    let progress = Report::Progress(Progress::of_attempts("w".parse().unwrap(), lines.to_vec()));
    let told = reports.iter().cloned().chain([progress]).collect();
    let publication = Publication { reports: told, jobs, origin: Origin::Nobody };
    let narrow = Narrow::default();
    let metrics = WorkerMetrics::register(&Registry::new()).unwrap();
    publish(&narrow, &metrics, vec![publication]).await;
    let [one, _, three] = reports;
    assert_eq!(*narrow.reports.lock().unwrap(), [one, not_measured(2), three]);
    let taken = narrow.jobs.lock().unwrap();
    let items = taken.iter().map(|job| match job {
        Job::Batch(batch) => batch.sessions.iter().map(|session| session.key.item.0).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    });
    assert_eq!(items.collect::<Vec<_>>(), [[1], [3]]);
}

#[tokio::test]
async fn a_session_that_is_too_large_to_be_handed_over_is_not_measured_and_no_other_goes_on_twice() {
    let ((one, first), (two, large), (three, third)) =
        (handed_over(1, "short"), handed_over(2, "much too long"), handed_over(3, "short"));
    let earlier = ("a".to_owned(), job());
    let publications = vec![
        (ended(4, "short"), Some(earlier.clone())),
        (one.clone(), Some(first.clone())),
        (two, Some(large)),
        (three.clone(), Some(third.clone())),
    ];
    let (taken, again) = squeezed(publications).await;
    assert_eq!(*taken.jobs.lock().unwrap(), [earlier.1, first.1, third.1]);
    assert_eq!(*taken.reports.lock().unwrap(), [ended(4, "short"), one, not_measured(2), three]);
    assert_eq!(again, 0);
}
