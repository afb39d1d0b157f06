//! Checks a run's directory before it is used: its ledger, the transcripts that the ledger names, and what the sweep has left behind.

use std::collections::BTreeSet;
use std::path::Path;

use regatta_backends::{Blobs, Ledger};
use regatta_catalog::{Sweep, is_intact};
use regatta_report::DOCUMENTS;

use super::repair::unfinished;
use crate::exit::BadConfiguration;
use crate::output;

/// Refuses a directory that has transcripts and no ledger, before one is made: a run would begin anew, and pay for everything a second time;
/// and the log of a ledger that is gone would go with it.
pub(super) async fn refuse_without_file(directory: &Path, store: &Path, blobs: &Blobs) -> anyhow::Result<()> {
    if unfinished(store).exists() {
        return Err(BadConfiguration(format!(
            "a repair of {place} was interrupted: finish it with `regatta repair {place}`",
            place = directory.display()
        ))
        .into());
    }
    let is_there = std::fs::metadata(store.join("ledger.sqlite")).is_ok_and(|found| found.len() > 0);
    if is_there { Ok(()) } else { refuse_files_of_none(directory, blobs).await }
}

/// Refuses a directory that has transcripts and a ledger that knows of no sweep.
pub(super) async fn refuse_without_sweep(directory: &Path, ledger: &Ledger, blobs: &Blobs) -> anyhow::Result<()> {
    if ledger.sweeps().await?.is_empty() { refuse_files_of_none(directory, blobs).await } else { Ok(()) }
}

async fn refuse_files_of_none(directory: &Path, blobs: &Blobs) -> anyhow::Result<()> {
    let left_behind = blobs.list("sweeps/").await?.len();
    if left_behind == 0 {
        return Ok(());
    }
    Err(BadConfiguration(format!(
        "{} knows of no sweep, and {left_behind} files of one are in {}: the ledger has been removed or emptied, and with it what was \
         paid. Make it again from these files with `regatta repair {}`, or restore it with its -wal file from a backup; or, to pay for \
         everything again, choose another directory with --output",
        directory.join("store/ledger.sqlite").display(),
        directory.join("store/blobs/sweeps").display(),
        directory.display()
    ))
    .into())
}

/// Says which transcripts are missing or damaged, and which the ledger does not know. Results are in the ledger, so none of it changes a
/// score.
pub(super) async fn tell_of_transcripts(
    directory: &Path,
    sweep: &Sweep,
    ledger: &Ledger,
    blobs: &Blobs,
) -> anyhow::Result<()> {
    let place = format!("sweeps/{}/", sweep.id);
    let stored: BTreeSet<String> = blobs.list(&format!("{place}transcripts/")).await?.into_iter().collect();
    let attempts = ledger.attempts(&sweep.id).await?;
    let named = attempts.iter().filter_map(|attempt| attempt.transcript.as_ref());
    let known: BTreeSet<String> = named.map(|at| format!("{place}{}", at.segment)).collect();
    let missing = known.difference(&stored).count();
    if missing > 0 {
        output::note(&format!(
            "{missing} of {} files of transcripts are missing from store/blobs/{place}transcripts; scores are in the ledger and stay, \
             but `show`, `rescore` and `replay` lack their sessions. See `regatta repair {} --dry-run`",
            known.len(),
            directory.display()
        ));
    }
    let mut damaged = Vec::new();
    for key in &stored {
        let content = blobs.get(key).await?;
        if content.is_some_and(|content| !is_intact(key, &content)) {
            damaged.push(key.as_str());
        }
    }
    if !damaged.is_empty() {
        output::note(&format!(
            "damaged since they were written, so that their sessions cannot be shown: {}. See `regatta repair {} --dry-run`",
            damaged.join(", "),
            directory.display()
        ));
    }
    Ok(())
}

/// `true` when something that an ended sweep leaves behind is not there.
pub(super) async fn lacks_documents(sweep: &Sweep, blobs: &Blobs) -> anyhow::Result<bool> {
    let place = format!("sweeps/{}/", sweep.id);
    let stored: BTreeSet<String> = blobs.list(&place).await?.into_iter().collect();
    Ok(DOCUMENTS.iter().any(|name| !stored.contains(&format!("{place}{name}"))))
}
