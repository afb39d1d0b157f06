//! Transient state: the leader among coordinators, the attempts and the work that workers have told of recently, and the time since each sweep
//! has last changed. It is not stored, because a ledger file belongs to one process, and its jobs and attempts end with it. Time is tokio's.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use regatta_proto::{AttemptId, Digest, HeldBatch, ModelRef, SweepId, WorkerId};
use tokio::time::Instant;

use crate::ledger::{Claimed, Held, OpenQuestion, Silence, Term};

/// Time without a report after which an attempt is forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(3600);

#[derive(Debug, Clone, Default)]
pub(super) struct Presence(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    leader: Option<Leader>,
    seen: HashMap<AttemptId, Instant>,
    /// Number of attempts after the last clean-up; cleaning up each time that the number has doubled costs little.
    kept: usize,
    /// Batches that workers have told of, each with its generation.
    batches: HashMap<(SweepId, String), (u32, Instant)>,
    /// Workers that have told of questions of a sweep.
    judging: BTreeMap<(SweepId, WorkerId), JudgingWorker>,
    /// Claims of questions.
    claims: HashMap<(SweepId, OpenQuestion), Claim>,
    /// Number of claims after the last clean-up, and mark of the last one.
    claims_kept: usize,
    mark: i64,
    /// State of each sweep when last asked, and the time since when it has been the same.
    quiet: BTreeMap<SweepId, (String, Instant)>,
}

/// A worker that waits for answers of judges.
#[derive(Debug)]
struct JudgingWorker {
    /// Generation of the first of its questions.
    generation: u32,
    /// It names those that it holds for long.
    is_named: bool,
    told: Instant,
}

#[derive(Debug)]
struct Claim {
    mark: i64,
    /// When it was made, or last told of.
    told: Instant,
    /// The queue may not have its job: nobody has confirmed that it was asked, and no worker has told of it.
    is_doubtful: bool,
}

#[derive(Debug)]
struct Leader {
    term: Term,
    holder: WorkerId,
    until: Instant,
}

impl Presence {
    pub(super) fn lead(&self, holder: &WorkerId, lease: Duration) -> Option<Term> {
        let (now, mut state) = (Instant::now(), self.locked());
        let term = match &state.leader {
            Some(leader) if leader.holder == *holder => leader.term,
            Some(leader) if now < leader.until => return None,
            Some(leader) => Term(leader.term.0 + 1),
            None => Term(1),
        };
        state.leader = Some(Leader { term, holder: holder.clone(), until: now + lease });
        Some(term)
    }

    pub(super) fn resign(&self, holder: &WorkerId) {
        let mut state = self.locked();
        if let Some(leader) = state.leader.as_mut().filter(|leader| leader.holder == *holder) {
            leader.until = Instant::now();
        }
    }

    pub(super) fn is_leading(&self, term: Term) -> bool {
        self.locked().leader.as_ref().is_some_and(|leader| leader.term == term)
    }

    pub(super) fn quiet(&self, sweep: &SweepId, life: &str, anew: bool) -> Duration {
        let (now, mut state) = (Instant::now(), self.locked());
        let (seen, since) = state.quiet.entry(sweep.clone()).or_insert_with(|| (life.to_owned(), now));
        if anew || seen != life {
            (*seen, *since) = (life.to_owned(), now);
        }
        now.duration_since(*since)
    }

    pub(super) fn see(&self, attempts: impl IntoIterator<Item = AttemptId>) {
        let (now, mut state) = (Instant::now(), self.locked());
        state.seen.extend(attempts.into_iter().map(|id| (id, now)));
        if state.seen.len() > 2 * state.kept + 1024 {
            state.seen.retain(|_, seen| now.duration_since(*seen) < FORGOTTEN_AFTER);
            state.kept = state.seen.len();
        }
    }

    /// Forgets that anybody has told of these attempts of `sweep`, and of its batches.
    pub(super) fn forget(&self, sweep: &SweepId, attempts: &[AttemptId]) {
        let mut state = self.locked();
        for attempt in attempts {
            state.seen.remove(attempt);
        }
        state.batches.retain(|(of, _), _| of != sweep);
    }

    /// True if a worker has told of the attempt, within a sweep of this generation. Of a line of a batch the batch knows best.
    pub(super) fn is_told(&self, (sweep, generation): (&SweepId, u32), attempt: &AttemptId, within: Duration) -> bool {
        let state = self.locked();
        let batch = attempt.batch().and_then(|id| state.batches.get(&(sweep.clone(), id.to_owned())));
        match batch {
            Some((of_batch, told)) => *of_batch == generation && told.elapsed() <= within,
            None => state.seen.get(attempt).is_some_and(|seen| seen.elapsed() <= within),
        }
    }

