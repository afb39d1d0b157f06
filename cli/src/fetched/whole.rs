//! A coordinator's sweep as a run of this machine: its files, what it was made of, and the verdicts of its judges.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use regatta_catalog::{InputKind, StoredTranscript, Sweep, store_input};
use regatta_proto::{CellIndex, Digest, ItemIndex, ModelRef, Outcome, SweepId, counted};
use regatta_scorer::WantedVerdicts;
use regatta_viewer::annotations::FOLDER;

use super::annotations;
use crate::client::Client;
use crate::embedded::Embedded;
use crate::exit::{BadConfiguration, bad_configuration};
use crate::output;
use crate::transcripts::{read_file, segments};

/// Questions that are asked for at once; a coordinator takes no more.
const QUESTIONS_AT_ONCE: usize = 1000;

/// Completeness of a copy.
pub(crate) enum Reach {
    /// A run with its stores.
    Whole,
    /// The run's files alone, for the reason given.
    Files(String),
}

/// Copies the ended `sweep` into `directory`, which is empty. No program of its benchmarks is started.
///
/// # Errors
/// [`BadConfiguration`] when it has not ended, or has left no results behind; or when the coordinator does not answer.
pub(crate) async fn copy(client: &Client, sweep: &SweepId, directory: &Path) -> anyhow::Result<Reach> {
    let run = Embedded::open_of_others(directory).await?;
    let reach = copy_into(&run, client, sweep, directory).await?;
    drop(run);
    if let Reach::Files(_) = reach {
        // A ledger that knows of no sweep would be taken for a damaged one.
        std::fs::remove_dir_all(directory.join("store")).context("failed to remove the stores of a copy")?;
    }
    Ok(reach)
}

async fn copy_into(run: &Embedded, client: &Client, sweep: &SweepId, directory: &Path) -> anyhow::Result<Reach> {
    let state = client.status(sweep).await?.state;
    if !state.is_end() {
        return Err(BadConfiguration(format!("sweep {sweep} is {state}; wait for its end")).into());
    }
    let names = client.files(sweep).await?;
    for needed in ["sweep.lock.yaml", "summary.json", "results.jsonl", "attempts.jsonl"] {
        if !names.iter().any(|name| name == needed) {
            let problem = format!("sweep {sweep} is {state} and has left no {needed} behind; resume it first");
            return Err(BadConfiguration(problem).into());
        }
    }
    annotations(client, sweep, directory, &names).await?;
    for name in names.iter().filter(|name| !name.starts_with(FOLDER)) {
        let content = client.file(sweep, name).await?.with_context(|| format!("{name} has gone meanwhile"))?;
        run.catalog().blobs().put(&format!("sweeps/{sweep}/{name}"), content).await?;
    }
    run.link_artifacts(sweep)?;
    if !names.iter().any(|name| name.starts_with("transcripts/")) {
        return Ok(Reach::Files(format!("the transcripts of sweep {sweep} have been removed")));
    }
    let copied = match read(client, sweep, run).await {
        Ok(copied) => copied,
        Err(error) if error.downcast_ref::<BadConfiguration>().is_some() => {
            return Ok(Reach::Files(format!("the data of sweep {sweep} cannot be read: {error}")));
        }
        Err(error) => return Err(error),
    };
    if copied.id != *sweep {
        anyhow::bail!(
            "asked for {sweep}, the coordinator sent {}; is the address that of another deployment?",
            copied.id
        );
    }
    let verdicts = verdicts(client, &copied, directory).await.context("failed to fetch verdicts")?;
    run.adopt(&copied, state, &verdicts).await?;
    run.ledger().checkpoint().await.context("failed to finish the copy's ledger")?;
    output::note(&format!(
        "fetched {} of sweep {sweep}, its data, and {}",
        counted(names.len() as u64, "file", "files"),
        counted(verdicts.count() as u64, "verdict", "verdicts")
    ));
    Ok(Reach::Whole)
}

/// Fetches everything that `sweep` is made of, and reads it.
async fn read(client: &Client, sweep: &SweepId, run: &Embedded) -> anyhow::Result<Arc<Sweep>> {
    let mut lock = None;
    for input in client.inputs(sweep).await? {
        let content = client.input(sweep, &input.digest).await?;
        store_input(run.catalog().blobs(), &input, content).await.map_err(bad_configuration)?;
        if input.kind == InputKind::Lock {
            lock = Some(input.digest);
        }
    }
    let lock = lock.with_context(|| format!("the coordinator does not say which lock {sweep} has"))?;
    run.catalog().sweep(&lock).await.map_err(bad_configuration)
}

/// Fetches the verdicts that the sessions in `directory` rest on, a segment of transcripts after the other.
async fn verdicts<'s>(client: &Client, sweep: &'s Sweep, directory: &Path) -> anyhow::Result<WantedVerdicts<'s>> {
    let mut known = WantedVerdicts::new(sweep);
    if sweep.lock.benchmarks.values().all(|benchmark| benchmark.judge.is_none()) {
        return Ok(known);
    }
    for segment in segments(directory)? {
        let mut sessions = Vec::new();
        read_file(&segment, |stored| {
            if is_scored(&stored) {
                sessions.push(stored);
            }
        })?;
        loop {
            let of_sweep = sessions.iter().filter_map(|stored| {
                Some((sweep.cell(CellIndex(stored.cell))?, ItemIndex(stored.position), &stored.transcript))
            });
            let wanted = known.of(of_sweep);
            if wanted.is_empty() {
                break;
            }
            for (judge, questions) in wanted {
                fetch(client, sweep, &judge, &questions, &mut known).await?;
            }
        }
    }
    Ok(known)
}

/// Lines of older versions do not say how their session ended.
fn is_scored(stored: &StoredTranscript) -> bool {
    stored.reported.as_ref().is_none_or(|reported| reported.outcome == Outcome::Measured)
}

async fn fetch(
    client: &Client,
    sweep: &Sweep,
    judge: &ModelRef,
    questions: &[Digest],
    known: &mut WantedVerdicts<'_>,
) -> anyhow::Result<()> {
    let mut left = questions;
    while !left.is_empty() {
        let (at_once, _) = left.split_at(left.len().min(QUESTIONS_AT_ONCE));
        let page = client.verdicts(&sweep.id, judge, at_once).await?;
        known.learn(judge, page.verdicts);
        left = match page.looked_up {
            0 => anyhow::bail!("the coordinator looked up none of {} questions", at_once.len()),
            some => left.get(some..).unwrap_or_default(),
        };
    }
    Ok(())
}
