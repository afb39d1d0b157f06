//! A run goes on with a spec that was changed: a further sweep of the same ledger takes over the sessions whose inputs are the same, and takes
//! the place of the old one. What it has beyond them is run.

mod copying;
mod inputs;
mod mark;
mod money;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::Context;
use regatta_backends::{AttemptRow, SweepRow};
use regatta_catalog::{Sweep, read_lock};
use regatta_proto::{CellIndex, Digest, ItemIndex, Money, SessionKey, SweepId, counted};

use self::copying::is_result;
use self::inputs::{Common, common, told};
use self::mark::{Mark, Part, Stage};
use super::Embedded;
use crate::benchmarks::BENCHMARKS;
use crate::exit::BadConfiguration;
use crate::output;
use crate::trust::is_remembered;

pub(super) use self::mark::settle;

/// Course where a changed spec has not all sessions any more that have a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fewer {
    /// The change is refused: what was paid for would be in no result, and paid for again later.
    Refuse,
    /// The sessions are left out of the new spec's results, as `--leave-out` asked.
    LeaveOut,
}

/// A change of the spec of a directory that the sessions in it allow.
pub(crate) struct Change {
    old: Arc<Sweep>,
    /// Cells that both have, by their positions in the old grid.
    cells: BTreeMap<CellIndex, CellIndex>,
    /// Differences, one a line.
    told: Vec<String>,
}

impl Change {
    /// The session of `new` that is the one of `item` in `cell` of the old sweep; `None` if it has none.
    fn session_in(&self, new: &Sweep, cell: CellIndex, item: ItemIndex) -> Option<SessionKey> {
        let cell = new.cell(*self.cells.get(&cell)?)?;
        let is_selected = new.selected(cell).binary_search(&item).is_ok();
        is_selected.then(|| SessionKey { sweep: new.id.clone(), cell: cell.index, item })
    }

    /// `true` if the session of `item` in `cell` of the old sweep is one of `new` that is asked anew each time, and was not before.
    fn makes_canary(&self, new: &Sweep, cell: CellIndex, item: ItemIndex) -> bool {
        let is_canary =
            |sweep: &Sweep, cell: CellIndex| sweep.cell(cell).is_some_and(|cell| sweep.is_canary(cell, item));
        let becomes = |key: SessionKey| is_canary(new, key.cell) && !is_canary(&self.old, cell);
        self.session_in(new, cell, item).is_some_and(becomes)
    }
}

impl Embedded {
    /// The change from the sweep that the directory holds to `new`; `None` if it holds none, or this one. What earlier processes could not
    /// record of it is recorded.
    ///
    /// # Errors
    /// [`BadConfiguration`], with what differs, when sessions have results that were asked something else, or that `new` lacks and `fewer` keeps
    /// from being left out; or when a store fails.
    pub(crate) async fn change_to(&self, new: &Sweep, fewer: Fewer) -> anyhow::Result<Option<Change>> {
        let mut rows = self.ledger.sweeps().await?;
        let Some(row) = rows.pop() else { return Ok(None) };
        if let Some(further) = rows.first() {
            return Err(self.refusal(&row.id, &format!("{} beside it, which would be run too", further.id)));
        }
        if row.id == new.id && row.lock == new.digest {
            return Ok(None);
        }
        self.refuse_programs_of_others(&row, new).await?;
        let old = self.catalog.sweep(&row.lock).await;
        let old = old.with_context(|| unread(&row))?;
        if old.lock.decide.is_some() || new.lock.decide.is_some() {
            let reason = "one of the two has a question (`decide`), so that other sessions would be bought";
            return Err(self.refusal(&old.id, reason));
        }
        // First: results that only files know count too.
        if self.directory.join("store/reserve").exists() {
            let _reserve = self.recover(&old).await?;
        }
        self.recover_lost(&old).await?;
        let attempts = self.ledger.attempts(&old.id).await?;
        let with_results: BTreeSet<CellIndex> =
            attempts.iter().filter(|row| is_result(row)).map(|row| row.key.cell).collect();
        let Common { same, differing } = common(&old.lock, &new.lock)?;
        let refused: BTreeSet<&String> =
            differing.iter().filter(|(cell, _)| with_results.contains(*cell)).flat_map(|(_, lines)| lines).collect();
        if !refused.is_empty() {
            let lines: Vec<&str> = refused.into_iter().map(String::as_str).collect();
            return Err(self.refusal(&old.id, &format!("its sessions were asked otherwise ({})", lines.join("; "))));
        }
        let mut told = told(&old.lock, &new.lock)?;
        if old.lock.budget_usd == new.lock.budget_usd
            && let Some(raised) = row.budget.filter(|_| row.budget != budget(new))
        {
            told.push(format!("the budget was raised to {raised} since, and is the one of the spec again"));
        }
        let change = Change { old, cells: same, told };
        let is_kept = |row: &AttemptRow| change.session_in(new, row.key.cell, row.key.item).is_some();
        if !with_results.is_empty() && !attempts.iter().any(|row| is_result(row) && is_kept(row)) {
            return Err(self.refusal(&change.old.id, "none of its sessions with a result is in the spec now"));
        }
        if fewer == Fewer::Refuse {
            self.refuse_fewer(&change, attempts.iter().filter(|&row| !is_kept(row)))?;
        }
        if attempts.iter().any(|row| row.may_be_cached() && change.makes_canary(new, row.key.cell, row.key.item)) {
            let reason =
                "sessions of it are canaries now (`canaries`), and may have been answered by the response cache";
            return Err(self.refusal(&change.old.id, reason));
        }
        Ok(Some(change))
    }

