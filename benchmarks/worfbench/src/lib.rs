//! WorFBench: a model writes a workflow in one reply, which is compared with a gold workflow.
//!
//! Two evaluators share the texts and their similarities: [`official`] computes what the published code computes,
//! [`paper`] what the paper describes.

mod averages;
mod case;
mod data;
mod drawing;
mod edge_ends;
mod error;
mod gold;
mod items;
mod official;
mod paper;
mod parse_official;
mod parse_paper;
mod predictions;
mod recognise;
mod scoring;
mod session;
mod setting;
mod similarity;
mod simulate;
mod suite;
mod tables;
mod task;
mod workflow_noise;

#[cfg(test)]
mod golden;

use std::collections::BTreeMap;
use std::sync::Arc;

use regatta_benchmarks::case::Case;
use regatta_benchmarks::{Benchmark, DataError, Suite};
use regatta_proto::{BenchmarkName, Evaluator, FileSet, Setting};
use serde_json::Value;

use self::setting::Shots;

/// The benchmark.
#[derive(Debug, Clone, Copy)]
pub struct WorfBench;

impl Benchmark for WorfBench {
    #[expect(clippy::expect_used, reason = "the literal is a valid name, which a test loads")]
    fn name(&self) -> BenchmarkName {
        BenchmarkName::new("worfbench").expect("letters only")
    }

    fn wants(&self, path: &str) -> bool {
        data::wants(path)
    }

    fn sources(&self) -> Option<&'static str> {
        Some(include_str!("../sources.yaml"))
    }

    fn settings(&self) -> Vec<Setting> {
        Shots::ALL.iter().filter_map(|shots| shots.name().parse().ok()).collect()
    }

    fn evaluators(&self) -> Vec<Evaluator> {
        vec![Evaluator::Official, Evaluator::Paper]
    }

    fn load(&self, files: &FileSet) -> Result<Arc<dyn Suite>, DataError> {
        Ok(Arc::new(suite::Loaded::new(data::load(files)?)))
    }

    fn score_case(&self, case: &FileSet, data: &FileSet) -> Result<BTreeMap<String, Value>, DataError> {
        case::score(&Case::read(case)?, case, data)
    }
}
