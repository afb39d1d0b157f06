//! A queue that answers nobody, as one that has no leader, holds up neither the lead nor other queues.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use regatta_backends::faults::{Fate, Trouble, Troubles, Way};
use regatta_backends::{Queue, ShardState};
use regatta_catalog::Sweep;
use regatta_proto::{Money, SessionKey, ShardIndex};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::recovering::{LEASE, all_jobs};
use crate::stage::{Process, Stage, queue_of, spec};
use crate::told::deployed;

/// Longer than several leads last.
const SILENCE: Duration = Duration::from_secs(45);

/// The queues of these names answer nobody.
struct Unanswering {
    silent: watch::Sender<BTreeSet<String>>,
    /// They tell what is in them all the same, as those without a leader may.
    tell: bool,
}

impl Unanswering {
    fn none() -> Arc<Self> {
        Arc::new(Self { silent: watch::Sender::default(), tell: false })
    }

    fn set(&self, queues: impl IntoIterator<Item = String>) {
        self.silent.send_replace(queues.into_iter().collect());
    }
}

impl Fate for Unanswering {
    fn on<'a>(&'a self, way: Way<'a>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let queue = match way {
                Way::Queue(queue) if !self.tell => queue,
                Way::Jobs(queue) => queue,
                Way::Queue(_) | Way::Reports | Way::Progress => return,
            };
            self.silent.subscribe().wait_for(|silent| !silent.contains(queue)).await.unwrap();
        })
    }
}

/// A coordinator at work whose queues go as `fate` says.
fn behind(stage: &mut Stage, fate: &Arc<Unanswering>) -> Process {
    let queue = stage.queue.clone();
    stage.queue = queue.troubled(Troubles::new(fate.clone()));
    let process = stage.start();
    stage.queue = queue;
    process
}

/// Lets `time` pass, in which somebody stands by and asks for the lead all the time.
async fn leads_on_for(stage: &Stage, time: Duration) {
    let (since, rival) = (Instant::now(), "rival".parse().unwrap());
    while since.elapsed() < time {
        tokio::time::sleep(Duration::from_millis(200)).await;
        stage.answer_echoes().await;
        assert_eq!(stage.ledger.lead(&rival, LEASE).await.unwrap(), None, "after {:?}", since.elapsed());
    }
}

/// A sweep of two endpoints, each with its queue.
fn over_two_endpoints(name: &str) -> String {
    spec(name, 6, "")
        .replace(
            "\nmodels:\n",
            "\n  tide: { kind: openai, base_url: 'http://127.0.0.1:9/v1', identify_sessions: true, limits: { concurrency: 2 } }\nmodels:\n",
        )
        .replace(
            "  - id: sim/oracle\n",
            "  - { id: tide/oracle, max_tokens: 1000, price: { input_per_mtok: 0, output_per_mtok: 1000 } }\n  - id: sim/oracle\n",
        )
}

