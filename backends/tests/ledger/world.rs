//! A fresh store for each test, and helpers to fill it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use regatta_backends::ledger::{
    AttemptState, CallSums, CellProgress, Created, NewCell, NewShard, NewSweep, PostgresConfig, RecordState,
    SessionRecord, Settlement, SettlementResult, Term, ToldBy, TranscriptRef,
};
use regatta_backends::{AgentEnd, Judged, Ledger, LedgerError, NewSchedule};
use regatta_proto::{
    Answerer, Attempt, AttemptId, AttemptTotals, Call, Cause, Cell, CellIndex, ChatRequest, CostSum, Digest,
    EndpointKind, EndpointSpec, Event, Finish, Flag, ItemId, ItemIndex, JudgeOutcome, Lane, ModelRef, Money,
    OpenAttempt, Outcome, Reply, Role, Served, SessionKey, ShardIndex, SweepId, Transcript, Trial, Usage, Verdict,
    WorkerId,
};
use regatta_tests::{Postgres, create_database};
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::OnceCell;
use tokio_postgres::NoTls;

/// A store of its own and one handle to it.
pub(crate) struct World {
    store: Store,
    pub(crate) ledger: Ledger,
}

enum Store {
    Sqlite(TempDir),
    Postgres(String),
}

impl Store {
    async fn open(&self) -> Ledger {
        self.try_open().await.unwrap()
    }

    async fn try_open(&self) -> Result<Ledger, LedgerError> {
        match self {
            Self::Sqlite(folder) => Ledger::sqlite(folder.path().join("ledger.sqlite")).await,
            Self::Postgres(url) => Ledger::postgres(PostgresConfig { url: url.clone(), pool_size: 4 }).await,
        }
    }

    /// A new store of the same kind as the version before leaves it: with all migrations but the last.
    async fn new_of_the_version_before(&self) -> Self {
        const VERSIONS: &str = "CREATE TABLE ledger_version (version BIGINT PRIMARY KEY, admits_previous BOOLEAN)";
        let all = migrations(match self {
            Self::Sqlite(_) => "sqlite",
            Self::Postgres(_) => "postgres",
        });
        let (_, before) = all.split_last().unwrap();
        let noted =
            (1..=before.len()).map(|version| format!("INSERT INTO ledger_version (version) VALUES ({version})"));
        let statements = before.iter().cloned().chain([VERSIONS.to_owned()]).chain(noted);
        match self {
            Self::Sqlite(_) => {
                let folder = tempfile::tempdir().unwrap();
                let connection = rusqlite::Connection::open(folder.path().join("ledger.sqlite")).unwrap();
                statements.for_each(|sql| connection.execute_batch(&sql).unwrap());
                Self::Sqlite(folder)
            }
            Self::Postgres(_) => {
                let url = create_database(&server().await).await.unwrap();
                // At the ends of files there may be comments.
                run(&url, &statements.collect::<Vec<_>>().join("\n;\n")).await;
                Self::Postgres(url)
            }
        }
    }
}

