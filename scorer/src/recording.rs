//! Session outcomes: transcripts to Blobs, scores or questions to the ledger, judge jobs to the queue.

use std::borrow::Cow;
use std::collections::BTreeSet;

use bytes::Bytes;
use futures::future::BoxFuture;
use regatta_backends::{CallSums, RecordState, Recorded, SessionRecord, TranscriptRef};
use regatta_catalog::{Sweep, write_segment, write_segment_in_full};
use regatta_proto::{
    AttemptTotals, Cause, Cell, CostSum, Digest, Event, Flags, ItemId, Judge, Outcome, Question, Role, SessionOutcome,
    Transcript, Usage, wire,
};
use regatta_report::{Repeats, agent_end, stored_scores};
use regatta_traces::session_span;

use crate::audits::{SessionScoring, waits_for};
use crate::flags::flags;
use crate::judging::ask;
use crate::pace::Turns;
use crate::repeats::repeats;
use crate::scorer::{BATCH_BYTES, Scorer, ScorerError};
use crate::traced::{Scored, TracedRecord};
use crate::verdicts::{Known, Open, Subject, enter, score_all};

/// Record of one outcome, ready for the ledger.
struct Prepared {
    record: SessionRecord,
    /// Questions that must be answered before the session can be scored.
    open: Open,
}

/// Fields of a recorded outcome that are counted in metrics, with its open questions.
struct Told {
    outcome: &'static str,
    usage: Usage,
    cost: CostSum,
    open: Open,
    traced: Option<TracedRecord>,
}

impl Scorer {
    /// Records `outcomes`, all of `sweep`. Repeating it changes nothing.
    pub(crate) async fn record(&self, sweep: &Sweep, outcomes: &[SessionOutcome]) -> Result<(), ScorerError> {
        let since = self.clock.now();
        let scorings = self.score_measured(sweep, outcomes).await?;
        let scored = Scored { since, until: self.clock.now() };
        // Why a program failed belongs to the transcript, so that scoring comes before storing.
        let outcomes: Vec<Cow<'_, SessionOutcome>> = outcomes
            .iter()
            .zip(&scorings)
            .map(|(outcome, scoring)| with_failure(outcome, scoring.as_ref().map(|(scoring, _)| scoring)))
            .collect();
        let places = self.store(sweep, outcomes.iter().map(|outcome| &**outcome)).await?;
        let outcomes = outcomes.iter().map(|outcome| &**outcome);
        let (_, open) = self.record_scored(sweep, outcomes, places, (scorings, scored)).await?;
        ask(self, sweep, open).await
    }

