//! Publishes what sessions produced, in batches, and acknowledges their jobs only after the broker has confirmed it.

mod publishing;

pub(crate) use publishing::insist_on_progress;

use std::iter::Peekable;

use regatta_backends::{Queue, Receipt};
use regatta_proto::{Job, Report};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::WorkerMetrics;
use crate::attempts::AttemptHere;
use crate::holdings::{HeldHere, JudgedHere};
use crate::running::RunningSession;

/// Most entries published at once.
const BATCH: usize = 512;
/// Bytes of transcripts published at once, beyond which the next entries wait for the next time: all are written before the first is sent.
const BATCH_BYTES: u64 = 16 << 20;
/// Entries that may wait; sessions stop ending when the broker does not keep up.
const WAITING: usize = 4096;

/// A delivery's receipt, counted among those that its consumer must outlive.
pub(crate) struct Held {
    receipt: Receipt,
    counted: TaskTrackerToken,
}

impl Held {
    /// Counts `receipt` among `unsettled` until it is settled.
    pub(crate) fn new(receipt: Receipt, unsettled: &TaskTracker) -> Self {
        Self { receipt, counted: unsettled.token() }
    }

    /// Fires when the job is delivered again, to whomever.
    pub(crate) fn voided(&self) -> CancellationToken {
        self.receipt.voided()
    }

    pub(crate) async fn ack(self) {
        self.receipt.ack().await;
        drop(self.counted);
    }

    pub(crate) async fn ack_all(held: Vec<Self>) {
        let (receipts, counted): (Vec<Receipt>, Vec<TaskTrackerToken>) =
            held.into_iter().map(|held| (held.receipt, held.counted)).unzip();
        Receipt::ack_all(receipts).await;
        drop(counted);
    }

    pub(crate) async fn hand_back(self) {
        self.receipt.hand_back().await;
        drop(self.counted);
    }
}

/// Origin of a publication, which is settled once it is confirmed.
pub(crate) enum Origin {
    /// No job.
    Nobody,
    /// An attempt that has ended, which this process tells of until its publication is settled; with its job, unless others have that.
    Attempt(AttemptHere, Option<Held>),
    /// A batch, which this process tells of until its publication is settled.
    Batch(Held, HeldHere),
    /// Questions for a judge, which this process tells of until their publication is settled.
    Questions(Held, JudgedHere),
    /// A session, which runs until its publication is settled.
    Session(RunningSession),
}

impl Origin {
    /// True if its calls are in a checkpoint as well, so that a job that goes on with it may get lost without them.
    const fn is_kept(&self) -> bool {
        match self {
            Self::Session(_) => true,
            Self::Nobody | Self::Attempt(..) | Self::Batch(..) | Self::Questions(..) => false,
        }
    }

    /// The deliveries to be acknowledged, now that everything they led to is confirmed.
    pub(crate) fn confirmed(self) -> Vec<Held> {
        match self {
            Self::Session(running) => running.confirmed(),
            origin => origin.deliveries(),
        }
    }

    /// The deliveries to be settled.
    pub(crate) fn deliveries(self) -> Vec<Held> {
        match self {
            Self::Nobody => Vec::new(),
            Self::Attempt(attempt, held) => {
                drop(attempt);
                held.into_iter().collect()
            }
            Self::Batch(held, batch) => {
                drop(batch);
                vec![held]
            }
            Self::Questions(held, judged_here) => {
                drop(judged_here);
                vec![held]
            }
            Self::Session(running) => running.end(),
        }
    }
}

/// Reports and jobs that one job led to, published together.
pub(crate) struct Publication {
    /// Reports for the scorers.
    pub(crate) reports: Vec<Report>,
    /// Jobs for any worker: continuations and batches, each with the queue that it is published to.
    pub(crate) jobs: Vec<(String, Job)>,
    /// The job's delivery, acknowledged once all the above is confirmed.
    pub(crate) origin: Origin,
}

impl Publication {
    /// True if nothing that was paid for is in `job` alone. It is sent once then: should it be lost, its session goes on all the same, and a copy
    /// would be run beside the first.
    fn is_kept(&self, job: &Job) -> bool {
        match job {
            Job::Session(session) => self.origin.is_kept() || session.transcript.events.is_empty(),
            // Questions of which nobody tells are asked again.
            Job::Judge(_) => true,
            // Its copies lead to the same calls.
            Job::Batch(_) => false,
        }
    }

