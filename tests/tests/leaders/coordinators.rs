//! Two coordinators, each behind proxies of its own, and what is done to the one that leads.

use std::net::SocketAddr;
use std::time::Duration;

use futures::future::join_all;
use regatta_tests::deployment_roles::connect;
use regatta_tests::regatta::{Process, free_address, get_text};
use regatta_tests::waiting::until;
use regatta_tests::{Deployment, Proxy, Traffic};
use tokio::time::timeout;
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

/// Has the database write down when each term begins: a test that looks late, on a busy machine, finds the same moment. The function has the
/// rights of the database's owner, because coordinators may not write into tables that are no part of the ledger.
const SUCCESSIONS: &str = "
    CREATE TABLE successions (term BIGINT PRIMARY KEY, began_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp());
    CREATE FUNCTION note_succession() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS
        $$ BEGIN INSERT INTO successions (term) VALUES (NEW.term); RETURN NULL; END $$;
    CREATE TRIGGER note_succession AFTER UPDATE ON leadership
        FOR EACH ROW WHEN (NEW.term > OLD.term) EXECUTE FUNCTION note_succession();";

/// The ledger, asked past the proxies.
pub(crate) struct Ledger(Client);

impl Ledger {
    /// To be called before any coordinator is there.
    pub(crate) async fn of(deployment: &Deployment) -> Self {
        let ledger = connect(deployment.database_url()).await.unwrap();
        ledger.batch_execute(SUCCESSIONS).await.unwrap();
        Self(ledger)
    }

    /// Seconds since 1970 by the database's clock.
    async fn now_s(&self) -> f64 {
        self.0.query_one("SELECT extract(epoch FROM clock_timestamp())::FLOAT8", &[]).await.unwrap().get(0)
    }

    /// Beginning of the first term after `term`, in seconds since 1970 by the database's clock; `None` while there is none.
    async fn succession_s(&self, term: i64) -> Option<f64> {
        let first = "SELECT extract(epoch FROM min(began_at))::FLOAT8 FROM successions WHERE term > $1";
        self.0.query_one(first, &[&term]).await.unwrap().get(0)
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

    /// Does `fault` to whoever leads, waits until somebody else does, and undoes it. Returns the time from the fault to the new term, by the
    /// database's clock.
    pub(crate) async fn suffer(&mut self, fault: Fault, ledger: &Ledger) -> Duration {
        let position = self.leader().await;
        let before = ledger.term().await;
        let leader = &self.both[position];
        match fault {
            Fault::Killed => {
                let killed = self.both.remove(position);
                killed.process.kill().await.unwrap();
                let took = succession(ledger, before).await;
                self.both.push(Coordinator::start(self.deployment, killed.address).await);
                return took;
            }
            Fault::Stopped => leader.process.signal("STOP").await.unwrap(),
            Fault::CutFromDatabase => leader.database.set(Traffic::IsCut),
            Fault::CutFromBroker => leader.broker.set(Traffic::IsCut),
        }
        let took = succession(ledger, before).await;
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

/// Waits for a later term than `before`, of a leader that has just suffered a fault; returns the time until it began.
async fn succession(ledger: &Ledger, before: i64) -> Duration {
    let fault_s = ledger.now_s().await;
    let taken_over = until(format!("a term after {before}"), async || match ledger.succession_s(before).await {
        Some(began_s) => Ok(began_s),
        None => Err(format!("term {}", ledger.term().await)),
    });
    // A machine that is busy enough has another leader before this test has asked for the time.
    Duration::from_secs_f64((taken_over.await.unwrap() - fault_s).max(0.0))
}
