//! The end of a sweep: tables, statistics, documents, and its final state.

mod agent_ends;
mod aggregates;
pub(crate) mod comparisons;
mod csv_text;
mod error;
mod filtered;
mod flag_counts;
mod group;
mod jackknife;
mod lines;
mod metrics;
pub(crate) mod partition;
mod per_session;
mod results;
mod sampled;
mod spending;
mod tables;
pub(crate) mod tabulation;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use jiff::{Timestamp, Unit};
use regatta_backends::{AttemptRow, CallSums, Ledger, SweepCost, TranscriptRef};
use regatta_catalog::{Catalog, SegmentError, Sweep, read_transcript};
use regatta_proto::{CellIndex, Clock, ItemIndex, SweepLock, SweepState};

pub use self::error::FinishError;
pub(crate) use self::group::{GroupResult, deciding_key, is_simulated};
#[cfg(test)]
pub(crate) use self::sampled::SampledSessions;
use self::tabulation::{Circumstances, Tabulation};
use crate::canaries::CanarySessions;
use crate::failures::{Place, failure_message};
use crate::summary::SessionCounts;

/// Names of the documents that every sweep leaves behind; tables of its benchmarks come on top.
pub const DOCUMENTS: [&str; 10] = [
    "attempts.jsonl",
    "comparisons.csv",
    "measures.json",
    "metrics.csv",
    "metrics.json",
    "report.html",
    "report.md",
    "results.jsonl",
    "summary.json",
    "sweep.lock.yaml",
];

/// Writes everything that `sweep` leaves behind to `sweeps/<id>/` and its metrics to the ledger, then ends it. Returns its state.
///
/// A sweep that was cancelled gets its documents and stays cancelled; one that is running again is left alone. May be repeated: the
/// bytes are the same.
///
/// # Errors
/// When ledger or store fail, or hold something unreadable.
pub(crate) async fn finish(
    ledger: &Ledger,
    catalog: &Catalog,
    sweep: &Sweep,
    generation: Option<u32>,
    clock: &dyn Clock,
) -> Result<SweepState, FinishError> {
    let unknown = || FinishError::UnknownSweep(sweep.id.clone());
    let row = ledger.sweep(&sweep.id).await?.ok_or_else(unknown)?;
    let was_resumed = generation.is_some_and(|generation| generation != row.generation);
    if row.state == SweepState::Running || was_resumed {
        return Ok(row.state);
    }
    // Whole milliseconds survive every store, so that a second time the end is read back as it was written.
    let ended_at = row.ended_at.unwrap_or_else(|| whole_milliseconds(clock.now()));
    ledger.close_open_attempts(&sweep.id, ended_at).await?;
    let progress = ledger.cell_progress(&sweep.id).await?;
    let (mut tabulation, mut canaries) = (Tabulation::new(sweep, &progress)?, CanarySessions::default());
    for cell in sweep.cells() {
        let rows = ledger.sessions(&sweep.id, cell.index).await?;
        canaries.note(sweep, cell, &rows);
        tabulation.add(cell, &rows)?;
    }
    let (_, judged) = ledger.judge_costs(&sweep.id).await?;
    let state = match row.state {
        SweepState::Tabulating => end_state(&sweep.lock, &tabulation.sessions(), tabulation.out_of_budget()),
        ended => ended,
    };
    let said = said(catalog, sweep, tabulation.examples()).await?;
    let (mut attempts, calls) = (ledger.attempts(&sweep.id).await?, ledger.call_sums(&sweep.id).await?);
    count_cached(&mut attempts, &calls);
    let documents = tabulation.finish(&Circumstances {
        state,
        created_at: row.created_at,
        ended_at,
        attempts,
        judges: ledger.costs_by_judge(&sweep.id).await?,
        calls,
        cost: SweepCost::ended(&row, &progress, judged),
        said,
        canaries: canaries.read(catalog, sweep).await?,
    })?;
    for (name, content) in documents.files {
        catalog.blobs().put(&format!("sweeps/{}/{name}", sweep.id), Bytes::from(content)).await?;
    }
    ledger.save_metrics(&sweep.id, documents.metrics).await?;
    if row.state == SweepState::Tabulating
        && !ledger.transition(&sweep.id, &[SweepState::Tabulating], state, ended_at).await?
    {
        // Another scorer ended it, or somebody cancelled it, in the meantime.
        return Ok(ledger.sweep(&sweep.id).await?.ok_or_else(unknown)?.state);
    }
    ledger.note_tabulated(&sweep.id, row.generation).await?;
    // From now on attempts of which nobody had heard are lost when they are told of; close those that were told of since the first time.
    ledger.close_open_attempts(&sweep.id, ended_at).await?;
    Ok(state)
}

/// Counts the cached answers of `attempts` that an older version recorded: there are none where its cell has none.
pub(crate) fn count_cached(attempts: &mut [AttemptRow], calls: &[(CellIndex, CallSums)]) {
    let with_cached: BTreeSet<CellIndex> =
        calls.iter().filter(|(_, sums)| sums.from_cache > 0).map(|(cell, _)| *cell).collect();
    for attempt in attempts.iter_mut().filter(|attempt| !with_cached.contains(&attempt.key.cell)) {
        attempt.cached_calls.get_or_insert(0);
    }
}

/// Transcripts that are read to quote how sessions ended; each is of a benchmark, setting and model, and a cause.
const QUOTED_MAX: usize = 256;

/// Failure messages of the sessions at `places`. A transcript that is gone or damaged has none: the numbers of a report do not depend on
/// it.
async fn said(
    catalog: &Catalog,
    sweep: &Sweep,
    places: Vec<(CellIndex, ItemIndex, TranscriptRef)>,
) -> Result<BTreeMap<Place, String>, FinishError> {
    let mut said = BTreeMap::new();
    for (cell, item, at) in places.into_iter().take(QUOTED_MAX) {
        match read_transcript(catalog.blobs(), &sweep.id, &at).await {
            Ok(stored) => said.extend(failure_message(&stored.transcript).map(|words| ((cell, item), words))),
            Err(SegmentError::Blobs(error)) => return Err(error.into()),
            Err(error) => {
                tracing::warn!(sweep.id = %sweep.id, cell = cell.0, item = item.0, %error, "a failed session cannot be quoted");
            }
        }
    }
    Ok(said)
}

/// The numbers of every benchmark, setting and model of `sweep`, as the ledger has them now.
pub(crate) async fn groups(ledger: &Ledger, sweep: &Sweep) -> Result<Vec<GroupResult>, FinishError> {
    let mut tabulation = Tabulation::new(sweep, &ledger.cell_progress(&sweep.id).await?)?;
    for cell in sweep.cells() {
        tabulation.add(cell, &ledger.sessions(&sweep.id, cell.index).await?)?;
    }
    Ok(tabulation.into_groups())
}

fn whole_milliseconds(time: Timestamp) -> Timestamp {
    time.round(Unit::Millisecond).unwrap_or(time)
}

/// End state of a sweep with these sessions; `out_of_budget` of them were not measured because a budget was used up.
fn end_state(lock: &SweepLock, sessions: &SessionCounts, out_of_budget: u64) -> SweepState {
    if sessions.scored() == sessions.total {
        SweepState::Complete
    } else if out_of_budget > 0 || (sessions.not_run > 0 && lock.budget_usd.is_some()) {
        SweepState::StoppedByBudget
    } else {
        SweepState::Incomplete
    }
}

#[cfg(test)]
pub(crate) mod tests;
