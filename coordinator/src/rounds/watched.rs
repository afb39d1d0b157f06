//! Sweeps that have not ended, as a leader remembers them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use regatta_backends::Term;
use regatta_catalog::Sweep;
use regatta_proto::{EndpointName, Money};
use tokio::time::Instant;

use crate::answering::Unanswering;
use crate::budget::FirstCalls;
use crate::echo::Echo;
use crate::held::HeldBack;
use crate::quiet::Quiet;
use crate::rejudging::Rejudging;
use crate::suspects::LostJobs;

/// Age at which it says nothing any more of sessions that nobody tells of that all reports had been recorded. Workers tell of each session
/// that often.
const HEARD_WITHIN: Duration = Duration::from_secs(10);

/// A sweep that has not ended, with what is only worth computing once.
pub(crate) struct Watched {
    pub(crate) sweep: Arc<Sweep>,
    /// Term under which this process began to watch it. Should another lead meanwhile, nothing of what is known here is acted on.
    pub(crate) term: Term,
    /// Empty without a budget.
    pub(crate) first_calls: Arc<FirstCalls>,
    /// As the ledger has it, resumes included.
    pub(crate) budget: Option<Money>,
    pub(crate) quiet: Quiet,
    /// True if the sweep may dispatch, false while it is tabulated.
    pub(super) running: bool,
    /// True if somebody has paused it: nothing of it is dispatched, and workers are not told of its queues.
    pub(super) is_paused: bool,
    /// Calls at once of each endpoint that somebody has lowered below those of the spec.
    pub(super) concurrency: BTreeMap<EndpointName, u32>,
    /// Number of times that the sweep was resumed.
    pub(crate) generation: u32,
    /// Time before which nothing is dispatched: workers must have heard of the generation, and have reported their attempts of earlier
    /// ones.
    pub(super) settles_at: Instant,
    /// True once all reports of earlier generations are recorded, and while no shard waits for later ones.
    pub(super) is_settled: bool,
    /// When it was last certain that everything was recorded that had been reported.
    pub(super) heard_at: Option<Instant>,
    /// Jobs of its planned shards may have been published before: by an earlier leader, before a resume, or before they were planned again.
    pub(crate) may_have_run: bool,
    pub(crate) held: HeldBack,
    pub(crate) lost_jobs: LostJobs,
    /// Queues that did not tell what is in them.
    pub(crate) unanswering: Unanswering,
    /// Queues that did not confirm jobs.
    pub(crate) unconfirming: Unanswering,
    /// Queues that have not been declared by this leader.
    pub(super) undeclared: Vec<String>,
    pub(crate) rejudging: Rejudging,
    pub(crate) echo: Echo,
    /// Time since which nothing is left to run; `None` while something is.
    pub(super) over_since: Option<Instant>,
    /// Asked, since then, whether all that was reported is recorded.
    pub(super) is_asked_at_its_end: bool,
}

impl Watched {
    /// All that had been reported is recorded.
    pub(crate) fn is_heard(&mut self) {
        self.heard_at = Some(Instant::now());
    }

    /// `true` if no job is to be published to `queue` for now.
    pub(crate) fn leaves_alone(&self, queue: &str) -> bool {
        self.unconfirming.leaves_alone(queue) || self.undeclared.iter().any(|undeclared| undeclared == queue)
    }

    /// True if everything was recorded that had been reported until a moment ago.
    pub(crate) fn was_heard_lately(&self) -> bool {
        self.heard_at.is_some_and(|at| at.elapsed() < HEARD_WITHIN)
    }
}