/// Jobs that wait in each queue of `sweep`, by its endpoint.
async fn waiting(queue: &Queue, sweep: &Sweep) -> BTreeMap<String, u64> {
    let mut waiting = BTreeMap::new();
    for (name, endpoint) in &sweep.lock.endpoints {
        let of_endpoint = endpoint.queue(name, &sweep.id);
        queue.declare_jobs(&of_endpoint).await.unwrap();
        waiting.insert(name.to_string(), queue.depth(&of_endpoint).await.unwrap());
    }
    waiting
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_answers_nobody_while_a_sweep_begins_holds_up_no_other_sweep_and_its_own_until_it_answers() {
    let (mut stage, fate) = (deployed().await, Unanswering::none());
    let silent = stage.submit(&stage.process(), &spec("a-silent", 6, "")).await;
    fate.set([queue_of(&silent)]);
    let process = behind(&mut stage, &fate);
    let other = stage.submit(&process, &spec("other", 6, "")).await;
    leads_on_for(&stage, SILENCE).await;
    assert_eq!(stage.waiting(&other).await, all_jobs(&other).len() as u64);
    assert_eq!(stage.waiting(&silent).await, 0);
    fate.set([]);
    stage.until_waiting(&silent, all_jobs(&silent).len() as u64).await;
    process.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_answers_nobody_any_more_holds_up_no_other_sweep_and_nothing_of_it_comes_twice() {
    let (mut stage, fate) = (deployed().await, Unanswering::none());
    let process = behind(&mut stage, &fate);
    let silent = stage.submit(&stage.process(), &spec("a-silent", 6, "")).await;
    let sessions = all_jobs(&silent).len();
    stage.until_waiting(&silent, sessions as u64).await;
    let jobs = stage.take(&silent, sessions).await;
    fate.set([queue_of(&silent)]);
    let other = stage.submit(&process, &spec("other", 6, "")).await;
    let since = Instant::now();
    while since.elapsed() < SILENCE {
        for job in &jobs {
            stage.begin(job).await;
        }
        leads_on_for(&stage, Duration::from_secs(5)).await;
    }
    assert_eq!(stage.waiting(&other).await, all_jobs(&other).len() as u64);
    fate.set([]);
    leads_on_for(&stage, Duration::from_secs(5)).await;
    assert_eq!(stage.waiting(&silent).await, 0);
    process.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_queue_of_one_endpoint_that_answers_nobody_does_not_hold_up_those_of_others() {
    for is_known in [true, false] {
        let (mut stage, fate) = (deployed().await, Unanswering::none());
        let sweep = stage.submit(&stage.process(), &over_two_endpoints("s")).await;
        let (name, endpoint) = sweep.lock.endpoints.first_key_value().unwrap();
        let (silent, other) = (name.to_string(), sweep.lock.endpoints.keys().next_back().unwrap().to_string());
        let queue = endpoint.queue(name, &sweep.id);
        if is_known {
            stage.queue.declare_jobs(&queue).await.unwrap();
        }
        fate.set([queue]);
        let process = behind(&mut stage, &fate);
        leads_on_for(&stage, SILENCE).await;
        let half = all_jobs(&sweep).len() as u64 / 2;
        let expected = BTreeMap::from([(silent.clone(), 0), (other.clone(), half)]);
        assert_eq!(waiting(&stage.queue, &sweep).await, expected);
        fate.set([]);
        let all = BTreeMap::from([(silent, half), (other, half)]);
        let since = Instant::now();
        while since.elapsed() < Duration::from_secs(60) && waiting(&stage.queue, &sweep).await != all {
            stage.round().await;
        }
        assert_eq!(waiting(&stage.queue, &sweep).await, all, "it answers again");
        process.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn jobs_that_a_queue_did_not_confirm_are_in_doubt_and_come_once_when_it_answers_again() {
    for (tell, silence) in [(false, SILENCE), (true, SILENCE * 5)] {
        are_in_doubt_and_come_once(tell, silence).await;
    }
}

async fn are_in_doubt_and_come_once(tell: bool, silence: Duration) {
    let fate = Arc::new(Unanswering { silent: watch::Sender::default(), tell });
    let mut stage = deployed().await;
    // One session a shard, and as many as the endpoint can use.
    stage.config.window = 1;
    let sweep = stage.submit(&stage.process(), &spec("s", 6, "")).await;
    let process = behind(&mut stage, &fate);
    stage.until_waiting(&sweep, 6).await;
    let first = stage.take(&sweep, 6).await;
    fate.set([queue_of(&sweep)]);
    stage.finish(&sweep, &first, Money(1)).await;
    let mut doubtful = BTreeSet::new();
    let since = Instant::now();
    while since.elapsed() < silence {
        leads_on_for(&stage, Duration::from_secs(5)).await;
        let shards = stage.ledger.shards(&sweep.id).await.unwrap();
        let now: BTreeSet<ShardIndex> =
            shards.iter().filter(|shard| shard.state == ShardState::Dispatching).map(|shard| shard.index).collect();
        assert!(doubtful.is_subset(&now), "{doubtful:?} planned again, while they may still come: {now:?}");
        doubtful = now;
    }
    assert!(!doubtful.is_empty());
    assert_eq!(stage.waiting(&sweep).await, 0);
    fate.set([]);
    let mut came: Vec<SessionKey> = first.into_iter().map(|job| job.key).collect();
    while came.len() < all_jobs(&sweep).len() {
        stage.until(async || stage.waiting(&sweep).await > 0).await;
        let waiting = stage.waiting(&sweep).await as usize;
        let jobs = stage.take(&sweep, waiting).await;
        stage.finish(&sweep, &jobs, Money(1)).await;
        came.extend(jobs.into_iter().map(|job| job.key));
    }
    leads_on_for(&stage, Duration::from_secs(5)).await;
    came.sort();
    let all: Vec<SessionKey> = all_jobs(&sweep).into_iter().map(|job| job.key).collect();
    assert_eq!((came, stage.waiting(&sweep).await), (all, 0));
    process.end().await;
}

/// Jobs come to their queue, and who has sent them is never told so; the broker then takes longer to answer than a lead lasts.
#[derive(Default)]
struct NeverConfirms {
    is_publishing: AtomicBool,
    has_hung: AtomicBool,
    has_been_reached: AtomicBool,
}

impl Fate for NeverConfirms {
    fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        Box::pin(async {
            if self.has_hung.load(Ordering::Relaxed) && !self.has_been_reached.swap(true, Ordering::Relaxed) {
                tokio::time::sleep(Duration::from_secs(4)).await;
            }
            Ok(())
        })
    }

    /// Asked of each job that is published.
    fn loses(&self) -> bool {
        self.is_publishing.store(true, Ordering::Relaxed);
        false
    }

    fn after(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        Box::pin(async {
            if self.is_publishing.load(Ordering::Relaxed) && !self.has_hung.swap(true, Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
            Ok(())
        })
    }
}

#[tokio::test(start_paused = true)]
async fn jobs_that_may_have_been_sent_are_not_planned_again_when_the_lead_runs_out_meanwhile() {
    let mut stage = deployed().await;
    let sweep = stage.submit(&stage.process(), &spec("s", 6, "")).await;
    let (queue, fate) = (stage.queue.clone(), Arc::new(NeverConfirms::default()));
    stage.queue = queue.troubled(Troubles::new(fate.clone()));
    let process = stage.start();
    stage.queue = queue;
    let since = Instant::now();
    while since.elapsed() < SILENCE {
        tokio::time::sleep(Duration::from_secs(1)).await;
        stage.answer_echoes().await;
    }
    assert!(fate.has_been_reached.load(Ordering::Relaxed), "it waited longer than its lead lasts");
    assert_eq!(process.metrics.leads.get(), 1, "nobody has followed");
    assert_eq!(stage.waiting(&sweep).await, all_jobs(&sweep).len() as u64, "each came once");
    process.end().await;
}

/// Queues of reports answer nobody.
struct SilentReports;

impl Fate for SilentReports {
    fn on<'a>(&'a self, way: Way<'a>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if way == Way::Reports {
                std::future::pending::<()>().await;
            }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn queues_of_reports_that_answer_nobody_hold_up_no_sweep_that_asks_scorers_nothing() {
    let mut stage = deployed().await;
    let queue = stage.queue.clone();
    stage.queue = queue.troubled(Troubles::new(Arc::new(SilentReports)));
    let process = stage.start();
    stage.queue = queue;
    // Their tables cannot be asked for.
    let mut over = Vec::new();
    for name in ["a", "b", "c", "d"] {
        over.push(stage.submit(&process, &spec(name, 6, "")).await);
    }
    for sweep in &over {
        let sessions = all_jobs(sweep).len();
        stage.until_waiting(sweep, sessions as u64).await;
        let jobs = stage.take(sweep, sessions).await;
        stage.finish(sweep, &jobs, Money(1)).await;
    }
    leads_on_for(&stage, Duration::from_secs(30)).await;
    let other = stage.submit(&process, &spec("other", 6, "")).await;
    leads_on_for(&stage, Duration::from_secs(15)).await;
    assert_eq!(stage.waiting(&other).await, all_jobs(&other).len() as u64);
    process.end().await;
}
