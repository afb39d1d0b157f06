//! Questions for judges whose jobs the broker has lost while others of their sweep go on. The rule is that of lost jobs of sessions: no job has
//! waited in the judge's queue for long, the question was claimed, and last told of by a worker, longer ago than one counts as told of, and so at
//! several looks before; then all that was reported is recorded, and then it is so once more. The claim is released, and scorers ask what nobody has
//! claimed.

use std::collections::BTreeSet;
use std::time::Duration;

use regatta_backends::{ASKED_WITHIN, OpenQuestion, Silence};
use regatta_catalog::Sweep;
use regatta_proto::{BenchmarkLock, Judge, ModelRef};
use tokio::time::Instant;

use crate::rejudging::Rejudging;
use crate::rounds::Watched;
use crate::suspects::{LongEnough, LostJobs};
use crate::{Coordinator, CoordinatorError};

/// Questions that are found silent in one look.
const QUESTIONS_A_LOOK: u32 = 8_192;
/// Time in which scorers have heard of a question that a worker has taken: it names what it has held for two seconds.
const NAMED_WITHIN: Duration = Duration::from_secs(5);
/// Number of times that a question is asked again while others of its sweep go on, at most. One whose job or answer is lost each time is not lost by chance, and is left
/// to the end of the sweep.
const ASKED_AGAIN_AT_MOST: u32 = 3;

impl LostJobs {
    /// The suspected questions whose judge's queue is idle, and when each has been suspected for long enough.
    pub(crate) fn ripening_questions<'a>(
        &'a self,
        sweep: &'a Sweep,
        long_enough: LongEnough,
    ) -> impl Iterator<Item = (&'a OpenQuestion, Instant)> + 'a {
        self.questions
            .iter()
            .filter(move |(open, _)| self.is_idle(sweep, &open.judge, long_enough.drained))
            .map(move |(open, since)| (open, *since + long_enough.suspected))
    }

    /// True if no question has waited for `long_enough` for a worker that asks this judge, and there were such workers.
    fn is_idle(&self, sweep: &Sweep, judge: &ModelRef, long_enough: Duration) -> bool {
        queue_of(sweep, judge).is_some_and(|queue| self.is_drained(&queue, long_enough))
    }

    /// Questions that had been in doubt by then for as long as whoever has taken one needs to name it.
    pub(crate) fn doubtful_by(&self, then: Instant) -> Vec<OpenQuestion> {
        let is_ripe = |since: Instant| since + NAMED_WITHIN <= then;
        self.in_doubt.iter().filter(|(_, since)| is_ripe(**since)).map(|(open, _)| open.clone()).collect()
    }
}

/// The queue of a judge's questions; `None` where `sweep` has no such endpoint.
fn queue_of(sweep: &Sweep, judge: &ModelRef) -> Option<String> {
    let endpoint = &judge.endpoint;
    Some(sweep.lock.endpoints.get(endpoint)?.queue(endpoint, &sweep.id))
}

/// All judges of `sweep`.
fn judges(sweep: &Sweep) -> BTreeSet<&ModelRef> {
    sweep.lock.benchmarks.values().flat_map(BenchmarkLock::judges).flat_map(Judge::ids).collect()
}

impl Coordinator {
    /// Silence after which a question may be lost.
    fn silence(&self) -> Silence {
        Silence { within: self.config.running_within + ASKED_WITHIN, in_doubt: false }
    }

    /// Silence after which a question of a quiet sweep is lost whose job the broker may not have: its scorer may have ended before it was asked.
    fn silence_in_doubt(&self) -> Silence {
        Silence { within: (self.config.doubtful_after + NAMED_WITHIN).max(ASKED_WITHIN), in_doubt: true }
    }

