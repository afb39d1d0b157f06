//! A scorer over a ledger in a file, queues in memory and blobs in a folder. The tests play workers and judges.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use prometheus::Registry;
use regatta_backends::faults::{Fate, Troubles};
use regatta_backends::{
    AttemptRow, Blobs, CellProgress, Consuming, Ledger, Queue, SessionRow, StoreHealth, TranscriptRef,
};
use regatta_benchmarks::{NoVerdicts, Persona, Scoring, Step};
use regatta_catalog::{Catalog, Sweep, store_dataset};
use regatta_proto::{
    AskedQuestion, Attempt, BenchmarkLock, Call, CellIndex, ChatRequest, CostSum, Digest, EndpointKind, EndpointSpec,
    Evaluator, Event, Finish, ItemIndex, Job, Judge, JudgeJob, JudgeOutcome, ManualClock, ModelRef, ModelSpec, Money,
    Outcome, Question, Reply, Report, Role, Served, SessionKey, SessionOutcome, SessionSeed, SweepLock, SweepState,
    Transcript, Usage, Verdict,
};
use regatta_scorer::{Scorer, ScorerConfig, ScorerError, ScorerMetrics};
use regatta_stage::{Folder, benchmark_lock, miniature, new_sweep, queue_of, take_jobs, transition};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) use regatta_stage::BENCHMARKS;

/// Real time after which a test that waits has failed.
const PATIENCE: Duration = Duration::from_secs(60);
/// Cost of every call.
pub(crate) const CALL: Money = Money(1000);
/// Items of each of the two cells.
pub(crate) const ITEMS: usize = 6;

/// A sweep of two trials of one model over six items.
pub(crate) struct Stage {
    folder: Folder,
    pub(crate) ledger: Ledger,
    pub(crate) queue: Queue,
    pub(crate) sweep: Arc<Sweep>,
    /// Catalog that all scorers share; `None` where each scorer loads sweeps itself.
    pub(crate) catalog: Option<Catalog>,
    /// Time of the scorers that begin from now on.
    pub(crate) now: Timestamp,
}

/// Contents of the ledger about a sweep, without the locations of transcripts, which depend on the batches.
#[derive(Debug, PartialEq)]
pub(crate) struct Books {
    pub(crate) progress: Vec<CellProgress>,
    pub(crate) sessions: Vec<Vec<SessionRow>>,
    pub(crate) attempts: Vec<AttemptRow>,
    pub(crate) judging: (Usage, CostSum),
    pub(crate) waiting: usize,
}

impl Stage {
    pub(crate) async fn set() -> Self {
        let folder = Folder::make();
        let sweep = folder.catalog().store(&lock(&folder.blobs()).await).await.unwrap();
        Self::over(folder, sweep, None).await
    }

    /// The same stage with a ledger that answers in no time, so that the (paused) clock moves by what the scorer waits for alone.
    pub(crate) async fn in_memory(self) -> Self {
        let stage = Self { ledger: Ledger::in_memory().unwrap(), ..self };
        stage.enter(&stage.sweep).await;
        stage
    }

    /// A stage for a sweep over a benchmark that no build lists.
    pub(crate) async fn of(sweep: Sweep) -> Self {
        let folder = Folder::make();
        let catalog = folder.catalog();
        let sweep = catalog.keep(sweep);
        Self::over(folder, sweep, Some(catalog)).await
    }

    async fn over(folder: Folder, sweep: Arc<Sweep>, catalog: Option<Catalog>) -> Self {
        let ledger = folder.ledger().await;
        let stage = Self { folder, ledger, queue: Queue::memory(), sweep, catalog, now: Timestamp::UNIX_EPOCH };
        stage.enter(&stage.sweep).await;
        stage
    }

    async fn enter(&self, sweep: &Sweep) {
        self.ledger.create_sweep(new_sweep(sweep, "jobs")).await.unwrap();
        for (name, endpoint) in &sweep.lock.endpoints {
            self.queue.declare_jobs(&endpoint.queue(name, &sweep.id)).await.unwrap();
        }
    }

    /// The same sweep with another seed.
    pub(crate) async fn twin(&self) -> Arc<Sweep> {
        let mut lock = self.sweep.lock.clone();
        lock.seed += 1;
        self.enter_twin(&lock).await
    }

    async fn enter_twin(&self, lock: &SweepLock) -> Arc<Sweep> {
        let twin = self.folder.catalog().store(lock).await.unwrap();
        self.enter(&twin).await;
        twin
    }

