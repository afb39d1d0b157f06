//! A program and its folder that end with us: on drop, on a panic, and also when our process is killed by SIGKILL.
//!
//! A small shell (`supervisor.bash`) holds the other end of a pipe. However we end, the pipe ends with us, and then the
//! shell kills the program and removes the folder.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::HarnessError;

const SCRIPT: &str = include_str!("supervisor.bash");

/// Longest time until a service answers. RabbitMQ needs 5 s on a free machine, and CI machines are not free.
const READY_WITHIN: Duration = Duration::from_secs(120);

/// Pause between two probes of a service.
const PROBE_INTERVAL: Duration = Duration::from_millis(50);

/// Lines of a service's output that an error quotes.
const QUOTED_LINES: usize = 25;

/// A new folder for one service, readable by the user it runs as.
pub(crate) fn new_folder(service: &str) -> Result<PathBuf, HarnessError> {
    let make = || -> io::Result<PathBuf> {
        let folder = tempfile::Builder::new().prefix(&format!("regatta-{service}-")).tempdir()?;
        // When we are root, PostgreSQL runs as another user, who has to get through to its own folder inside.
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o711))?;
        Ok(folder.keep())
    };
    make().map_err(HarnessError::io(format!("make a temporary folder for {service}")))
}

/// The end of what a service wrote into its folder, for errors.
pub(crate) fn last_output(folder: &Path) -> String {
    let text = std::fs::read(folder.join("output")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(QUOTED_LINES)..].join("\n")
}

/// A program with its folder; dropping it ends the program and removes the folder.
#[derive(Debug)]
pub(crate) struct Supervisor {
    service: &'static str,
    folder: PathBuf,
    shell: Arc<Mutex<Shell>>,
}

#[derive(Debug)]
struct Shell {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Supervisor {
    /// Takes over `folder`, and `program` to be started in it. On the end of all, `last_signal` stops the program.
    pub(crate) fn new(
        service: &'static str,
        folder: PathBuf,
        last_signal: &str,
        program: Command,
    ) -> Result<Self, HarnessError> {
        let mut bash = Command::new("bash");
        bash.args(["-c", SCRIPT, "supervisor"]).arg(&folder).arg(last_signal);
        bash.arg(program.get_program()).args(program.get_args()).current_dir(&folder);
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => bash.env(name, value),
                None => bash.env_remove(name),
            };
        }
        // A group of its own: Ctrl-C in a terminal is for us, and the shell cleans up after us.
        bash.env_remove("BASH_ENV").process_group(0);
        bash.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = bash.spawn().map_err(HarnessError::io(format!("start bash, which looks after {service}")))?;
        let (Some(orders), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(HarnessError::io("talk to bash")(io::ErrorKind::BrokenPipe.into()));
        };
        let shell = Shell { child, orders: Some(orders), answers: BufReader::new(answers) };
        Ok(Self { service, folder, shell: Arc::new(Mutex::new(shell)) })
    }

    /// A folder to be removed in the end, without a program.
    pub(crate) fn of_folder(service: &'static str, folder: PathBuf) -> Result<Self, HarnessError> {
        Self::new(service, folder, "KILL", Command::new("true"))
    }

    /// Folder in which the service keeps its data, and its output in the file `output`.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts the program, which must not run now.
    pub(crate) async fn start(&self) -> Result<(), HarnessError> {
        self.order("start").await.map(drop)
    }

    /// Sends the program a signal (`TERM`, `KILL`), and returns when it has ended.
    pub(crate) async fn stop(&self, signal: &str) -> Result<(), HarnessError> {
        self.order(&format!("stop {signal}")).await.map(drop)
    }

    /// Returns as soon as `probe` says that the service answers.
    ///
    /// # Errors
    /// When the program ends, or does not answer in time.
    pub(crate) async fn ready<P, F>(&self, mut probe: P) -> Result<(), HarnessError>
    where
        P: FnMut() -> F,
        F: Future<Output = bool>,
    {
        let deadline = Instant::now() + READY_WITHIN;
        loop {
            if tokio::time::timeout_at(deadline, probe()).await == Ok(true) {
                return Ok(());
            }
            if self.order("status").await? != "running" {
                return Err(self.not_ready("it ended".to_owned()));
            }
            if Instant::now() >= deadline {
                return Err(self.not_ready(format!("no answer within {} s", READY_WITHIN.as_secs())));
            }
            tokio::time::sleep(PROBE_INTERVAL).await;
        }
    }

    fn not_ready(&self, reason: String) -> HarnessError {
        HarnessError::NotReady { service: self.service, reason, output: last_output(&self.folder) }
    }

    async fn order(&self, order: &str) -> Result<String, HarnessError> {
        let (shell, line) = (Arc::clone(&self.shell), format!("{order}\n"));
        // A program may take its time to stop, and the test's other tasks go on meanwhile.
        let answer = tokio::task::spawn_blocking(move || {
            let mut shell = shell.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(orders) = shell.orders.as_mut() else { return Err(io::ErrorKind::BrokenPipe.into()) };
            orders.write_all(line.as_bytes())?;
            let mut answer = String::new();
            shell.answers.read_line(&mut answer)?;
            Ok(answer.trim_end().to_owned())
        });
        let answer = answer.await.unwrap_or_else(|lost| Err(io::Error::other(lost)));
        answer.map_err(HarnessError::io(format!("{order} {}", self.service)))
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let mut shell = self.shell.lock().unwrap_or_else(PoisonError::into_inner);
        shell.orders = None;
        // Waiting is bounded by the script's own limits. There is nobody to tell if it fails.
        let _ = shell.child.wait();
    }
}