    /// Bytes of its transcripts.
    fn bytes(&self) -> u64 {
        let reports = self.reports.iter().map(|report| match report {
            Report::Session(ended) => ended.transcript.bytes(),
            Report::HandedOver { .. }
            | Report::Judge(_)
            | Report::Progress(_)
            | Report::Rejudge { .. }
            | Report::Echo { .. }
            | Report::Tabulate { .. } => 0,
        });
        let jobs = self.jobs.iter().map(|(_, job)| match job {
            Job::Session(session) => session.transcript.bytes(),
            Job::Batch(batch) => batch.sessions.iter().map(|session| session.transcript.bytes()).sum(),
            Job::Judge(_) => 0,
        });
        reports.chain(jobs).sum()
    }
}

/// Publishes what sessions have led to, in batches, and settles their deliveries once the broker has confirmed.
#[derive(Clone)]
pub(crate) struct ConfirmingPublisher(mpsc::Sender<Publication>);

impl ConfirmingPublisher {
    /// Starts the publisher. Its task ends when the last clone is gone and everything is published.
    pub(crate) fn start(queue: Queue, metrics: WorkerMetrics) -> (Self, tokio::task::JoinHandle<()>) {
        let (sender, mut receiver) = mpsc::channel(WAITING);
        let publishing = tokio::spawn(async move {
            let mut batch = Vec::new();
            while receiver.recv_many(&mut batch, BATCH).await > 0 {
                let mut waiting = std::mem::take(&mut batch).into_iter().peekable();
                while waiting.peek().is_some() {
                    publishing::publish(&queue, &metrics, light(&mut waiting)).await;
                }
            }
        });
        (Self(sender), publishing)
    }

    /// Leaves a publication. Waits while too many are waiting.
    pub(crate) async fn leave(&self, publication: Publication) {
        // The publisher only ends after every sender is gone, so this fails only if it panicked; the job is then delivered again.
        if self.0.send(publication).await.is_err() {
            tracing::error!("the publisher of reports is gone; the job will be delivered again");
        }
    }
}

/// The next entries that are published at once, at least one.
fn light(waiting: &mut Peekable<impl Iterator<Item = Publication>>) -> Vec<Publication> {
    let mut bytes = 0;
    let mut batch: Vec<Publication> = waiting.next().into_iter().collect();
    bytes += batch.iter().map(Publication::bytes).sum::<u64>();
    while let Some(next) = waiting.next_if(|next| bytes + next.bytes() <= BATCH_BYTES) {
        bytes += next.bytes();
        batch.push(next);
    }
    batch
}

#[cfg(test)]
mod tests {
    use futures::future::BoxFuture;
    use prometheus::Registry;
    use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
    use std::sync::{Arc, Mutex};

    use regatta_backends::QueueError;
    use regatta_backends::faults::{Fate, Trouble, Troubles};
    use regatta_proto::{
        Attempt, AttemptId, AttemptTotals, BatchJob, Cause, CellIndex, Digest, Event, HeldBatch, ItemIndex,
        OpenAttempt, Outcome, Progress, Reply, SessionJob, SessionKey, SessionOutcome, Transcript,
    };

    use super::*;
    use crate::holdings::Holdings;
    use crate::running::Running;

    use publishing::{Publishing, publish};

    const JOBS: &str = "jobs.test";

    fn job() -> Job {
        let key = SessionKey { sweep: "s".parse().unwrap(), cell: CellIndex(0), item: ItemIndex(0) };
        Job::Session(Box::new(SessionJob {
            key,
            lock: Digest::of(b""),
            attempt: 1,
            generation: 0,
            transcript: Transcript::default(),
        }))
    }

    fn held_here() -> HeldHere {
        Holdings::default().hold(HeldBatch { sweep: "s".parse().unwrap(), id: "0a1b".to_owned(), generation: 0 })
    }

    fn report() -> Report {
        Report::Tabulate { sweep: "s".parse().unwrap(), lock: Digest::of(b""), generation: None }
    }

