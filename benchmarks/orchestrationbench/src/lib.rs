//! OrchestrationBench: plans of a main agent as graphs, and calls, questions and refusals of its sub agents, in English and Korean.

mod aggregate;
mod case;
mod data;
mod decision;
mod end_to_end;
mod extraction;
mod items;
mod judge;
mod metrics;
mod plan;
mod predictions;
mod prompts;
mod protocol;
mod scoring;
mod session;
mod setting;
mod simulate;
mod suite;
mod tables;
mod tabulation;
mod whole;

use std::collections::BTreeMap;
use std::sync::Arc;

use regatta_benchmarks::case::Case;
use regatta_benchmarks::{Benchmark, DataError, Suite};
use regatta_proto::{BenchmarkName, Evaluator, FileSet, Setting};
use serde_json::Value;

use self::setting::Mode;

/// The benchmark.
#[derive(Debug, Clone, Copy)]
pub struct OrchestrationBench;

impl Benchmark for OrchestrationBench {
    #[expect(clippy::expect_used, reason = "the literal is a valid name, which a test loads")]
    fn name(&self) -> BenchmarkName {
        BenchmarkName::new("orchestrationbench").expect("letters only")
    }

    fn wants(&self, path: &str) -> bool {
        data::wants(path)
    }

    fn sources(&self) -> Option<&'static str> {
        Some(include_str!("../sources.yaml"))
    }

    fn settings(&self) -> Vec<Setting> {
        Mode::ALL.iter().filter_map(|mode| mode.name().parse().ok()).collect()
    }

    fn evaluators(&self) -> Vec<Evaluator> {
        vec![Evaluator::Official, Evaluator::Paper]
    }

    fn load(&self, files: &FileSet) -> Result<Arc<dyn Suite>, DataError> {
        Ok(Arc::new(suite::Loaded::new(data::load(files)?)?))
    }

    fn score_case(&self, case: &FileSet, data: &FileSet) -> Result<BTreeMap<String, Value>, DataError> {
        case::score_case(&Case::read(case)?, case, data)
    }
}
