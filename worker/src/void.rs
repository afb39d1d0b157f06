//! Jobs that are not to be run, as the coordinator's last broadcast says.

use std::collections::BTreeMap;
use std::time::Duration;

use regatta_proto::{BatchJob, BroadcastNumber, Control, Job, SessionJob, SweepId};
use tokio::time::Instant;

/// Time without a newer broadcast after which an older one is followed. A leader repeats its broadcasts every few seconds, and what waits for
/// a channel to the broker is given up within a minute; so by then the ledger was restored, and terms begin again below where they were.
const OUTDATED_FOR: Duration = Duration::from_secs(120);

/// Sweeps that were cancelled or resumed.
#[derive(Debug, Default)]
pub(crate) struct Void {
    /// Number of the newest broadcast, and when the last that was not older came.
    newest: Option<(BroadcastNumber, Instant)>,
    /// Sweeps that are cancelled, with the last generation whose jobs are void by that: a resume that was not heard of yet has a later one.
    cancelled: BTreeMap<SweepId, u32>,
    /// Sweeps that were resumed, with their generation as last told: jobs of earlier ones are void. Nobody resumes so many sweeps that they
    /// need to be forgotten, and one that a broadcast leaves out has the generation that it had.
    generations: BTreeMap<SweepId, u32>,
}

impl Void {
    /// The state that `control` tells, and the sweeps that were resumed since `self` was said; `None` if it comes late, and a newer one was
    /// heard before.
    pub(crate) fn after(&self, control: &Control) -> Option<(Self, Vec<SweepId>)> {
        let (now, nothing) = (Instant::now(), Self::default());
        let (before, newest) = match (self.newest, control.number) {
            (Some((newest, at)), Some(number)) if number < newest => {
                if now.duration_since(at) < OUTDATED_FOR {
                    return None;
                }
                (&nothing, Some((number, now)))
            }
            (newest, number) => (self, number.map(|number| (number, now)).or(newest)),
        };
        let is_new = |(sweep, present): &(&SweepId, &u32)| before.generation(sweep) < **present;
        let resumed = control.generations.iter().filter(is_new).map(|(sweep, _)| sweep.clone()).collect();
        let mut generations = before.generations.clone();
        for (sweep, told) in &control.generations {
            let known = generations.entry(sweep.clone()).or_insert(*told);
            // A ledger that was restored may know of fewer resumes, and so may a replica that took over: jobs are of its generation.
            *known = if control.number.is_some() { *told } else { (*known).max(*told) };
        }
        let last = |sweep: &SweepId| match control.number {
            Some(_) => control.generations.get(sweep).copied().unwrap_or(0),
            // A version that does not number broadcasts names no generation of cancelled sweeps.
            None => u32::MAX,
        };
        let cancelled = control.cancelled.iter().map(|sweep| (sweep.clone(), last(sweep))).collect();
        Some((Self { newest, cancelled, generations }, resumed))
    }

    /// True if the newest generation of `sweep` that was told of is cancelled.
    pub(crate) fn is_cancelled(&self, sweep: &SweepId) -> bool {
        self.cancels(sweep, self.generation(sweep))
    }

    /// Number of resumes of `sweep` that were told of.
    pub(crate) fn generation(&self, sweep: &SweepId) -> u32 {
        self.generations.get(sweep).copied().unwrap_or(0)
    }

    /// True if the sweep of `job` was cancelled after its publication.
    pub(crate) fn is_dropped(&self, job: &Job) -> bool {
        match job {
            Job::Session(session) => self.cancels(&session.key.sweep, session.generation),
            Job::Batch(batch) => self.is_batch_dropped(batch),
            Job::Judge(judge) => match judge.generation {
                Some(generation) => self.cancels(&judge.sweep, generation),
                None => self.is_cancelled(&judge.sweep),
            },
        }
    }

    /// True if `job` was published before its sweep was last resumed.
    pub(crate) fn is_stale(&self, job: &Job) -> bool {
        match job {
            Job::Session(session) => self.is_of_before(session),
            Job::Batch(batch) => self.is_void(batch),
            Job::Judge(judge) => judge.generation.is_some_and(|of| of < self.generation(&judge.sweep)),
        }
    }

    /// True if the sweep of `batch` was cancelled, or resumed since its sessions were published: these are dispatched again.
    pub(crate) fn is_void(&self, batch: &BatchJob) -> bool {
        self.is_batch_dropped(batch) || batch.sessions.iter().any(|session| self.is_of_before(session))
    }

    /// True if `session` is not to be part of a batch any more: its sweep was cancelled, or resumed since.
    pub(crate) fn is_session_void(&self, session: &SessionJob) -> bool {
        self.cancels(&session.key.sweep, session.generation) || self.is_of_before(session)
    }

    fn is_batch_dropped(&self, batch: &BatchJob) -> bool {
        // All its sessions are of one generation.
        let generation = batch.sessions.first().map_or_else(|| self.generation(&batch.sweep), |first| first.generation);
        self.cancels(&batch.sweep, generation)
    }

    /// True if `session` was published before its sweep was last resumed.
    fn is_of_before(&self, session: &SessionJob) -> bool {
        session.generation < self.generation(&session.key.sweep)
    }

