//! Jobs that are not to be run, as the coordinator's last broadcast says.

use std::collections::{BTreeMap, BTreeSet};

use regatta_proto::{BatchJob, Control, Job, SessionJob, SweepId};

/// Sweeps that were cancelled or resumed.
#[derive(Debug, Default)]
pub(crate) struct Void {
    cancelled: BTreeSet<SweepId>,
    /// Sweeps that were resumed, with their generation: jobs of earlier ones are void.
    generations: BTreeMap<SweepId, u32>,
}

impl Void {
    /// The state that `control` tells, and the sweeps that were resumed since `self` was said.
    pub(crate) fn after(&self, control: &Control) -> (Self, Vec<SweepId>) {
        let is_new = |(sweep, present): &(&SweepId, &u32)| self.generation(sweep) < **present;
        let resumed = control.generations.iter().filter(is_new).map(|(sweep, _)| sweep.clone()).collect();
        let cancelled = control.cancelled.iter().cloned().collect();
        (Self { cancelled, generations: control.generations.clone() }, resumed)
    }

    pub(crate) fn is_cancelled(&self, sweep: &SweepId) -> bool {
        self.cancelled.contains(sweep)
    }

    /// Number of resumes of `sweep` that were told of.
    pub(crate) fn generation(&self, sweep: &SweepId) -> u32 {
        self.generations.get(sweep).copied().unwrap_or(0)
    }

    /// True if `job` was published before its sweep was last resumed.
    pub(crate) fn is_stale(&self, job: &Job) -> bool {
        match job {
            Job::Session(session) => self.is_of_before(session),
            Job::Batch(batch) => self.is_void(batch),
            Job::Judge(_) => false,
        }
    }

    /// True if the sweep of `batch` was cancelled, or resumed since its sessions were published: these are dispatched again.
    pub(crate) fn is_void(&self, batch: &BatchJob) -> bool {
        self.is_cancelled(&batch.sweep) || batch.sessions.iter().any(|session| self.is_of_before(session))
    }

    /// True if `session` was published before its sweep was last resumed.
    pub(crate) fn is_of_before(&self, session: &SessionJob) -> bool {
        session.generation < self.generation(&session.key.sweep)
    }
}
