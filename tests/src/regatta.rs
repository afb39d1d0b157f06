//! The built `regatta` binary, as end-to-end tests run it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tempfile::NamedTempFile;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};

use crate::HarnessError;

/// Longest any single step of an end-to-end test may take.
const PATIENCE: Duration = Duration::from_secs(900);

/// Folder of the workspace.
#[must_use]
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// The official data and golden vectors, where they are at hand: `$REGATTA_SHARED`, or `shared` beside the workspace. Says on
/// standard error that `test` is skipped when they are not.
#[must_use]
pub fn shared(test: &str) -> Option<PathBuf> {
    let given = std::env::var_os("REGATTA_SHARED").map(PathBuf::from);
    let place = given.unwrap_or_else(|| workspace().join("../shared"));
    if place.join("benchmarks").is_dir() {
        return Some(place);
    }
    skipped(test, "the official benchmark data is not there; set REGATTA_SHARED to it");
    None
}

/// `true` if `REGATTA_TEST_ALL` is set: a test that cannot run here has failed, and packages that tests need are installed.
#[must_use]
pub fn must_run_all() -> bool {
    std::env::var_os("REGATTA_TEST_ALL").is_some_and(|value| !value.is_empty())
}

/// Says that a test was skipped, and why.
///
/// # Panics
/// Where all tests must run.
#[expect(clippy::print_stderr, reason = "whoever reads the test's output must see that it did not run")]
pub fn skipped(test: &str, why: &str) {
    assert!(!must_run_all(), "{test} cannot run, and REGATTA_TEST_ALL is set: {why}");
    eprintln!("skipped: {test}: {why}");
}

/// Path of the binary: `$REGATTA_BINARY`, or built on first use with the profile of the tests.
///
/// # Errors
/// When it does not build.
pub fn binary() -> Result<&'static Path, HarnessError> {
    static BINARY: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let built = BINARY.get_or_init(|| {
        // A test run of the whole workspace has built it already; building it alone would compile its dependencies anew.
        if let Some(given) = std::env::var_os("REGATTA_BINARY") {
            return Ok(PathBuf::from(given));
        }
        let mut command = std::process::Command::new(env!("CARGO"));
        command.current_dir(workspace()).args([
            "build",
            "--quiet",
            "--package",
            "regatta-cli",
            "--features",
            "full",
            "--bin",
            "regatta",
        ]);
        if !cfg!(debug_assertions) {
            command.arg("--release");
        }
        let built = command.status().map_err(|error| error.to_string())?;
        if !built.success() {
            return Err(format!("cargo build ended with {built}"));
        }
        let test = std::env::current_exe().map_err(|error| error.to_string())?;
        let directory = test.parent().and_then(Path::parent).ok_or("the test is in no target folder")?;
        Ok(directory.join("regatta"))
    });
    match built {
        Ok(path) => Ok(path),
        Err(problem) => Err(HarnessError::Binary(problem.clone())),
    }
}

/// Settings of glibc's allocator in the images (`deploy/Dockerfile`), with which tests measure memory.
const ALLOCATOR: [(&str, &str); 2] = [("MALLOC_MMAP_THRESHOLD_", "1048576"), ("MALLOC_TRIM_THRESHOLD_", "1048576")];

/// The binary with a clean environment: nothing of the machine's keys or settings reaches a test.
///
/// # Errors
/// When it does not build.
pub fn regatta() -> Result<Command, HarnessError> {
    Ok(program(binary()?))
}

/// The program at `path` with a clean environment.
#[must_use]
pub fn program(path: &Path) -> Command {
    let mut command = Command::new(path);
    let kept =
        ["PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH"].iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
    let kept: Vec<_> = kept.collect();
    command.env_clear().envs(kept).envs(ALLOCATOR).current_dir(workspace()).stdin(Stdio::null()).kill_on_drop(true);
    // A row of a table is a line, however wide it is.
    command.env("COLUMNS", "1000");
    command
}

/// Runs `command` to its end.
///
/// # Errors
/// When it cannot be started or takes too long.
pub async fn finish(mut command: Command) -> Result<Output, HarnessError> {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    ended(child.map_err(HarnessError::io("run regatta"))?).await
}

/// Waits for the end of a program that was started, with what it says until then where that is piped.
///
/// # Errors
/// When it takes too long.
pub async fn ended(child: Child) -> Result<Output, HarnessError> {
    let output = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
    output
        .map_err(|_| HarnessError::Binary("a program did not end".to_owned()))?
        .map_err(HarnessError::io("run regatta"))
}

/// A long-running role, killed on drop.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// First line of its standard output, for roles that print where they listen.
    pub first_line: String,
    /// Standard error of the process, where that is kept.
    log: Option<NamedTempFile>,
}

