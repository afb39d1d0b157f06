//! The benchmarks of this build.

use regatta_appbench::AppBench;
use regatta_autoslurp::AutoSlurp;
use regatta_benchmarks::Registry;
#[cfg(feature = "cluster")]
use regatta_declared::CodedRules;
use regatta_declared::{Declared, Permissions};
use regatta_flowbench::FlowBench;
use regatta_orchestrationbench::OrchestrationBench;
use regatta_proto::BenchmarkName;
use regatta_worfbench::WorfBench;

const BUILT_IN: Registry = Registry::new(&[&AppBench, &AutoSlurp, &FlowBench, &OrchestrationBench, &WorfBench]);

/// Declared benchmarks of a person's own machine: their programs run, as its agents do.
pub(crate) static OF_PERSON: Declared = Declared::new(Permissions::trusting());
/// Declared benchmarks where runs of others are only read: no program is started.
static READ_ONLY: Declared = Declared::new(Permissions::none());

/// Every benchmark; a new one is a folder with a `benchmark.yaml`, or a crate beside these and a line here.
pub(crate) const BENCHMARKS: Registry = BUILT_IN.with_declared(&OF_PERSON);

/// The same, where runs of others are read.
pub(crate) const READ_BENCHMARKS: Registry = BUILT_IN.with_declared(&READ_ONLY);

/// The same in a deployed role: of the benchmarks with a program it runs those that `rules` allow, as `user` unless a rule names another.
#[cfg(feature = "cluster")]
pub(crate) fn deployed(rules: CodedRules, user: Option<String>) -> Registry {
    let declared = Declared::new(Permissions::deployed(rules, user));
    // One a process, and it lasts as long.
    BUILT_IN.with_declared(Box::leak(Box::new(declared)))
}

/// Official files of a built-in benchmark's data set (YAML); `None` for another name.
pub(crate) fn sources(name: &BenchmarkName) -> Option<&'static str> {
    let known = [
        ("appbench", regatta_appbench::SOURCES),
        ("autoslurp", regatta_autoslurp::SOURCES),
        ("flowbench", regatta_flowbench::SOURCES),
        ("orchestrationbench", regatta_orchestrationbench::SOURCES),
        ("worfbench", regatta_worfbench::SOURCES),
    ];
    known.into_iter().find(|(of, _)| *of == name.as_str()).map(|(_, sources)| sources)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use regatta_benchmark_testing::{drive, drive_with, miniature};
    use regatta_benchmarks::{Persona, RecordedVerdicts, Scoring, Step, Suite};
    use regatta_proto::{ItemIndex, Reply, Role, SessionSeed, Setting, Transcript};

    use super::*;

    #[test]
    fn a_benchmark_is_found_by_its_name() {
        assert_eq!(BENCHMARKS.names(), "appbench, autoslurp, flowbench, orchestrationbench, worfbench");
        for benchmark in BENCHMARKS.all() {
            assert!(BENCHMARKS.find(&benchmark.name()).is_some_and(|found| found.name() == benchmark.name()));
        }
        let another = "nobench".parse().unwrap();
        assert!(BENCHMARKS.find_built_in(&another).is_none());
        assert!(BENCHMARKS.find(&another).is_some_and(|found| found.name().as_str() == "declared"));
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
            let failure = suite.score_failure(none, &benchmark.evaluators());
            assert!(failure.is_empty(), "{}: no scores, which the scorer calls unfit: {failure:?}", benchmark.name());
        }
    }

    /// A simulated agent that says `words` whenever it is asked.
    fn saying(suite: &dyn Suite, item: ItemIndex, setting: &Setting, words: &str) -> Transcript {
        drive_with(suite, item, setting, |role, request| match role {
            Role::Agent => Reply::said(words),
            _ => suite.simulate(item, setting, role, Persona::Oracle, SessionSeed(1), request),
        })
    }

    /// Answers that no parser of the benchmark can read.
    #[test]
    fn an_answer_that_no_parser_can_read_is_of_invalid_format_and_the_golds_is_not() {
        let unreadable = [
            ("appbench", "", "I would rather not."),
            ("autoslurp", "", "I would rather not."),
            ("flowbench", "turn/", "Thought: go\nAction: book\nAction Input: {\"a\": {\"b\": 1"),
            ("orchestrationbench", "", "I would rather not."),
            ("worfbench", "", "I would rather not."),
        ];
        for benchmark in BENCHMARKS.all() {
            let (name, suite) = (benchmark.name(), benchmark.load(&miniature(*benchmark)).unwrap());
            let (mut flagged, mut expected) = (BTreeSet::new(), BTreeSet::new());
            for setting in benchmark.settings() {
                let words = unreadable.iter().find(|(of, prefix, _)| {
                    *of == name.as_str() && setting.as_str().starts_with(prefix) && !setting.as_str().contains("tools")
                });
                for item in suite.select(&setting, &[], Some(2)).unwrap() {
                    if matches!(suite.next(item, &setting, &Transcript::default()), Step::Delegate(_)) {
                        continue;
                    }
                    let gold = drive(&*suite, item, &setting, Persona::Oracle, 1);
                    assert!(!suite.is_invalid_format(item, &setting, &gold), "{name} {setting} {item}");
                    let Some((_, _, words)) = words else { continue };
                    let transcript = saying(&*suite, item, &setting, words);
                    expected.insert(setting.clone());
                    flagged.extend(suite.is_invalid_format(item, &setting, &transcript).then(|| setting.clone()));
                }
            }
            assert_eq!(flagged, expected, "{name}");
        }
    }
}