/// The ledger's migrations of the folder `migrations/{kind}`, in their order.
fn migrations(kind: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(kind);
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_of_ledger = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with('0');
    let mut paths: Vec<PathBuf> = paths.filter(is_of_ledger).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

static POSTGRES: OnceCell<Postgres> = OnceCell::const_new();

async fn server() -> String {
    match std::env::var("REGATTA_TEST_POSTGRES_URL") {
        Ok(url) => url,
        Err(_) => POSTGRES.get_or_try_init(Postgres::start).await.unwrap().url(),
    }
}

/// Runs `sql` on the database, past any ledger.
pub(crate) async fn run(url: &str, sql: &str) {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    client.batch_execute(sql).await.unwrap();
    drop(client);
    connection.await.unwrap().unwrap();
}

impl World {
    pub(crate) async fn sqlite() -> Self {
        Self::of(Store::Sqlite(tempfile::tempdir().unwrap())).await
    }

    pub(crate) async fn postgres() -> Self {
        Self::of(Store::Postgres(create_database(&server().await).await.unwrap())).await
    }

    /// Ids and states of a sweep's attempts.
    pub(crate) async fn states(&self, sweep: &SweepId) -> Vec<(String, AttemptState)> {
        let attempts = self.ledger.attempts(sweep).await.unwrap();
        attempts.into_iter().map(|attempt| (attempt.id.to_string(), attempt.state)).collect()
    }

    async fn of(store: Store) -> Self {
        let ledger = store.open().await;
        Self { store, ledger }
    }

    /// Another handle that shares nothing with the first but the store, as another process would.
    pub(crate) async fn open(&self) -> Ledger {
        self.store.open().await
    }

    /// The same, where that may be refused.
    pub(crate) async fn try_open(&self) -> Result<Ledger, LedgerError> {
        self.store.try_open().await
    }

    /// Opens an empty store of the same kind with `count` concurrent handles.
    pub(crate) async fn open_new_at_once(&self, count: usize) -> Vec<Ledger> {
        let store = match &self.store {
            Store::Sqlite(_) => Store::Sqlite(tempfile::tempdir().unwrap()),
            Store::Postgres(_) => Store::Postgres(create_database(&server().await).await.unwrap()),
        };
        let ledgers = futures::future::join_all((0..count).map(|_| store.open())).await;
        if let Store::Sqlite(folder) = store {
            // The files are deleted with the process, because the ledgers still use them.
            let _ = folder.keep();
        }
        ledgers
    }

    /// A store of the same kind with the first version of the schema and `rows` in it, opened by the present build. In `rows`, `{lock}`
    /// stands for a digest.
    pub(crate) async fn open_first_version(&self, rows: &str) -> Ledger {
        let version =
            "CREATE TABLE ledger_version (version BIGINT PRIMARY KEY); INSERT INTO ledger_version VALUES (1);";
        match &self.store {
            Store::Sqlite(_) => {
                let folder = tempfile::tempdir().unwrap().keep();
                let path = folder.join("ledger.sqlite");
                let rows = rows.replace("{lock}", "zeroblob(32)");
                let schema = include_str!("../../migrations/sqlite/0001_ledger.sql");
                let connection = rusqlite::Connection::open(&path).unwrap();
                connection.execute_batch(&format!("{schema} {version} {rows}")).unwrap();
                Ledger::sqlite(path).await.unwrap()
            }
            Store::Postgres(_) => {
                let url = create_database(&server().await).await.unwrap();
                let rows = rows.replace("{lock}", "decode(repeat('00', 32), 'hex')");
                let schema = include_str!("../../migrations/postgres/0001_ledger.sql");
                run(&url, &format!("{schema} {version} {rows}")).await;
                Store::Postgres(url).open().await
            }
        }
    }

    /// A world of the same kind whose store the version before has made, opened by the present build.
    pub(crate) async fn of_the_version_before(&self) -> Self {
        Self::of(self.store.new_of_the_version_before().await).await
    }

    /// URL of a new database of the server, as the version before leaves it.
    pub(crate) async fn url_of_the_version_before(&self) -> String {
        match self.store.new_of_the_version_before().await {
            Store::Sqlite(_) => panic!("this rule is about servers"),
            Store::Postgres(url) => url,
        }
    }

    /// Runs `sql` past the ledger; in it, `{lock}` stands for a digest.
    ///
    /// # Errors
    /// The database's message.
    pub(crate) async fn sql(&self, sql: &str) -> Result<(), String> {
        match &self.store {
            Store::Sqlite(folder) => {
                let connection = rusqlite::Connection::open(folder.path().join("ledger.sqlite")).unwrap();
                let done = connection.execute_batch(&sql.replace("{lock}", "zeroblob(32)"));
                done.map_err(|error| error.to_string())
            }
            Store::Postgres(url) => {
                let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
                let connection = tokio::spawn(connection);
                let done = client.batch_execute(&sql.replace("{lock}", "decode(repeat('00', 32), 'hex')")).await;
                drop(client);
                connection.await.unwrap().unwrap();
                done.map_err(|error| regatta_proto::causes(&error))
            }
        }
    }

    /// URL of the server's database.
    pub(crate) fn url(&self) -> &str {
        match &self.store {
            Store::Sqlite(_) => panic!("this rule is about servers"),
            Store::Postgres(url) => url,
        }
    }

    /// A restart: the old handle is dropped, then a new one opens the store.
    pub(crate) async fn restart(self) -> Self {
        let Self { store, ledger } = self;
        drop(ledger);
        Self::of(store).await
    }

    /// Creates the sweep `name` with `cells` cells of `items` items each, cell i on queue `q{i % 2}`, in shards of two.
    pub(crate) async fn sweep(&self, name: &str, cells: u32, items: u32) -> SweepId {
        let sweep = new_sweep(name, cells, items);
        let id = sweep.id.clone();
        assert_eq!(self.ledger.create_sweep(sweep).await.unwrap(), Created::New);
        id
    }

    /// Hands the attempt `id` over after `units` units.
    pub(crate) async fn hand_over(&self, key: &SessionKey, id: &str, units: u64) {
        let totals = AttemptTotals { maybe_spent: Money(units), calls: 1, ..totals(units) };
        self.ledger.record_handover(key, attempt(id), totals, ToldBy::Itself).await.unwrap();
    }

    /// The successor of the attempt `id` takes it over from a checkpoint of `units` units.
    pub(crate) async fn take_over(&self, key: &SessionKey, id: &str, units: u64) {
        let totals = AttemptTotals { maybe_spent: Money(units), calls: 1, ..totals(units) };
        self.ledger.record_handover(key, attempt(id), totals, ToldBy::Successor).await.unwrap();
    }

    /// Sums over the calls of a cell.
    pub(crate) async fn calls(&self, sweep: &SweepId, cell: u32) -> CallSums {
        let cells: BTreeMap<_, _> = self.ledger.call_sums(sweep).await.unwrap().into_iter().collect();
        cells.get(&CellIndex(cell)).cloned().unwrap_or_default()
    }

    /// The term of this world's only coordinator, with a lease longer than any test.
    pub(crate) async fn term(&self) -> Term {
        self.ledger.lead(&coordinator(), LEASE).await.unwrap().unwrap()
    }

    /// Publishes `sessions` of a planned shard, as the coordinator does.
    pub(crate) async fn dispatch(&self, sweep: &SweepId, shard: ShardIndex, sessions: u32) {
        let (term, generation) = (self.term().await, self.ledger.sweep(sweep).await.unwrap().unwrap().generation);
        assert!(self.ledger.claim_shard(sweep, shard, generation, term).await.unwrap());
        assert!(self.ledger.confirm_shard(sweep, shard, sessions, term).await.unwrap());
    }

    pub(crate) async fn cell(&self, sweep: &SweepId, cell: u32) -> CellProgress {
        self.ledger.cell_progress(sweep).await.unwrap().swap_remove(cell as usize)
    }
}

/// A lease longer than any test.
const LEASE: Duration = Duration::from_secs(3600);

/// The name under which this world's coordinator leads.
pub(crate) fn coordinator() -> WorkerId {
    "coordinator".parse().unwrap()
}

/// The schedule `name` of nobody, which needs no stored object.
pub(crate) fn new_schedule(name: &str, document: &str, second: i64) -> NewSchedule {
    NewSchedule {
        name: name.parse().unwrap(),
        document: document.to_owned(),
        owner: None,
        at: at(second),
        inputs: BTreeSet::new(),
    }
}

/// Budget of the sweeps of the tests.
pub(crate) const BUDGET: Money = Money(5_000_000_000);

pub(crate) fn new_sweep(name: &str, cells: u32, items: u32) -> NewSweep {
    let mut shards = Vec::new();
    for cell in 0..cells {
        for first in (0..items).step_by(2) {
            let index = ShardIndex(shards.len() as u32);
            shards.push(NewShard { index, cell: CellIndex(cell), first, count: 2.min(items - first) });
        }
    }
    NewSweep {
        owner: None,
        quota: regatta_backends::Quota::default(),
        inputs: BTreeSet::new(),
        id: SweepId::new(name).unwrap(),
        name: name.to_owned(),
        lock: Digest::of(name.as_bytes()),
        budget: Some(BUDGET),
        created_at: at(0),
        cells: (0..cells).map(|index| new_cell(index, items)).collect(),
        shards,
    }
}

fn new_cell(index: u32, items: u32) -> NewCell {
    NewCell {
        cell: Cell {
            index: CellIndex(index),
            benchmark: "worfbench".parse().unwrap(),
            setting: "two-shot".parse().unwrap(),
            model: "lab/model".parse().unwrap(),
            trial: Trial(0),
        },
        items,
        queue: format!("q{}", index % 2),
    }
}

/// `seconds` after the beginning of the tests' time, and some nanoseconds that no clock in milliseconds would keep.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::new(1_790_000_000 + seconds, 123_456_789).unwrap()
}