    /// The same sweep with another seed, and with its judge, under the same name, at `address`.
    pub(crate) async fn twin_judged_at(&self, address: &str, seed: u64) -> Arc<Sweep> {
        let mut lock = SweepLock { seed, ..self.sweep.lock.clone() };
        let judge = lock.endpoints.get_mut(&judge().endpoint).unwrap();
        *judge = EndpointSpec { base_url: Some(address.to_owned()), ..EndpointSpec::of_kind(EndpointKind::Openai) };
        self.enter_twin(&lock).await
    }

    /// The ledger refuses the sessions of this item from now on.
    pub(crate) fn refuse_rows_of(&self, item: ItemIndex) {
        self.folder.run_sql(&format!(
            "CREATE TRIGGER refusing BEFORE INSERT ON sessions WHEN NEW.item = {item} \
             BEGIN SELECT RAISE(ABORT, 'not this one'); END"
        ));
    }

    pub(crate) fn blob_folder(&self) -> std::path::PathBuf {
        self.folder.blob_folder()
    }

    pub(crate) fn blobs(&self) -> Blobs {
        self.folder.blobs()
    }

    pub(crate) fn judge_queue(&self) -> String {
        queue_of(&self.sweep)
    }

    /// A scorer that takes up to `batch` reports at once, and its metrics.
    pub(crate) fn scorer(&self, batch: usize) -> (Scorer, ScorerMetrics) {
        self.scorer_with(ScorerConfig { batch, linger: Duration::ZERO, ..ScorerConfig::default() })
    }

    pub(crate) fn scorer_with(&self, config: ScorerConfig) -> (Scorer, ScorerMetrics) {
        self.scorer_on(self.queue.clone(), config)
    }

    fn scorer_on(&self, queue: Queue, config: ScorerConfig) -> (Scorer, ScorerMetrics) {
        let metrics = ScorerMetrics::register(&Registry::new()).unwrap();
        let scorer = Scorer::new(
            config,
            self.ledger.clone(),
            queue,
            self.catalog.clone().unwrap_or_else(|| self.folder.catalog()),
            Arc::new(ManualClock::at(self.now)),
            metrics.clone(),
        );
        (scorer, metrics)
    }

    /// A scorer that has been at work for a second, whose broker suffers `fate`, and its metrics.
    pub(crate) async fn scorer_of_a_broker(&self, fate: Arc<dyn Fate>) -> (Running, ScorerMetrics) {
        let queue = self.queue.troubled(Troubles::new(fate));
        let config = ScorerConfig { batch: 100, linger: Duration::ZERO, ..ScorerConfig::default() };
        let (scorer, metrics) = self.scorer_on(queue, config);
        let running = Running::of(scorer);
        tokio::time::sleep(Duration::from_secs(1)).await;
        (running, metrics)
    }

    /// A scorer of several at work, whose ledger and blobs suffer these fates.
    pub(crate) async fn scorer_of_stores(&self, ledger: Arc<dyn Fate>, blobs: Arc<dyn Fate>) -> Running {
        let objects = Blobs::memory();
        Catalog::new(objects.clone(), BENCHMARKS).store(&lock(&objects).await).await.unwrap();
        let scorer = Scorer::new(
            ScorerConfig { batch: 100, linger: Duration::ZERO, ..ScorerConfig::default() },
            self.ledger.troubled(Troubles::new(ledger)),
            self.queue.clone(),
            Catalog::new(objects.troubled(Troubles::new(blobs)), BENCHMARKS),
            Arc::new(ManualClock::at(Timestamp::UNIX_EPOCH)),
            ScorerMetrics::register(&Registry::new()).unwrap(),
        );
        let before = self.queue.report_consumers().await.unwrap();
        let running = Running::of(scorer);
        until(async || self.queue.report_consumers().await.unwrap() > before).await;
        running
    }

    /// A scorer lives for as long as there are reports, `batch` at once.
    pub(crate) async fn score_in_batches(&self, reports: Vec<Report>, batch: usize) -> ScorerMetrics {
        let (scorer, metrics) = self.scorer(batch);
        self.queue.publish_reports(reports).await.unwrap();
        let stop = CancellationToken::new();
        stop.cancel();
        scorer.run(stop).await.unwrap();
        metrics
    }

    pub(crate) async fn score(&self, reports: Vec<Report>) -> ScorerMetrics {
        self.score_in_batches(reports, 512).await
    }

    pub(crate) fn key(&self, cell: u32, item: usize) -> SessionKey {
        let items = self.sweep.selected(&self.sweep.cells()[cell as usize]);
        SessionKey { sweep: self.sweep.id.clone(), cell: CellIndex(cell), item: items[item] }
    }