impl Process {
    /// Starts `command` and waits for its first line.
    ///
    /// # Errors
    /// When it ends without one.
    pub async fn start_and_read(mut command: Command) -> Result<Self, HarnessError> {
        let mut child = command.stdout(Stdio::piped()).spawn().map_err(HarnessError::io("run regatta"))?;
        let output = child.stdout.take().ok_or_else(|| HarnessError::Binary("no standard output".to_owned()))?;
        let mut lines = BufReader::new(output).lines();
        let line = tokio::time::timeout(PATIENCE, lines.next_line()).await;
        let line = line.ok().and_then(Result::ok).flatten();
        let first_line = line.ok_or_else(|| HarnessError::Binary(format!("{command:?} ended without a word")))?;
        Ok(Self { child, first_line, log: None })
    }

    /// Starts `command` and waits until somebody listens at `address`.
    ///
    /// # Errors
    /// When it ends first, or nobody does.
    pub async fn start_and_probe(command: Command, address: SocketAddr) -> Result<Self, HarnessError> {
        Self::start_until(command, address, || async { tokio::net::TcpStream::connect(address).await.is_ok() }).await
    }

    /// Starts `command`, a role, and waits until it is ready.
    ///
    /// # Errors
    /// When it ends first, or is not ready in time.
    pub async fn start_until_ready(command: Command, address: SocketAddr) -> Result<Self, HarnessError> {
        Self::start_until(command, address, || async { ready(address).await.is_ok_and(|(is_ready, _)| is_ready) }).await
    }

    /// The same, and keeps what it says on standard error.
    ///
    /// # Errors
    /// When it ends first, or is not ready in time; or when no file can be made.
    pub async fn start_until_ready_and_listen(mut command: Command, address: SocketAddr) -> Result<Self, HarnessError> {
        let log = NamedTempFile::new().map_err(HarnessError::io("keep what a role says"))?;
        // A file, because nobody would read a pipe while the test does something else.
        command.stderr(log.reopen().map_err(HarnessError::io("keep what a role says"))?);
        let started = Self::start_until_ready(command, address).await;
        let mut process = started.map_err(|error| HarnessError::Binary(format!("{error}: {}", said(&log))))?;
        process.log = Some(log);
        Ok(process)
    }

    async fn start_until<F: Future<Output = bool>>(
        mut command: Command,
        address: SocketAddr,
        is_there: impl Fn() -> F,
    ) -> Result<Self, HarnessError> {
        let mut child = command.spawn().map_err(HarnessError::io("run regatta"))?;
        let probing = async {
            loop {
                if let Ok(Some(status)) = child.try_wait() {
                    return Err(HarnessError::Binary(format!("{command:?} ended with {status}")));
                }
                if is_there().await {
                    return Ok(());
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, probing)
            .await
            .map_err(|_| HarnessError::Binary(format!("{command:?} is not there, at {address}")))??;
        Ok(Self { child, first_line: String::new(), log: None })
    }

    /// Whole lines that it has said on standard error so far; none where that is not kept.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let said = self.log.as_ref().map(said).unwrap_or_default();
        let whole = said.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().map(str::to_owned).collect()
    }

    /// Most memory that it has had at once, in KiB; `None` where the system does not tell.
    #[must_use]
    pub fn resident_max_kb(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()?)).ok()?;
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.trim().parse().ok())
    }

    /// Seconds that processors have spent on it, in user and kernel mode; `None` where the system does not tell.
    #[must_use]
    pub fn processor_seconds(&self) -> Option<f64> {
        /// Position of `utime` in `/proc/PID/stat`, which `stime` follows, after the name in parentheses.
        const TIMES: usize = 11;
        /// Ticks of these times in a second.
        const TICKS: f64 = 100.0;
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()?)).ok()?;
        let times = stat.rsplit_once(')')?.1.split_whitespace().skip(TIMES).take(2);
        times.map(|ticks| Some(ticks.parse::<f64>().ok()? / TICKS)).sum()
    }

    /// SIGKILL: nothing of it gets a chance to clean up.
    ///
    /// # Errors
    /// When it has ended already.
    pub async fn kill(mut self) -> Result<(), HarnessError> {
        self.child.kill().await.map_err(HarnessError::io("run regatta"))
    }

    /// Sends a signal, as `STOP` or `CONT`.
    ///
    /// # Errors
    /// When it has ended, or cannot be signalled.
    pub async fn signal(&self, name: &str) -> Result<(), HarnessError> {
        let id = self.child.id().ok_or_else(|| HarnessError::Binary(format!("it ended before SIG{name}")))?;
        let sent = Command::new("kill").args([&format!("-{name}"), &id.to_string()]).status().await;
        let status = sent.map_err(HarnessError::io("signal a process"))?;
        if status.success() { Ok(()) } else { Err(HarnessError::Binary(format!("SIG{name} to {id}: {status}"))) }
    }

    /// SIGTERM, then waits for the end; returns the exit code.
    ///
    /// # Errors
    /// When it does not end.
    pub async fn terminate(self) -> Result<Option<i32>, HarnessError> {
        Ok(self.terminate_and_listen().await?.0)
    }

    /// The same, with what it said on standard error from the signal to its end, where that is kept.
    ///
    /// # Errors
    /// When it does not end.
    pub async fn terminate_and_listen(mut self) -> Result<(Option<i32>, String), HarnessError> {
        let said = |log: &Option<NamedTempFile>| log.as_ref().map(said).unwrap_or_default();
        let before = said(&self.log).len();
        let Some(id) = self.child.id() else { return Ok((None, String::new())) };
        let signalled = Command::new("kill").args(["-TERM", &id.to_string()]).status().await;
        signalled.map_err(HarnessError::io("run regatta"))?;
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        let status = ended.map_err(|_| HarnessError::Binary("did not end after SIGTERM".to_owned()))?;
        let code = status.map_err(HarnessError::io("run regatta"))?.code();
        Ok((code, said(&self.log).split_off(before)))
    }
}

