//! Auto-SLURP: teams of agents that carry out what a person says to a smart home, against simulated servers.
//!
//! A session is one utterance. In the four native settings a policy asks its agents in turn and serves their tools itself; in `external/NAME`
//! somebody else's framework does, behind the bridge. Either way it comes to a [`run::Run`], which is all that evaluators look at:
//! `official` and the seven other scripts of the repository read its log and ask judges, `paper` counts the same verdicts as the paper does,
//! `structured` reads what was really requested and answered.

mod case;
mod data;
mod delegated;
mod items;
mod members;
mod official;
mod policies;
mod policy;
mod prompts;
mod run;
mod scoring;
mod servers;
mod session;
mod setting;
mod simulate;
mod structured;
mod suite;
mod tables;

use std::collections::BTreeMap;
use std::sync::Arc;

use regatta_benchmarks::case::Case;
use regatta_benchmarks::{Benchmark, DataError, Suite};
use regatta_proto::{BenchmarkName, Evaluator, FileSet, Script, Setting};
use serde_json::Value;

use self::setting::Mode;

/// The benchmark.
#[derive(Debug, Clone, Copy)]
pub struct AutoSlurp;

impl Benchmark for AutoSlurp {
    #[expect(clippy::expect_used, reason = "the literal is a valid name, which a test loads")]
    fn name(&self) -> BenchmarkName {
        BenchmarkName::new("autoslurp").expect("letters only")
    }

    fn wants(&self, path: &str) -> bool {
        data::wants(path)
    }

    fn sources(&self) -> Option<&'static str> {
        Some(include_str!("../sources.yaml"))
    }

    fn settings(&self) -> Vec<Setting> {
        Mode::listed().iter().filter_map(|mode| mode.name().parse().ok()).collect()
    }

    fn evaluators(&self) -> Vec<Evaluator> {
        let scripts = Script::ALL.map(Evaluator::OfficialOf);
        [Evaluator::Official, Evaluator::Paper, Evaluator::Structured].into_iter().chain(scripts).collect()
    }

    /// Every script asks judges on its own, so that those of single examples are only used when they are named.
    fn usual_evaluators(&self) -> Vec<Evaluator> {
        vec![Evaluator::Official, Evaluator::Paper, Evaluator::Structured]
    }

    fn load(&self, files: &FileSet) -> Result<Arc<dyn Suite>, DataError> {
        Ok(Arc::new(suite::Loaded::new(data::load(files)?)))
    }

    fn score_case(&self, case: &FileSet, data: &FileSet) -> Result<BTreeMap<String, Value>, DataError> {
        case::score(&Case::read(case)?, case, &data::load(data)?)
    }
}

pub use self::servers::ServedTools;
