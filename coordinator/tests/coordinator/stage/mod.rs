//! A coordinator over a ledger in a file, queues in memory and blobs in a folder. The tests play its workers and its scorers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use jiff::{SignedDuration, Timestamp};
use prometheus::Registry;
use regatta_backends::ledger::ToldBy;
use regatta_backends::{Blobs, Held, Ledger, OpenQuestion, Permits, Queue, RecordState, SessionRecord};
use regatta_catalog::{Catalog, Sweep, store_dataset, write_segment};
use regatta_coordinator::{
    Coordinator, CoordinatorConfig, CoordinatorMetrics, PriceBook, Quotas, Scheduling, Submission,
};
use regatta_proto::{
    Attempt, AttemptId, AttemptTotals, Cause, Control, CostSum, HeldBatch, ManualClock, Money, OpenAttempt, Outcome,
    PriceSource, Report, SessionJob, SessionOutcome, SweepId, SweepState, Transcript, parse_spec,
};
use regatta_stage::{Folder, miniature, session_of, take_jobs, transition};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::recovering::question;

pub(crate) use regatta_stage::{BENCHMARKS, queue_of, within};

/// The four seams, which outlive coordinators.
pub(crate) struct Stage {
    folder: Folder,
    pub(crate) ledger: Ledger,
    pub(crate) queue: Queue,
    pub(crate) permits: Permits,
    pub(crate) config: CoordinatorConfig,
    /// Reports that were taken and that no test has asked for yet.
    unread: Mutex<VecDeque<Report>>,
    /// True if a scorer answers the coordinator's questions.
    pub(crate) has_scorer: bool,
    /// Clock of all coordinators; stands at 1970 unless a test moves it.
    pub(crate) clock: Arc<ManualClock>,
    /// Gate and messenger of schedules, where there are any.
    pub(crate) scheduling: Option<Scheduling>,
    /// Blob store in memory; `None` for a folder.
    pub(crate) in_memory: Option<Blobs>,
}

/// A coordinator's process.
pub(crate) struct Process {
    pub(crate) coordinator: Arc<Coordinator>,
    pub(crate) metrics: CoordinatorMetrics,
    stop: CancellationToken,
    running: Option<JoinHandle<()>>,
}

/// A spec of `sessions` per trial at one endpoint, whose every call costs at most a dollar.
pub(crate) fn spec(name: &str, sessions: u32, more: &str) -> String {
    format!(
        "name: {name}
benchmarks:
  worfbench: {{ limit: 'first:{sessions}', tasks: [lumos, wikihow], judge: sim/lexical, judge_price: {{ input_per_mtok: 0, output_per_mtok: 0 }} }}
endpoints:
  sim: {{ kind: openai, base_url: 'http://127.0.0.1:9/v1', identify_sessions: true, limits: {{ concurrency: 2 }} }}
models:
  - id: sim/oracle
    max_tokens: 1000
    price: {{ input_per_mtok: 0, output_per_mtok: 1000 }}
{more}"
    )
}

impl Stage {
    /// A coordinator looks at the ledger all the time, and tells everybody each time, so that its rounds can be counted.
    pub(crate) async fn set() -> Self {
        let folder = Folder::make();
        let ledger = folder.ledger().await;
        let config = CoordinatorConfig {
            tick: Duration::from_millis(1),
            rebroadcast: Duration::ZERO,
            // Workers of these tests die as soon as they have told of a session, unless a test says otherwise.
            running_within: Duration::ZERO,
            keep_unused: Some(SignedDuration::from_hours(24)),
            ..CoordinatorConfig::default()
        };
        let (queue, permits, unread) = (Queue::memory(), Permits::memory(), Mutex::default());
        let clock = Arc::new(ManualClock::at(Timestamp::UNIX_EPOCH));
        Self {
            folder,
            ledger,
            queue,
            permits,
            config,
            unread,
            has_scorer: true,
            clock,
            scheduling: None,
            in_memory: None,
        }
    }

    pub(crate) fn blobs(&self) -> Blobs {
        self.in_memory.clone().unwrap_or_else(|| self.folder.blobs())
    }