    /// Takes the one job of `jobs`, leaves a report about it to be published in `reports`, and waits until all is settled.
    async fn report_by_way_of(reports: &Queue, jobs: &Queue) -> WorkerMetrics {
        let mut consumer = jobs.consume_jobs(JOBS, 1).await.unwrap();
        let unsettled = TaskTracker::new();
        let held = Held::new(consumer.next().await.unwrap().receipt, &unsettled);
        consumer.stop();
        let metrics = WorkerMetrics::register(&Registry::new()).unwrap();
        let (publisher, publishing) = ConfirmingPublisher::start(reports.clone(), metrics.clone());
        publisher
            .leave(Publication { reports: vec![report()], jobs: Vec::new(), origin: Origin::Batch(held, held_here()) })
            .await;
        drop(publisher);
        publishing.await.unwrap();
        unsettled.close();
        unsettled.wait().await;
        metrics
    }

    #[tokio::test]
    async fn a_job_is_acknowledged_when_its_report_is_published() {
        let queue = Queue::memory();
        queue.declare_jobs(JOBS).await.unwrap();
        queue.publish_jobs(JOBS, vec![job()]).await.unwrap();
        let metrics = report_by_way_of(&queue, &queue).await;
        assert_eq!((queue.depth(JOBS).await.unwrap(), metrics.reports_lost.get()), (0, 0));
        assert_eq!(queue.consume_reports(1).await.unwrap().next().await.unwrap().message, report());
    }

    #[test]
    fn long_transcripts_are_published_a_few_at_a_time_and_short_ones_together() {
        let publication =
            |text: &str| Publication { reports: vec![ended(0, text)], jobs: Vec::new(), origin: Origin::Nobody };
        let (long, third) = ("x".repeat(BATCH_BYTES as usize + 1), "x".repeat(BATCH_BYTES as usize / 3));
        let texts = ["short", "short", &long, "short", &third, &third, &third];
        let mut waiting = texts.into_iter().map(publication).peekable();
        let mut counts = Vec::new();
        while waiting.peek().is_some() {
            counts.push(light(&mut waiting).len());
        }
        assert_eq!(counts, [2, 1, 3, 1]);
    }

    #[tokio::test]
    async fn a_job_whose_report_cannot_be_published_is_handed_back() {
        let (jobs, closed) = (Queue::memory(), Queue::memory());
        closed.close();
        jobs.declare_jobs(JOBS).await.unwrap();
        jobs.publish_jobs(JOBS, vec![job()]).await.unwrap();
        let metrics = report_by_way_of(&closed, &jobs).await;
        assert_eq!(metrics.reports_lost.get(), 1);
        let again = jobs.consume_jobs(JOBS, 1).await.unwrap().next().await.unwrap();
        assert_eq!((again.message, again.redeliveries), (job(), 1));
    }

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

