//! A run's directory that cannot be written, from the start or in the middle of a run.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::time::{Duration, Instant};

use regatta_tests::referee::{CONCURRENCY, Referee};
use regatta_tests::regatta::{finish, regatta};
use serde_json::Value;
use tokio::process::Command;

const SESSIONS: u64 = 100;
/// User without rights beyond those that files give; the superuser writes where nobody may.
const NOBODY: u32 = 65_534;

/// `true` if this process may write where nobody may.
fn is_superuser() -> bool {
    rustix::process::geteuid().is_root()
}

/// `regatta run` of `spec` into `directory`, as somebody whom permissions bind.
fn run(spec: &Path, directory: &Path) -> Command {
    let mut command = regatta().unwrap();
    if is_superuser() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.arg("run").arg(spec).arg("--output").arg(directory).args(["--give-up-after-s", "2"]);
    command.env("HOME", directory);
    command
}

async fn shell(script: &str, folder: &Path) {
    let done = Command::new("sh").arg("-c").arg(script).arg("sh").arg(folder).status().await.unwrap();
    assert!(done.success(), "{script}");
}

/// A folder for a run, its endpoint and its spec.
async fn stage() -> (tempfile::TempDir, Referee, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let referee = Referee::start(u64::MAX, Duration::from_millis(100)).await.unwrap();
    let spec = referee.spec(folder.path(), "read-only", SESSIONS, "").unwrap();
    std::fs::create_dir(folder.path().join("run")).unwrap();
    let owner = if is_superuser() { format!("chown -R {NOBODY}:{NOBODY} \"$1\"") } else { "true".to_owned() };
    shell(&format!("{owner} && chmod -R go+rX \"$1\""), folder.path()).await;
    (folder, referee, spec)
}

#[tokio::test]
async fn a_run_whose_directory_becomes_read_only_stops_paying_ends_and_loses_nothing_that_was_paid_for() {
    let (folder, referee, spec) = stage().await;
    let directory = folder.path().join("run");
    let running = tokio::spawn(finish(run(&spec, &directory)));
    referee.has_read(2 * CONCURRENCY).await;
    shell("chmod -R a-w \"$1\"", &directory).await;
    let since = Instant::now();
    let output = running.await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}: {said}", since.elapsed());
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("so nothing more is paid for"), "{said}");
    assert!(said.lines().count() < 40, "{said}");
    let before = referee.calls();
    assert!(before < SESSIONS, "it stopped before it had paid for everything");
    // What it paid for was kept, and is recorded once somebody may write again.
    shell("chmod -R u+w \"$1\"", &directory).await;
    let output = finish(run(&spec, &directory)).await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(referee.calls(), SESSIONS, "one call a session, over both runs");
    let summary: Value =
        serde_json::from_str(&std::fs::read_to_string(directory.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary["spending"]["cost"]["known"], referee.billed());
}

#[tokio::test]
async fn a_run_into_a_directory_that_is_read_only_pays_for_nothing_and_says_so() {
    let (folder, referee, spec) = stage().await;
    let directory = folder.path().join("run");
    shell("chmod -R a-w \"$1\"", &directory).await;
    let output = finish(run(&spec, &directory)).await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("nothing can be written to") && said.contains("so nothing is paid for"), "{said}");
    assert_eq!(referee.calls(), 0);
}