pub(crate) fn key(sweep: &SweepId, cell: u32, item: u32) -> SessionKey {
    SessionKey { sweep: sweep.clone(), cell: CellIndex(cell), item: ItemIndex(item) }
}

/// The attempt `id`: the part before the last dash is its worker, the part after it its number.
pub(crate) fn attempt(id: &str) -> Attempt {
    let (worker, number) = id.rsplit_once('-').unwrap();
    Attempt {
        id: AttemptId::new(id).unwrap(),
        number: number.parse().unwrap(),
        worker: WorkerId::new(worker).unwrap(),
        started_at: at(1),
        ended_at: at(2),
    }
}

pub(crate) fn usage(tokens: u64) -> Usage {
    Usage {
        input: 10 * tokens,
        cached_input: 4 * tokens,
        cache_write: 2 * tokens,
        cache_write_1h: tokens,
        output: 3 * tokens,
        reasoning: tokens,
        unmetered_calls: tokens,
    }
}

pub(crate) fn cost(nanos: u64) -> CostSum {
    CostSum { known: Money(nanos), unknown_calls: nanos % 2 }
}

/// Sums over calls, for pairs of attempt number and number of calls.
pub(crate) fn calls(of_attempts: &[(u32, u32)]) -> BTreeMap<u32, CallSums> {
    let calls = of_attempts.iter().flat_map(|(attempt, count)| (0..*count).map(|at| call(*attempt, at)));
    let transcript = Transcript { events: calls.map(|call| Event::Call(Box::new(call))).collect() };
    CallSums::by_attempt(&transcript, |served| served.model.clone())
}

