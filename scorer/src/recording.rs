//! Session outcomes: transcripts to Blobs, scores or questions to the ledger, judge jobs to the queue.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use regatta_backends::{CallSums, RecordState, Recorded, SessionRecord, Settlement, TranscriptRef};
use regatta_benchmarks::{Scores, Scoring};
use regatta_catalog::{Sweep, write_segment};
use regatta_proto::{AskedQuestion, Cause, Cell, Digest, ModelRef, Outcome, SessionOutcome, Transcript, wire};

use crate::judging::ask;
use crate::scorer::{Scorer, ScorerError};
use crate::verdicts::Known;

/// What one outcome became.
struct Prepared {
    record: SessionRecord,
    /// The judge and the questions that are still open.
    questions: Vec<AskedQuestion>,
}

impl Scorer {
    /// Records `outcomes`, all of `sweep`. Repeating it changes nothing.
    pub(crate) async fn record(&self, sweep: &Sweep, outcomes: &[SessionOutcome]) -> Result<(), ScorerError> {
        let all: Vec<&SessionOutcome> = outcomes.iter().collect();
        let segments = write_segment(self.catalog.blobs(), &sweep.id, &all).await?;
        let known = self.known_verdicts(sweep, outcomes).await?;
        let mut prepared = Vec::with_capacity(outcomes.len());
        for (outcome, transcript) in outcomes.iter().zip(segments) {
            prepared.push(prepare(sweep, outcome, transcript, &known)?);
        }
        let records: Vec<SessionRecord> = prepared.iter().map(|one| one.record.clone()).collect();
        let recorded = self.ledger.record(records).await?;
        let mut open: BTreeMap<ModelRef, HashMap<Digest, AskedQuestion>> = BTreeMap::new();
        for (one, recorded) in prepared.into_iter().zip(recorded) {
            self.count(&one.record, recorded);
            // A repeat may be the second life of a batch whose questions were never sent: ask again, answers are idempotent.
            if let (RecordState::Awaiting { judge, .. }, Recorded::First | Recorded::Repeat) =
                (&one.record.state, recorded)
            {
                let questions = open.entry(judge.clone()).or_default();
                questions.extend(one.questions.into_iter().map(|question| (question.digest, question)));
            }
        }
        for (judge, questions) in open {
            ask(self, sweep, &judge, questions).await?;
        }
        Ok(())
    }

    /// The verdicts that the ledger already has for the questions of `outcomes`.
    async fn known_verdicts(&self, sweep: &Sweep, outcomes: &[SessionOutcome]) -> Result<Known, ScorerError> {
        let nothing = Known::default();
        let mut wanted: BTreeMap<ModelRef, Vec<Digest>> = BTreeMap::new();
        for outcome in outcomes.iter().filter(|outcome| outcome.outcome == Outcome::Measured) {
            let Some((cell, judge)) = cell_and_judge(sweep, outcome) else { continue };
            if let Some(Scoring::Needs(questions)) = score(sweep, cell, outcome, &nothing) {
                wanted.entry(judge).or_default().extend(questions.iter().map(regatta_proto::Question::digest));
            }
        }
        let mut known = Known::default();
        for (judge, digests) in wanted {
            known.extend(self.ledger.verdicts(&judge, &digests).await?);
        }
        Ok(known)
    }

    fn count(&self, record: &SessionRecord, recorded: Recorded) {
        let metrics = &self.metrics;
        match recorded {
            Recorded::Repeat => {
                metrics.surplus.with_label_values(&["repeat"]).inc();
                return;
            }
            Recorded::Waste => {
                metrics.surplus.with_label_values(&["waste"]).inc();
                metrics.wasted_nanodollars.inc_by(record.cost.known.0);
            }
            Recorded::First => metrics.sessions.with_label_values(&[record.outcome.as_str()]).inc(),
        }
        self.count_usage(&record.usage, &record.cost);
    }
}

fn cell_and_judge<'a>(sweep: &'a Sweep, outcome: &SessionOutcome) -> Option<(&'a Cell, ModelRef)> {
    let cell = sweep.cell(outcome.key.cell)?;
    Some((cell, sweep.benchmark(cell)?.judge.clone()?))
}

