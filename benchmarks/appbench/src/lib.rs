//! AppBench: plans of API calls across the apps of a phone, scored as text, as graphs and by executing them.
//!
//! Three evaluators: `official` computes what the two scorers of the repository compute, which disagree; `paper` what the paper means;
//! `exec` executes the plan on a simulated phone. Only the last one can say something about sessions with tools.

mod case;
mod data;
mod demonstrations;
mod drawing;
mod exec;
mod items;
mod official;
mod paper;
mod parse;
mod phone_picture;
mod phone_server;
mod prompts;
mod scoring;
mod session;
mod setting;
mod simulate;
mod stepwise;
mod suite;
mod tables;
mod topology;

#[cfg(test)]
mod vectors;

use std::collections::BTreeMap;
use std::sync::Arc;

use regatta_proto::{BenchmarkName, Evaluator, FileSet, Setting};
use serde_json::Value;

pub use self::data::{Api, App, Phone, Slot};
pub use self::exec::{Executed, Refusal, ServedApps, SessionScore, Warning, World};
use self::setting::Mode;
use regatta_benchmarks::case::Case;
use regatta_benchmarks::{Benchmark, DataError, Suite};

/// The benchmark.
#[derive(Debug, Clone, Copy)]
pub struct AppBench;

impl Benchmark for AppBench {
    #[expect(clippy::expect_used, reason = "the literal is a valid name, which a test loads")]
    fn name(&self) -> BenchmarkName {
        BenchmarkName::new("appbench").expect("letters only")
    }

    fn wants(&self, path: &str) -> bool {
        data::wants(path)
    }

    fn sources(&self) -> Option<&'static str> {
        Some(include_str!("../sources.yaml"))
    }

    fn settings(&self) -> Vec<Setting> {
        Mode::all().into_iter().filter_map(|mode| mode.name().parse().ok()).collect()
    }

    fn evaluators(&self) -> Vec<Evaluator> {
        vec![Evaluator::Official, Evaluator::Paper, Evaluator::Exec]
    }

    fn load(&self, files: &FileSet) -> Result<Arc<dyn Suite>, DataError> {
        Ok(Arc::new(suite::Loaded::new(data::load(files)?)))
    }

    fn score_case(&self, case: &FileSet, data: &FileSet) -> Result<BTreeMap<String, Value>, DataError> {
        case::score(&Case::read(case)?, case, &data::load(data)?)
    }
}