fn call(attempt: u32, at: u32) -> Call {
    Call {
        role: Role::Agent,
        attempt,
        model: "lab/model".parse().unwrap(),
        request: ChatRequest::default(),
        reply: Reply::of_text(Some("yes"), Finish::Stop),
        tries: vec![],
        usage: usage(1),
        raw_usage: None,
        cost: Some(Money(2)),
        reported_cost: Some(Money(3)),
        served: Served { model: Some(format!("model of attempt {attempt}")), ..Served::default() },
        latency_us: u64::from(1000 * attempt + at),
        first_token_us: None,
        waited_us: 0,
        at: None,
        lane: Lane::Live,
        from_cache: false,
        saved: None,
    }
}

/// A measured and scored session that took 7 units and two calls, and the end of an agent whose words a database must store byte for byte.
pub(crate) fn lost_agent() -> AgentEnd {
    AgentEnd { how: "exited 1 and asked nothing".to_owned(), errors: "no 'module' \"é\"\n\u{0}".to_owned() }
}

pub(crate) fn record(key: SessionKey, id: &str) -> SessionRecord {
    let attempt = attempt(id);
    SessionRecord {
        item_id: ItemId::new(format!("item {}", key.item)).unwrap(),
        task: "wikihow".to_owned(),
        key,
        call_sums: calls(&[(attempt.number, 2)]),
        attempt,
        outcome: Outcome::Measured,
        usage: usage(7),
        cost: cost(7),
        maybe_spent: Money(3),
        calls: 2,
        cached_calls: 1,
        retries: 1,
        latency_us: 1_234_567,
        served: vec!["model-2026".to_owned()],
        flags: [Flag::Truncated].into_iter().collect(),
        agent_end: Some(lost_agent()),
        transcript: TranscriptRef { segment: "transcripts/000.zst".to_owned(), line: 3 },
        state: RecordState::Settled { scores: json!({"official": {"f1": 0.1, "a": [1, 2]}}) },
    }
}