    pub(super) fn hold(&self, held: impl IntoIterator<Item = Held>) {
        let (now, mut state) = (Instant::now(), self.locked());
        state.judging.retain(|_, worker| now.duration_since(worker.told) < FORGOTTEN_AFTER);
        state.batches.retain(|_, (_, told)| now.duration_since(*told) < FORGOTTEN_AFTER);
        for held in held {
            match held {
                Held::Batch(HeldBatch { sweep, id, generation }) => {
                    state.batches.insert((sweep, id), (generation, now));
                }
                Held::Questions { sweep, worker, generation, is_named } => {
                    state.judging.insert((sweep, worker), JudgingWorker { generation, is_named, told: now });
                }
                Held::Question(sweep, open) => {
                    if let Some(claim) = state.claims.get_mut(&(sweep, open)) {
                        (claim.told, claim.is_doubtful) = (now, false);
                    }
                }
            }
        }
    }

    pub(super) fn is_judging(&self, sweep: &SweepId, within: Duration) -> bool {
        self.is_judging_before(sweep, u32::MAX, within)
    }

    /// True if a worker has told of questions that were claimed before the resume of number `generation`.
    pub(super) fn is_judging_before(&self, sweep: &SweepId, generation: u32, within: Duration) -> bool {
        let state = self.locked();
        state.judging_within(sweep, within).any(|worker| worker.generation < generation)
    }

    /// True if a worker has told of questions that would not name one of them.
    pub(super) fn is_judging_without_names(&self, sweep: &SweepId, within: Duration) -> bool {
        let state = self.locked();
        state.judging_within(sweep, within).any(|worker| !worker.is_named)
    }

    /// The mark of the next claim.
    pub(super) fn next_mark(&self) -> i64 {
        let mut state = self.locked();
        state.mark += 1;
        state.mark
    }

    /// Questions are claimed now.
    pub(super) fn claim(&self, sweep: &SweepId, judge: &ModelRef, claimed: &Claimed) {
        let (now, mut state) = (Instant::now(), self.locked());
        for question in &claimed.questions {
            let open = OpenQuestion { judge: judge.clone(), question: *question };
            state.claims.insert((sweep.clone(), open), Claim { mark: claimed.mark, told: now, is_doubtful: true });
        }
        if state.claims.len() > 2 * state.claims_kept + 1024 {
            state.claims.retain(|_, claim| now.duration_since(claim.told) < FORGOTTEN_AFTER);
            state.claims_kept = state.claims.len();
        }
    }

    /// The question is answered, or asked no more. A transaction that is taken back loses nothing by it: of a claim of which nobody knows when it was
    /// made, nothing is told.
    pub(super) fn forget_claim(&self, sweep: &SweepId, judge: &ModelRef, question: Digest) {
        self.locked().claims.remove(&(sweep.clone(), OpenQuestion { judge: judge.clone(), question }));
    }

    /// True if the last claim of the question has this mark.
    pub(super) fn has_claimed(&self, sweep: &SweepId, open: &OpenQuestion, mark: i64) -> bool {
        self.locked().claims.get(&(sweep.clone(), open.clone())).is_some_and(|claim| claim.mark == mark)
    }

    /// Takes note that the queue has the jobs of these claims.
    pub(super) fn confirm(&self, sweep: &SweepId, judge: &ModelRef, claimed: &Claimed) {
        let mut state = self.locked();
        for question in &claimed.questions {
            let key = (sweep.clone(), OpenQuestion { judge: judge.clone(), question: *question });
            if let Some(claim) = state.claims.get_mut(&key).filter(|claim| claim.mark == claimed.mark) {
                claim.is_doubtful = false;
            }
        }
    }

    /// True if there is `silence` about the question. Nobody tells of one that was claimed before this process began.
    pub(super) fn is_silent(&self, sweep: &SweepId, open: &OpenQuestion, silence: Silence) -> bool {
        let state = self.locked();
        match state.claims.get(&(sweep.clone(), open.clone())) {
            Some(claim) => claim.told.elapsed() > silence.within && (claim.is_doubtful || !silence.in_doubt),
            None => !silence.in_doubt,
        }
    }

    /// True if a worker has told of one of these attempts.
    pub(super) fn is_any_seen(&self, attempts: &[AttemptId], within: Duration) -> bool {
        let state = self.locked();
        attempts.iter().filter_map(|attempt| state.seen.get(attempt)).any(|seen| seen.elapsed() <= within)
    }

    /// True if a worker has told of a batch or of questions of the sweep.
    pub(super) fn is_held(&self, sweep: &SweepId, within: Duration) -> bool {
        let batches = {
            let state = self.locked();
            state.batches.iter().any(|((of, _), (_, told))| of == sweep && told.elapsed() <= within)
        };
        batches || self.is_judging(sweep, within)
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Workers that have told of questions of `sweep` within `within`.
    fn judging_within(&self, sweep: &SweepId, within: Duration) -> impl Iterator<Item = &JudgingWorker> {
        let of_sweep = self.judging.iter().filter(move |((judged, _), _)| judged == sweep).map(|(_, worker)| worker);
        of_sweep.filter(move |worker| worker.told.elapsed() <= within)
    }
}
