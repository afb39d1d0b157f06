//! The sessions of one sweep become those of another of the same directory, with their attempts, costs and verdicts. Nobody is asked anything.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use jiff::SignedDuration;
use regatta_backends::{AttemptRow, AttemptState, Quota, ToldBy};
use regatta_catalog::{StoredTranscript, Sweep, checkpoint_key, checkpoint_keys, read_segment, write_segment};
use regatta_proto::{
    Attempt, AttemptId, AttemptTotals, CellIndex, ItemId, ItemIndex, OpenAttempt, Outcome, SessionKey, SessionOutcome,
    SweepState,
};
use regatta_scorer::{Bill, Past, Rescoring};

use super::Change;
use super::mark::Part;
use crate::embedded::Embedded;
use crate::exit::BadConfiguration;

/// Way in which an attempt of the old sweep becomes one of the new sweep.
enum Carried {
    /// By its transcript, as it is recorded when a ledger is made anew.
    Recorded,
    /// By its totals: it has no transcript, or not the one that counts.
    Ended,
    /// By its totals so far, and what its call in flight may cost.
    Open,
}

fn carried(row: &AttemptRow) -> Carried {
    match (row.state, &row.outcome) {
        (AttemptState::Recorded, _) => Carried::Recorded,
        // A resume has undone it, and its transcript may be gone on from.
        (AttemptState::Waste | AttemptState::HandedOver, Some(Outcome::NotMeasured { .. }))
            if row.transcript.is_some() =>
        {
            Carried::Recorded
        }
        (AttemptState::Waste | AttemptState::HandedOver, _) => Carried::Ended,
        (AttemptState::Open | AttemptState::Lost, _) => Carried::Open,
    }
}

fn totals(row: &AttemptRow) -> AttemptTotals {
    AttemptTotals {
        calls: row.calls,
        // Attempts without a transcript are in no statistic of time.
        cached_calls: row.cached_calls.unwrap_or(0),
        retries: row.retries,
        latency_us: row.latency_us,
        usage: row.usage,
        cost: row.cost,
        maybe_spent: row.maybe_spent,
    }
}

fn attempt(row: &AttemptRow) -> Attempt {
    Attempt {
        id: row.id.clone(),
        number: row.number,
        worker: row.worker.clone(),
        started_at: row.started_at,
        ended_at: row.ended_at.unwrap_or(row.started_at),
    }
}

/// `true` if it is the attempt by which its session has a result, though a judge may not have answered yet.
pub(super) fn is_result(row: &AttemptRow) -> bool {
    let is_measured = matches!(row.outcome, Some(Outcome::Measured | Outcome::ModelFailure { .. }));
    is_measured && row.state == AttemptState::Recorded
}

impl Part {
    pub(super) fn add(&mut self, row: &AttemptRow) {
        self.sessions += u64::from(is_result(row));
        self.cost += row.cost;
    }
}

impl Embedded {
    /// Enters `new`, and copies into it everything of the old sweep that it goes on with. Returns what is kept, and what is left out.
    ///
    /// # Errors
    /// [`BadConfiguration`] when a session is recorded whose transcript is gone; or when a store fails.
    pub(super) async fn copy_sessions(&self, change: &Change, new: &Sweep) -> anyhow::Result<(Part, Part)> {
        let old = &*change.old;
        let row = self.ledger.sweep(&old.id).await?.context("the ledger has lost the sweep that it held")?;
        self.coordinator.enter(new).await?;
        if let Some(file) = self.ledger.as_file() {
            // It lasts since the old one began. As the older of the two, it is not shown before it counts.
            let began_at = row.created_at.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(row.created_at);
            file.correct_beginning(&new.id, began_at).await?;
        }
        let (mut kept, mut left_out) = (Part::default(), Part::default());
        let (mut recorded, mut ended) = (BTreeMap::new(), BTreeSet::new());
        for row in self.ledger.attempts(&old.id).await? {
            let Some(key) = change.session_in(new, row.key.cell, row.key.item) else {
                left_out.add(&row);
                continue;
            };
            kept.add(&row);
            match carried(&row) {
                Carried::Recorded => {
                    if row.state == AttemptState::Recorded {
                        ended.insert((row.key.cell, row.key.item));
                    }
                    recorded.insert(row.id.clone(), (key, row));
                }
                Carried::Ended => self.carry_ended(&key, &row).await?,
                Carried::Open => self.carry_open(key, &row).await?,
            }
        }
        self.carry_transcripts(old, new, recorded).await?;
        left_out.cost += self.carry_judges(old, new).await?;
        let past = Past::read(self.catalog.blobs(), &new.id).await?;
        let recovery = self.scorer_apart(new).await?.recover_lost(new, &past).await;
        let recovery = recovery.context("failed to record the sessions of the old sweep")?;
        anyhow::ensure!(
            recovery.unreadable.is_empty(),
            "failed to read the transcripts that were just copied; try again"
        );
        // What was not measured runs again, as after a resume.
        self.ledger.reopen_unmeasured(&new.id, Quota::default()).await?;
        self.ledger.forget_workers(&new.id).await?;
        self.carry_grants(change, new).await?;
        if row.state == SweepState::Running {
            self.carry_checkpoints(change, new, row.generation, &ended).await?;
        }
        Ok((kept, left_out))
    }

