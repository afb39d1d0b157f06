//! Sessions whose transcripts are stored and whose records are lost: with the ledger, with the end of its log, or because a process was
//! killed between the two. They are recorded from their transcripts, and nothing is paid for again.

mod history;
mod past;

use std::collections::{BTreeMap, BTreeSet};

use futures::future::BoxFuture;
use jiff::Timestamp;
use regatta_backends::{Judged, Quota, Recorded, ToldBy, TranscriptRef};
use regatta_catalog::{SegmentError, StoredTranscript, Sweep, is_intact, read_segment};
use regatta_proto::{
    Attempt, AttemptId, BenchmarkLock, CellIndex, CostSum, ItemIndex, Judge, JudgeOutcome, ModelRef, Money,
    OpenAttempt, Outcome, SessionKey, SweepState, Usage,
};

use self::history::{Found, Place, Standing, rounds};
pub use self::past::Past;
use crate::scorer::{Scorer, ScorerError};
use crate::verdicts::answerer;

/// Outcome of a recovery.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Sessions that have a record again.
    pub sessions: u64,
    /// Further attempts of sessions that have one.
    pub surplus: u64,
    /// Attempts without a transcript, of which only the costs are known.
    pub costs: u64,
    /// Transcripts that do not say how their attempt ended, as older versions wrote them. Their sessions run again.
    pub without_end: u64,
    /// Segments that are damaged, or that this version cannot read. Nothing of them was recorded.
    pub unreadable: Vec<String>,
    /// When the first of the recovered attempts began, and the last ended.
    pub span: Option<(Timestamp, Timestamp)>,
}

impl Recovery {
    /// `true` if it has changed nothing.
    #[must_use]
    pub const fn is_nothing(&self) -> bool {
        self.sessions == 0 && self.surplus == 0 && self.costs == 0
    }
}

/// Attempts that the transcripts have and the ledger lacks.
#[derive(Debug, Default)]
struct Lost {
    found: Vec<Found>,
    without_end: u64,
    unreadable: Vec<String>,
    span: Option<(Timestamp, Timestamp)>,
}

