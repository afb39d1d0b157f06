//! The built-in benchmarks, whose answers, transcripts and files are fuzzed.

use regatta_benchmarks::Benchmark;

/// Inputs know a benchmark by its place here, so that a new one goes to the end.
pub(crate) const BUILT_IN: &[&dyn Benchmark] = &[
    &regatta_worfbench::WorfBench,
    &regatta_appbench::AppBench,
    &regatta_orchestrationbench::OrchestrationBench,
    &regatta_flowbench::FlowBench,
    &regatta_autoslurp::AutoSlurp,
];
