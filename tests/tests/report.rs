//! The report of a run as a person opens it, in a browser: one file of a bounded length that can be read on a desk and on a phone, by day and by
//! night. So can the page of a session that `show -o` writes, and both have the colours and fonts of the viewer.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command as Blocking;

use regatta_tests::regatta::{finish, regatta, workspace};
use regatta_tests::viewing::{ask, run, view};
use regatta_tests::{Chromium, Window};

/// Most bytes of the quickstart's report.
const LARGEST: u64 = 150_000;
/// Greatest height of the quickstart's report on a desk, in pixels: three screens, with what is folded left folded.
const TALLEST: u64 = 3_000;
/// Name of the test that needs a browser.
const IN_A_BROWSER: &str = "a_report_and_the_page_of_a_session_are_read_in_any_window_without_a_request";

/// The quickstart, run into `folder`.
async fn quickstart(folder: &Path) -> PathBuf {
    let directory = folder.join("quick");
    run(&workspace().join("examples/quickstart.yaml"), &directory).await.unwrap();
    directory
}

/// The page of the first session of the run in `directory`.
async fn page_of_session(directory: &Path) -> PathBuf {
    let page = directory.with_file_name("session.html");
    let mut command = regatta().unwrap();
    command.arg("show").arg(directory).args(["0", "0", "-o"]).arg(&page);
    let output = finish(command).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    page
}

#[tokio::test]
async fn a_report_and_the_page_of_a_session_are_read_in_any_window_without_a_request() {
    let Some(mut browser) = Chromium::for_test(IN_A_BROWSER, 1400, 900).await.unwrap() else { return };
    let folder = tempfile::tempdir().unwrap();
    let directory = quickstart(folder.path()).await;
    let report = directory.join("report.html");
    let bytes = std::fs::metadata(&report).unwrap().len();
    assert!(bytes <= LARGEST, "the report has {bytes} bytes");
    for (name, file) in [("report", report), ("session", page_of_session(&directory).await)] {
        let url = format!("file://{}", file.display());
        browser.requests.clear();
        for window in Window::ALL {
            browser.open_in(window, &url).await.unwrap();
            let height = browser.pixels("scrollHeight").await.unwrap();
            if name == "report" && window.width == 1400 {
                assert!(height <= TALLEST, "the report is {height} pixels high, {window}");
            }
            browser.keep_screenshot(name, window).await.unwrap();
            // Folded parts are read too, once somebody unfolds them.
            browser.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })").await.unwrap();
            let problems = browser.problems(window).await.unwrap();
            assert!(problems.is_empty(), "{name}, {window}: {problems:?}");
        }
        let elsewhere = browser.requests_elsewhere(&url);
        assert!(elsewhere.is_empty(), "{name}: {elsewhere:?}");
        assert!(browser.complaints.is_empty(), "{name}: {:?}", browser.complaints);
    }
}

/// The test of the browser, run by itself where no program is found: its end, and everything that it printed.
fn without_browser(must_run_all: bool) -> (bool, String) {
    let mut test = Blocking::new(std::env::current_exe().unwrap());
    test.args(["--exact", IN_A_BROWSER, "--nocapture"]).env("PATH", "").env_remove("REGATTA_TEST_ALL");
    if must_run_all {
        test.env("REGATTA_TEST_ALL", "1");
    }
    let output = test.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn a_test_without_its_browser_is_skipped_and_has_failed_where_all_must_run() {
    let (passed, said) = without_browser(false);
    assert!(passed && said.contains(&format!("skipped: {IN_A_BROWSER}: there is no chromium")), "{said}");
    let (passed, said) = without_browser(true);
    assert!(!passed && said.contains("`apt-get install chromium` brings it"), "{said}");
}

/// A file of the sources.
fn source(path: &str) -> String {
    std::fs::read_to_string(workspace().join(path)).unwrap()
}

/// Names between `before` and `after`, as of variables of a style.
fn names(style: &str, before: &str, after: char) -> BTreeSet<String> {
    let found = style.split(before).skip(1).filter_map(|rest| rest.split_once(after));
    found.map(|(name, _)| name.to_owned()).collect()
}

#[tokio::test]
async fn reports_the_viewer_and_pages_of_sessions_have_their_colours_and_fonts_from_one_file() {
    let tokens = source("report/src/report/tokens.css");
    let (light, dark) = tokens.split_once("@media (prefers-color-scheme: dark)").unwrap();
    let known = names(light, "--", ':');
    let of_the_night = names(dark, "--", ':');
    assert!(!of_the_night.is_empty() && of_the_night.is_subset(&known), "{of_the_night:?}");
    for path in ["report/src/report/style.css", "viewer/assets/style.css", "cli/src/commands/show/style.css"] {
        let style = source(path);
        let taken = names(&style, "var(--", ')');
        let unknown: Vec<&String> = taken.difference(&known).collect();
        assert!(taken.contains("ink") && unknown.is_empty(), "{path} takes {unknown:?}");
        assert!(!style.contains(":root") && !style.contains("prefers-color-scheme"), "{path} has colours of its own");
    }

    let folder = tempfile::tempdir().unwrap();
    let directory = quickstart(folder.path()).await;
    let (_viewer, ui) = view(folder.path(), &[]).await.unwrap();
    let style = ask(&format!("{ui}/assets/style.css"), "").await.unwrap();
    assert!(style.body.starts_with(&tokens), "{}", style.head);
    for file in [directory.join("report.html"), page_of_session(&directory).await] {
        let page = std::fs::read_to_string(&file).unwrap();
        assert!(page.contains(&format!("<style>\n{tokens}")), "{}", file.display());
    }
}