pub(crate) fn not_measured(key: SessionKey, id: &str, cause: Cause) -> SessionRecord {
    SessionRecord {
        outcome: Outcome::NotMeasured { cause },
        state: RecordState::Settled { scores: serde_json::Value::Null },
        ..record(key, id)
    }
}

pub(crate) fn waiting(key: SessionKey, id: &str, questions: &[&str]) -> SessionRecord {
    let transcript = Bytes::from(format!("transcript of {key} by {id}"));
    let questions = questions.iter().map(|text| question(text)).collect();
    SessionRecord { state: RecordState::Awaiting { judge: judge(), questions, transcript }, ..record(key, id) }
}

/// Totals of `units` units, without calls.
pub(crate) fn totals(units: u64) -> AttemptTotals {
    AttemptTotals { usage: usage(units), cost: cost(units), ..AttemptTotals::default() }
}

pub(crate) fn open(key: SessionKey, id: &str, units: u64) -> (OpenAttempt, WorkerId) {
    let attempt = attempt(id);
    let open = OpenAttempt {
        key,
        id: attempt.id,
        number: attempt.number,
        started_at: attempt.started_at,
        totals: totals(units),
        in_flight_at_most: Some(Money(100)),
    };
    (open, attempt.worker)
}

pub(crate) fn judge() -> ModelRef {
    "judges/encoder".parse().unwrap()
}

pub(crate) fn question(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

pub(crate) fn questions(texts: &[&str]) -> Vec<Digest> {
    texts.iter().map(|text| question(text)).collect()
}

pub(crate) fn verdict(micro: i32) -> Verdict {
    Verdict::Similarity { micro: vec![vec![micro, -micro]] }
}

/// The identity of [`judge`] where it answers at `address`.
pub(crate) fn answerer(address: &str) -> Answerer {
    let endpoint = EndpointSpec { base_url: Some(address.to_owned()), ..EndpointSpec::of_kind(EndpointKind::Openai) };
    Answerer::new(&endpoint, &judge().model, &"any".parse().unwrap())
}

/// Address at which [`judge`] answers in most tests.
pub(crate) const HERE: &str = "http://here/v1";

/// A judge's report that took 5 units.
pub(crate) fn judged(sweep: &SweepId, id: &str, verdicts: &[(&str, i32)]) -> Judged {
    let outcome = JudgeOutcome {
        sweep: sweep.clone(),
        lock: Digest::of(b"lock"),
        judge: judge(),
        served: "encoder 1".to_owned(),
        verdicts: verdicts.iter().map(|(text, micro)| (question(text), verdict(*micro))).collect(),
        unanswered: vec![],
        attempt: AttemptId::new(id).unwrap(),
        usage: usage(5),
        cost: cost(5),
    };
    Judged { answerer: answerer(HERE), outcome }
}

pub(crate) fn scored(key: SessionKey, score: i64) -> Settlement {
    Settlement { key, result: SettlementResult::Scored(json!({ "score": score })) }
}

pub(crate) fn unmeasured(key: SessionKey, cause: Cause) -> Settlement {
    Settlement { key, result: SettlementResult::NotMeasured(cause) }
}
