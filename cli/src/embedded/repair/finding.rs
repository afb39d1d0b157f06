//! Findings of a repair, with what it does about each.

use std::fmt;

use regatta_proto::SweepState;

/// A part of the run's directory that is not as the run left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// File or part that has the problem.
    pub(crate) about: &'static str,
    /// The problem, in one sentence.
    pub(crate) problem: String,
    /// The remedy that repair applies.
    pub(crate) remedy: String,
    /// True if a person must act: repair cannot do anything about it.
    pub(crate) is_left: bool,
}

impl Finding {
    pub(super) fn mended(about: &'static str, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { about, problem: problem.into(), remedy: remedy.into(), is_left: false }
    }

    pub(super) fn left(about: &'static str, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { is_left: true, ..Self::mended(about, problem, remedy) }
    }
}

/// Result of a repair: its findings, and the state of the run after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repaired {
    /// Findings in the order in which they are dealt with.
    pub(crate) findings: Vec<Finding>,
    /// `None` where the lock or the data of the sweep cannot be read.
    pub(crate) standing: Option<Standing>,
}

/// A run after its repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Standing {
    /// State of the sweep.
    pub(crate) state: SweepState,
    /// Sessions it has.
    pub(crate) sessions: u64,
    /// Sessions that the next run calls models for.
    pub(crate) to_run: u64,
    /// Sessions that only wait for verdicts.
    pub(crate) to_judge: u64,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { state, sessions, to_run, to_judge } = self;
        write!(f, "{state}: {} of {sessions} sessions are recorded", sessions - to_run)?;
        if *to_run > 0 {
            write!(f, ", {to_run} are left to run")?;
        }
        if *to_judge > 0 {
            write!(f, ", {to_judge} wait for verdicts")?;
        }
        Ok(())
    }
}
