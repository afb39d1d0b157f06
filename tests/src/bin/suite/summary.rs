//! Outcome of the whole run.

use std::fmt;
use std::time::Duration;

use crate::executable::Executable;
use crate::running::Finished;

/// Length of the list of slow tests.
const SLOW_LISTED: usize = 20;
/// Begins the line that a test prints when it cannot run here.
const SKIPPED: &str = "skipped: ";

/// Results of all executables.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    passed: usize,
    ignored: usize,
    failures: Vec<String>,
    skipped: Vec<String>,
    times: Vec<(String, Duration)>,
    must_run_all: bool,
}

impl Summary {
    /// Of a run in which a test that is skipped has failed, if `must_run_all`.
    pub(crate) fn new(must_run_all: bool) -> Self {
        Self { must_run_all, ..Self::default() }
    }

    /// Counts what came of `executable`.
    pub(crate) fn add(&mut self, executable: &Executable, finished: Finished) {
        self.passed += finished.passed;
        self.ignored += finished.ignored;
        if finished.failures.is_empty() && !finished.is_orderly {
            self.failures.push(format!("{executable} (it did not end in order)"));
        }
        self.failures.extend(finished.failures.iter().map(|name| format!("{executable}: {name}")));
        let skipped = finished.output.lines().filter_map(|line| line.strip_prefix(SKIPPED));
        self.skipped.extend(skipped.map(|reason| format!("{executable}: {reason}")));
        self.times.extend(finished.times.into_iter().map(|(name, took)| (format!("{executable}: {name}"), took)));
    }

    /// `true` if tests were run and none failed.
    pub(crate) fn is_success(&self) -> bool {
        self.failures.is_empty() && self.passed > 0 && !self.lacks_tests()
    }

    fn lacks_tests(&self) -> bool {
        self.must_run_all && !self.skipped.is_empty()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut times: Vec<&(String, Duration)> = self.times.iter().collect();
        times.sort_by(|(_, one), (_, other)| other.cmp(one));
        writeln!(f, "\nslowest tests:")?;
        for (name, took) in times.iter().take(SLOW_LISTED) {
            writeln!(f, "{:7.1} s  {name}", took.as_secs_f64())?;
        }
        for line in &self.skipped {
            writeln!(f, "{SKIPPED}{line}")?;
        }
        for name in &self.failures {
            writeln!(f, "FAILED  {name}")?;
        }
        if self.lacks_tests() {
            writeln!(f, "FAILED  tests were skipped, and REGATTA_TEST_ALL is set")?;
        }
        // A test that finds that it cannot run here passes as far as the harness can tell.
        let skipped = self.skipped.len() + self.ignored;
        writeln!(f, "\n{} passed, {} failed, {skipped} skipped", self.passed, self.failures.len())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn executable() -> Executable {
        Executable {
            package: "p".to_owned(),
            target: "t".to_owned(),
            is_unit: false,
            path: PathBuf::new(),
            folder: PathBuf::new(),
        }
    }

    #[test]
    fn nothing_run_is_no_success() {
        assert!(!Summary::default().is_success());
    }

    #[test]
    fn an_executable_that_dies_has_failed_although_none_of_its_tests_has() {
        let mut summary = Summary::default();
        summary.add(&executable(), Finished { passed: 3, ..Finished::default() });
        assert!(!summary.is_success());
        assert!(summary.to_string().contains("FAILED  p::t (it did not end in order)"), "{summary}");
        assert!(summary.to_string().ends_with("\n3 passed, 1 failed, 0 skipped\n"), "{summary}");
    }

    #[test]
    fn what_could_not_run_here_is_listed_and_counted() {
        let mut summary = Summary::default();
        let output = "skipped: no data\ntest a ... ok\n".to_owned();
        summary.add(&executable(), Finished { passed: 1, is_orderly: true, output, ..Finished::default() });
        assert!(summary.is_success());
        assert!(summary.to_string().contains("skipped: p::t: no data\n"), "{summary}");
        assert!(summary.to_string().ends_with("\n1 passed, 0 failed, 1 skipped\n"), "{summary}");
    }

    #[test]
    fn where_all_must_run_what_could_not_has_failed() {
        let mut summary = Summary::new(true);
        let passed =
            |output: &str| Finished { passed: 1, is_orderly: true, output: output.to_owned(), ..Finished::default() };
        summary.add(&executable(), passed("test a ... ok\n"));
        assert!(summary.is_success());
        summary.add(&executable(), passed("skipped: no data\ntest b ... ok\n"));
        assert!(!summary.is_success());
        assert!(summary.to_string().contains("FAILED  tests were skipped"), "{summary}");
    }
}