    /// The measured first attempt at a session. Replies differ between items and agree between trials, and so do questions.
    pub(crate) fn session(&self, cell: u32, item: usize) -> SessionOutcome {
        self.session_of(&self.sweep, cell, item)
    }

    pub(crate) fn session_of(&self, sweep: &Sweep, cell: u32, item: usize) -> SessionOutcome {
        let key = SessionKey { sweep: sweep.id.clone(), ..self.key(cell, item) };
        let cell = sweep.cell(key.cell).unwrap();
        let suite = sweep.suite(cell).unwrap();
        let Step::Ask(role, request) = suite.next(key.item, &cell.setting, &Transcript::default()) else { panic!() };
        let seed = SessionSeed(item as u64);
        let reply = suite.simulate(key.item, &cell.setting, role, Persona::Noisy(0.6), seed, &request);
        let transcript = Transcript { events: vec![call(&cell.model, 1, &reply.text.unwrap_or_default())] };
        SessionOutcome { attempt: attempt(&key, 1), key, lock: sweep.digest, outcome: Outcome::Measured, transcript }
    }

    /// The same session by another attempt.
    pub(crate) fn again(&self, session: &SessionOutcome, number: u32) -> SessionOutcome {
        let mut again = session.clone();
        again.attempt = attempt(&session.key, number);
        for event in &mut again.transcript.events {
            if let Event::Call(call) = event {
                call.attempt = number;
            }
        }
        again
    }

    /// Questions that must be answered to score `session`.
    pub(crate) fn questions(&self, session: &SessionOutcome) -> Vec<AskedQuestion> {
        let suite = self.sweep.suite(&self.sweep.cells()[0]).unwrap();
        let evaluators = [Evaluator::Official, Evaluator::Paper];
        match suite.score(session.key.item, &evaluators, &session.transcript, &NoVerdicts) {
            Scoring::Scored(_) | Scoring::Unfit(_) | Scoring::Failed(_) => Vec::new(),
            Scoring::Needs(questions) => {
                questions.into_iter().map(|question| AskedQuestion { digest: question.digest(), question }).collect()
            }
        }
    }

    /// A judge's report about `questions`: verdicts, or that it has none.
    pub(crate) fn judged(&self, name: &str, questions: &[AskedQuestion], answers: bool) -> JudgeOutcome {
        self.judged_in(&self.sweep, name, questions, answers)
    }

    /// The same on behalf of `sweep`.
    pub(crate) fn judged_in(
        &self,
        sweep: &Sweep,
        name: &str,
        questions: &[AskedQuestion],
        answers: bool,
    ) -> JudgeOutcome {
        let verdicts = questions.iter().filter(|_| answers).map(|asked| (asked.digest, verdict(&asked.question)));
        let unanswered = questions.iter().filter(|_| !answers).map(|asked| (asked.clone(), "away".to_owned()));
        JudgeOutcome {
            sweep: sweep.id.clone(),
            lock: sweep.digest,
            judge: judge(),
            served: "judge".to_owned(),
            verdicts: verdicts.collect(),
            unanswered: unanswered.collect(),
            attempt: name.parse().unwrap(),
            usage: Usage { input: 7, ..Usage::default() },
            cost: CostSum { known: CALL, unknown_calls: 0 },
        }
    }

    /// Questions that were sent to judges since the last look, in the order of their sending.
    pub(crate) async fn asked(&self) -> Vec<AskedQuestion> {
        self.judge_jobs(&self.sweep).await.into_iter().flat_map(|job| job.questions).collect()
    }

    /// Jobs that were sent to the judge of `sweep` since the last look, in the order of their sending.
    pub(crate) async fn judge_jobs(&self, sweep: &Sweep) -> Vec<JudgeJob> {
        let queue = queue_of(sweep);
        let waiting = self.queue.depth(&queue).await.unwrap();
        let jobs = take_jobs(&self.queue, &queue, waiting as usize).await.into_iter().map(|(job, _)| match job {
            Job::Judge(job) => job,
            other => panic!("scorers run no sessions: {other:?}"),
        });
        jobs.collect()
    }

    pub(crate) async fn books(&self) -> Books {
        let sweep = &self.sweep.id;
        let mut sessions = Vec::new();
        for cell in self.sweep.cells() {
            let mut rows = self.ledger.sessions(sweep, cell.index).await.unwrap();
            for row in &mut rows {
                row.transcript = TranscriptRef { segment: String::new(), line: 0 };
            }
            sessions.push(rows);
        }
        let mut attempts = self.ledger.attempts(sweep).await.unwrap();
        for attempt in &mut attempts {
            attempt.transcript = None;
        }
        Books {
            progress: self.ledger.cell_progress(sweep).await.unwrap(),
            sessions,
            attempts,
            judging: self.ledger.judge_costs(sweep).await.unwrap(),
            waiting: self.ledger.awaiting_after(sweep, None, u32::MAX).await.unwrap().len(),
        }
    }