    /// Refuses `change` if sessions with a result are among the attempts that it would leave out.
    fn refuse_fewer<'r>(&self, change: &Change, left_out: impl Iterator<Item = &'r AttemptRow>) -> anyhow::Result<()> {
        let mut part = Part::default();
        left_out.for_each(|row| part.add(row));
        if part.sessions == 0 {
            return Ok(());
        }
        Err(BadConfiguration(format!(
            "{} holds the sweep {}, of which the spec lacks {} ({}): {}; what was paid for is left out only if you say so: run the smaller spec in a \
             directory of its own (--output), or go on here without them (--leave-out)",
            self.directory.display(),
            change.old.id,
            counted(part.sessions, "session with a result", "sessions with a result"),
            part.cost,
            change.told.join("; ")
        ))
        .into())
    }

    /// Refuses a sweep of somebody else if a program would be started to read it that `new` does not have.
    async fn refuse_programs_of_others(&self, row: &SweepRow, new: &Sweep) -> anyhow::Result<()> {
        if is_remembered(&row.lock) {
            return Ok(());
        }
        let lock = read_lock(self.catalog.blobs(), &row.lock).await.with_context(|| unread(row))?;
        let known = |data: &Digest| new.lock.benchmarks.values().any(|benchmark| benchmark.dataset == *data);
        // A program is part of the data set of its benchmark.
        let mut programs = lock.benchmarks.iter().filter(|(name, _)| BENCHMARKS.find_built_in(name).is_none());
        let Some((name, _)) = programs.find(|(_, benchmark)| !known(&benchmark.dataset)) else { return Ok(()) };
        let place = self.directory.display();
        Err(BadConfiguration(format!(
            "{place} holds the sweep {}, which was not begun by this user on this machine, and a program of its benchmark {name} may be \
             started to read it; if you trust whoever wrote it, say so first (regatta resume {place} --trust), or choose another \
             directory with --output",
            row.id
        ))
        .into())
    }

    fn refusal(&self, held: &SweepId, reason: &str) -> anyhow::Error {
        let problem = format!("{} holds the sweep {held}, and {reason}", self.directory.display());
        BadConfiguration(format!("{problem}; choose another directory with --output, or remove it")).into()
    }

    /// Puts `new` into the place of the sweep that the directory holds, with the sessions that it goes on with, and says what changed. Nobody is
    /// asked anything. Where it is interrupted, the directory holds one or the other the next time that it is opened.
    ///
    /// # Errors
    /// [`BadConfiguration`] when transcripts are gone that it needs; or when a store fails.
    pub(crate) async fn change(&self, change: Change, new: &Sweep) -> anyhow::Result<()> {
        let store = self.directory.join("store");
        let mut mark = Mark {
            stage: Stage::Copying,
            from: change.old.id.clone(),
            to: new.id.clone(),
            changes: change.told.clone(),
            kept: Part::default(),
            left_out: Part::default(),
        };
        mark.write(&store)?;
        match self.copy_sessions(&change, new).await {
            Ok(parts) => (mark.kept, mark.left_out) = parts,
            Err(error) => {
                if let Err(error) = settle(&self.directory, &self.ledger).await {
                    tracing::warn!(error = format!("{error:#}"), "failed to take back a change; the next run does");
                }
                return Err(error);
            }
        }
        self.ledger.checkpoint().await.context("failed to bring the ledger's log into its file")?;
        mark.stage = Stage::Copied;
        mark.write(&store)?;
        settle(&self.directory, &self.ledger).await?;
        self.tell_of_change(&mark);
        Ok(())
    }

    fn tell_of_change(&self, mark: &Mark) {
        let Mark { stage: _, from, to: _, changes, kept, left_out } = mark;
        output::note(&format!("{} goes on with a spec that has changed:", self.directory.display()));
        changes.iter().for_each(|change| output::note(&format!("  {change}")));
        output::note(&format!(
            "kept {}, none of which is paid for again (carried over: {})",
            counted(kept.sessions, "session", "sessions"),
            kept.cost
        ));
        if *left_out != Part::default() {
            output::note(&format!(
                "left out {} that the spec does not have any more ({}, in no sum from now on)",
                counted(left_out.sessions, "session", "sessions"),
                left_out.cost
            ));
        }
        output::note(&format!("what was before is in {}", mark::place(&self.directory, from).display()));
    }
}

fn unread(row: &SweepRow) -> String {
    format!("failed to read the spec of {}, which the directory holds", row.id)
}

fn budget(sweep: &Sweep) -> Option<Money> {
    sweep.lock.budget_usd.and_then(Money::from_dollars)
}
