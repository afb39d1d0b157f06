//! From what came of a batch's lines to reports, and to sessions that go on.

use jiff::Timestamp;
use regatta_benchmarks::{Sessions, Step as Asking};
use regatta_llm::{Collected, Spending, rule};
use regatta_proto::{
    Attempt, AttemptId, AttemptTotals, BatchJob, Call, Cause, ChatRequest, Event, FailedCall, Filtered, Money,
    OpenAttempt, Outcome, Progress, Report, SessionJob, SessionOutcome, Setting, Transcript, Try,
};
use regatta_traces::session_span;

use super::BatchLane;
use super::asking::{self, Asked};
use super::deriving::{self, GoesOn};
use super::following::Step;
use super::paying::spending;
use crate::attempts::OPEN_A_REPORT;
use crate::traced::TracedAttempt;
use crate::worker::Shared;

/// The sessions of a batch on their way out of it.
pub(super) struct Results<'a> {
    lane: &'a BatchLane,
    job: &'a BatchJob,
}

impl<'a> Results<'a> {
    pub(super) const fn of(lane: &'a BatchLane, job: &'a BatchJob) -> Self {
        Self { lane, job }
    }

    /// Each session goes on with what came of its line.
    pub(super) fn collected(&self, collected: Collected, asked: &[Asked<'_>], tries_max: u32) -> Step {
        // Nothing can have gone on before, by the clock of the provider, who says when what goes on was handed in.
        let since = collected.ended_at.or(collected.began_at);
        let ended_at = collected.ended_at.unwrap_or_else(|| self.lane.shared.clock.now());
        self.each((since, ended_at), collected.calls, asked, tries_max)
    }

    /// Each session goes on with its line having failed.
    pub(super) fn failed(&self, asked: &[Asked<'_>], trouble: &dyn Fn(usize) -> Try, tries_max: u32) -> Step {
        let failed = asked.iter().zip(&self.job.sessions).enumerate().map(|(position, (asked, session))| {
            let call = asked.call();
            let tries = vec![trouble(position)];
            Err(FailedCall {
                role: call.role,
                attempt: session.attempt,
                model: self.job.model.clone(),
                tries,
                request: None,
                asked: None,
            })
        });
        self.each((None, self.lane.shared.clock.now()), failed.collect(), asked, tries_max)
    }

    /// Each session is over.
    pub(super) fn concluded(&self, outcome: impl Fn(usize) -> Outcome) -> Step {
        let now = self.lane.shared.clock.now();
        let ends = self.job.sessions.iter().enumerate().map(|(position, session)| {
            let ended = SessionEnd { outcome: outcome(position), transcript: session.transcript.clone() };
            (position, session, Ok(ended))
        });
        self.reported((None, now), ends.collect(), None)
    }

    fn each(
        &self,
        (since, ended_at): (Option<Timestamp>, Timestamp),
        calls: Vec<Result<Call, FailedCall>>,
        asked: &[Asked<'_>],
        tries_max: u32,
    ) -> Step {
        let spending = spending(&calls, asked);
        let ends =
            self.job.sessions.iter().zip(calls).zip(asked).enumerate().map(|(position, ((session, call), asked))| {
                let end = go_on(asked, session, call, tries_max);
                self.trace(asked, (position, session), &end, ended_at);
                (position, session, end)
            });
        self.reported((since, ended_at), ends.collect(), Some(spending))
    }

    /// Sends spans of the line at `position`, an attempt of its own.
    fn trace(
        &self,
        asked: &Asked<'_>,
        (position, session): (usize, &SessionJob),
        end: &Result<SessionEnd, Onward>,
        ended_at: Timestamp,
    ) {
        let tracer = &self.lane.shared.tracer;
        let Some(attempt) = tracer.is_on().then(|| self.attempt(position, session, ended_at)).flatten() else { return };
        let known = session.transcript.events.len();
        let (sweep, key) = (asked.sweep, &session.key);
        let Some(traced) = TracedAttempt::begin(tracer, sweep, key, &attempt, known) else { return };
        let (transcript, label) = match end {
            Ok(end) => (&end.transcript, end.outcome.as_str()),
            Err(onward) => (&onward.transcript, "handed_over"),
        };
        traced.tell(sweep, transcript, attempt.ended_at);
        traced.end(sweep, key, attempt.ended_at, label, &transcript.totals_of(attempt.number));
    }

    /// The attempt that the line at `position` is, which ended at `ended_at`.
    fn attempt(&self, position: usize, session: &SessionJob, ended_at: Timestamp) -> Option<Attempt> {
        Some(Attempt {
            id: attempt_id(self.job, position)?,
            number: session.attempt,
            worker: self.lane.shared.attempts.worker().clone(),
            started_at: self.job.intended_at,
            ended_at: ended_at.max(self.job.intended_at),
        })
    }

    fn reported(
        &self,
        (since, ended_at): (Option<Timestamp>, Timestamp),
        ends: Vec<(usize, &SessionJob, Result<SessionEnd, Onward>)>,
        spending: Option<Spending>,
    ) -> Step {
        let sessions = &self.lane.shared.metrics.sessions;
        let (mut reports, mut going_on) = (Vec::with_capacity(ends.len()), Vec::new());
        for (position, session, end) in ends {
            let Some(attempt) = self.attempt(position, session, ended_at) else { continue };
            let SessionJob { key, lock, .. } = session.clone();
            match end {
                Ok(SessionEnd { outcome, transcript }) => {
                    sessions.with_label_values(&[outcome.as_str()]).inc();
                    reports.push(Report::Session(Box::new(SessionOutcome { key, lock, attempt, outcome, transcript })));
                }
                Err(Onward { transcript, bytes, has_failed }) => {
                    sessions.with_label_values(&["handed_over"]).inc();
                    let totals = transcript.totals_of(session.attempt);
                    reports.push(Report::HandedOver { key: key.clone(), attempt, totals, taken_over: false });
                    let session = SessionJob {
                        key,
                        lock,
                        attempt: session.attempt.saturating_add(1),
                        generation: session.generation,
                        transcript,
                    };
                    going_on.push(GoesOn { position, has_failed, bytes, session });
                }
            }
        }
        let since = since.unwrap_or_else(|| self.job.since());
        Step::Over(reports, deriving::after(self.job, going_on, since, self.lane.shared.clock.now()), spending)
    }
}

/// Outcome of a session that is over, with its whole transcript.
#[derive(Debug, PartialEq)]
pub(super) struct SessionEnd {
    outcome: Outcome,
    transcript: Transcript,
}

/// A session that is not over with its line.
#[derive(Debug, PartialEq)]
pub(super) struct Onward {
    transcript: Transcript,
    /// Bytes of the prompt that comes next.
    bytes: u64,
    /// The line failed, and is asked again.
    has_failed: bool,
}

/// Adds the result of the line that `asked` to its session's transcript: `Ok` when the session is over with it. Tries at a call are counted
/// over all batches that it was part of; after `tries_max` of them the session ends.
fn go_on(
    asked: &Asked<'_>,
    session: &SessionJob,
    call: Result<Call, FailedCall>,
    tries_max: u32,
) -> Result<SessionEnd, Onward> {
    match call {
        Ok(call) => answered((asked.suite, &asked.cell.setting), session, call),
        Err(failed) => not_answered(&asked.request, session, failed, tries_max, asked.filtered),
    }
}

fn answered(
    (suite, setting): (&dyn Sessions, &Setting),
    session: &SessionJob,
    call: Call,
) -> Result<SessionEnd, Onward> {
    let mut transcript = session.transcript.clone();
    transcript.events.push(Event::Call(Box::new(call)));
    let reason = match suite.next(session.key.item, setting, &transcript) {
        Asking::Done => return Ok(SessionEnd { outcome: Outcome::Measured, transcript }),
        Asking::Ask(_, request) => return Err(Onward { transcript, bytes: request.sent_bytes(), has_failed: false }),
        Asking::Failed(failed) => {
            session_span(&session.key, session.attempt).in_scope(|| {
                tracing::error!(reason = failed.why, errors = failed.errors, "the benchmark's program failed");
            });
            transcript.events.push(Event::BenchmarkFailed(failed));
            return Ok(SessionEnd { outcome: Outcome::NotMeasured { cause: Cause::BenchmarkFailed }, transcript });
        }
        Asking::Delegate(task) => asking::undelegated(&task),
        Asking::Unfit(reason) => reason,
    };
    session_span(&session.key, session.attempt).in_scope(|| {
        tracing::error!(reason, "the transcript is of no such session");
    });
    Ok(SessionEnd { outcome: Outcome::NotMeasured { cause: Cause::TranscriptUnfit }, transcript })
}

fn not_answered(
    request: &ChatRequest,
    session: &SessionJob,
    failed: FailedCall,
    tries_max: u32,
    filtered: Filtered,
) -> Result<SessionEnd, Onward> {
    let mut transcript = session.transcript.clone();
    let class = failed.tries.last().map(|last| last.class);
    transcript.events.push(Event::Failed(failed));
    let may_try_again = failed_before(&transcript) < tries_max;
    if may_try_again && class.is_some_and(|class| rule(class).retried) {
        return Err(Onward { transcript, bytes: request.sent_bytes(), has_failed: true });
    }
    let internal = Outcome::NotMeasured { cause: Cause::Internal };
    Ok(SessionEnd { outcome: class.map_or(internal, |class| Outcome::of_failure(class, filtered)), transcript })
}

/// Tries at the call that comes next which have failed.
pub(super) fn failed_before(transcript: &Transcript) -> u32 {
    let failed = transcript.events.iter().rev().map_while(|event| match event {
        Event::Failed(failed) => Some(failed.tries.len()),
        _ => None,
    });
    u32::try_from(failed.sum::<usize>()).unwrap_or(u32::MAX)
}

/// The attempts that a batch is, and what each may cost by `at_most`, so that their money is known should nobody ever collect it, and nobody
/// takes their sessions for lost.
pub(super) fn opened(lane: &BatchLane, job: &BatchJob, at_most: impl Fn(usize) -> Option<Money>) -> Vec<Report> {
    let sessions = job.sessions.iter().enumerate();
    let open: Vec<OpenAttempt> = sessions
        .filter_map(|(position, session)| begun(&job.id, position, session, job.intended_at, at_most(position)))
        .collect();
    let worker = lane.shared.attempts.worker();
    open.chunks(OPEN_A_REPORT)
        .map(|open| Report::Progress(Progress::of_attempts(worker.clone(), open.to_vec())))
        .collect()
}

/// The attempt at `session` that is the line at `position` of `batch`, and may cost `at_most`.
pub(super) fn begun(
    batch: &str,
    position: usize,
    session: &SessionJob,
    started_at: Timestamp,
    at_most: Option<Money>,
) -> Option<OpenAttempt> {
    Some(OpenAttempt {
        key: session.key.clone(),
        id: line(batch, position)?,
        number: session.attempt,
        started_at,
        totals: AttemptTotals::default(),
        in_flight_at_most: at_most,
    })
}

/// Ends of the attempts that a batch was to be which is cut in two before it is handed in: nothing of them was sent, and other attempts go
/// on with their sessions.
pub(super) fn parted(shared: &Shared, (batch, began): (&str, Timestamp), sessions: &[SessionJob]) -> Vec<Report> {
    let now = shared.clock.now();
    let ends = sessions.iter().enumerate().filter_map(|(position, session)| {
        let attempt = Attempt {
            id: line(batch, position)?,
            number: session.attempt,
            worker: shared.attempts.worker().clone(),
            started_at: began,
            ended_at: now.max(began),
        };
        let (key, totals) = (session.key.clone(), AttemptTotals::default());
        Some(Report::HandedOver { key, attempt, totals, taken_over: false })
    });
    ends.collect()
}

/// The id of the attempt that a line of `job` is: that of the line itself.
pub(super) fn attempt_id(job: &BatchJob, position: usize) -> Option<AttemptId> {
    line(&job.id, position)
}

fn line(batch: &str, position: usize) -> Option<AttemptId> {
    let id = AttemptId::of_line(batch, position);
    id.map_err(|error| tracing::error!(%error, batch, "failed to name an attempt")).ok()
}

#[cfg(test)]
mod tests;