impl Scorer {
    /// Says what [`Scorer::recover_lost`] would find, and changes nothing: `sessions` counts attempts then, whatever they become.
    ///
    /// # Errors
    /// When a store fails.
    pub fn find_lost<'a>(&'a self, sweep: &'a Sweep, past: &'a Past) -> BoxFuture<'a, Result<Recovery, ScorerError>> {
        Box::pin(async move {
            let Lost { found, without_end, unreadable, span } = self.lost(sweep, past).await?;
            let sessions = found.len() as u64;
            Ok(Recovery { sessions, without_end, unreadable, span, ..Recovery::default() })
        })
    }

    /// Records what the transcripts of `sweep` know and its ledger does not. Questions of judges are not asked: they are when the sweep
    /// goes on. An ended sweep that has sessions again goes on too. Repeating it changes nothing.
    ///
    /// # Errors
    /// When a store fails.
    pub fn recover_lost<'a>(
        &'a self,
        sweep: &'a Sweep,
        past: &'a Past,
    ) -> BoxFuture<'a, Result<Recovery, ScorerError>> {
        Box::pin(async move {
            let Lost { found, without_end, unreadable, span } = self.lost(sweep, past).await?;
            self.restore_judges(sweep, past).await?;
            if past.judges_are_unknown && !found.is_empty() {
                self.mark_judges_unknown(sweep).await?;
            }
            let costs = self.restore_costs(sweep, past).await?;
            let mut recovery = Recovery { costs, without_end, unreadable, span, ..Recovery::default() };
            if found.is_empty() {
                return Ok(recovery);
            }
            for ended in [SweepState::Incomplete, SweepState::StoppedByBudget] {
                self.ledger.transition(&sweep.id, &[ended], SweepState::Running, self.clock.now()).await?;
            }
            let standing = self.standing(sweep, &found).await?;
            for round in rounds(found, &standing, &past.counted()) {
                if round.reopens {
                    self.ledger.reopen_unmeasured(&sweep.id, Quota::default()).await?;
                }
                for recorded in self.record_found(sweep, past, round.found).await? {
                    match recorded {
                        Recorded::First => recovery.sessions += 1,
                        Recorded::Waste => recovery.surplus += 1,
                        Recorded::Repeat => {}
                    }
                }
            }
            Ok(recovery)
        })
    }

    async fn lost(&self, sweep: &Sweep, past: &Past) -> Result<Lost, ScorerError> {
        let attempts = self.ledger.attempts(&sweep.id).await?;
        let segments: BTreeSet<&str> =
            attempts.iter().filter_map(|attempt| Some(attempt.transcript.as_ref()?.segment.as_str())).collect();
        let reported: BTreeSet<&AttemptId> =
            attempts.iter().filter(|attempt| attempt.outcome.is_some()).map(|attempt| &attempt.id).collect();
        let place = format!("sweeps/{}/", sweep.id);
        let mut lost = Lost::default();
        for key in self.catalog.blobs().list(&format!("{place}transcripts/")).await? {
            let segment = key.strip_prefix(&place).unwrap_or(&key);
            if segments.contains(segment) {
                continue;
            }
            let Some(lines) = self.segment(sweep, segment).await? else {
                lost.unreadable.push(segment.to_owned());
                continue;
            };
            for (line, stored) in (0..).zip(lines) {
                if !reported.contains(&stored.attempt_id) {
                    lost.add(TranscriptRef { segment: segment.to_owned(), line }, stored, past);
                }
            }
        }
        Ok(lost)
    }

    /// Transcripts of `segment`; `None` if it is damaged, or of another version.
    async fn segment(&self, sweep: &Sweep, segment: &str) -> Result<Option<Vec<StoredTranscript>>, ScorerError> {
        let Some(bytes) = self.catalog.blobs().get(&format!("sweeps/{}/{segment}", sweep.id)).await? else {
            return Ok(None);
        };
        let lines = read_segment(segment, &bytes).and_then(|lines| lines.collect::<Result<Vec<_>, SegmentError>>());
        if let Err(error) = &lines {
            tracing::warn!(sweep.id = %sweep.id, segment, intact = is_intact(segment, &bytes), %error, "failed to read transcripts");
        }
        Ok(lines.ok())
    }

    /// States of the sessions of `found` that the ledger knows.
    async fn standing(&self, sweep: &Sweep, found: &[Found]) -> Result<BTreeMap<Place, Standing>, ScorerError> {
        let cells: BTreeSet<CellIndex> = found.iter().map(|one| one.place.0).collect();
        let mut standing = BTreeMap::new();
        for cell in cells {
            let selected = sweep.cell(cell).map_or(&[][..], |cell| sweep.selected(cell));
            let (Some(first), Some(last)) = (selected.first(), selected.last()) else { continue };
            let all = self.ledger.recorded_items(&sweep.id, cell, *first, *last).await?;
            standing.extend(all.into_iter().map(|item| ((cell, item), Standing::Recorded)));
            for row in self.ledger.sessions(&sweep.id, cell).await? {
                if matches!(row.outcome, Outcome::NotMeasured { .. }) {
                    standing.insert((cell, row.item), Standing::Unmeasured);
                }
            }
        }
        Ok(standing)
    }

    /// Records `found`, a segment at a time, so that no more than one is in memory.
    async fn record_found(&self, sweep: &Sweep, past: &Past, found: Vec<Found>) -> Result<Vec<Recorded>, ScorerError> {
        let mut by_segment: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
        for one in found {
            by_segment.entry(one.at.segment).or_default().insert(one.at.line);
        }
        let mut all = Vec::new();
        for (segment, wanted) in by_segment {
            let lines = self.segment(sweep, &segment).await?.unwrap_or_default();
            let (mut outcomes, mut places) = (Vec::new(), Vec::new());
            for (line, stored) in (0..).zip(lines).filter(|(line, _)| wanted.contains(line)) {
                let reported = stored.reported.clone().or_else(|| past.reported(&stored.attempt_id));
                if let Some(reported) = reported {
                    outcomes.push(stored.into_outcome(sweep.id.clone(), sweep.digest, reported));
                    places.push(TranscriptRef { segment: segment.clone(), line });
                }
            }
            let (recorded, _asked_when_it_goes_on) = self.record_stored(sweep, &outcomes, places).await?;
            all.extend(recorded);
        }
        Ok(all)
    }

    /// Enters what judges have cost of whom the ledger knows nothing. Their verdicts are asked for again.
    async fn restore_judges(&self, sweep: &Sweep, past: &Past) -> Result<(), ScorerError> {
        if past.judges.iter().all(|spent| spent.served.is_empty()) {
            return Ok(());
        }
        let known = self.ledger.costs_by_judge(&sweep.id).await?;
        let mut restored = Vec::new();
        for spent in &past.judges {
            if known.iter().any(|costs| costs.judge == spent.judge && !costs.served.is_empty()) {
                continue;
            }
            for (number, served) in spent.served.iter().enumerate() {
                // It is known in sum only.
                let (usage, cost) = if number == 0 { (spent.usage, spent.cost) } else { Default::default() };
                let name = format!("restored-{}-{number}", restored.len());
                let outcome = JudgeOutcome {
                    sweep: sweep.id.clone(),
                    lock: sweep.digest,
                    judge: spent.judge.clone(),
                    served: served.clone(),
                    verdicts: Vec::new(),
                    unanswered: Vec::new(),
                    attempt: AttemptId::new(name).map_err(regatta_catalog::CatalogError::from)?,
                    usage,
                    cost,
                };
                restored.push(Judged { answerer: answerer(sweep, &spent.judge)?, outcome });
            }
        }
        if !restored.is_empty() {
            self.ledger.save_judged(restored).await?;
        }
        Ok(())
    }

    /// Enters a call of unknown price and tokens for each judge of whom the ledger knows nothing, so that no sum without it passes for
    /// complete.
    async fn mark_judges_unknown(&self, sweep: &Sweep) -> Result<(), ScorerError> {
        let known = self.ledger.costs_by_judge(&sweep.id).await?;
        let judges = sweep.lock.benchmarks.values().flat_map(BenchmarkLock::judges);
        let judges: BTreeSet<&ModelRef> = judges.flat_map(Judge::ids).collect();
        let mut unknown = Vec::new();
        for judge in judges.into_iter().filter(|judge| known.iter().all(|costs| costs.judge != **judge)) {
            let outcome = JudgeOutcome {
                sweep: sweep.id.clone(),
                lock: sweep.digest,
                judge: judge.clone(),
                served: "unknown: the summary of the run cannot be read".to_owned(),
                verdicts: Vec::new(),
                unanswered: Vec::new(),
                attempt: AttemptId::new(format!("unknown-{}-0", unknown.len()))
                    .map_err(regatta_catalog::CatalogError::from)?,
                usage: Usage::default().of_unmetered_call(),
                cost: CostSum { known: Money::ZERO, unknown_calls: 1 },
            };
            unknown.push(Judged { answerer: answerer(sweep, judge)?, outcome });
        }
        if !unknown.is_empty() {
            self.ledger.save_judged(unknown).await?;
        }
        Ok(())
    }

    /// Enters the costs of attempts that left no transcript and that the ledger does not know; returns how many there are.
    async fn restore_costs(&self, sweep: &Sweep, past: &Past) -> Result<u64, ScorerError> {
        let mut missing: BTreeMap<&AttemptId, &past::Line> =
            past.attempts.iter().filter(|(_, line)| line.is_without_transcript()).collect();
        if missing.is_empty() {
            return Ok(0);
        }
        for known in self.ledger.attempts(&sweep.id).await? {
            missing.remove(&known.id);
        }
        let mut restored = 0;
        for (id, line) in missing {
            let item = sweep.cell(CellIndex(line.cell)).zip(line.item.as_ref()).and_then(|(cell, name)| {
                sweep.selected(cell).iter().find(|item| sweep.item(cell, **item).is_some_and(|item| item.id == *name))
            });
            let Some(item) = item else { continue };
            let key = SessionKey { sweep: sweep.id.clone(), cell: CellIndex(line.cell), item: *item };
            let (id, number, started_at, totals) = (id.clone(), line.attempt, line.started_at, line.totals());
            match line.handed_over_at() {
                Some(ended_at) => {
                    let worker = line.worker().clone();
                    let attempt = Attempt { id, number, worker, started_at, ended_at };
                    self.ledger.record_handover(&key, attempt, totals, ToldBy::Itself).await?;
                }
                None => {
                    let in_flight_at_most = line.at_most_nanodollars;
                    let open = OpenAttempt { key, id, number, started_at, totals, in_flight_at_most };
                    self.ledger.record_progress(vec![(open, line.worker().clone())]).await?;
                }
            }
            restored += 1;
        }
        Ok(restored)
    }
}

impl Lost {
    fn add(&mut self, at: TranscriptRef, stored: StoredTranscript, past: &Past) {
        let Some(reported) = stored.reported.or_else(|| past.reported(&stored.attempt_id)) else {
            self.without_end += 1;
            return;
        };
        let (from, to) = self.span.unwrap_or((reported.started_at, reported.ended_at));
        self.span = Some((from.min(reported.started_at), to.max(reported.ended_at)));
        self.found.push(Found {
            place: (CellIndex(stored.cell), ItemIndex(stored.position)),
            number: stored.attempt,
            id: stored.attempt_id,
            ended_at: reported.ended_at,
            counts: !matches!(reported.outcome, Outcome::NotMeasured { .. }),
            at,
        });
    }
}