fn score(sweep: &Sweep, cell: &Cell, outcome: &SessionOutcome, known: &Known) -> Option<Scoring> {
    let evaluators = &sweep.benchmark(cell)?.evaluators;
    Some(sweep.suite(cell)?.score(outcome.key.item, evaluators, &outcome.transcript, known))
}

fn prepare(
    sweep: &Sweep,
    outcome: &SessionOutcome,
    transcript: TranscriptRef,
    known: &Known,
) -> Result<Prepared, ScorerError> {
    let unknown = || ScorerError::UnknownSession(outcome.key.clone());
    let cell = sweep.cell(outcome.key.cell).ok_or_else(unknown)?;
    let item = sweep.item(cell, outcome.key.item).ok_or_else(unknown)?;
    let mut questions = Vec::new();
    let mut result = outcome.outcome.clone();
    let state = match &outcome.outcome {
        Outcome::NotMeasured { .. } => RecordState::Settled { scores: serde_json::Value::Null },
        Outcome::ModelFailure { .. } => {
            let evaluators = &sweep.benchmark(cell).ok_or_else(unknown)?.evaluators;
            let suite = sweep.suite(cell).ok_or_else(unknown)?;
            RecordState::Settled { scores: serde_json::to_value(suite.score_failure(outcome.key.item, evaluators))? }
        }
        Outcome::Measured => match score(sweep, cell, outcome, known).ok_or_else(unknown)? {
            Scoring::Scored(scores) => RecordState::Settled { scores: serde_json::to_value(scores)? },
            Scoring::Needs(needed) => match sweep.benchmark(cell).and_then(|benchmark| benchmark.judge.clone()) {
                Some(judge) => {
                    questions = needed
                        .into_iter()
                        .map(|question| AskedQuestion { digest: question.digest(), question })
                        .collect();
                    RecordState::Awaiting {
                        judge,
                        questions: questions.iter().map(|question| question.digest).collect(),
                        transcript: keep(&outcome.transcript)?,
                    }
                }
                None => {
                    result = Outcome::NotMeasured { cause: Cause::JudgeUnavailable };
                    RecordState::Settled { scores: serde_json::Value::Null }
                }
            },
        },
    };
    let number = outcome.attempt.number;
    let (usage, cost) = outcome.transcript.spent_by(number);
    let own = || outcome.transcript.calls().filter(move |call| call.attempt == number);
    let mut served: Vec<String> = own().filter_map(|call| served_as(&call.served)).collect();
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
        maybe_spent: outcome.transcript.at_most_by(number),
        calls: own().count() as u32,
        retries: outcome.transcript.failed_tries().filter(|(attempt, _)| *attempt == number).count() as u32,
        latency_us: own().map(|call| call.latency_us).sum(),
        served,
        call_sums: CallSums::by_attempt(&outcome.transcript, served_as),
        transcript,
        state,
    };
    Ok(Prepared { record, questions })
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

/// What a session that had been waiting has become.
pub(crate) fn settlement(
    sweep: &Sweep,
    key: &regatta_proto::SessionKey,
    kept: &[u8],
    known: &Known,
) -> Result<Option<Settlement>, ScorerError> {
    let unknown = || ScorerError::UnknownSession(key.clone());
    let transcript: Transcript = wire::decode(kept)?;
    let cell = sweep.cell(key.cell).ok_or_else(unknown)?;
    let evaluators = &sweep.benchmark(cell).ok_or_else(unknown)?.evaluators;
    let suite = sweep.suite(cell).ok_or_else(unknown)?;
    match suite.score(key.item, evaluators, &transcript, known) {
        Scoring::Scored(scores) => Ok(Some(scored(key, &scores)?)),
        Scoring::Needs(_) => Ok(None),
    }
}

fn scored(key: &regatta_proto::SessionKey, scores: &Scores) -> Result<Settlement, ScorerError> {
    let result = regatta_backends::SettlementResult::Scored(serde_json::to_value(scores)?);
    Ok(Settlement { key: key.clone(), result })
}
