//! Batches of reports: gathered from the queue, and sorted by what is done with them.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use regatta_backends::{Consumer, Delivery, Held, OpenQuestion};
use regatta_proto::{
    AttemptId, Digest, HeldQuestions, OpenAttempt, Progress, Report, SessionOutcome, SweepId, WorkerId,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{BATCH_BYTES, Scorer};

impl Scorer {
    /// The next batch: of `most` reports, or as large as it got within the linger time. `None` at the end. A report that was delivered before
    /// comes alone: it may be the one for which its batch failed, and must not take the others with it to the dead letters.
    pub(super) async fn gather(
        &self,
        consumer: &mut Consumer<Report>,
        kept_back: &mut Option<Delivery<Report>>,
        most: usize,
        stop: &CancellationToken,
    ) -> Option<Vec<Delivery<Report>>> {
        let first = match kept_back.take() {
            Some(first) => first,
            // Reports that are here already are recorded even when it is time to stop: in an embedded run nobody else would.
            None => tokio::select! {
                biased;
                first = consumer.next() => first?,
                () = stop.cancelled() => return None,
            },
        };
        let most = if first.redeliveries > 0 { 1 } else { most };
        let mut bytes = transcript_bytes(&first.message);
        let mut batch = vec![first];
        let deadline = Instant::now() + self.config.linger;
        while batch.len() < most && bytes < BATCH_BYTES {
            match tokio::time::timeout_at(deadline, consumer.next()).await {
                Ok(Some(delivery)) if delivery.redeliveries > 0 => {
                    *kept_back = Some(delivery);
                    break;
                }
                Ok(Some(delivery)) => {
                    bytes += transcript_bytes(&delivery.message);
                    batch.push(delivery);
                }
                Ok(None) | Err(_) => break,
            }
        }
        Some(batch)
    }
}

/// Bytes of the transcript of a session's report.
fn transcript_bytes(report: &Report) -> u64 {
    match report {
        Report::Session(ended) => ended.transcript.bytes(),
        Report::HandedOver { .. }
        | Report::Judge(_)
        | Report::Progress(_)
        | Report::Rejudge { .. }
        | Report::Echo { .. }
        | Report::Tabulate { .. } => 0,
    }
}

/// Reports by what is done with them.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) sessions: BTreeMap<Digest, Vec<SessionOutcome>>,
    pub(super) open: Vec<(OpenAttempt, WorkerId)>,
    pub(super) held: BTreeSet<Held>,
    /// In the order they came, after everything else: a question is answered when all before it is recorded.
    pub(super) others: VecDeque<Report>,
}

impl Batch {
    /// Number of parts that are made durable one after the other.
    pub(super) fn parts(&self) -> usize {
        usize::from(!self.held.is_empty())
            + usize::from(!self.open.is_empty())
            + self.sessions.len()
            + self.others.len()
    }

    /// Attempts that workers told of and whose end is not in this batch: it tells all that they spent, so that the rows of short sessions would be
    /// written only to be written again.
    pub(super) fn still_open(&self) -> Vec<(OpenAttempt, WorkerId)> {
        let ended: HashSet<&AttemptId> = self.sessions.values().flatten().map(|outcome| &outcome.attempt.id).collect();
        self.open.iter().filter(|(open, _)| !ended.contains(&open.id)).cloned().collect()
    }

    pub(super) fn sort(reports: Vec<Report>) -> Self {
        let mut batch = Self::default();
        for report in reports {
            match report {
                Report::Session(outcome) => batch.sessions.entry(outcome.lock).or_default().push(*outcome),
                Report::Progress(progress) => {
                    let Progress { worker, open, batches, judging, judging_since, questions } = progress;
                    let is_named = questions.is_some();
                    batch.held.extend(batches.into_iter().map(Held::Batch));
                    let of_worker = |sweep: SweepId| {
                        let generation = judging_since.get(&sweep).copied().unwrap_or(0);
                        Held::Questions { sweep, worker: worker.clone(), generation, is_named }
                    };
                    batch.held.extend(judging.into_iter().map(of_worker));
                    for HeldQuestions { sweep, judge, questions } in questions.into_iter().flatten() {
                        let open = |question| OpenQuestion { judge: judge.clone(), question };
                        batch.held.extend(questions.into_iter().map(|one| Held::Question(sweep.clone(), open(one))));
                    }
                    batch.open.extend(open.into_iter().map(|open| (open, worker.clone())));
                }
                other => batch.others.push_back(other),
            }
        }
        batch
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use regatta_proto::{Attempt, AttemptTotals, Outcome, SessionKey, Transcript};

    use super::*;

    fn key() -> SessionKey {
        SessionKey { sweep: "s".parse().unwrap(), cell: Default::default(), item: Default::default() }
    }

    fn worker() -> WorkerId {
        "w".parse().unwrap()
    }

    fn told(id: &str) -> OpenAttempt {
        let (id, started_at, totals) = (id.parse().unwrap(), Timestamp::UNIX_EPOCH, AttemptTotals::default());
        OpenAttempt { key: key(), id, number: 1, started_at, totals, in_flight_at_most: None }
    }

    fn ended(id: &str) -> Report {
        let (started_at, ended_at) = (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH);
        Report::Session(Box::new(SessionOutcome {
            key: key(),
            lock: Digest::of(b"lock"),
            attempt: Attempt { id: id.parse().unwrap(), number: 1, worker: worker(), started_at, ended_at },
            outcome: Outcome::Measured,
            transcript: Transcript::default(),
        }))
    }

    #[test]
    fn an_attempt_whose_end_is_in_the_batch_is_not_recorded_as_running_before() {
        let progress = Report::Progress(Progress::of_attempts(worker(), vec![told("w-1"), told("w-2"), told("w-3")]));
        for reports in [vec![progress.clone(), ended("w-2"), ended("w-4")], vec![ended("w-2"), progress]] {
            let batch = Batch::sort(reports);
            let open: Vec<String> = batch.still_open().iter().map(|(open, _)| open.id.to_string()).collect();
            assert_eq!(open, ["w-1", "w-3"]);
        }
    }
}
