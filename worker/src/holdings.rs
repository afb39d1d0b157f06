//! Work that this process holds and tells of by name: batches, and questions for judges. A batch is at its provider for up to a day, and an
//! answer of a judge may take minutes; who hears of them no more takes them for lost, and has them paid for again.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use regatta_proto::{HeldBatch, HeldQuestions, JudgeJob, OpenAttempt, Progress, SweepId, WorkerId};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::attempts::{OPEN_A_REPORT, TOLD_EVERY};

/// Questions that one report names, at least, where more are to be named: a report is small.
const QUESTIONS_A_REPORT: usize = 2_000;

/// Time for which questions are held before they are named.
const NAMED_AFTER: Duration = Duration::from_secs(2);

/// The work of this process; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Holdings(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Batches by number of their holds: who gathered a batch may still have it when somebody else here follows it.
    batches: BTreeMap<u64, Batch>,
    /// Number of the last hold, of a batch or of questions.
    holds_seen: u64,
    judging: BTreeMap<SweepId, Judging>,
    /// Batches of which one delivery has its turn.
    turns: BTreeMap<String, Taken>,
}

#[derive(Debug)]
struct Batch {
    held: HeldBatch,
    told: Option<Instant>,
    /// Attempts of the batch that have begun and that no report has named.
    begun: Vec<OpenAttempt>,
    /// A report has named some.
    is_begun_told: bool,
}

#[derive(Debug, Default)]
struct Judging {
    /// Jobs of judges that are under way, by number of their holds.
    jobs: BTreeMap<u64, Judged>,
    told: Option<Instant>,
}

#[derive(Debug)]
struct Judged {
    generation: u32,
    held: HeldQuestions,
    since: Instant,
    is_named: bool,
}

impl Judged {
    /// Most are answered before they are to be named.
    fn is_to_be_named(&self, now: Instant) -> bool {
        now.duration_since(self.since) >= NAMED_AFTER
    }
}

/// True if it is time to tell of it; takes note that it is told now.
fn is_due(told: &mut Option<Instant>, now: Instant) -> bool {
    let is_due = told.is_none_or(|told| now.duration_since(told) >= TOLD_EVERY);
    if is_due {
        *told = Some(now);
    }
    is_due
}

/// `all`, in parts for a report each: one at least.
fn in_parts(all: impl Iterator<Item = HeldQuestions>) -> Vec<Vec<HeldQuestions>> {
    let (mut parts, mut part, mut named) = (Vec::new(), Vec::new(), 0);
    for held in all {
        if named >= QUESTIONS_A_REPORT {
            parts.push(std::mem::take(&mut part));
            named = 0;
        }
        named += held.questions.len();
        part.push(held);
    }
    parts.push(part);
    parts
}

impl Holdings {
    /// The batch is held here until the result is dropped.
    pub(crate) fn hold(&self, held: HeldBatch) -> HeldHere {
        let mut state = self.locked();
        state.holds_seen += 1;
        let number = state.holds_seen;
        state.batches.insert(number, Batch { held, told: None, begun: Vec::new(), is_begun_told: false });
        HeldHere { holdings: self.clone(), number }
    }

    /// Waits until no other delivery of the batch of this id has its turn here; true if one that was waited for may have handed the batch in.
    /// The turn ends when the result is dropped.
    pub(crate) async fn turn(&self, id: &str) -> (Turn, bool) {
        let mut may_be_handed_in = false;
        loop {
            let taken = match self.locked().turns.entry(id.to_owned()) {
                Entry::Vacant(place) => {
                    let taken = place.insert(Taken::default()).clone();
                    return (Turn { holdings: self.clone(), id: id.to_owned(), taken }, may_be_handed_in);
                }
                Entry::Occupied(turn) => turn.get().clone(),
            };
            taken.over.cancelled().await;
            may_be_handed_in |= !taken.is_free.load(Ordering::Relaxed);
        }
    }

    /// The questions of `job` are held here until the result is dropped.
    pub(crate) fn judge(&self, job: &JudgeJob) -> JudgedHere {
        let held = HeldQuestions {
            sweep: job.sweep.clone(),
            judge: job.judge.clone(),
            questions: job.questions.iter().map(|asked| asked.digest).collect(),
        };
        // One of a version that names no generation may be of before any resume.
        let generation = job.generation.unwrap_or(0);
        let mut state = self.locked();
        state.holds_seen += 1;
        let number = state.holds_seen;
        let judged = Judged { generation, held, since: Instant::now(), is_named: false };
        state.judging.entry(job.sweep.clone()).or_default().jobs.insert(number, judged);
        JudgedHere { holdings: self.clone(), sweep: job.sweep.clone(), number }
    }

