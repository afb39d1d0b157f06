//! A run with one recorded session, and the pages of its directory and of a deployment.

use std::collections::BTreeMap;
use std::future::ready;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use regatta_backends::{Blobs, Ledger, Permits, RecordState, SessionRecord};
use regatta_benchmark_testing::drive;
use regatta_benchmarks::{Persona, Registry};
use regatta_catalog::{Catalog, Sweep, write_segment};
use regatta_proto::{
    Attempt, Clock, CostSum, Digest, Flags, ManualClock, Money, Outcome, SessionKey, SessionOutcome, Usage,
};
use regatta_viewer::annotations::FILE_NAME;
use regatta_viewer::{Access, AnnotationUse, Directories, Source, Store, router};
use regatta_worfbench::WorfBench;
use tokio_util::sync::CancellationToken;

use crate::requests::{coordinator_api, submitted};
use crate::runtime::block_on;

/// Token of the deployment's pages. They compare its digest, so that a fuzzer which sees comparisons does not learn it.
pub(super) const TOKEN: &str = "5b7e0c91d2f84a6f";
/// Everybody in the session says so, and no page may.
pub(super) const MARKER: &str = "<script>";
/// Directory of the run, and its name in addresses.
const RUN: &str = "run";
/// The present.
const MOMENT: &str = "2026-01-01T00:00:00Z";

thread_local! {
    pub(super) static PAGES: Pages = Pages::start();
}

/// The pages that inputs choose among.
pub(super) struct Pages {
    folder: tempfile::TempDir,
    /// Cell and item of the session that has a result, as addresses have them.
    pub(super) session: String,
    pub(super) sites: [Site; 2],
}

/// The pages of one source.
pub(super) struct Site {
    pub(super) routes: Router,
    /// Name of the run in addresses.
    pub(super) run: String,
    pub(super) host: &'static str,
    pub(super) is_asked_for_token: bool,
}

impl Pages {
    fn start() -> Self {
        block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let store = folder.path().join(RUN).join("store");
            std::fs::create_dir_all(&store).unwrap();
            let id = submitted(&coordinator_api(&store).await).await;
            let ledger = Ledger::sqlite(store.join("ledger.sqlite")).await.unwrap();
            let blobs = Blobs::directory(store.join("blobs")).unwrap();
            let catalog = Catalog::new(blobs, Registry::new(&[&WorfBench]));
            let row = ledger.sweep(&id.parse().unwrap()).await.unwrap().unwrap();
            let sweep = catalog.sweep(&row.lock).await.unwrap();
            let session = record(&ledger, &catalog, &sweep, row.lock).await;
            let sites = [of_directory(folder.path().join(RUN)), of_deployment(ledger, catalog, id)];
            Self { folder, session, sites }
        })
    }

    /// Removes what requests before have written.
    pub(super) fn forget_annotations(&self) {
        // There is no file before the first annotation.
        let _ = std::fs::remove_file(self.folder.path().join(RUN).join(FILE_NAME));
    }
}

fn of_directory(run: PathBuf) -> Site {
    let by = Some("ann".parse().unwrap());
    let benchmarks = |_: &[Digest]| Registry::new(&[&WorfBench]);
    let directories = Directories::new(vec![run], benchmarks, AnnotationUse::Shown { by });
    Site {
        routes: routes(Source::Directories(Arc::new(directories)), Access::loopback()),
        run: RUN.to_owned(),
        host: "127.0.0.1",
        is_asked_for_token: false,
    }
}

fn of_deployment(ledger: Ledger, catalog: Catalog, run: String) -> Site {
    let store = Store { ledger, catalog, permits: Some(Permits::memory()) };
    let is_right = |token: String| Digest::of(token.as_bytes()) == Digest::of(TOKEN.as_bytes());
    let access = Access::by_token(move |token, _| Box::pin(ready(is_right(token))));
    Site { routes: routes(Source::Deployment(store), access), run, host: "regatta.example", is_asked_for_token: true }
}

/// Streams of events end at once, and the clock stands still.
fn routes(source: Source, access: Access) -> Router {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::at(MOMENT.parse().unwrap()));
    let stop = CancellationToken::new();
    stop.cancel();
    router(source, access, clock, stop)
}

/// Records a right session with the marker in all that was said; returns its place, as addresses have it.
async fn record(ledger: &Ledger, catalog: &Catalog, sweep: &Sweep, lock: Digest) -> String {
    let cell = &sweep.cells()[0];
    let (suite, position) = (sweep.suite(cell).unwrap(), sweep.selected(cell)[0]);
    let item = sweep.item(cell, position).unwrap();
    let mut played = serde_json::to_string(&drive(&**suite, position, &cell.setting, Persona::Oracle, 1)).unwrap();
    for field in ["content", "text"] {
        played = played.replace(&format!("\"{field}\":\""), &format!("\"{field}\":\"{MARKER}"));
    }
    let outcome = SessionOutcome {
        key: SessionKey { sweep: sweep.id.clone(), cell: cell.index, item: position },
        lock,
        attempt: Attempt {
            id: "w-1".parse().unwrap(),
            number: 1,
            worker: "w".parse().unwrap(),
            started_at: MOMENT.parse().unwrap(),
            ended_at: MOMENT.parse().unwrap(),
        },
        outcome: Outcome::Measured,
        transcript: serde_json::from_str(&played).unwrap(),
    };
    let segment = write_segment(catalog.blobs(), &sweep.id, &[(&item.id, &outcome)]).await.unwrap();
    let scores = suite.score_failure(position, &sweep.benchmark(cell).unwrap().evaluators);
    let record = SessionRecord {
        key: outcome.key,
        item_id: item.id.clone(),
        task: item.task.to_string(),
        attempt: outcome.attempt,
        outcome: outcome.outcome,
        usage: Usage::default(),
        cost: CostSum { known: Money(1_000_000), unknown_calls: 0 },
        maybe_spent: Money::ZERO,
        calls: 1,
        cached_calls: 0,
        retries: 0,
        latency_us: 1_000,
        served: vec![MARKER.to_owned()],
        flags: Flags::NONE,
        agent_end: None,
        call_sums: BTreeMap::new(),
        transcript: segment[0].clone(),
        state: RecordState::Settled { scores: serde_json::to_value(scores).unwrap() },
    };
    ledger.record(vec![record]).await.unwrap();
    format!("{}/{}", cell.index.0, position.0)
}
