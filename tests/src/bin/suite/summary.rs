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
}

impl Summary {
    /// Counts what came of `executable`.
    pub(crate) fn add(&mut self, executable: &Executable, finished: Finished) {
        self.passed += finished.passed;
        self.ignored += finished.ignored;
        if finished.failures.is_empty() && !finished.is_orderly {
            self.failures.push(format!("{executable} (it did not end in order)"));
        }
        self.failures.extend(finished.failures.iter().map(|name| format!("{executable}: {name}")));
        self.skipped.extend(finished.output.lines().filter(|line| line.starts_with(SKIPPED)).map(str::to_owned));
        self.times.extend(finished.times.into_iter().map(|(name, took)| (format!("{executable}: {name}"), took)));
    }

    /// `true` if tests were run and none failed.
    pub(crate) fn is_success(&self) -> bool {
        self.failures.is_empty() && self.passed > 0
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
        let mut skipped = self.skipped.clone();
        skipped.sort();
        skipped.dedup();
        for line in &skipped {
            writeln!(f, "{line}")?;
        }
        for name in &self.failures {
            writeln!(f, "FAILED  {name}")?;
        }
        writeln!(f, "\n{} passed, {} failed, {} skipped", self.passed, self.failures.len(), self.ignored)
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
    fn what_could_not_run_here_is_listed_once() {
        let mut summary = Summary::default();
        let output = "skipped: no data\ntest a ... ok\nskipped: no data\n".to_owned();
        summary.add(&executable(), Finished { passed: 1, is_orderly: true, output, ..Finished::default() });
        assert!(summary.is_success());
        assert_eq!(summary.to_string().matches("skipped: no data").count(), 1);
    }
}
