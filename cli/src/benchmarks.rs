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
    use regatta_benchmark_testing::miniature;
    use regatta_benchmarks::{RecordedVerdicts, Scoring, Step};
    use regatta_proto::{ItemIndex, Setting, Transcript};

    use super::*;

    #[test]
    fn a_benchmark_is_found_by_its_name() {
        assert_eq!(BENCHMARKS.names(), "appbench, autoslurp, flowbench, orchestrationbench, worfbench");
        for benchmark in BENCHMARKS.all() {
            assert!(BENCHMARKS.find(&benchmark.name()).is_some_and(|found| found.name() == benchmark.name()));
        }
        assert!(BENCHMARKS.find(&"nobench".parse().unwrap()).is_none());
    }

    /// Sessions that are over count as measured, and an empty map of scores is a score.
    #[test]
    fn a_session_that_no_selection_gives_out_is_unfit_and_not_over() {
        let (none, nowhere): (_, Setting) = (ItemIndex(u32::MAX), "nowhere".parse().unwrap());
        let nothing = Transcript::default();
        for benchmark in BENCHMARKS.all() {
            let suite = benchmark.load(&miniature(*benchmark)).unwrap();
            let mut sessions: Vec<_> = benchmark.settings().into_iter().map(|setting| (none, setting)).collect();
            sessions.push((ItemIndex(0), nowhere.clone()));
            for (item, setting) in sessions {
                let step = suite.next(item, &setting, &nothing);
                assert!(matches!(step, Step::Unfit(_)), "{} {item} {setting}: {step:?}", benchmark.name());
            }
            let scoring = suite.score(none, &benchmark.evaluators(), &nothing, &RecordedVerdicts::default());
            assert!(matches!(scoring, Scoring::Unfit(_)), "{}: {scoring:?}", benchmark.name());
        }
    }
}
