//! The end of a sweep: its documents (`report` makes them), its metrics and its final state.

mod error;

use std::collections::BTreeMap;

use bytes::Bytes;
use jiff::{Timestamp, Unit};
use regatta_backends::{Ledger, SweepCost, TranscriptRef};
use regatta_catalog::{Catalog, SegmentError, Sweep, read_transcript};
use regatta_proto::{CellIndex, Clock, ItemIndex, SweepState};
use regatta_report::{Circumstances, Tabulation, count_cached, failure_message};

pub use self::error::FinishError;
use crate::canaries::CanarySessions;

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
        SweepState::Tabulating => tabulation.end_state(),
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

/// Transcripts that are read to quote how sessions ended; each is of a benchmark, setting and model, and a cause.
const QUOTED_MAX: usize = 256;

/// Failure messages of the sessions at `places`. A transcript that is gone or damaged has none: the numbers of a report do not depend on
/// it.
async fn said(
    catalog: &Catalog,
    sweep: &Sweep,
    places: Vec<(CellIndex, ItemIndex, TranscriptRef)>,
) -> Result<BTreeMap<(CellIndex, ItemIndex), String>, FinishError> {
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

fn whole_milliseconds(time: Timestamp) -> Timestamp {
    time.round(Unit::Millisecond).unwrap_or(time)
}