    /// Moves the sweep, by way of `tabulating` where it has to go there.
    pub(crate) async fn transition(&self, from: SweepState, to: SweepState) {
        assert!(transition(&self.ledger, &self.sweep.id, from, to, Timestamp::UNIX_EPOCH).await);
    }

    pub(crate) async fn state(&self) -> SweepState {
        regatta_stage::state(&self.ledger, &self.sweep.id).await
    }

    pub(crate) fn tabulate(&self) -> Report {
        Report::Tabulate { sweep: self.sweep.id.clone(), lock: self.sweep.digest, generation: None }
    }
}

impl Books {
    /// Sum of a count over the cells.
    pub(crate) fn total(&self, count: impl Fn(&CellProgress) -> u64) -> u64 {
        self.progress.iter().map(count).sum()
    }

    /// Outcomes of the settled sessions.
    pub(crate) fn outcomes(&self) -> Vec<Outcome> {
        self.sessions.iter().flatten().map(|row| row.outcome.clone()).collect()
    }
}

/// A scorer at work.
pub(crate) struct Running {
    pub(crate) health: StoreHealth,
    pub(crate) consuming: Consuming,
    stop: CancellationToken,
    task: JoinHandle<Result<(), ScorerError>>,
}

impl Running {
    pub(crate) fn of(scorer: Scorer) -> Self {
        let (stop, health, consuming) = (CancellationToken::new(), scorer.health(), scorer.consuming());
        let task = tokio::spawn({
            let stop = stop.clone();
            async move { scorer.run(stop).await }
        });
        Self { health, consuming, stop, task }
    }

    pub(crate) async fn end(self) {
        self.stop.cancel();
        self.task.await.unwrap().unwrap();
    }
}

/// Waits until `holds`, whatever the (paused) clock says.
pub(crate) async fn until(holds: impl AsyncFn() -> bool) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < PATIENCE, "it does not happen");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub(crate) fn report(session: &SessionOutcome) -> Report {
    Report::Session(Box::new(session.clone()))
}

pub(crate) fn judge() -> ModelRef {
    "sim/lexical".parse().unwrap()
}

pub(crate) fn attempt(key: &SessionKey, number: u32) -> Attempt {
    regatta_stage::attempt(&format!("w-{}-{}-{}-{number}", key.sweep, key.cell, key.item), number)
}

pub(crate) fn call(model: &ModelRef, attempt: u32, text: &str) -> Event {
    Event::Call(Box::new(Call {
        role: Role::Agent,
        attempt,
        model: model.clone(),
        request: ChatRequest::default(),
        reply: Reply::of_text(Some(text), Finish::Stop),
        tries: Vec::new(),
        usage: Usage { input: 10, output: 5, ..Usage::default() },
        raw_usage: None,
        cost: Some(CALL),
        served: Served::default(),
        latency_us: 3,
        reported_cost: None,
        first_token_us: None,
        waited_us: 0,
        at: None,
        lane: regatta_proto::Lane::Live,
        from_cache: false,
        saved: None,
    }))
}

/// Texts with the same first letter are quite alike.
fn verdict(question: &Question) -> Verdict {
    let Question::Similarity { left, right } = question else { panic!("not a question of this benchmark") };
    let alike = |a: &String, b: &String| if a.chars().next() == b.chars().next() { 800_000 } else { 100_000 };
    Verdict::Similarity { micro: left.iter().map(|a| right.iter().map(|b| alike(a, b)).collect()).collect() }
}

async fn lock(blobs: &Blobs) -> SweepLock {
    let dataset = store_dataset(blobs, &miniature()).await.unwrap();
    let benchmark = BenchmarkLock {
        tasks: vec!["lumos".to_owned()],
        limit: Some(ITEMS as u32),
        evaluators: vec![Evaluator::Official, Evaluator::Paper],
        judge: Some(Judge::Plain(judge())),
        ..benchmark_lock(dataset, "zero-shot", ITEMS as u32)
    };
    let models = vec![ModelSpec::from("sim/noisy-0.6".parse::<ModelRef>().unwrap())];
    let endpoints = BTreeMap::from([("sim".parse().unwrap(), EndpointSpec::of_kind(EndpointKind::Simulated))]);
    SweepLock { trials: 2, ..regatta_stage::lock("worfbench", benchmark, models, endpoints) }
}

/// A digest of nothing that exists.
pub(crate) fn nowhere() -> Digest {
    Digest::of(b"nowhere")
}
