//! A fresh store for each test, time that advances on request, and helpers for requests.

use std::collections::BTreeMap;
use std::time::Duration;

use regatta_backends::{Permits, PostgresConfig};
use regatta_proto::{
    AccountId, AccountRequest, Limits, Money, Party, PoolReply, PoolRequest, Share, Signals, SweepId, WorkerId,
};
use regatta_tests::{Postgres, create_database};
use tokio::sync::OnceCell;
use tokio_postgres::NoTls;

/// A store of its own and one handle to it.
pub(crate) struct World {
    url: Option<String>,
    pub(crate) permits: Permits,
}

static POSTGRES: OnceCell<Postgres> = OnceCell::const_new();

async fn server() -> String {
    match std::env::var("REGATTA_TEST_POSTGRES_URL") {
        Ok(url) => url,
        Err(_) => POSTGRES.get_or_try_init(Postgres::start).await.unwrap().url(),
    }
}

impl World {
    pub(crate) fn memory() -> Self {
        Self { url: None, permits: Permits::memory() }
    }

    pub(crate) async fn postgres() -> Self {
        Self::of(create_database(&server().await).await.unwrap()).await
    }

    /// A store on a server of the caller's own, which writes what it commits before it says so, as servers do unless they are told otherwise.
    pub(crate) async fn on(server: &Postgres) -> Self {
        let world = Self::of(create_database(&server.url()).await.unwrap()).await;
        let waits =
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = on', current_database()); END $$";
        world.sql(waits).await;
        // Connections that were made before do not hear of it.
        let permits = world.open().await;
        Self { permits, ..world }
    }

    async fn of(url: String) -> Self {
        let permits = connect(&url).await;
        Self { url: Some(url), permits }
    }

    /// Another handle: with a server, one that shares nothing with the first but the server, as another process would.
    pub(crate) async fn open(&self) -> Permits {
        match &self.url {
            Some(url) => connect(url).await,
            None => self.permits.clone(),
        }
    }

    /// URL of the server's database.
    pub(crate) fn url(&self) -> &str {
        let Some(url) = &self.url else { panic!("this rule is about servers") };
        url
    }

    /// Lets time pass, for all pools and accounts there are.
    pub(crate) async fn pass(&self, time: Duration) {
        if self.url.is_none() {
            return tokio::time::advance(time).await;
        }
        // The clock of a stored state is by so much ahead of the server's.
        for (table, counted) in
            [("permit_pool_states", ", lease = lease + 1"), ("permit_pools", ""), ("permit_accounts", "")]
        {
            let ahead = format!("(state::jsonb #>> '{{clock,ahead_ms}}')::bigint + {}", time.as_millis());
            self.sql(&format!(
                "UPDATE {table} SET state = jsonb_set(state::jsonb, '{{clock,ahead_ms}}', to_jsonb({ahead})){counted}"
            ))
            .await;
        }
    }

    /// Runs `sql` beside the store.
    pub(crate) async fn sql(&self, sql: &str) {
        let (client, connection) = tokio_postgres::connect(self.url(), NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        client.batch_execute(sql).await.unwrap();
        drop(client);
        connection.await.unwrap().unwrap();
    }

    pub(crate) async fn lease(&self, request: &PoolRequest) -> PoolReply {
        self.permits.lease(request).await.unwrap()
    }
}

async fn connect(url: &str) -> Permits {
    Permits::postgres(PostgresConfig { url: url.to_owned(), pool_size: 4 }).await.unwrap()
}

/// A worker with `waiting` calls at an endpoint of 100 slots and 600 requests a minute.
pub(crate) fn wanting(worker: &str, waiting: u32) -> PoolRequest {
    PoolRequest {
        pool: "endpoint".to_owned(),
        holder: WorkerId::new(worker).unwrap(),
        limits: Limits { concurrency: 100, requests_per_minute: Some(600), tokens_per_minute: None },
        model_limits: BTreeMap::new(),
        parties: vec![Party {
            sweep: sweep("s"),
            model: "model".to_owned(),
            share: Share::default(),
            in_flight: 0,
            waiting,
            waiting_tokens: u64::from(waiting) * 10,
            unsent_requests: 0,
            unsent_tokens: 0,
            token_correction: 0,
        }],
        signals: Signals::default(),
    }
}

pub(crate) fn sweep(name: &str) -> SweepId {
    SweepId::new(name).unwrap()
}

pub(crate) fn account(name: &str) -> AccountId {
    AccountId { sweep: sweep(name), model: None }
}

/// A worker that has spent `spent` on the account "s", has nothing in flight, and wants to hold `wanted`.
pub(crate) fn spending(worker: &str, spent: u64, wanted: u64) -> AccountRequest {
    AccountRequest {
        account: account("s"),
        holder: WorkerId::new(worker).unwrap(),
        spent: Money(spent),
        maybe_spent: Money::ZERO,
        in_flight: Money::ZERO,
        sent: Money::ZERO,
        to_send: Money(wanted),
        wanted: Money(wanted),
        least: Money::ZERO,
        claim: None,
        claims_for_good: false,
    }
}