        async fn reports(&self, reports: Vec<Report>) -> Result<(), QueueError> {
            for report in &reports {
                if let Report::Session(ended) = report {
                    fits(&[&ended.transcript])?;
                }
            }
            self.is_away()?;
            self.reports.lock().unwrap().extend(reports);
            Ok(())
        }
    }

    fn key(item: u32) -> SessionKey {
        SessionKey { sweep: "s".parse().unwrap(), cell: CellIndex(0), item: ItemIndex(item) }
    }

    fn attempt(item: u32) -> Attempt {
        let at = jiff::Timestamp::UNIX_EPOCH;
        let id = format!("w-{item}").parse().unwrap();
        Attempt { id, number: 1, worker: "w".parse().unwrap(), started_at: at, ended_at: at }
    }

    fn transcript(text: &str) -> Transcript {
        Transcript { events: vec![Event::Recorded(Reply::said(text))] }
    }

    fn ended(item: u32, text: &str) -> Report {
        let (key, attempt) = (key(item), attempt(item));
        let (lock, outcome) = (Digest::of(b""), Outcome::Measured);
        Report::Session(Box::new(SessionOutcome { key, lock, attempt, outcome, transcript: transcript(text) }))
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

    fn handed_over(item: u32, text: &str) -> (Report, (String, Job)) {
        let totals = AttemptTotals::default();
        let report = Report::HandedOver { key: key(item), attempt: attempt(item), totals, taken_over: false };
        let job = SessionJob {
            key: key(item),
            lock: Digest::of(b""),
            attempt: 2,
            generation: 0,
            transcript: transcript(text),
        };
        (report, ("next".to_owned(), Job::Session(Box::new(job))))
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

    /// A connection on which the confirmation of one call is lost, after so many others.
    struct Unconfirmed(AtomicI32);

    impl Fate for Unconfirmed {
        fn after(&self) -> BoxFuture<'_, Result<(), Trouble>> {
            let is_it = self.0.fetch_sub(1, Ordering::Relaxed) == 0;
            Box::pin(std::future::ready(if is_it { Err(Trouble) } else { Ok(()) }))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_job_of_a_session_that_is_handed_over_is_published_once_whichever_confirmation_is_lost() {
        // That of the job, and that of the report after it.
        for others in [0, 1] {
            let queue = Queue::memory();
            queue.declare_jobs("next").await.unwrap();
            let metrics = WorkerMetrics::register(&Registry::new()).unwrap();
            let (report, next) = handed_over(1, "short");
            let origin = Origin::Session(running(&queue, &next).await);
            let publication = Publication { reports: vec![report.clone()], jobs: vec![next], origin };
            let troubled = queue.troubled(Troubles::new(Arc::new(Unconfirmed(AtomicI32::new(others)))));
            publish(&troubled, &metrics, vec![publication]).await;
            assert_eq!(queue.depth("next").await.unwrap(), 1, "after {others} calls");
            assert_eq!(queue.consume_reports(1).await.unwrap().next().await.unwrap().message, report);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_batch_is_published_until_it_is_confirmed_as_no_checkpoint_has_what_its_sessions_have_paid_for() {
        assert_eq!(copies(batch(&["short", "short"])).await, 2, "the first may not have arrived");
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_that_has_asked_nothing_and_is_sent_on_is_published_once() {
        assert_eq!(copies(job()).await, 1);
    }

    /// Messages that the queue has of `job` when the confirmation of the first is lost.
    async fn copies(job: Job) -> u64 {
        let queue = Queue::memory();
        queue.declare_jobs("next").await.unwrap();
        let metrics = WorkerMetrics::register(&Registry::new()).unwrap();
        let jobs = vec![("next".to_owned(), job)];
        let publication = Publication { reports: Vec::new(), jobs, origin: Origin::Nobody };
        let troubled = queue.troubled(Troubles::new(Arc::new(Unconfirmed(AtomicI32::new(0)))));
        publish(&troubled, &metrics, vec![publication]).await;
        queue.depth("next").await.unwrap()
    }

    /// The intent of a batch of sessions that have said these texts.
    fn batch(texts: &[&str]) -> Job {
        let session = |(item, text): (u32, &&str)| SessionJob {
            key: key(item),
            lock: Digest::of(b""),
            attempt: 2,
            generation: 0,
            transcript: transcript(text),
        };
        Job::Batch(Box::new(BatchJob {
            sweep: "s".parse().unwrap(),
            lock: Digest::of(b""),
            model: "a/m".parse().unwrap(),
            id: "0a1b".to_owned(),
            provider_id: None,
            intended_at: jiff::Timestamp::UNIX_EPOCH,
            since: None,
            sessions: (1..).zip(texts).map(session).collect(),
        }))
    }

    /// The session of `job` runs here: its job was delivered from a queue of its own.
    async fn running(queue: &Queue, (_, job): &(String, Job)) -> RunningSession {
        let Job::Session(session) = job else { panic!("it is a session's") };
        queue.declare_jobs("first").await.unwrap();
        queue.publish_jobs("first", vec![job.clone()]).await.unwrap();
        let delivery = queue.consume_jobs("first", 1).await.unwrap().next().await.unwrap();
        let held = Held::new(delivery.receipt, &TaskTracker::new());
        Running::default().begin(&session.key, 1, held).await.expect("it runs nowhere else")
    }

    #[tokio::test]
    async fn a_session_whose_report_is_too_large_is_not_measured_and_no_other_is_repeated() {
        let publications =
            vec![(ended(1, "short"), None), (ended(2, "much too long"), None), (ended(3, "short"), None)];
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
    async fn a_batch_that_is_too_large_for_a_message_is_cut_in_halves_and_a_session_too_large_for_any_is_not_measured()
    {
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
}