    pub(crate) fn blob_folder(&self) -> std::path::PathBuf {
        self.folder.blob_folder()
    }

    pub(crate) fn clock_now(&self) -> Timestamp {
        regatta_proto::Clock::now(&*self.clock)
    }

    /// Files of the ledger.
    pub(crate) fn ledger_files(&self) -> Vec<std::path::PathBuf> {
        let files = std::fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let found: Vec<_> = files.filter(|path| path.to_string_lossy().contains("ledger.sqlite")).collect();
        assert!(!found.is_empty(), "there is a ledger");
        found
    }

    /// Does to the ledger what no call of it does.
    pub(crate) fn run_sql(&self, sql: &str) {
        self.folder.run_sql(sql);
    }

    /// A coordinator that has just been started and is not working yet.
    pub(crate) fn process(&self) -> Process {
        self.process_with(Quotas::default())
    }

    /// The same, whose policy limits what owners are granted.
    pub(crate) fn process_with(&self, quotas: Quotas) -> Process {
        let metrics = CoordinatorMetrics::register(&Registry::new()).unwrap();
        let coordinator = Arc::new(self.coordinator(metrics.clone()).with_quotas(quotas));
        Process { coordinator, metrics, stop: CancellationToken::new(), running: None }
    }

    fn coordinator(&self, metrics: CoordinatorMetrics) -> Coordinator {
        let prices: Arc<PriceBook> = Arc::new(|_, model| match &model.price {
            Some(price) => (Some(price.clone()), PriceSource::Spec),
            None => (None, PriceSource::Unknown),
        });
        let coordinator = Coordinator::new(
            self.config.clone(),
            self.ledger.clone(),
            self.queue.clone(),
            self.permits.clone(),
            Catalog::new(self.blobs(), BENCHMARKS),
            self.clock.clone(),
            metrics,
            prices,
        );
        match &self.scheduling {
            Some(scheduling) => coordinator.with_scheduling(scheduling.clone()),
            None => coordinator,
        }
    }

    /// A coordinator at work.
    pub(crate) fn start(&self) -> Process {
        let mut process = self.process();
        process.work();
        process
    }

    /// `spec` with the miniature of WorFBench, uploaded.
    pub(crate) async fn submission(&self, spec: &str) -> Submission {
        let files = miniature();
        store_dataset(&self.blobs(), &files).await.unwrap();
        let spec = parse_spec(spec, &|_| None).unwrap();
        let data = BTreeMap::from([("worfbench".parse().unwrap(), files.snapshot())]);
        Submission { spec, data, recorded: BTreeMap::new() }
    }

    /// Plans `spec` and enters it.
    pub(crate) async fn submit(&self, process: &Process, spec: &str) -> Arc<Sweep> {
        let sweep = process.coordinator.plan(self.submission(spec).await).await.unwrap();
        assert!(process.coordinator.enter(&sweep).await.unwrap().created);
        sweep
    }

    /// Waits until the coordinator has looked at everything once more.
    pub(crate) async fn round(&self) {
        self.answer_echoes().await;
        let mut controls = self.queue.listen().await.unwrap();
        // The newest one was sent before; the next may belong to a round that has begun already.
        for _ in 0..4 {
            within(controls.next()).await.expect("the queue is open");
        }
    }

    /// The control message that the coordinator broadcasts now.
    pub(crate) async fn told(&self) -> Control {
        self.round().await;
        within(self.queue.listen().await.unwrap().next()).await.expect("the queue is open")
    }

    /// Jobs that nobody has taken.
    pub(crate) async fn waiting(&self, sweep: &Sweep) -> u64 {
        self.queue.declare_jobs(&queue_of(sweep)).await.unwrap();
        self.queue.depth(&queue_of(sweep)).await.unwrap()
    }

    /// Waits until exactly `count` jobs wait.
    pub(crate) async fn until_waiting(&self, sweep: &Sweep, count: u64) {
        self.until(async || self.waiting(sweep).await == count).await;
    }

