//! The benchmarks of this build.

use regatta_benchmarks::Registry;
#[cfg(feature = "cluster")]
use regatta_declared::CodedRules;
use regatta_declared::{Declared, Permissions};
use regatta_proto::BenchmarkName;

/// Each crate `benchmarks/NAME` is one line here, in the order of the names; a test counts the folders.
const BUILT_IN: Registry = Registry::new(&[
    &regatta_appbench::AppBench,
    &regatta_autoslurp::AutoSlurp,
    &regatta_flowbench::FlowBench,
    &regatta_orchestrationbench::OrchestrationBench,
    &regatta_worfbench::WorfBench,
]);

/// Declared benchmarks of a person's own machine: their programs run, as its agents do.
pub(crate) static OF_PERSON: Declared = Declared::new(Permissions::trusting());
/// Declared benchmarks where runs of others are only read: no program is started.
static READ_ONLY: Declared = Declared::new(Permissions::none());

/// Every benchmark: the built-in ones, and those that a `benchmark.yaml` declares.
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
    BUILT_IN.find_built_in(name)?.sources()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use regatta_benchmark_testing::{drive, drive_with, miniature};
    use regatta_benchmarks::{DataError, Persona, RecordedVerdicts, Score, Scoring, Step, Suite, Table};
    use regatta_proto::{FileSet, ItemIndex, Reply, Role, SessionSeed, Setting, Transcript};

    use super::*;

    /// Crates of `benchmarks/` that are no benchmark: what benchmarks share, and how people declare their own.
    const OTHERS: [&str; 5] = ["coded", "declared", "matching", "pycompat", "testing"];

    fn workspace() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    #[test]
    fn a_benchmark_is_a_folder_and_a_line() {
        let entries = std::fs::read_dir(workspace().join("benchmarks")).unwrap();
        let mut folders: Vec<String> = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.join("Cargo.toml").is_file())
            .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
            .filter(|name| !OTHERS.contains(&name.as_str()))
            .collect();
        folders.sort();
        let hint = "each crate of benchmarks/ is a line of BUILT_IN, in this order, or one of OTHERS";
        assert_eq!(BUILT_IN.names(), folders.join(", "), "{hint}");
    }

    #[test]
    fn a_benchmark_has_all_that_contributing_lists() {
        let read = |path: &str| {
            std::fs::read_to_string(workspace().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
        };
        for benchmark in BUILT_IN.all() {
            let name = benchmark.name();
            for (path, word) in [
                (format!("examples/{name}.yaml"), format!("  {name}:")),
                (format!("examples/data/{name}/README.md"), "# ".to_owned()),
                (format!("docs/benchmarks/{name}.md"), "## 12".to_owned()),
                ("docs/benchmarks/README.md".to_owned(), format!("[`{name}`]({name}.md)")),
                ("docs/SUMMARY.md".to_owned(), format!("(benchmarks/{name}.md)")),
                ("README.md".to_owned(), format!("(docs/benchmarks/{name}.md)")),
                ("tests/fuzzing/src/benchmarks.rs".to_owned(), format!("&regatta_{name}::")),
            ] {
                assert!(read(&path).contains(&word), "{path} has no {word:?}: CONTRIBUTING.md, A benchmark");
            }
            let has_its_own = workspace().join(format!("tests/tests/{name}.rs")).is_file();
            let runs = has_its_own || read("tests/tests/miniatures.rs").contains(&format!("name: \"{name}\""));
            assert!(runs, "{name} is run end to end by no test: give it a constant in tests/tests/miniatures.rs");
        }
    }

    /// The defaults are for data sets of tests, and for those that people declare. Nothing else would say that a benchmark has forgotten its own.
    #[test]
    fn a_benchmark_of_this_build_has_no_default_in_place_of_what_its_page_says() {
        let nothing = FileSet::from_origin("nothing");
        for benchmark in BUILT_IN.all() {
            let (name, suite) = (benchmark.name(), benchmark.load(&miniature(*benchmark)).unwrap());
            let scores = suite.score_failure(ItemIndex(0), &benchmark.evaluators());
            assert!(!scores.is_empty(), "{name}");
            for (evaluator, score) in &scores {
                let trials = [vec![(ItemIndex(0), score)]];
                let table = suite.tabulate(*evaluator, &trials);
                assert_ne!(table, Table::of_means(&trials), "{name} {evaluator}: the aggregate of its official code");
            }
            let are_refused = |error: DataError| error.to_string().contains("reads no predictions");
            let is_default = suite.read_predictions("mine.jsonl", b"").is_err_and(are_refused);
            assert!(!is_default, "{name}: predictions of other systems");
            let refused = benchmark.score_case(&nothing, &nothing).unwrap_err().to_string();
            assert!(refused.contains("a case is a folder with this file"), "{name}: golden cases: {refused}");

            let mut firsts = benchmark.settings().into_iter().flat_map(|setting| {
                let items = suite.select(&setting, &[], Some(1)).unwrap();
                items.into_iter().map(|item| suite.next(item, &setting, &Transcript::default())).collect::<Vec<_>>()
            });
            let is_recognised =
                |step: Step| matches!(step, Step::Ask(_, request) if suite.recognise(&request).is_some());
            assert!(firsts.any(is_recognised), "{name}: the item whose session a request belongs to");
        }
    }

    #[test]
    fn sessions_that_the_model_failed_are_tabulated() {
        for benchmark in BUILT_IN.all() {
            let (name, suite) = (benchmark.name(), benchmark.load(&miniature(*benchmark)).unwrap());
            for setting in benchmark.settings() {
                let items = suite.select(&setting, &[], None).unwrap();
                for evaluator in benchmark.evaluators() {
                    let failed =
                        |item: &ItemIndex| Some((*item, suite.score_failure(*item, &[evaluator]).remove(&evaluator)?));
                    let scores: Vec<(ItemIndex, Score)> = items.iter().filter_map(failed).collect();
                    let trial: Vec<(ItemIndex, &Score)> = scores.iter().map(|(item, score)| (*item, score)).collect();
                    let table = suite.tabulate(evaluator, &[trial]);
                    assert!(table.aggregate.is_object(), "{name} {setting} {evaluator}: {table:?}");
                }
            }
        }
    }

    #[test]
    fn a_benchmark_is_found_by_its_name() {
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

    /// An answer that no parser of the benchmark `name` can read, and the beginning of the settings that parse answers.
    fn unreadable(name: &str) -> (&'static str, &'static str) {
        match name {
            "flowbench" => ("turn/", "Thought: go\nAction: book\nAction Input: {\"a\": {\"b\": 1"),
            _ => ("", "I would rather not."),
        }
    }

    #[test]
    fn an_answer_that_no_parser_can_read_is_of_invalid_format_and_the_golds_is_not() {
        for benchmark in BENCHMARKS.all() {
            let (name, suite) = (benchmark.name(), benchmark.load(&miniature(*benchmark)).unwrap());
            let (prefix, words) = unreadable(name.as_str());
            let (mut flagged, mut expected) = (BTreeSet::new(), BTreeSet::new());
            for setting in benchmark.settings() {
                let is_parsed = setting.as_str().starts_with(prefix) && !setting.as_str().contains("tools");
                for item in suite.select(&setting, &[], Some(2)).unwrap() {
                    if matches!(suite.next(item, &setting, &Transcript::default()), Step::Delegate(_)) {
                        continue;
                    }
                    let gold = drive(&*suite, item, &setting, Persona::Oracle, 1);
                    assert!(!suite.is_invalid_format(item, &setting, &gold), "{name} {setting} {item}");
                    if !is_parsed {
                        continue;
                    }
                    let transcript = saying(&*suite, item, &setting, words);
                    expected.insert(setting.clone());
                    flagged.extend(suite.is_invalid_format(item, &setting, &transcript).then(|| setting.clone()));
                }
            }
            assert_eq!(flagged, expected, "{name}");
        }
    }
}
