//! Two coordinators, each behind proxies of its own, and what is done to the one that leads.

use std::net::SocketAddr;
use std::time::Duration;

use futures::future::join_all;
use regatta_tests::deployment_roles::connect;
use regatta_tests::regatta::{Process, free_address, get_text};
use regatta_tests::waiting::until;
use regatta_tests::{Deployment, Proxy, Traffic};
use tokio::time::{Instant, timeout};
use tokio_postgres::Client;

/// A process that is stopped takes connections and says nothing; one on a slow machine takes its time.
const SILENT_AFTER: Duration = Duration::from_secs(10);

/// Fault of the leader, which lasts until another one leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// SIGKILL; it starts again.
    Killed,
    /// SIGSTOP, then SIGCONT.
    Stopped,
    /// Neither its connections to the database nor new ones get through.
    CutFromDatabase,
    /// The same of the broker.
    CutFromBroker,
}

/// The ledger, asked past the proxies.
pub(crate) struct Ledger(Client);

impl Ledger {
    pub(crate) async fn of(deployment: &Deployment) -> Self {
        Self(connect(deployment.database_url()).await.unwrap())
    }

    /// Number of the present leader's term.
    async fn term(&self) -> i64 {
        self.0.query_one("SELECT term FROM leadership", &[]).await.unwrap().get(0)
    }

    /// Waits until so many sessions of all sweeps are recorded.
    pub(crate) async fn has_recorded(&self, sessions: u64) {
        let recorded = until(format!("{sessions} recorded sessions"), async || {
            let row = self.0.query_one("SELECT coalesce(sum(recorded), 0)::BIGINT FROM cells", &[]).await.unwrap();
            let recorded = row.get::<_, i64>(0).cast_unsigned();
            if recorded >= sessions { Ok(()) } else { Err(recorded.to_string()) }
        });
        recorded.await.unwrap();
    }
}

struct Coordinator {
    process: Process,
    address: SocketAddr,
    database: Proxy,
    broker: Proxy,
}

impl Coordinator {
    async fn start(deployment: &Deployment, address: SocketAddr) -> Self {
        let mut command = deployment.role_at("coordinator", address).unwrap();
        let url = |name: &str| {
            let mut variables = command.as_std().get_envs();
            let (_, value) = variables.find(|(variable, _)| *variable == name).unwrap();
            value.unwrap().to_string_lossy().into_owned()
        };
        let (database, database_url) = Proxy::before(&url("DATABASE_URL")).await.unwrap();
        let (broker, broker_url) = Proxy::before(&url("AMQP_URL")).await.unwrap();
        // A queue that would hold the whole sweep needs no leader.
        command.env("DATABASE_URL", database_url).env("AMQP_URL", broker_url).env("REGATTA_WINDOW", "16");
        let process = Process::start_until_ready(command, address).await.unwrap();
        Self { process, address, database, broker }
    }

    async fn leads(&self) -> bool {
        let asked = timeout(SILENT_AFTER, get_text(&format!("http://{}/metrics", self.address))).await;
        let Ok(Ok(metrics)) = asked else { return false };
        metrics.lines().any(|line| line == "regatta_coordinator_leads 1")
    }
}

/// Both coordinators; the API of the first is the deployment's.
pub(crate) struct Coordinators<'d> {
    deployment: &'d Deployment,
    both: Vec<Coordinator>,
}

impl<'d> Coordinators<'d> {
    pub(crate) async fn start(deployment: &'d Deployment) -> Self {
        let first = Coordinator::start(deployment, deployment.api()).await;
        let second = Coordinator::start(deployment, free_address().await.unwrap()).await;
        Self { deployment, both: vec![first, second] }
    }

    /// Does `fault` to whoever leads, waits until somebody else does, and undoes it. Returns how long nobody led.
    pub(crate) async fn suffer(&mut self, fault: Fault, ledger: &Ledger) -> Duration {
        let position = self.leader().await;
        let (before, begun) = (ledger.term().await, Instant::now());
        let leader = &self.both[position];
        match fault {
            Fault::Killed => {
                let killed = self.both.remove(position);
                killed.process.kill().await.unwrap();
                let took = succession(ledger, before, begun).await;
                self.both.push(Coordinator::start(self.deployment, killed.address).await);
                return took;
            }
            Fault::Stopped => leader.process.signal("STOP").await.unwrap(),
            Fault::CutFromDatabase => leader.database.set(Traffic::IsCut),
            Fault::CutFromBroker => leader.broker.set(Traffic::IsCut),
        }
        let took = succession(ledger, before, begun).await;
        match fault {
            Fault::Killed => {}
            Fault::Stopped => leader.process.signal("CONT").await.unwrap(),
            Fault::CutFromDatabase => leader.database.set(Traffic::Passes),
            Fault::CutFromBroker => leader.broker.set(Traffic::Passes),
        }
        took
    }

    async fn leader(&self) -> usize {
        let found = until("a coordinator that says that it leads", async || {
            let leads = join_all(self.both.iter().map(Coordinator::leads)).await;
            leads.iter().position(|leads| *leads).ok_or_else(|| format!("{leads:?}"))
        });
        found.await.unwrap()
    }
}

/// Waits for a later term than `before`.
async fn succession(ledger: &Ledger, before: i64, begun: Instant) -> Duration {
    let taken_over = until(format!("a term after {before}"), async || {
        let term = ledger.term().await;
        if term > before { Ok(()) } else { Err(format!("term {term}")) }
    });
    taken_over.await.unwrap();
    begun.elapsed()
}