    /// Writes the transcripts of `outcomes` as one segment.
    async fn store<'o>(
        &self,
        sweep: &Sweep,
        outcomes: impl Iterator<Item = &'o SessionOutcome>,
    ) -> Result<Vec<TranscriptRef>, ScorerError> {
        let named = |outcome| Ok((item_id(sweep, outcome)?, outcome));
        let all = outcomes.map(named).collect::<Result<Vec<_>, ScorerError>>()?;
        let written = match self.config.compact_transcripts {
            true => write_segment(self.catalog.blobs(), &sweep.id, &all).await?,
            false => write_segment_in_full(self.catalog.blobs(), &sweep.id, &all).await?,
        };
        Ok(written)
    }

    /// Stores the reports of `outcomes`, all of `sweep`, for [`Scorer::recover_lost`], which scores and records them: there is no time for that
    /// now. Returns the number that are stored, the first ones.
    pub fn store_unscored<'a>(&'a self, sweep: &'a Sweep, outcomes: &'a [SessionOutcome]) -> BoxFuture<'a, usize> {
        Box::pin(async move {
            let mut stored = 0;
            for batch in light(outcomes) {
                if let Err(error) = self.store(sweep, batch.iter()).await {
                    tracing::warn!(sweep.id = %sweep.id, %error, "failed to store reports that were not recorded");
                    break;
                }
                stored += batch.len();
            }
            stored
        })
    }

    /// Records `outcomes`, whose transcripts are stored at `places`; also returns the questions that are to be asked.
    pub(crate) async fn record_stored(
        &self,
        sweep: &Sweep,
        outcomes: &[SessionOutcome],
        places: Vec<TranscriptRef>,
    ) -> Result<(Vec<Recorded>, Open), ScorerError> {
        let since = self.clock.now();
        let scorings = self.score_measured(sweep, outcomes).await?;
        let scored = Scored { since, until: self.clock.now() };
        self.record_scored(sweep, outcomes.iter(), places, (scorings, scored)).await
    }

    async fn record_scored<'o>(
        &self,
        sweep: &Sweep,
        outcomes: impl ExactSizeIterator<Item = &'o SessionOutcome>,
        places: Vec<TranscriptRef>,
        (scorings, scored): (Vec<Option<(SessionScoring<'_>, Repeats)>>, Scored),
    ) -> Result<(Vec<Recorded>, Open), ScorerError> {
        let (mut records, mut told) = (Vec::with_capacity(outcomes.len()), Vec::with_capacity(outcomes.len()));
        for ((outcome, transcript), scoring) in outcomes.zip(places).zip(scorings) {
            let Prepared { record, open } = prepare(sweep, outcome, transcript, scoring)?;
            let traced = TracedRecord::prepare(&self.tracer, sweep, outcome, &record, scored);
            told.push(Told { outcome: record.outcome.as_str(), usage: record.usage, cost: record.cost, open, traced });
            // Records are as large as scores and transcripts: they go to the ledger as they are.
            records.push(record);
        }
        let recorded = self.ledger.record(records).await?;
        let mut open = Open::new();
        for (one, recorded) in told.into_iter().zip(&recorded) {
            self.count(&one, *recorded);
            if let Some(traced) = one.traced {
                traced.send(&self.tracer, *recorded, self.clock.now());
            }
            // A repeat may be the second life of a batch whose questions were never sent: ask again, answers are idempotent.
            if matches!(recorded, Recorded::First | Recorded::Repeat) {
                for (judge, questions) in one.open {
                    open.entry(judge).or_default().extend(questions);
                }
            }
        }
        Ok((recorded, open))
    }

    /// Scores those of `outcomes` that were measured, with the verdicts that the ledger already has, and by each repeat of a panel alone.
    async fn score_measured<'s>(
        &self,
        sweep: &'s Sweep,
        outcomes: &[SessionOutcome],
    ) -> Result<Vec<Option<(SessionScoring<'s>, Repeats)>>, ScorerError> {
        let subject = |outcome| {
            let SessionOutcome { key, outcome, transcript, .. }: &SessionOutcome = outcome;
            let cell = sweep.cell(key.cell).filter(|_| *outcome == Outcome::Measured)?;
            Some(Subject { cell, item: key.item, transcript })
        };
        let subjects: Vec<Option<Subject<'_>>> = outcomes.iter().map(subject).collect();
        let measured: Vec<Subject<'_>> = subjects.iter().flatten().copied().collect();
        let mut known = Known::default();
        let mut scorings = score_all(self, sweep, &measured, &mut known).await?.into_iter();
        let (mut with_repeats, mut turns) = (Vec::with_capacity(subjects.len()), Turns::begin(&self.stopwatch));
        for subject in &subjects {
            let scored = subject.as_ref().and_then(|subject| Some((subject, scorings.next().flatten()?)));
            let Some((subject, scoring)) = scored else {
                with_repeats.push(None);
                continue;
            };
            let repeats = turns.score(|| repeats(subject, sweep, &known)).await;
            with_repeats.push(Some((scoring, repeats)));
        }
        Ok(with_repeats)
    }

    fn count(&self, told: &Told, recorded: Recorded) {
        let metrics = &self.metrics;
        match recorded {
            Recorded::Repeat => {
                metrics.surplus.with_label_values(&["repeat"]).inc();
                return;
            }
            Recorded::Waste => {
                metrics.surplus.with_label_values(&["waste"]).inc();
                metrics.wasted_nanodollars.inc_by(told.cost.known.0);
            }
            Recorded::First => metrics.sessions.with_label_values(&[told.outcome]).inc(),
        }
        self.count_usage(&told.usage, &told.cost);
    }
}

/// Parts of `outcomes` whose transcripts have no more than [`BATCH_BYTES`], or are one.
fn light(mut outcomes: &[SessionOutcome]) -> impl Iterator<Item = &[SessionOutcome]> {
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |outcome: &&SessionOutcome| {
            bytes += outcome.transcript.bytes();
            bytes <= BATCH_BYTES
        };
        let count = outcomes.iter().take_while(fits).count().max(1);
        let (part, rest) = outcomes.split_at_checked(count)?;
        outcomes = rest;
        Some(part)
    })
}

