//! FlowBench: an agent that follows a workflow in conversations, turn by turn and in whole sessions.

mod agreement;
mod by_agent;
mod case;
mod data;
mod extraction;
mod flowchart;
mod fuzzy;
mod items;
mod judge;
mod pictures;
mod predictions;
mod prompts;
mod protocol;
mod recognise;
mod scoring;
mod session;
mod session_level;
mod setting;
mod simulate;
mod statistics;
mod suite;
mod tables;
mod turn_level;

pub use agreement::{RatingScale, cohen_kappa, fleiss_kappa, krippendorff_alpha};
pub use tables::{JudgedSession, alignment as judge_alignment};

#[cfg(test)]
mod vectors;

use std::collections::BTreeMap;
use std::sync::Arc;

use regatta_benchmarks::case::Case;
use regatta_benchmarks::{Benchmark, DataError, Suite};
use regatta_proto::{BenchmarkName, Evaluator, FileSet, Setting};
use serde_json::Value;

/// The benchmark.
#[derive(Debug, Clone, Copy)]
pub struct FlowBench;

impl Benchmark for FlowBench {
    #[expect(clippy::expect_used, reason = "the literal is a valid name, which a test loads")]
    fn name(&self) -> BenchmarkName {
        BenchmarkName::new("flowbench").expect("letters only")
    }

    fn wants(&self, path: &str) -> bool {
        data::wants(path)
    }

    fn sources(&self) -> Option<&'static str> {
        Some(include_str!("../sources.yaml"))
    }

    fn settings(&self) -> Vec<Setting> {
        setting::Mode::all().into_iter().filter_map(|mode| mode.name().parse().ok()).collect()
    }

    fn evaluators(&self) -> Vec<Evaluator> {
        vec![Evaluator::OfficialFixed, Evaluator::Official, Evaluator::Paper]
    }

    fn load(&self, files: &FileSet) -> Result<Arc<dyn Suite>, DataError> {
        Ok(Arc::new(suite::Loaded::new(data::load(files)?)))
    }

    fn score_case(&self, case: &FileSet, data: &FileSet) -> Result<BTreeMap<String, Value>, DataError> {
        case::score(&Case::read(case)?, case, &data::load(data)?)
    }
}