    /// Finds out which questions no worker tells of. The queues were looked at a moment ago.
    pub(crate) async fn look_for_lost_questions(&self, watched: &mut Watched) -> Result<(), CoordinatorError> {
        let (sweep, long_enough) = (watched.sweep.clone(), self.config.lost_after);
        let is_idle = |judge: &&ModelRef| watched.lost_jobs.is_idle(&sweep, judge, long_enough);
        let idle: Vec<ModelRef> = judges(&sweep).into_iter().filter(is_idle).cloned().collect();
        let silent: BTreeSet<OpenQuestion> = if idle.is_empty() {
            BTreeSet::new()
        } else {
            self.lead_on(watched.term).await?;
            let silence = Silence { within: self.config.lost_after, in_doubt: false };
            let silent = self.ledger.silent_questions(&sweep.id, &idle, silence, QUESTIONS_A_LOOK).await?;
            silent.into_iter().collect()
        };
        let LostJobs { questions: suspects, asked_again, .. } = &mut watched.lost_jobs;
        suspects.retain(|open, _| silent.contains(open));
        let now = Instant::now();
        let is_left = |open: &OpenQuestion| asked_again.get(open).is_some_and(|times| *times >= ASKED_AGAIN_AT_MOST);
        silent.into_iter().filter(|open| !is_left(open)).for_each(|open| {
            suspects.entry(open).or_insert(now);
        });
        Ok(())
    }

    /// Questions of a sweep that is quiet whose jobs the broker may not have, and of which no worker tells.
    pub(crate) async fn doubtful_questions(&self, watched: &mut Watched) -> Result<(), CoordinatorError> {
        let sweep = watched.sweep.clone();
        let judges: Vec<ModelRef> = judges(&sweep).into_iter().cloned().collect();
        let silence = self.silence_in_doubt();
        let silent = self.ledger.silent_questions(&sweep.id, &judges, silence, QUESTIONS_A_LOOK).await?;
        let (silent, now) = (BTreeSet::from_iter(silent), Instant::now());
        let in_doubt = &mut watched.lost_jobs.in_doubt;
        in_doubt.retain(|open, _| silent.contains(open));
        silent.into_iter().for_each(|open| {
            in_doubt.entry(open).or_insert(now);
        });
        Ok(())
    }

    /// Has those asked again that had been in doubt for a while when it was asked whether all is recorded, and whose judge's queue has consumers.
    pub(crate) async fn have_doubtful_asked_again(
        &self,
        watched: &mut Watched,
        asked_at: Instant,
    ) -> Result<(), CoordinatorError> {
        let mut suspects = watched.lost_jobs.doubtful_by(asked_at);
        if suspects.is_empty() {
            return Ok(());
        }
        watched.lost_jobs.in_doubt.retain(|open, _| !suspects.contains(open));
        // Of a queue without a leader the broker says that nothing waits in it, and its jobs come when it has one.
        self.look_at_queues(watched).await?;
        suspects.retain(|open| watched.lost_jobs.is_idle(&watched.sweep, &open.judge, NAMED_WITHIN));
        self.have_asked_again(watched, suspects, self.silence_in_doubt()).await
    }

    /// Releases those of `suspects` that were lost while others went on. Everything that was reported is recorded, and a moment ago none of them waited
    /// in a queue.
    pub(crate) async fn have_lost_asked_again(
        &self,
        watched: &mut Watched,
        suspects: Vec<OpenQuestion>,
    ) -> Result<(), CoordinatorError> {
        self.have_asked_again(watched, suspects, self.silence()).await
    }

    async fn have_asked_again(
        &self,
        watched: &mut Watched,
        suspects: Vec<OpenQuestion>,
        silence: Silence,
    ) -> Result<(), CoordinatorError> {
        if suspects.is_empty() {
            return Ok(());
        }
        // Nothing that is counted changes, and yet the sweep moves.
        self.move_on(watched).await?;
        self.lead_on(watched.term).await?;
        let sweep = watched.sweep.clone();
        // Whatever becomes of the release, or of its answer.
        watched.rejudging = Rejudging::Due(Instant::now());
        let released = self.ledger.release_silent_questions(&sweep.id, &suspects, silence, watched.term).await?;
        let questions = released.ok_or(CoordinatorError::NotLeading)?;
        for open in &suspects {
            watched.lost_jobs.questions.remove(open);
            *watched.lost_jobs.asked_again.entry(open.clone()).or_default() += 1;
            if let Some(queue) = queue_of(&sweep, &open.judge) {
                watched.lost_jobs.filled(&queue);
            }
        }
        if questions > 0 {
            tracing::warn!(sweep = %sweep.id, questions, "asking questions again that no worker tells of");
            self.metrics.reconciled.inc();
        }
        Ok(())
    }
}
