//! The benchmarks of this build.

use regatta_appbench::AppBench;
use regatta_autoslurp::AutoSlurp;
use regatta_benchmarks::Registry;
use regatta_flowbench::FlowBench;
use regatta_orchestrationbench::OrchestrationBench;
use regatta_worfbench::WorfBench;

/// Every benchmark; a new one is a crate beside these and a line here.
pub(crate) const BENCHMARKS: Registry =
    Registry::new(&[&AppBench, &AutoSlurp, &FlowBench, &OrchestrationBench, &WorfBench]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_benchmark_is_found_by_its_name() {
        assert_eq!(BENCHMARKS.names(), "appbench, autoslurp, flowbench, orchestrationbench, worfbench");
        for benchmark in BENCHMARKS.all() {
            assert!(BENCHMARKS.find(&benchmark.name()).is_some_and(|found| found.name() == benchmark.name()));
        }
        assert!(BENCHMARKS.find(&"nobench".parse().unwrap()).is_none());
    }
}
