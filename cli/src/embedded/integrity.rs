//! Checks a run's directory before it is used: its ledger, the transcripts that the ledger names, and what the sweep has left behind.

use std::collections::BTreeSet;
use std::path::Path;

use regatta_backends::{Blobs, Ledger};
use regatta_catalog::Sweep;
use regatta_proto::Digest;
use regatta_scorer::DOCUMENTS;

use crate::exit::BadConfiguration;
use crate::output;

/// Digits of its content's digest that a segment is called by.
const DIGITS: usize = 16;

/// Refuses a directory that has transcripts and no ledger: a run would begin anew, and pay for everything a second time.
pub(super) async fn refuse_without_ledger(directory: &Path, ledger: &Ledger, blobs: &Blobs) -> anyhow::Result<()> {
    if !ledger.sweeps().await?.is_empty() {
        return Ok(());
    }
    let left_behind = blobs.list("sweeps/").await?.len();
    if left_behind == 0 {
        return Ok(());
    }
    let ledger = directory.join("store/ledger.sqlite");
    Err(BadConfiguration(format!(
        "{} knows of no sweep, and {left_behind} files of one are in {}: the ledger has been removed or emptied, and with it what was \
         paid. Restore it with its -wal file from a backup; or, to pay for everything again, choose another directory with --output",
        ledger.display(),
        directory.join("store/blobs/sweeps").display()
    ))
    .into())
}

/// Says what transcripts and ledger do not know of each other, and which transcripts are damaged. Results are in the ledger, so none of
/// it changes a score.
pub(super) async fn tell_of_transcripts(sweep: &Sweep, ledger: &Ledger, blobs: &Blobs) -> anyhow::Result<()> {
    let place = format!("sweeps/{}/", sweep.id);
    let stored: BTreeSet<String> = blobs.list(&format!("{place}transcripts/")).await?.into_iter().collect();
    let attempts = ledger.attempts(&sweep.id).await?;
    let named = attempts.iter().filter_map(|attempt| attempt.transcript.as_ref());
    let known: BTreeSet<String> = named.map(|at| format!("{place}{}", at.segment)).collect();
    let missing = known.difference(&stored).count();
    if missing > 0 {
        output::note(&format!(
            "{missing} of {} files of transcripts are missing from store/blobs/{place}transcripts; scores are in the ledger and stay, \
             but `show`, `rescore` and `replay` lack their sessions",
            known.len()
        ));
    }
    let unknown = stored.difference(&known).count();
    if unknown > 0 {
        output::note(&format!(
            "{unknown} files of transcripts are not in the ledger: an earlier run was killed while it recorded them, or the ledger has \
             lost its latest entries. What they cost is in no sum, and sessions without a result run again"
        ));
    }
    let mut damaged = Vec::new();
    for key in known.intersection(&stored) {
        let content = blobs.get(key).await?;
        if content.is_some_and(|content| !key.contains(&Digest::of(&content).to_string()[..DIGITS])) {
            damaged.push(key.as_str());
        }
    }
    if !damaged.is_empty() {
        output::note(&format!(
            "damaged since they were written, so that their sessions cannot be shown: {}",
            damaged.join(", ")
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