    /// Waits, round after round, until `holds`.
    pub(crate) async fn until(&self, holds: impl AsyncFn() -> bool) {
        within(async {
            while !holds().await {
                self.round().await;
            }
        })
        .await;
    }

    /// Takes the next `count` jobs, as workers do.
    pub(crate) async fn take(&self, sweep: &Sweep, count: usize) -> Vec<SessionJob> {
        let jobs = take_jobs(&self.queue, &queue_of(sweep), count).await;
        jobs.into_iter().map(|(job, _)| session_of(job)).collect()
    }

    /// Records that a budget ended the session of `job` after one answered call, and returns its transcript.
    pub(crate) async fn finish_out_of_budget(&self, sweep: &Sweep, job: &SessionJob) -> Transcript {
        let transcript = Transcript::of_recorded(Some("the first answer"));
        let outcome = Outcome::NotMeasured { cause: Cause::Budget };
        let state = RecordState::Settled { scores: serde_json::Value::Null };
        let record = record(sweep, job, Money(7), state);
        let told = SessionOutcome {
            key: job.key.clone(),
            lock: sweep.digest,
            attempt: record.attempt.clone(),
            outcome: outcome.clone(),
            transcript: transcript.clone(),
        };
        let written = write_segment(&self.blobs(), &sweep.id, &[(&record.item_id, &told)]).await.unwrap();
        let record = SessionRecord { outcome, transcript: written[0].clone(), ..record };
        self.ledger.record(vec![record]).await.unwrap();
        transcript
    }

    /// Records the result of each job, as a scorer does; each costs `cost`.
    pub(crate) async fn finish(&self, sweep: &Sweep, jobs: &[SessionJob], cost: Money) {
        let settled = || RecordState::Settled { scores: serde_json::json!({}) };
        self.ledger.record(jobs.iter().map(|job| record(sweep, job, cost, settled())).collect()).await.unwrap();
    }

    /// Records that the endpoint was away in the session of each job.
    pub(crate) async fn fail(&self, sweep: &Sweep, jobs: &[SessionJob]) {
        let outcome = || Outcome::NotMeasured { cause: Cause::EndpointUnavailable };
        let state = || RecordState::Settled { scores: serde_json::Value::Null };
        let failed = |job| SessionRecord { outcome: outcome(), ..record(sweep, job, Money::ZERO, state()) };
        self.ledger.record(jobs.iter().map(failed).collect()).await.unwrap();
    }

    /// A worker says that it is at work on `job`.
    pub(crate) async fn begin(&self, job: &SessionJob) {
        let open = OpenAttempt {
            key: job.key.clone(),
            id: attempt(job).id,
            number: job.attempt,
            started_at: Timestamp::UNIX_EPOCH,
            totals: AttemptTotals::default(),
            in_flight_at_most: None,
        };
        self.ledger.record_progress(vec![(open, "w".parse().unwrap())]).await.unwrap();
    }

    /// A worker that leaves says that it has handed its attempt at `job` over to whoever takes it next.
    pub(crate) async fn hand_over(&self, job: &SessionJob) {
        self.ledger.record_handover(&job.key, attempt(job), AttemptTotals::default(), ToldBy::Itself).await.unwrap();
    }

    /// A worker says that `jobs` are the sessions of the batch `id`, which it holds.
    pub(crate) async fn begin_batch(&self, id: &str, jobs: &[SessionJob]) {
        let open = jobs.iter().enumerate().map(|(position, job)| OpenAttempt {
            key: job.key.clone(),
            id: AttemptId::of_line(id, position).unwrap(),
            number: job.attempt,
            started_at: Timestamp::UNIX_EPOCH,
            totals: AttemptTotals::default(),
            in_flight_at_most: None,
        });
        self.ledger.record_progress(open.map(|open| (open, "w".parse().unwrap())).collect()).await.unwrap();
        self.tell_of_batch(&jobs[0].key.sweep, id).await;
    }