fn item_id<'s>(sweep: &'s Sweep, outcome: &SessionOutcome) -> Result<&'s ItemId, ScorerError> {
    let item = sweep.cell(outcome.key.cell).and_then(|cell| sweep.item(cell, outcome.key.item));
    item.map(|item| &item.id).ok_or_else(|| ScorerError::UnknownSession(outcome.key.clone()))
}

/// `outcome` with why its benchmark's program could not score it, at the end of its transcript.
fn with_failure<'o>(outcome: &'o SessionOutcome, scoring: Option<&SessionScoring<'_>>) -> Cow<'o, SessionOutcome> {
    match scoring {
        Some(SessionScoring::Failed(failed)) => {
            let mut outcome = outcome.clone();
            outcome.transcript.events.push(Event::BenchmarkFailed(failed.clone()));
            Cow::Owned(outcome)
        }
        Some(
            SessionScoring::Scored { .. }
            | SessionScoring::NeedsAudit { .. }
            | SessionScoring::Needs(_)
            | SessionScoring::Unfit(_),
        )
        | None => Cow::Borrowed(outcome),
    }
}

fn prepare(
    sweep: &Sweep,
    outcome: &SessionOutcome,
    transcript: TranscriptRef,
    scoring: Option<(SessionScoring<'_>, Repeats)>,
) -> Result<Prepared, ScorerError> {
    let unknown = || ScorerError::UnknownSession(outcome.key.clone());
    let cell = sweep.cell(outcome.key.cell).ok_or_else(unknown)?;
    let item = sweep.item(cell, outcome.key.item).ok_or_else(unknown)?;
    let mut open = Open::new();
    let (state, result) = state_of(sweep, cell, outcome, scoring, &mut open)?;
    let number = outcome.attempt.number;
    let AttemptTotals { calls, cached_calls, retries, latency_us, usage, cost, maybe_spent } =
        outcome.transcript.totals_of(number);
    // What answered in the place of the model under test; its partners are no part of it, nor are members that others play.
    let agents = outcome
        .transcript
        .calls()
        .filter(|call| call.attempt == number && call.role == Role::Agent && call.model == cell.model);
    let mut served: Vec<String> = agents.filter_map(|call| served_as(&call.served)).collect();
    served.sort();
    served.dedup();
    let record = SessionRecord {
        key: outcome.key.clone(),
        item_id: item.id.clone(),
        task: item.task.to_string(),
        attempt: outcome.attempt.clone(),
        outcome: result,
        usage,
        cost,
        maybe_spent,
        calls,
        cached_calls,
        retries,
        latency_us,
        served,
        flags: flags_of(sweep, cell, outcome)?,
        agent_end: agent_end(&outcome.transcript),
        call_sums: CallSums::by_attempt(&outcome.transcript, served_as),
        transcript,
        state,
    };
    Ok(Prepared { record, open })
}

/// State and outcome of a session's record. It is not measured where it cannot be scored; what it waits for is entered into `open`.
fn state_of(
    sweep: &Sweep,
    cell: &Cell,
    outcome: &SessionOutcome,
    scoring: Option<(SessionScoring<'_>, Repeats)>,
    open: &mut Open,
) -> Result<(RecordState, Outcome), ScorerError> {
    let unknown = || ScorerError::UnknownSession(outcome.key.clone());
    let mut result = outcome.outcome.clone();
    let state = match &outcome.outcome {
        Outcome::NotMeasured { .. } => RecordState::Settled { scores: serde_json::Value::Null },
        Outcome::ModelFailure { .. } => {
            let suite = sweep.suite(cell).ok_or_else(unknown)?;
            // As sessions that were measured: by evaluators that measure something in the setting.
            let mut evaluators = sweep.benchmark(cell).ok_or_else(unknown)?.evaluators.clone();
            evaluators.retain(|evaluator| !suite.metrics(&cell.setting, *evaluator).is_empty());
            let scores = suite.score_failure(outcome.key.item, &evaluators);
            if scores.is_empty() && !evaluators.is_empty() {
                result = unfit(outcome, "its benchmark has no scores for a session of this item that failed");
                RecordState::Settled { scores: serde_json::Value::Null }
            } else {
                RecordState::Settled { scores: serde_json::to_value(scores)? }
            }
        }
        Outcome::Measured => match scoring.ok_or_else(unknown)? {
            (SessionScoring::Scored { scores, audited }, repeats) => {
                RecordState::Settled { scores: stored_scores(&scores, &repeats, audited.as_ref())? }
            }
            (SessionScoring::Unfit(reason), _) => {
                result = unfit(outcome, &reason);
                RecordState::Settled { scores: serde_json::Value::Null }
            }
            (SessionScoring::Failed(failed), _) => {
                let _about = session_span(&outcome.key, outcome.attempt.number).entered();
                tracing::error!(reason = failed.why, errors = failed.errors, "the benchmark's program failed");
                result = Outcome::NotMeasured { cause: Cause::BenchmarkFailed };
                RecordState::Settled { scores: serde_json::Value::Null }
            }
            (SessionScoring::Needs(needed), _) => match waiting(sweep, cell, outcome, needed, open)? {
                Some(waiting) => waiting,
                None => {
                    result = Outcome::NotMeasured { cause: Cause::JudgeUnavailable };
                    RecordState::Settled { scores: serde_json::Value::Null }
                }
            },
            (SessionScoring::NeedsAudit { scores, needed }, repeats) => {
                match waiting(sweep, cell, outcome, vec![needed], open)? {
                    Some(waiting) => waiting,
                    None => RecordState::Settled { scores: stored_scores(&scores, &repeats, None)? },
                }
            }
        },
    };
    Ok((state, result))
}

/// Record of a session that waits for verdicts on what is `needed`, which is entered into `open`; `None` where its benchmark has no judge.
fn waiting(
    sweep: &Sweep,
    cell: &Cell,
    outcome: &SessionOutcome,
    needed: Vec<(&Judge, Vec<Question>)>,
    open: &mut Open,
) -> Result<Option<RecordState>, ScorerError> {
    let subject = Subject { cell, item: outcome.key.item, transcript: &outcome.transcript };
    let Some(judge) = waits_for(&subject, sweep) else { return Ok(None) };
    // All of them, also those that are known already: what was saved in between settles the session then.
    let questions: BTreeSet<Digest> = needed
        .iter()
        .flat_map(|(judge, questions)| enter(open, judge, questions, &Known::default()))
        .map(|put| put.digest)
        .collect();
    let questions = questions.into_iter().collect();
    Ok(Some(RecordState::Awaiting { judge, questions, transcript: keep(&outcome.transcript)? }))
}

/// A session that says nothing about the model has no flags.
fn flags_of(sweep: &Sweep, cell: &Cell, outcome: &SessionOutcome) -> Result<Flags, ScorerError> {
    if let Outcome::NotMeasured { .. } = outcome.outcome {
        return Ok(Flags::NONE);
    }
    let suite = sweep.suite(cell).ok_or_else(|| ScorerError::UnknownSession(outcome.key.clone()))?;
    Ok(flags(&**suite, cell, outcome.key.item, &outcome.transcript))
}

/// Outcome of a session whose transcript, in `outcome`, the benchmark rejects for `reason`; logs the reason.
fn unfit(outcome: &SessionOutcome, reason: &str) -> Outcome {
    let _about = session_span(&outcome.key, outcome.attempt.number).entered();
    tracing::error!(reason, "the transcript is of no such session");
    Outcome::NotMeasured { cause: Cause::TranscriptUnfit }
}

/// One line that says what answered.
fn served_as(served: &regatta_proto::Served) -> Option<String> {
    let model = served.model.as_deref()?;
    let fingerprint = served.fingerprint.as_deref().map(|print| format!(" {print}")).unwrap_or_default();
    let provider = served.provider.as_deref().map(|provider| format!(" by {provider}")).unwrap_or_default();
    let tier = served.tier.as_deref().map(|tier| format!(" [{tier}]")).unwrap_or_default();
    let simulated = if served.simulated { " (simulated)" } else { "" };
    Some(format!("{model}{fingerprint}{provider}{tier}{simulated}"))
}

/// The transcript as it is kept until the verdicts are there: scoring looks at replies, so the requests can be left out.
fn keep(transcript: &Transcript) -> Result<Bytes, ScorerError> {
    Ok(wire::encode(&transcript.without_requests())?)
}
