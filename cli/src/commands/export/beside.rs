//! Facts about sessions that a run's documents do not have: right answers, from its data set, and what judges said, from its ledger.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use regatta_backends::{Blobs, Ledger};
use regatta_benchmarks::Suite;
use regatta_catalog::{Catalog, Sweep};
use regatta_export::{Beside, Session, VerdictRow};
use regatta_proto::{BenchmarkName, ItemIndex, Reply, Role, SweepLock};
use regatta_scorer::asked_of_session;

use crate::benchmarks::READ_BENCHMARKS;
use crate::data::{benchmark, read_dataset};
use crate::exit::bad_configuration;
use crate::output;

/// Right answers and verdicts, which no document of a run has.
pub(super) struct Stores {
    /// Ledger and sweep, where the run has its stores with it and its data can be read.
    whole: Option<(Ledger, Arc<Sweep>)>,
    /// Data sets that were given.
    given: BTreeMap<BenchmarkName, Arc<dyn Suite>>,
    has_judges: bool,
}

impl Stores {
    /// Answers and verdicts of the run in `directory`, whose lock is `lock`, and the data in `data`.
    pub(super) async fn open(
        directory: &Path,
        lock: &SweepLock,
        data: &[(BenchmarkName, PathBuf)],
    ) -> anyhow::Result<Self> {
        let given = given(lock, data).map_err(bad_configuration)?;
        let has_judges = lock.benchmarks.values().any(|locked| locked.judge.is_some());
        let store = directory.join("store");
        let whole = if store.join("ledger.sqlite").is_file() { whole(&store).await? } else { None };
        let missing: Vec<&str> =
            lock.benchmarks.keys().filter(|name| !given.contains_key(*name)).map(BenchmarkName::as_str).collect();
        if whole.is_none() && !missing.is_empty() {
            output::note(&format!(
                "right answers are left out: the data of {} are not with the run; give them with --data NAME=DIR",
                missing.join(", ")
            ));
        }
        if whole.is_none() && has_judges {
            output::note("verdicts of judges are left out: the ledger is not with the run");
        }
        Ok(Self { whole, given, has_judges })
    }

    /// `true` if there is a table of verdicts to be written.
    pub(super) const fn have_verdicts(&self) -> bool {
        self.has_judges && self.whole.is_some()
    }

    /// Answers and verdicts known of `session`, a right answer `with_target` only.
    pub(super) async fn beside(&self, session: &Session, with_target: bool) -> anyhow::Result<Beside> {
        let Some(stored) = session.transcript() else { return Ok(Beside::default()) };
        let item = ItemIndex(stored.position);
        let suite = match (self.given.get(&session.cell.benchmark), &self.whole) {
            (Some(suite), _) => Some(suite),
            (None, Some((_, sweep))) => sweep.suite(&session.cell),
            (None, None) => None,
        };
        let request = stored.transcript.calls().find(|call| call.role == Role::Agent).map(|call| &call.request);
        let target = match (suite, request) {
            (Some(suite), Some(request)) if with_target => {
                suite.right_reply(item, &session.cell.setting, request).map(words)
            }
            _ => None,
        };
        let mut verdicts = Vec::new();
        if let Some((ledger, sweep)) = self.whole.as_ref().filter(|_| self.has_judges) {
            let (asked, _) = asked_of_session(ledger, sweep, &session.cell, item, &stored.transcript)
                .await
                .context("failed to read the verdicts of a session")?;
            for (number, asked) in (0..).zip(asked) {
                let row = |given: regatta_scorer::GivenVerdict| VerdictRow {
                    number,
                    question: asked.question.clone(),
                    judge: given.judge,
                    is_swapped: given.is_swapped,
                    verdict: given.verdict,
                };
                verdicts.extend(asked.verdicts.into_iter().map(row));
            }
        }
        Ok(Beside { target, verdicts })
    }
}

/// The ledger and the sweep in `store`; `None`, with a note, where the data cannot be read.
async fn whole(store: &Path) -> anyhow::Result<Option<(Ledger, Arc<Sweep>)>> {
    let ledger = Ledger::sqlite(store.join("ledger.sqlite")).await.context("failed to open the run's ledger")?;
    let Some(row) = ledger.sweeps().await.context("failed to read the run's ledger")?.into_iter().next() else {
        return Ok(None);
    };
    let blobs = Blobs::directory(store.join("blobs")).context("failed to open the run's blob store")?;
    match Catalog::new(blobs, READ_BENCHMARKS).sweep(&row.lock).await {
        Ok(sweep) => Ok(Some((ledger, sweep))),
        Err(error) if error.is_outage() => Err(error.into()),
        // A run may be anybody's, so the program of its benchmark is not started; and data may have been removed.
        Err(error) => {
            output::note(&format!("the run's data cannot be read: {error}"));
            Ok(None)
        }
    }
}

fn given(
    lock: &SweepLock,
    data: &[(BenchmarkName, PathBuf)],
) -> anyhow::Result<BTreeMap<BenchmarkName, Arc<dyn Suite>>> {
    let mut given = BTreeMap::new();
    for (name, directory) in data {
        let locked = lock.benchmarks.get(name).with_context(|| format!("the run has no benchmark {name}"))?;
        let files = read_dataset(name, directory)?;
        if files.snapshot().digest() != locked.dataset {
            anyhow::bail!("{} does not hold the data that the run was made with", directory.display());
        }
        given.insert(name.clone(), benchmark(name)?.load(&files)?);
    }
    Ok(given)
}

/// A reply as a text: what it says, or the calls that it makes.
fn words(reply: Reply) -> String {
    let calls = reply.tool_calls.iter().map(|call| format!("{}({})", call.name, call.arguments));
    let said = reply.text.iter().map(ToString::to_string);
    said.chain(calls).collect::<Vec<_>>().join("\n")
}
