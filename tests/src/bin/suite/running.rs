//! Running one test executable to its end.

use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::Command;

use crate::executable::Executable;
use crate::starts::Starts;

/// Longest that an executable may take; one that hangs is ended, and fails with what it said.
const PATIENCE: Duration = Duration::from_secs(25 * 60);

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
    /// Everything it printed.
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
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true).spawn()?;
    let mut errors = child.stderr.take().map(BufReader::new);
    let errors = tokio::spawn(async move {
        let mut bytes = Vec::new();
        if let Some(errors) = &mut errors {
            let _ = errors.read_to_end(&mut bytes).await;
        }
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let reading = async {
        let Some(output) = child.stdout.take() else { return Ok(()) };
        let mut lines = BufReader::new(output).split(b'\n');
        while let Some(line) = lines.next_segment().await? {
            finished.hear(&String::from_utf8_lossy(&line), begun.elapsed(), &mut starts);
        }
        Ok::<_, std::io::Error>(())
    };
    let in_time = tokio::time::timeout(PATIENCE, reading).await;
    if in_time.is_err() {
        finished.output.push_str(&format!("\nended by force: it took longer than {} s\n", PATIENCE.as_secs()));
        child.start_kill()?;
    }
    let status = child.wait().await?;
    finished.output.push_str(&errors.await.unwrap_or_default());
    if !status.success() && finished.failures.is_empty() {
        finished.output.push_str(&format!("\n{} ended with {status}\n", executable.path.display()));
    }
    // A test that ends the process with code 0 takes those after it along.
    let told = finished.passed + finished.failures.len() + finished.ignored;
    if told != listed {
        finished.output.push_str(&format!("\n{} tells of {told} of its {listed} tests\n", executable.path.display()));
    }
    finished.is_orderly = status.success() && told == listed && matches!(in_time, Ok(Ok(())));
    Ok(())
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