fn said(log: &NamedTempFile) -> String {
    String::from_utf8_lossy(&std::fs::read(log.path()).unwrap_or_default()).into_owned()
}

impl Drop for Process {
    /// Whoever reads of a failure wants to know what the roles said.
    #[expect(clippy::print_stderr, reason = "it is the output of a failed test")]
    fn drop(&mut self) {
        if let Some(log) = self.log.as_ref().filter(|_| std::thread::panicking()) {
            eprintln!("{}", said(log));
        }
    }
}

/// A free loopback address. Nobody else is likely to take it in the moment before it is used: its port is below those that outgoing
/// connections get, and each test process looks from a place of its own.
///
/// # Errors
/// When there is none.
pub async fn free_address() -> Result<SocketAddr, HarnessError> {
    const PORTS: std::ops::Range<u32> = 23_000..32_000;
    static LOOKED_AT: AtomicU32 = AtomicU32::new(0);
    loop {
        let place = std::process::id().wrapping_mul(31).wrapping_add(LOOKED_AT.fetch_add(1, Ordering::Relaxed));
        let port = PORTS.start + place % (PORTS.end - PORTS.start);
        let address = SocketAddr::from(([127, 0, 0, 1], u16::try_from(port).unwrap_or(u16::MAX)));
        match TcpListener::bind(address).await {
            Ok(_) => return Ok(address),
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(HarnessError::io("run regatta")(error)),
        }
    }
}

/// Asks the role at `address` whether it is ready; returns that and its words.
///
/// # Errors
/// When nobody answers.
pub async fn ready(address: SocketAddr) -> Result<(bool, String), HarnessError> {
    let (head, body) = get(&format!("http://{address}/readyz")).await?;
    Ok((head.contains(" 200 "), String::from_utf8_lossy(&body).into_owned()))
}

/// Body of `GET` at `url`, parsed as JSON; for the counters of simulated endpoints.
///
/// # Errors
/// When nobody answers, or not with JSON.
pub async fn get_json(url: &str) -> Result<serde_json::Value, HarnessError> {
    let (_, body) = get(url).await?;
    serde_json::from_slice(&body).map_err(|error| HarnessError::Binary(format!("GET {url}: {error}")))
}

/// Body of `GET` at `url`, as text; for metrics.
///
/// # Errors
/// When nobody answers.
pub async fn get_text(url: &str) -> Result<String, HarnessError> {
    Ok(String::from_utf8_lossy(&get(url).await?.1).into_owned())
}

/// First line and body of an answer, whatever its status. By HTTP 1.0, so that nobody answers in chunks.
async fn get(url: &str) -> Result<(String, Vec<u8>), HarnessError> {
    let problem = |why: String| HarnessError::Binary(format!("GET {url}: {why}"));
    let (host, path) = url.trim_start_matches("http://").split_once('/').unwrap_or((url, ""));
    let mut stream = tokio::net::TcpStream::connect(host).await.map_err(|error| problem(error.to_string()))?;
    let request = format!("GET /{path} HTTP/1.0\r\nhost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.map_err(|error| problem(error.to_string()))?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.map_err(|error| problem(error.to_string()))?;
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n").ok_or_else(|| problem("no answer".to_owned()))?;
    let body = answer.split_off(head + 4);
    Ok((String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned(), body))
}
