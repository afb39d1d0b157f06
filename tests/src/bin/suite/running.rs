//! Running one test executable to its end.

use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

use crate::executable::Executable;
use crate::starts::Starts;

/// Longest that an executable may take; one that hangs is ended, and fails with what it said.
const PATIENCE: Duration = Duration::from_secs(25 * 60);
/// Longest wait for output of an executable that has ended.
const FINAL_FLUSH: Duration = Duration::from_secs(10);

/// Outcome of one executable.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    /// Tests that passed.
    pub(crate) passed: usize,
    /// Names of tests that failed.
    pub(crate) failures: Vec<String>,
    /// Tests that are marked `ignore`.
    pub(crate) ignored: usize,
    /// `true` if it reported each of its tests and ended by itself, with status 0 if all passed.
    pub(crate) is_orderly: bool,
    /// Output of the executable.
    pub(crate) output: String,
    /// Names and times of its tests.
    pub(crate) times: Vec<(String, Duration)>,
    /// From its start to its end.
    pub(crate) took: Duration,
}

impl Finished {
    /// `true` if a test failed, or the executable did not end in order.
    pub(crate) fn failed(&self) -> bool {
        !self.is_orderly || !self.failures.is_empty()
    }
}

/// Runs `executable` as cargo would, with `environment` beside the inherited one. What cannot be run has failed.
pub(crate) async fn run(executable: &Executable, environment: &[(&'static str, String)]) -> Finished {
    let mut finished = Finished::default();
    let begun = Instant::now();
    if let Err(error) = follow(executable, environment, begun, &mut finished).await {
        finished.output.push_str(&format!("\nfailed to run {}: {error}\n", executable.path.display()));
        finished.is_orderly = false;
    }
    finished.took = begun.elapsed();
    finished
}

async fn follow(
    executable: &Executable,
    environment: &[(&'static str, String)],
    begun: Instant,
    finished: &mut Finished,
) -> std::io::Result<()> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let names = names(executable).await?;
    let listed = names.len();
    let mut starts = Starts::new(names, threads);
    let mut command = command(executable);
    command.arg(format!("--test-threads={threads}")).arg("--show-output");
    if executable.shares_services() {
        command.envs(environment.iter().map(|(name, value)| (name, value)));
    }
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn()?;
    let group = Group::of(&child);
    let (sender, mut heard) = mpsc::unbounded_channel();
    if let Some(output) = child.stdout.take() {
        tokio::spawn(tell_lines(output, sender.clone(), Heard::Output));
    }
    if let Some(errors) = child.stderr.take() {
        tokio::spawn(tell_lines(errors, sender.clone(), Heard::Error));
    }
    drop(sender);
    let mut errors = String::new();
    let mut hear = |finished: &mut Finished, one: Heard| match one {
        Heard::Output(line) => finished.hear(&line, begun.elapsed(), &mut starts),
        Heard::Error(line) => {
            errors.push_str(&line);
            errors.push('\n');
        }
    };
    let patience = tokio::time::sleep(PATIENCE);
    tokio::pin!(patience);
    let status = loop {
        tokio::select! {
            biased;
            () = &mut patience => break None,
            status = child.wait() => break Some(status?),
            Some(one) = heard.recv() => hear(finished, one),
        }
    };
    // Processes that the tests left behind would hold its output open.
    drop(group);
    let rest = async {
        while let Some(one) = heard.recv().await {
            hear(finished, one);
        }
    };
    let is_whole = tokio::time::timeout(FINAL_FLUSH, rest).await.is_ok();
    finished.output.push_str(&errors);
    // A test that ends the process with code 0 takes those after it along.
    let told = finished.passed + finished.failures.len() + finished.ignored;
    let mut note = |note: String| finished.output.push_str(&format!("\n{}: {note}\n", executable.path.display()));
    match status {
        None => note(format!("ended by force: it took longer than {} s", PATIENCE.as_secs())),
        Some(status) if told != listed => note(format!("ended with {status}, after {told} of its {listed} tests")),
        Some(_) if !is_whole => note("a process that it started still holds its output".to_owned()),
        Some(_) => {}
    }
    finished.is_orderly = status.is_some_and(|status| status.success()) && told == listed && is_whole;
    Ok(())
}

/// A line of an executable.
enum Heard {
    Output(String),
    Error(String),
}

async fn tell_lines(stream: impl AsyncRead + Unpin, sender: mpsc::UnboundedSender<Heard>, of: fn(String) -> Heard) {
    let mut lines = BufReader::new(stream).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        // Nobody waits any more for what is said too late.
        let _ = sender.send(of(String::from_utf8_lossy(&line).into_owned()));
    }
}

/// An executable and the processes that its tests start. They end when it is dropped.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(id.cast_signed())))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // There may be nobody left.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

impl Finished {
    /// A line of the test harness: `test NAME ... ok`, `FAILED` or `ignored`, whatever a test printed itself in between.
    fn hear(&mut self, line: &str, at: Duration, starts: &mut Starts) {
        self.output.push_str(line);
        self.output.push('\n');
        let Some((name, result)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ")) else { return };
        let name = name.trim_end_matches(" - should panic");
        match result {
            "ok" => self.passed += 1,
            "FAILED" => self.failures.push(name.to_owned()),
            ignored if ignored.starts_with("ignored") => self.ignored += 1,
            _ => return,
        }
        self.times.push((name.to_owned(), starts.ended(name, at)));
    }
}

/// The names of an executable's tests, in the order in which the harness starts them.
async fn names(executable: &Executable) -> std::io::Result<Vec<String>> {
    let listed = command(executable).args(["--list", "--format", "terse"]).output().await?;
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

fn command(executable: &Executable) -> Command {
    let mut command = Command::new(&executable.path);
    command
        .current_dir(&executable.folder)
        .env("CARGO_MANIFEST_DIR", &executable.folder)
        .env("CARGO_PKG_NAME", &executable.package)
        .env("INSTA_WORKSPACE_ROOT", regatta_tests::regatta::workspace())
        .stdin(Stdio::null());
    command
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::PathBuf;

    use super::*;

    /// An executable that lists the tests `a` and `b`, and for the rest is `script`.
    async fn run_script(script: &str) -> Finished {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("executable");
        let text =
            format!("#!/bin/sh\nif [ \"$1\" = --list ]; then echo 'a: test'; echo 'b: test'; exit 0; fi\n{script}\n");
        // By another process: one that another test starts meanwhile would inherit what this one has open for writing, and nobody may run that.
        let written = folder.path().join("text");
        std::fs::write(&written, text).unwrap();
        assert!(std::process::Command::new("cp").arg(&written).arg(&path).status().unwrap().success());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        let (package, target, folder_of) = ("p".to_owned(), "t".to_owned(), PathBuf::from(folder.path()));
        let executable = Executable { package, target, is_unit: false, path, folder: folder_of };
        run(&executable, &[]).await
    }

    #[tokio::test]
    async fn all_tests_reported_and_status_0_is_success() {
        let finished = run_script("echo 'test a ... ok'; echo 'test b - should panic ... ok'").await;
        assert!(!finished.failed(), "{}", finished.output);
        assert_eq!(finished.passed, 2);
    }

    #[tokio::test]
    async fn anything_else_has_failed() {
        let scripts = [
            "echo 'test a ... ok'; echo 'test b ... FAILED'; exit 101",
            "echo 'test a ... ok'; echo 'test b ... FAILED'",
            "echo 'test a ... ok'; echo 'test b ... ok'; exit 1",
            // It ends the process in the middle, with success.
            "echo 'test a ... ok'; exit 0",
            "kill -9 $$",
            "echo 'test a ... ok'; echo 'test b ... perhaps'",
        ];
        for script in scripts {
            assert!(run_script(script).await.failed(), "{script}");
        }
    }

    #[tokio::test]
    async fn a_process_that_is_left_behind_holds_nothing_up() {
        let finished = run_script("echo 'test a ... ok'; echo 'test b ... ok'; sleep 1000 &").await;
        assert!(!finished.failed(), "{}", finished.output);
    }

    #[tokio::test]
    async fn ignored_tests_are_counted_and_errors_are_kept() {
        let finished = run_script("echo 'test a ... ok'; echo 'test b ... ignored, why'; echo no >&2").await;
        assert!(!finished.failed(), "{}", finished.output);
        assert_eq!((finished.passed, finished.ignored), (1, 1));
        assert!(finished.output.contains("no\n"), "{}", finished.output);
    }
}