    fn cancels(&self, sweep: &SweepId, generation: u32) -> bool {
        self.cancelled.get(sweep).is_some_and(|last| generation <= *last)
    }
}

#[cfg(test)]
mod tests {
    use regatta_proto::{CellIndex, Digest, ItemIndex, JudgeJob, SessionKey, Transcript};

    use super::*;

    fn sweep() -> SweepId {
        "s".parse().unwrap()
    }

    fn number(term: u64, sequence: u64) -> Option<BroadcastNumber> {
        Some(BroadcastNumber { term, sequence })
    }

    fn cancelled(generation: u32, number: Option<BroadcastNumber>) -> Control {
        Control { cancelled: vec![sweep()], ..running(generation, number) }
    }

    fn running(generation: u32, number: Option<BroadcastNumber>) -> Control {
        let generations = (generation > 0).then(|| (sweep(), generation)).into_iter().collect();
        Control { generations, number, ..Control::default() }
    }

    fn job(generation: u32) -> Job {
        Job::Session(Box::new(SessionJob {
            key: SessionKey { sweep: sweep(), cell: CellIndex(0), item: ItemIndex(0) },
            lock: Digest::of(b""),
            attempt: 1,
            generation,
            transcript: Transcript::default(),
        }))
    }

    fn after(controls: &[Control]) -> Void {
        controls.iter().fold(Void::default(), |void, control| match void.after(control) {
            Some((next, _)) => next,
            None => void,
        })
    }

    fn questions(generation: Option<u32>) -> Job {
        let judge = "judges/one".parse().unwrap();
        Job::Judge(JudgeJob { sweep: sweep(), lock: Digest::of(b""), judge, questions: Vec::new(), generation })
    }

    /// Generations of jobs that are run, of the first four; those of questions are the same as those of sessions.
    fn run(void: &Void) -> Vec<u32> {
        let is_run = |job: &Job| !void.is_dropped(job) && !void.is_stale(job);
        let run = (0..4).filter(|generation| is_run(&job(*generation))).collect();
        assert_eq!(run, Vec::from_iter((0..4).filter(|generation| is_run(&questions(Some(*generation))))));
        run
    }

    #[tokio::test(start_paused = true)]
    async fn questions_of_a_version_that_names_no_generation_are_void_while_their_sweep_is_cancelled() {
        let is_void = |controls: &[Control]| {
            let void = after(controls);
            void.is_dropped(&questions(None)) || void.is_stale(&questions(None))
        };
        assert!(is_void(&[cancelled(0, number(3, 1))]));
        assert!(!is_void(&[cancelled(0, number(3, 1)), running(1, number(3, 2))]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_broadcast_of_a_deposed_leader_that_comes_late_undoes_no_newer_one() {
        let void = after(&[cancelled(0, number(3, 9)), running(1, number(4, 1)), cancelled(0, number(3, 10))]);
        assert_eq!(run(&void), [1, 2, 3]);
        assert!(!void.is_cancelled(&sweep()));
        let void = after(&[running(2, number(4, 2)), running(1, number(4, 1))]);
        assert_eq!(run(&void), [2, 3], "nor does one of the same leader");
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancel_drops_the_jobs_of_the_generation_that_it_names_and_of_no_later_one() {
        let void = after(&[cancelled(1, number(3, 1))]);
        assert_eq!(run(&void), [2, 3]);
        assert!(void.is_cancelled(&sweep()));
        let void = after(&[cancelled(1, number(3, 1)), running(2, number(3, 2))]);
        assert!(!void.is_cancelled(&sweep()), "it was resumed since");
        assert_eq!(run(&void), [2, 3]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_generation_that_a_broadcast_leaves_out_stays_as_it_was() {
        let void = after(&[running(2, number(3, 1)), running(0, number(3, 2)), running(1, None)]);
        assert_eq!(run(&void), [2, 3]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancel_of_a_version_without_numbers_drops_all_jobs_of_its_sweep() {
        let void = after(&[running(1, number(3, 1)), cancelled(0, None)]);
        assert_eq!(run(&void), [0_u32; 0]);
        let void = after(&[running(1, number(3, 1)), cancelled(0, None), running(1, number(3, 2))]);
        assert_eq!(run(&void), [1, 2, 3]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_later_leader_whose_ledger_knows_of_fewer_resumes_has_its_jobs_run() {
        let void = after(&[running(3, number(4, 1)), running(2, number(5, 1))]);
        assert_eq!(run(&void), [2, 3]);
    }

    #[tokio::test(start_paused = true)]
    async fn terms_that_begin_again_with_a_restored_ledger_are_followed_once_nothing_newer_is_heard() {
        let mut void = after(&[running(2, number(9, 1))]);
        let restored = running(1, number(2, 1));
        assert!(void.after(&restored).is_none());
        tokio::time::advance(OUTDATED_FOR).await;
        void = void.after(&restored).unwrap().0;
        assert_eq!(run(&void), [1, 2, 3], "also its generations are those of before");
        assert!(void.after(&running(1, number(2, 2))).is_some());
    }
}