    async fn carry_ended(&self, key: &SessionKey, row: &AttemptRow) -> anyhow::Result<()> {
        self.ledger.record_handover(key, attempt(row), totals(row), ToldBy::Itself).await?;
        Ok(())
    }

    async fn carry_open(&self, key: SessionKey, row: &AttemptRow) -> anyhow::Result<()> {
        let open = OpenAttempt {
            key,
            id: row.id.clone(),
            number: row.number,
            started_at: row.started_at,
            totals: totals(row),
            in_flight_at_most: row.at_most,
        };
        self.ledger.record_progress(vec![(open, row.worker.clone())]).await?;
        Ok(())
    }

    /// Writes the transcripts of the attempts `wanted` as those of `new`, and the verdicts that they need.
    async fn carry_transcripts(
        &self,
        old: &Sweep,
        new: &Sweep,
        mut wanted: BTreeMap<AttemptId, (SessionKey, AttemptRow)>,
    ) -> anyhow::Result<()> {
        let blobs = self.catalog.blobs();
        let mut rescoring = Rescoring::new(&self.ledger, old, new);
        for segment in blobs.list(&format!("sweeps/{}/transcripts/", old.id)).await? {
            let Some(bytes) = blobs.get(&segment).await? else { continue };
            let outcomes = outcomes(new, &segment, &bytes, &mut wanted).with_context(|| {
                format!("failed to read {segment}; mend it first: regatta repair {}", self.directory.display())
            })?;
            let mut named: Vec<(&ItemId, &SessionOutcome)> = Vec::with_capacity(outcomes.len());
            for outcome in &outcomes {
                let cell =
                    new.cell(outcome.key.cell).context("the new sweep lacks a cell that it was found to have")?;
                let item = new.item(cell, outcome.key.item).context("the new sweep lacks an item that it selects")?;
                if outcome.outcome == Outcome::Measured {
                    rescoring.add(cell, outcome.key.item, &outcome.transcript).await?;
                }
                named.push((&item.id, outcome));
            }
            if !named.is_empty() {
                write_segment(blobs, &new.id, &named).await?;
            }
        }
        let lost = wanted.values().filter(|(_, row)| is_result(row)).count();
        if lost > 0 {
            return Err(BadConfiguration(format!(
                "{lost} sessions in {place} have a result and no transcript, and would be paid for again with another spec; see \
                 `regatta repair {place}`, or choose another directory with --output",
                place = self.directory.display()
            ))
            .into());
        }
        for (key, row) in wanted.values() {
            self.carry_ended(key, row).await?;
        }
        rescoring.carry_over(&self.ledger, Bill::Carried).await?;
        Ok(())
    }

    /// Copies the checkpoints of sessions that have not `ended`: they go on from there, and pay for no call twice.
    async fn carry_checkpoints(
        &self,
        change: &Change,
        new: &Sweep,
        generation: u32,
        ended: &BTreeSet<(CellIndex, ItemIndex)>,
    ) -> anyhow::Result<()> {
        let (blobs, old) = (self.catalog.blobs(), &change.old);
        let row = self.ledger.sweep(&new.id).await?.context("the ledger has lost the sweep that was entered")?;
        for key in checkpoint_keys(blobs, &old.id).await? {
            let place = key.rsplit('/').next().and_then(|name| name.split_once('-'));
            let place = place.and_then(|(cell, item)| Some((cell.parse::<u32>().ok()?, item.parse::<u32>().ok()?)));
            let Some(place) = place.map(|(cell, item)| (CellIndex(cell), ItemIndex(item))) else { continue };
            let to = change.session_in(new, place.0, place.1).filter(|_| !ended.contains(&place));
            let (Some(to), Some(bytes)) = (to, blobs.get(&key).await?) else { continue };
            let (from, into) = ((old.digest, generation), (new.digest, row.generation));
            if let Some(checkpoint) = regatta_worker::readdressed_checkpoint(&bytes, from, into) {
                blobs.put(&checkpoint_key(&to), checkpoint).await?;
            }
        }
        Ok(())
    }
}

/// The attempts `wanted` of the bytes of `segment`, as those of sessions of `new`.
fn outcomes(
    new: &Sweep,
    segment: &str,
    bytes: &[u8],
    wanted: &mut BTreeMap<AttemptId, (SessionKey, AttemptRow)>,
) -> anyhow::Result<Vec<SessionOutcome>> {
    let mut outcomes = Vec::new();
    for stored in read_segment(segment, bytes)? {
        let StoredTranscript { attempt_id, reported, transcript, .. } = stored?;
        // A report that came twice is in two segments.
        let Some((key, row)) = wanted.remove(&attempt_id) else { continue };
        let outcome = reported.map(|reported| reported.outcome).or_else(|| row.outcome.clone());
        let outcome = outcome.with_context(|| {
            format!("failed to copy attempt {attempt_id}: neither its transcript nor the ledger has its outcome")
        })?;
        outcomes.push(SessionOutcome { key, lock: new.digest, attempt: attempt(&row), outcome, transcript });
    }
    Ok(outcomes)
}
