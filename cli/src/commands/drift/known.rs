//! Changes that are known, and the cells whose numbers each may explain.

use regatta_proto::{BenchmarkLock, BenchmarkName, ModelRef, RoleModels};

use super::finding::Finding;
use crate::ended_run::EndedRun;
use crate::paired_runs::MatchedCell;

/// A finding with the cells whose numbers it may explain.
pub(super) struct Known {
    pub(super) finding: Finding,
    pub(super) scope: Scope,
}

pub(super) enum Scope {
    All,
    Benchmark(BenchmarkName),
    /// By the later night's name.
    Model(ModelRef),
    /// Times of all cells, and nothing else: limits decide how many calls an endpoint has at once, and not what it answers.
    Times,
}

impl Scope {
    /// Scope of what changed about a model under test: of every cell, if it may play a part in any.
    pub(super) fn of_model(model: &ModelRef, now: &EndedRun) -> Self {
        let has_partners = |lock: &BenchmarkLock| lock.roles != RoleModels::default() || !lock.casts.is_empty();
        match now.lock.benchmarks.values().any(has_partners) {
            true => Self::All,
            false => Self::Model(model.clone()),
        }
    }

    /// `true` where scores, tokens and outcomes of `cell` may be others for it.
    pub(super) fn covers(&self, cell: &MatchedCell) -> bool {
        match self {
            Self::All => true,
            Self::Benchmark(benchmark) => cell.benchmark == *benchmark,
            Self::Model(model) => cell.model_b == *model,
            Self::Times => false,
        }
    }

    /// `true` where times of `cell` may be others for it.
    pub(super) fn covers_times(&self, cell: &MatchedCell) -> bool {
        match self {
            Self::Times => true,
            Self::All | Self::Benchmark(_) | Self::Model(_) => self.covers(cell),
        }
    }
}
