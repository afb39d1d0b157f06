//! Starting the processes of a deployment over one set of stores.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use prometheus::Registry;
use regatta_backends::faults::Troubles;
use regatta_backends::{Blobs, Ledger, Permits, Queue};
use regatta_catalog::Catalog;
use regatta_coordinator::{Coordinator, CoordinatorConfig, CoordinatorMetrics, PriceBook};
use regatta_llm::CallMetrics;
use regatta_proto::{Clock, PriceSource};
use regatta_scorer::{Scorer, ScorerConfig, ScorerMetrics};
use regatta_worker::{Environment, Lifecycle, Worker, WorkerConfig, WorkerMetrics};
use tokio_util::sync::CancellationToken;

use crate::life::{BEGINNING, Life, NoResponses, ReachedPermits};
use crate::plan::{Kind, Store};
use crate::referee::{Line, Referee};

/// The benchmarks of the histories.
pub(crate) const BENCHMARKS: regatta_benchmarks::Registry =
    regatta_benchmarks::Registry::new(&[&regatta_worfbench::WorfBench, &regatta_flowbench::FlowBench]);

/// Partitions of the reports, fewer than on a broker, so that scorers have more in one.
const REPORT_PARTITIONS: u8 = 3;

/// Pause before a process that could not begin begins again.
const RESTARTED_AFTER: Duration = Duration::from_secs(1);

/// The four seams, as nobody is kept from them.
#[derive(Clone)]
pub(crate) struct Stores {
    pub(crate) ledger: Ledger,
    pub(crate) queue: Queue,
    pub(crate) blobs: Blobs,
    pub(crate) permits: Permits,
}

impl Stores {
    pub(crate) fn new() -> Self {
        let ledger = Ledger::in_memory().expect("the migrations hold");
        let queue = Queue::memory_divided(REPORT_PARTITIONS);
        Self { ledger, queue, blobs: Blobs::memory(), permits: Permits::memory_at(BEGINNING) }
    }

    fn reached_by(&self, life: &Arc<Life>) -> Self {
        let troubles = |store| Troubles::new(Arc::new(life.reach(store)));
        Self {
            ledger: self.ledger.troubled(troubles(Store::Ledger)),
            queue: self.queue.troubled(troubles(Store::Queue)),
            blobs: self.blobs.troubled(troubles(Store::Blobs)),
            permits: self.permits.clone(),
        }
    }

    /// A coordinator of that name over these stores.
    pub(crate) fn coordinator(&self, id: &str, clock: Arc<dyn Clock>) -> Coordinator {
        let config = CoordinatorConfig {
            id: id.parse().expect("a name"),
            window: 16,
            tick: Duration::from_secs(1),
            rebroadcast: Duration::from_secs(4),
            ..CoordinatorConfig::default()
        };
        let prices: Arc<PriceBook> = Arc::new(|_, model| match &model.price {
            Some(price) => (Some(price.clone()), PriceSource::Spec),
            None => (None, PriceSource::Unknown),
        });
        Coordinator::new(
            config,
            self.ledger.clone(),
            self.queue.clone(),
            self.permits.clone(),
            Catalog::new(self.blobs.clone(), BENCHMARKS),
            clock,
            CoordinatorMetrics::register(&Registry::new()).expect("the registry is new"),
            prices,
        )
    }
}

/// Starts a process of that kind, whose calls go as `life` says.
pub(crate) fn start(
    kind: Kind,
    process: usize,
    generation: u64,
    stores: &Stores,
    life: &Arc<Life>,
    referee: &Arc<Referee>,
) {
    let stores = stores.reached_by(life);
    match kind {
        Kind::Coordinator => {
            let coordinator = stores.coordinator(&format!("c{process}-{generation}"), life.clone());
            tokio::spawn(async move { coordinator.run(BTreeMap::new(), CancellationToken::new()).await });
        }
        // Who cannot begin ends, and whoever runs the deployment starts it again.
        Kind::Worker => {
            let (referee, life) = (referee.clone(), life.clone());
            tokio::spawn(async move {
                loop {
                    let line = Line { referee: referee.clone(), life: life.clone(), process: (process, generation) };
                    let worker = worker(&format!("w{process}-{generation}"), &stores, &life, line);
                    if worker.run(Lifecycle::default()).await.is_ok() {
                        return;
                    }
                    tokio::time::sleep(RESTARTED_AFTER).await;
                }
            });
        }
        Kind::Scorer => {
            let scorer = Scorer::new(
                ScorerConfig::default(),
                stores.ledger.clone(),
                stores.queue.clone(),
                Catalog::new(stores.blobs.clone(), BENCHMARKS),
                life.clone(),
                ScorerMetrics::register(&Registry::new()).expect("the registry is new"),
            );
            tokio::spawn(async move {
                while scorer.run(CancellationToken::new()).await.is_err() {
                    tokio::time::sleep(RESTARTED_AFTER).await;
                }
            });
        }
    }
}

fn worker(id: &str, stores: &Stores, life: &Arc<Life>, line: Line) -> Worker {
    let mut config = WorkerConfig::new(id.parse().expect("a name"), life.seed());
    config.progress_every = Duration::from_secs(2);
    let registry = Registry::new();
    let environment = Environment {
        clock: life.clone(),
        variables: Arc::default(),
        permits: Arc::new(ReachedPermits { reach: life.reach(Store::Permits), permits: stores.permits.clone() }),
        bytes: regatta_memory::ByteBudget::default(),
        answers: Arc::new(NoResponses),
        policy: Arc::new(regatta_worker::Policy::trusting()),
        network: Some(Arc::new(line)),
        standstill: life.standstill(),
    };
    Worker::new(
        config,
        stores.queue.clone(),
        Catalog::new(stores.blobs.clone(), BENCHMARKS),
        environment,
        WorkerMetrics::register(&registry).expect("the registry is new"),
        Arc::new(CallMetrics::register(&registry).expect("the registry is new")),
    )
}
