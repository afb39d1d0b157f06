//! The next call of each session of a batch. It is a pure function of the job, so it is computed anew at each step and not stored.

use regatta_benchmarks::{DelegatedTask, Item, Sessions, Step};
use regatta_catalog::Sweep;
use regatta_llm::{BatchCall, SessionTag};
use regatta_proto::{
    BatchJob, BenchmarkFailed, CacheMode, Cell, ChatRequest, Filtered, ModelSpec, Role, SessionJob, SessionSeed,
};

use crate::session::override_sampling;

/// Sessions worked out without giving others a turn.
const SESSIONS_A_TURN: usize = 64;

/// Next step of a session: a call to make, or the reason why there is none.
pub(super) enum Next<'a> {
    /// A call to a model.
    Ask(Box<Asked<'a>>),
    /// No further call: the session is over.
    Done,
    /// No call: the transcript does not fit the benchmark. Holds the reason.
    Unfit(String),
    /// No call: the benchmark's program failed.
    Failed(BenchmarkFailed),
    /// No call: the sweep has no such cell or item.
    Misfit,
}

/// A call that a session asks for.
pub(super) struct Asked<'a> {
    pub(super) sweep: &'a Sweep,
    pub(super) cell: &'a Cell,
    pub(super) suite: &'a dyn Sessions,
    pub(super) request: ChatRequest,
    item: &'a Item,
    seed: SessionSeed,
    role: Role,
    model: Option<&'a ModelSpec>,
    attempt: u32,
    cache: CacheMode,
    pub(super) filtered: Filtered,
}

impl Asked<'_> {
    pub(super) fn call(&self) -> BatchCall<'_> {
        BatchCall {
            model: &self.cell.model.model,
            role: self.role,
            attempt: self.attempt,
            request: &self.request,
            cache: self.cache,
            price: self.model.and_then(|model| model.price.as_ref()),
            session: SessionTag {
                benchmark: &self.cell.benchmark,
                setting: &self.cell.setting,
                item: &self.item.id,
                trial: self.cell.trial,
                role: self.role,
                seed: self.seed,
            },
        }
    }
}

/// Next step of the session of `job`, computed from its transcript.
pub(super) fn next<'a>(sweep: &'a Sweep, job: &SessionJob) -> Next<'a> {
    let key = &job.key;
    let found = sweep.cell(key.cell).and_then(|cell| Some((cell, sweep.suite(cell)?, sweep.item(cell, key.item)?)));
    let Some((cell, suite, item)) = found else { return Next::Misfit };
    let (role, mut request) = match suite.next(key.item, &cell.setting, &job.transcript) {
        Step::Ask(role, request) => (role, request),
        Step::Done => return Next::Done,
        Step::Delegate(task) => return Next::Unfit(undelegated(&task)),
        Step::Unfit(reason) => return Next::Unfit(reason),
        Step::Failed(failed) => return Next::Failed(failed),
    };
    let model = sweep.lock.model(&cell.model);
    if let Some(model) = model {
        override_sampling(&mut request, model);
    }
    let seed = sweep.seed(cell, item);
    let (suite, attempt, filtered) = (suite.as_ref(), job.attempt, sweep.lock.filtered);
    let cache = sweep.cache(cell, key.item);
    Next::Ask(Box::new(Asked { sweep, cell, suite, request, item, seed, role, model, attempt, cache, filtered }))
}

/// Reason why a session that comes to delegate `task` does not fit.
pub(super) fn undelegated(task: &DelegatedTask) -> String {
    format!("{} cannot be run in batches", task.agent)
}

/// The next call of every session of a batch, in the order of the sessions. `None` when any of them makes no call: such a batch was not
/// gathered for this sweep.
pub(super) async fn all<'a>(sweep: &'a Sweep, job: &BatchJob) -> Option<Vec<Asked<'a>>> {
    let mut all = Vec::with_capacity(job.sessions.len());
    for (position, session) in job.sessions.iter().enumerate() {
        if position % SESSIONS_A_TURN == SESSIONS_A_TURN - 1 {
            tokio::task::yield_now().await;
        }
        match next(sweep, session) {
            Next::Ask(asked) => all.push(*asked),
            Next::Done | Next::Unfit(_) | Next::Failed(_) | Next::Misfit => return None,
        }
    }
    Some(all)
}