    /// A worker says that it holds the batch `id`.
    pub(crate) async fn tell_of_batch(&self, sweep: &SweepId, id: &str) {
        let batch = HeldBatch { sweep: sweep.clone(), id: id.to_owned(), generation: 0 };
        self.ledger.record_held(BTreeSet::from([Held::Batch(batch)])).await.unwrap();
    }

    /// A worker says that it waits for the answer to the question that sessions of the tests wait for, and names it.
    pub(crate) async fn tell_of_questions(&self, sweep: &Sweep) {
        let (question, judge) = question(sweep);
        let (id, worker) = (sweep.id.clone(), "w".parse().unwrap());
        let questions = Held::Questions { sweep: id.clone(), worker, generation: 0, is_named: true };
        let named = Held::Question(id, OpenQuestion { judge, question });
        self.ledger.record_held(BTreeSet::from([questions, named])).await.unwrap();
    }

    /// A worker of a version that names no questions says that it waits for answers of the sweep's judges.
    pub(crate) async fn tell_of_unnamed_questions(&self, sweep: &SweepId) {
        let worker = "before".parse().unwrap();
        let questions = Held::Questions { sweep: sweep.clone(), worker, generation: 0, is_named: false };
        self.ledger.record_held(BTreeSet::from([questions])).await.unwrap();
    }

    pub(crate) async fn state(&self, sweep: &SweepId) -> SweepState {
        regatta_stage::state(&self.ledger, sweep).await
    }

    /// Ends a sweep that runs, as leader and scorer do one after the other; says whether it ran.
    pub(crate) async fn end(&self, sweep: &SweepId, to: SweepState, at: Timestamp) -> bool {
        transition(&self.ledger, sweep, SweepState::Running, to, at).await
    }

    /// The next report that the coordinator sends to the scorers, but for the questions that they answer at once.
    pub(crate) async fn report(&self) -> Report {
        within(async {
            loop {
                self.answer_echoes().await;
                if let Some(report) = self.unread.lock().await.pop_front() {
                    return report;
                }
                tokio::task::yield_now().await;
            }
        })
        .await
    }

    /// Number of reports to the scorers that no test has looked at, but for the questions that they answer at once.
    pub(crate) async fn reported(&self) -> usize {
        self.answer_echoes().await;
        self.unread.lock().await.len()
    }

    /// Takes all reports that are there and answers the coordinator's questions: what the tests finish is recorded at once.
    pub(crate) async fn answer_echoes(&self) {
        if !self.has_scorer {
            return;
        }
        let mut unread = self.unread.lock().await;
        let mut consumer = self.queue.consume_reports(64).await.unwrap();
        while let Some(delivery) = consumer.next().now_or_never() {
            let delivery = delivery.expect("the queue is open");
            match delivery.message {
                Report::Echo { sweep, number, partition, .. } => {
                    self.ledger.echo(&sweep, number, partition).await.unwrap()
                }
                report => unread.push_back(report),
            }
            delivery.receipt.ack().await;
        }
    }
}

impl Process {
    pub(crate) fn work(&mut self) {
        let (coordinator, stop) = (self.coordinator.clone(), self.stop.clone());
        self.running = Some(tokio::spawn(async move { coordinator.run(BTreeMap::new(), stop).await }));
    }

    pub(crate) async fn end(mut self) {
        self.stop.cancel();
        if let Some(running) = self.running.take() {
            within(running).await.unwrap();
        }
    }
}

pub(crate) fn tabulate(sweep: &Sweep) -> Report {
    Report::Tabulate { sweep: sweep.id.clone(), lock: sweep.digest, generation: Some(0) }
}

pub(crate) fn record(sweep: &Sweep, job: &SessionJob, cost: Money, state: RecordState) -> SessionRecord {
    SessionRecord {
        cost: CostSum { known: cost, unknown_calls: 0 },
        ..regatta_stage::record(sweep, job.key.clone(), attempt(job), state)
    }
}

fn attempt(job: &SessionJob) -> Attempt {
    let SessionJob { key, attempt, .. } = job;
    regatta_stage::attempt(&format!("{}-{}-{}-{attempt}", key.sweep, key.cell, key.item), *attempt)
}
