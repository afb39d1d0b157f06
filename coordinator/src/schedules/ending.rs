//! The end of a night: what it has cost, what it is held against, and the gate's verdict.

use jiff::SignedDuration;
use regatta_backends::{SweepRow, Term, TickEnd, TickRow, TickState};
use regatta_proto::{SweepId, SweepState};
use serde_json::Value;

use super::choices::Baseline;
use super::document::{NightEvent, Stored};
use super::edges::{GateError, GateQuestion, NightVerdict};
use super::starting::has_results;
use super::status::{NightOutcome, TickStatus};
use crate::{Coordinator, CoordinatorError};

/// For how long a verdict is tried for that a store holds up.
const JUDGED_WITHIN: SignedDuration = SignedDuration::from_mins(10);
/// Nights among which the best is looked for.
const BEST_OF: u32 = 1000;

/// An outcome with the gate's own document.
struct Judged {
    outcome: NightOutcome,
    document: Option<Value>,
}

impl Coordinator {
    /// Ends the tick of a sweep that has ended. A verdict that a store holds up is tried for again.
    pub(super) async fn end_night(
        &self,
        stored: &Stored,
        tick: &TickRow,
        sweep: &SweepRow,
        judged: u32,
        term: Term,
    ) -> Result<(), CoordinatorError> {
        let schedule = &stored.spec;
        let spent = self.spent_on(&sweep.id).await?;
        let Some(Judged { outcome, document }) = self.judge_night(stored, tick, sweep, judged).await? else {
            return Ok(());
        };
        if let Some(document) = &document {
            let key = format!("sweeps/{}/gate.json", sweep.id);
            self.catalog.blobs().put(&key, serde_json::to_vec_pretty(document)?.into()).await?;
        }
        let event = match outcome.verdict {
            Some(NightVerdict::Go) => NightEvent::Go,
            Some(NightVerdict::NoGo) => NightEvent::NoGo,
            Some(NightVerdict::Inconclusive) => NightEvent::Inconclusive,
            None => NightEvent::Ended,
        };
        let end = TickEnd {
            from: TickState::Running,
            to: TickState::Ended,
            at: sweep.ended_at.unwrap_or_else(|| self.clock.now()),
            reason: None,
            spent: Some(spent),
            outcome: Some(serde_json::to_string(&outcome)?),
            is_judged: outcome.verdict.is_some(),
            // Judging takes a while, in which somebody may have resumed it.
            generation: Some(sweep.generation),
        };
        let told = TickRow { spent: Some(spent), ended_at: Some(end.at), ..tick.clone() };
        let notices = self.notices_of(schedule, event, &told, None, Some((&outcome, document.as_ref())))?;
        // Judging may have taken longer than the lead lasts.
        let term = if self.still_lead(term).is_ok() { term } else { self.lead_beside_dispatching().await? };
        if self.ledger.end_tick(&schedule.name, tick.at, &end, &notices, term).await? {
            self.metrics.note_tick(&schedule.name, "ended", 1);
            let verdict = outcome.verdict.map(|verdict| verdict.to_string());
            tracing::info!(schedule = %schedule.name, tick = %tick.at, sweep = %sweep.id, verdict, "night ended");
        }
        Ok(())
    }

    /// `None` when the gate is to be asked again later.
    async fn judge_night(
        &self,
        stored: &Stored,
        tick: &TickRow,
        sweep: &SweepRow,
        judged: u32,
    ) -> Result<Option<Judged>, CoordinatorError> {
        let without = |unjudged: Option<String>| Judged {
            outcome: NightOutcome { state: sweep.state, verdict: None, baseline: None, score: None, unjudged },
            document: None,
        };
        let (Some(policy), Some(scheduling)) = (&stored.spec.gate, &self.scheduling) else {
            return Ok(Some(without(None)));
        };
        if !has_results(sweep.state) {
            return Ok(Some(without(Some(format!("its sweep is {}", sweep.state)))));
        }
        let baseline = self.baseline(&stored.spec.baseline, tick).await?;
        let unjudged = baseline.is_none().then(|| "there is no night to hold it against yet".to_owned());
        let question = GateQuestion {
            run: sweep.id.clone(),
            baseline: baseline.clone(),
            policy: policy.clone(),
            night: judged.saturating_add(1),
        };
        match scheduling.gate.judge(&question).await {
            Ok(judgement) => Ok(Some(Judged {
                outcome: NightOutcome {
                    state: sweep.state,
                    verdict: judgement.verdict,
                    baseline,
                    score: judgement.score,
                    unjudged,
                },
                document: judgement.verdict.map(|_| judgement.document),
            })),
            Err(GateError::Refused(reason)) => Ok(Some(without(Some(reason)))),
            Err(GateError::Failed(reason)) => {
                let waited = sweep.ended_at.map(|ended| self.clock.now().duration_since(ended));
                if waited.is_some_and(|waited| waited > JUDGED_WITHIN) {
                    return Ok(Some(without(Some(reason))));
                }
                tracing::warn!(schedule = %tick.schedule, sweep = %sweep.id, reason, "the gate failed, asking again");
                Ok(None)
            }
        }
    }

    /// The sweep that the night of `tick` is held against.
    async fn baseline(&self, baseline: &Baseline, tick: &TickRow) -> Result<Option<SweepId>, CoordinatorError> {
        if let Baseline::Sweep(id) = baseline {
            return Ok(Some(id.clone()));
        }
        let mut nights = Vec::new();
        for row in self.ledger.ticks(&tick.schedule, BEST_OF).await? {
            if row.state == TickState::Ended && row.at < tick.at {
                nights.push(TickStatus::new(row)?);
            }
        }
        Ok(chosen(baseline, &nights))
    }
}

/// The night to be held against, of ended ones from the newest to the oldest.
pub(crate) fn chosen(baseline: &Baseline, nights: &[TickStatus]) -> Option<SweepId> {
    let complete = nights.iter().filter_map(|night| {
        let outcome = night.outcome.as_ref().filter(|outcome| outcome.state == SweepState::Complete)?;
        Some((night.sweep.as_ref()?, outcome))
    });
    match baseline {
        Baseline::Sweep(id) => Some(id.clone()),
        Baseline::Previous => complete.map(|(id, _)| id.clone()).next(),
        Baseline::Best => complete
            .filter_map(|(id, outcome)| Some((id, outcome.score?)))
            // Of equals the newest stays.
            .reduce(|best, next| if next.1 > best.1 { next } else { best })
            .map(|(id, _)| id.clone()),
    }
}
