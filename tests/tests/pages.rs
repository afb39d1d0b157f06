//! Tables of pages that say what the code says are written from it, and nobody has changed one of the two alone.
//!
//! Runs where there is a Python; says so where there is none.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::process::Command;

use regatta_tests::regatta::{skipped, workspace};

const LIMITS: &str = "docs/tools/limits.py";

/// Verdict of `script` on the pages as they are, or on `page`; `None` where there is no Python.
fn check(script: &str, page: Option<&Path>) -> Option<Result<(), String>> {
    let mut python = Command::new("python3");
    match python.arg(workspace().join(script)).arg("--check").args(page).output() {
        Ok(checked) if checked.status.success() => Some(Ok(())),
        Ok(checked) => Some(Err(String::from_utf8(checked.stderr).unwrap())),
        Err(error) => {
            skipped("pages", &format!("python3 cannot be started: {error}"));
            None
        }
    }
}

/// Every figure of the table is a constant's, and every constant whose name is that of a limit is in it or named as something else.
#[test]
fn every_limit_of_the_code_is_in_the_table_of_limits_with_its_figure() {
    let Some(checked) = check(LIMITS, None) else { return };
    assert_eq!(checked, Ok(()));
}

#[test]
fn a_figure_that_is_changed_on_the_page_alone_is_found() {
    let page = std::fs::read_to_string(workspace().join("SECURITY.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let changed = folder.path().join("SECURITY.md");
    for (figure, other) in
        [("| request to the API | 8 MiB,", "| request to the API | 9 MiB,"), ("| form of a login", "| form")]
    {
        assert_eq!(page.matches(figure).count(), 1, "{figure}");
        std::fs::write(&changed, page.replace(figure, other)).unwrap();
        let Some(checked) = check(LIMITS, Some(&changed)) else { return };
        assert!(checked.unwrap_err().contains("out of date"), "{figure}");
    }
}

#[test]
fn the_tables_of_metrics_and_of_specs_are_those_of_the_code() {
    for script in ["docs/tools/metrics.py", "docs/tools/spec.py"] {
        let Some(checked) = check(script, None) else { return };
        assert_eq!(checked, Ok(()), "{script}");
    }
}