    /// Reports of what was not told of for [`TOLD_EVERY`], and of attempts that have begun since the last ones.
    pub(crate) fn progress(&self, worker: &WorkerId) -> Vec<Progress> {
        let (now, mut state) = (Instant::now(), self.locked());
        let (mut batches, mut begun) = (Vec::new(), Vec::new());
        for batch in state.batches.values_mut() {
            if is_due(&mut batch.told, now) {
                batches.push(batch.held.clone());
            }
            batch.is_begun_told |= !batch.begun.is_empty();
            begun.append(&mut batch.begun);
        }
        let mut reports: Vec<Progress> =
            begun.chunks(OPEN_A_REPORT).map(|open| Progress::of_attempts(worker.clone(), open.to_vec())).collect();
        let named = || Progress::of_attempts(worker.clone(), Vec::new());
        if !batches.is_empty() {
            reports.push(Progress { batches, ..named() });
        }
        for (sweep, of_sweep) in &mut state.judging {
            let has_new = of_sweep.jobs.values().any(|job| !job.is_named && job.is_to_be_named(now));
            if has_new {
                of_sweep.told = None;
            }
            if !is_due(&mut of_sweep.told, now) {
                continue;
            }
            let first = of_sweep.jobs.values().map(|job| job.generation).min().filter(|first| *first > 0);
            let judging_since: BTreeMap<SweepId, u32> = first.map(|first| (sweep.clone(), first)).into_iter().collect();
            let named_now = of_sweep.jobs.values_mut().filter(|job| job.is_to_be_named(now)).map(|job| {
                job.is_named = true;
                job.held.clone()
            });
            // In the same report as that they are named, because it may come to a scorer that knows nothing of names.
            reports.extend(in_parts(named_now).into_iter().map(|questions| Progress {
                judging: vec![sweep.clone()],
                judging_since: judging_since.clone(),
                questions: Some(questions),
                ..named()
            }));
        }
        reports
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A batch that this process holds.
#[derive(Debug)]
pub(crate) struct HeldHere {
    holdings: Holdings,
    number: u64,
}

impl HeldHere {
    /// An attempt of the batch has begun. One that ends here before the next report is in none.
    pub(crate) fn begin(&self, attempt: OpenAttempt) {
        if let Some(batch) = self.holdings.locked().batches.get_mut(&self.number) {
            batch.begun.push(attempt);
        }
    }

    /// The batch is no longer held; true if a report has named attempts of it that began here. No later one does.
    pub(crate) fn end(self) -> bool {
        let batch = self.holdings.locked().batches.remove(&self.number);
        batch.is_some_and(|batch| batch.is_begun_told)
    }
}

impl Drop for HeldHere {
    fn drop(&mut self) {
        self.holdings.locked().batches.remove(&self.number);
    }
}

/// A turn as those see it who wait for it.
#[derive(Debug, Clone, Default)]
struct Taken {
    /// Fires when the turn is over.
    over: CancellationToken,
    /// The batch was certainly not handed in.
    is_free: Arc<AtomicBool>,
}

/// The turn of one delivery of a batch.
#[derive(Debug)]
pub(crate) struct Turn {
    holdings: Holdings,
    id: String,
    taken: Taken,
}

impl Turn {
    /// It is certain that the batch is not at its provider. Otherwise two copies that look for it would put each other off for ever.
    pub(crate) fn leave_free(&self) {
        self.taken.is_free.store(true, Ordering::Relaxed);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.holdings.locked().turns.remove(&self.id);
        self.taken.over.cancel();
    }
}

/// Questions for a judge that this process waits for.
#[derive(Debug)]
pub(crate) struct JudgedHere {
    holdings: Holdings,
    sweep: SweepId,
    number: u64,
}

impl Drop for JudgedHere {
    fn drop(&mut self) {
        let mut state = self.holdings.locked();
        if let Some(judging) = state.judging.get_mut(&self.sweep) {
            judging.jobs.remove(&self.number);
            if judging.jobs.is_empty() {
                state.judging.remove(&self.sweep);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;
    use regatta_proto::{
        AskedQuestion, AttemptId, AttemptTotals, CellIndex, Digest, ItemIndex, Money, Question, SessionKey,
    };

    use super::*;

    fn sweep() -> SweepId {
        "s".parse().unwrap()
    }

    fn batch() -> HeldBatch {
        HeldBatch { sweep: sweep(), id: "0a".to_owned(), generation: 0 }
    }

    fn attempt(position: usize) -> OpenAttempt {
        OpenAttempt {
            key: SessionKey { sweep: sweep(), cell: CellIndex(0), item: ItemIndex(0) },
            id: AttemptId::of_line("0a", position).unwrap(),
            number: 1,
            started_at: Timestamp::UNIX_EPOCH,
            totals: AttemptTotals::default(),
            in_flight_at_most: Some(Money::ZERO),
        }
    }

    /// Numbers of batches, sweeps of judges and attempts in each report.
    fn told(holdings: &Holdings) -> Vec<(usize, usize, usize)> {
        let reports = holdings.progress(&"w".parse().unwrap());
        reports.iter().map(|report| (report.batches.len(), report.judging.len(), report.open.len())).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_batch_is_told_of_at_once_and_every_ten_seconds_until_nobody_here_has_it() {
        let holdings = Holdings::default();
        let (gathered, followed) = (holdings.hold(batch()), holdings.hold(batch()));
        assert_eq!(told(&holdings), [(2, 0, 0)]);
        drop(gathered);
        tokio::time::advance(Duration::from_secs(9)).await;
        assert_eq!(told(&holdings), []);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(told(&holdings), [(1, 0, 0)]);
        drop(followed);
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(told(&holdings), []);
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_that_begin_are_told_of_once_in_reports_of_a_thousand() {
        let holdings = Holdings::default();
        let batch = holdings.hold(batch());
        assert_eq!(told(&holdings).len(), 1);
        assert!(!holdings.hold(self::batch()).end(), "nobody was told of attempts of it");
        (0..1_001).for_each(|position| batch.begin(attempt(position)));
        assert_eq!(told(&holdings), [(0, 0, 1_000), (0, 0, 1)]);
        assert_eq!(told(&holdings), []);
        batch.begin(attempt(1_001));
        assert!(batch.end());
        assert_eq!(told(&holdings), [], "it has ended before anybody heard of it");
    }

    #[tokio::test]
    async fn deliveries_of_one_batch_take_turns_and_a_later_one_knows_of_the_first() {
        for is_free in [false, true] {
            let holdings = Holdings::default();
            let (first, may_be_handed_in) = holdings.turn("0a").await;
            assert!(!may_be_handed_in);
            assert!(!holdings.turn("0b").await.1, "another batch");
            let mut second = Box::pin(holdings.turn("0a"));
            assert!(futures::poll!(&mut second).is_pending());
            if is_free {
                first.leave_free();
            }
            drop(first);
            assert_eq!(second.await.1, !is_free);
            assert!(!holdings.turn("0a").await.1, "that turn is over, too");
        }
    }

    /// A job of as many questions.
    fn questions(generation: Option<u32>, count: usize) -> JudgeJob {
        let asked = |number: usize| {
            let question = Question::Similarity { left: vec![number.to_string()], right: Vec::new() };
            AskedQuestion { digest: question.digest(), question }
        };
        JudgeJob {
            sweep: sweep(),
            lock: Digest::of(b"lock"),
            judge: "p/judge".parse().unwrap(),
            questions: (0..count).map(asked).collect(),
            generation,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_sweep_whose_judges_are_asked_is_told_of_until_the_last_of_them_has_answered() {
        let holdings = Holdings::default();
        let (one, other) = (holdings.judge(&questions(None, 1)), holdings.judge(&questions(None, 1)));
        assert_eq!(told(&holdings), [(0, 1, 0)]);
        drop(one);
        assert_eq!(told(&holdings), []);
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(told(&holdings)[0], (0, 1, 0));
        drop(other);
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(told(&holdings), []);
    }

    #[tokio::test(start_paused = true)]
    async fn questions_that_have_been_held_for_two_seconds_are_named_and_every_ten_seconds_from_then_on() {
        let holdings = Holdings::default();
        let named = |holdings: &Holdings| -> Vec<Option<Vec<usize>>> {
            let reports = holdings.progress(&"w".parse().unwrap());
            let counts = |held: Vec<HeldQuestions>| held.iter().map(|held| held.questions.len()).collect();
            reports.into_iter().map(|report| report.questions.map(counts)).collect()
        };
        let job = questions(None, 3);
        let short = holdings.judge(&job);
        assert_eq!(named(&holdings), [Some(vec![])], "this version would name them");
        let _long: Vec<JudgedHere> = (0..3).map(|_| holdings.judge(&questions(None, 1_500))).collect();
        tokio::time::advance(Duration::from_secs(1)).await;
        drop(short);
        assert_eq!(named(&holdings), []);
        tokio::time::advance(Duration::from_secs(1)).await;
        for _ in 0..3 {
            assert_eq!(named(&holdings), [Some(vec![1_500, 1_500]), Some(vec![1_500])], "in small reports");
            tokio::time::advance(Duration::from_secs(9)).await;
            assert_eq!(named(&holdings), []);
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        let _of_now = holdings.judge(&job);
        tokio::time::advance(Duration::from_secs(2)).await;
        let reports = holdings.progress(&"w".parse().unwrap());
        let all: Vec<&HeldQuestions> = reports.iter().flat_map(|report| report.questions.iter().flatten()).collect();
        let digests: Vec<Digest> = job.questions.iter().map(|asked| asked.digest).collect();
        let expected = HeldQuestions { sweep: sweep(), judge: job.judge.clone(), questions: digests };
        assert_eq!(all.last(), Some(&&expected));
    }

    #[tokio::test(start_paused = true)]
    async fn questions_of_a_sweep_are_told_of_with_the_first_generation_that_is_under_way() {
        let holdings = Holdings::default();
        let told = async || {
            tokio::time::advance(Duration::from_secs(10)).await;
            let report = holdings.progress(&"w".parse().unwrap()).remove(0);
            assert_eq!(report.judging, [sweep()]);
            report.judging_since.into_values().collect::<Vec<_>>()
        };
        let held = |generation| holdings.judge(&questions(generation, 1));
        let _last = held(Some(2));
        let of_before = held(Some(1));
        assert_eq!(told().await, [1]);
        let first = held(None);
        assert_eq!(told().await, [0; 0], "it may be of before every resume");
        drop((first, of_before));
        assert_eq!(told().await, [2]);
    }
}
