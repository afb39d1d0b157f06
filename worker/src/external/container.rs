//! An external agent in a container: no network, read-only files, no rights, and one way out, to the bridge.
//!
//! The container is not connected to anything. A socket of the bridge is mounted into it, and the first program in it is a relay
//! (`processes`), by which the agent finds that socket as an address of the loopback interface, since libraries speak TCP. The relay is this
//! program itself, mounted with what it is linked to, so that every image will do.

mod engine;
mod relay;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use regatta_bridge::{Bridge, BridgeSocket};
use regatta_processes::{Limits, keep_to_ourselves, relay_arguments};
use regatta_proto::{Ended, ExternalAgent, HowEnded};
use tempfile::TempDir;
use tokio::process::Child;
use tokio::sync::OnceCell;
use tokio::time::timeout;

use super::briefing::Briefing;
use super::pipes::{Head, Tail};
use super::program::{GRACE, Streams, attend, how_ended, with_memory};
use super::stop::Stop;
use crate::policy::{Image, Program};
use engine::{Engine, OWNER, owner};
use relay::Relay;

/// Address of the bridge within a container.
pub(super) const ORIGIN: &str = "http://127.0.0.1:7177";
const PORT: u16 = 7177;
/// The bridge's socket there.
const SOCKET: &str = "/regatta/bridge.sock";
/// The one folder there that can be written to, in memory.
pub(super) const HOME: &str = "/tmp";
/// Variables of the worker that every container gets.
const PASSED: [&str; 1] = ["LANG"];
/// Processes and threads of a container whose limits say no number.
const PROCESSES_MAX: u32 = 4096;
/// Exit codes of engines when a container could not be started.
const NOT_STARTED: i32 = 125;

/// State that all containers of a worker share.
pub(super) struct Containers {
    /// The program that is the relay, where that is not this one.
    relay: Option<PathBuf>,
    /// Found, and rid of what earlier workers left, with the first container.
    ready: OnceCell<(Engine, Relay)>,
}

/// Everything that a container is started with; it goes with this.
struct Prepared<'e> {
    engine: &'e Engine,
    name: String,
    words: Vec<String>,
    _socket: BridgeSocket,
    /// Folder of the socket and of the file of variables, removed on drop.
    _folder: TempDir,
}

/// A command in a container.
#[derive(Clone, Copy)]
pub(super) struct Contained<'c> {
    pub(super) program: &'c Program,
    pub(super) image: &'c Image,
    /// Name or path of the engine's program; `None` is the first in `PATH`.
    pub(super) engine: Option<&'c str>,
}

impl Containers {
    pub(super) fn new(relay: Option<PathBuf>) -> Self {
        Self { relay, ready: OnceCell::new() }
    }

    async fn ready(
        &self,
        chosen: Option<&str>,
        variables: &BTreeMap<String, String>,
    ) -> Result<&(Engine, Relay), String> {
        let prepare = || async {
            let engine = Engine::find(chosen, variables)?;
            let relay = Relay::find(self.relay.clone())?;
            engine.remove_leftovers().await;
            Ok::<_, String>((engine, relay))
        };
        self.ready.get_or_try_init(prepare).await
    }

    async fn prepare(
        &self,
        bridge: &Bridge,
        Contained { program, image, engine: chosen }: Contained<'_>,
        briefing: &Briefing,
        variables: &BTreeMap<String, String>,
    ) -> Result<Prepared<'_>, String> {
        let (engine, relay) = self.ready(chosen, variables).await?;
        let failed = |error: std::io::Error| format!("failed to prepare a container: {error}");
        let folder = tempfile::Builder::new().prefix("regatta-container-").tempdir().map_err(failed)?;
        let file_name = folder.path().file_name().map(|name| name.to_string_lossy().into_owned());
        let name = file_name.ok_or("a container's folder has no name")?;
        let socket = folder.path().join("bridge.sock");
        let listening = bridge.serve_socket(&socket).map_err(failed)?;
        let seen = variables_of(program, briefing, variables);
        let file = folder.path().join("variables.env");
        write_variables(&file, &seen)?;
        let words =
            Run { name: &name, owner: &owner(), program, image, relay, socket: &socket, variables: &file }.words();
        Ok(Prepared { engine, name, words, _socket: listening, _folder: folder })
    }
}

/// Checks that the engine `chosen`, or one of those that are known, is on this machine.
pub(super) fn check_engine(chosen: Option<&str>, variables: &BTreeMap<String, String>) -> Result<(), String> {
    Engine::find(chosen, variables).map(drop)
}

/// Runs the container of `agent` to its end, or until `stop` says so. Nothing of it is left afterwards, nor when this is dropped, nor when
/// this process is killed.
pub(super) async fn run(
    (containers, bridge): (&Containers, &Bridge),
    agent: &ExternalAgent,
    contained: Contained<'_>,
    briefing: &Briefing,
    variables: &BTreeMap<String, String>,
    stop: &Stop,
) -> Ended {
    keep_to_ourselves();
    let not_started =
        |problem: String| Ended { how: HowEnded::NotStarted, output: "".into(), is_cut: false, errors: problem.into() };
    let prepared = match containers.prepare(bridge, contained, briefing, variables).await {
        Ok(prepared) => prepared,
        Err(problem) => return not_started(problem),
    };
    let Prepared { engine, name, words, .. } = &prepared;
    let guardian = engine.guard(name);
    let pipe = Stdio::piped;
    let started = engine.command(words).stdin(pipe()).stdout(pipe()).stderr(pipe()).spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) => return not_started(format!("failed to start {}: {error}", engine.program())),
    };
    let (mut output, mut errors) = (Head::new(agent.output_bytes_max as usize), Tail::default());
    let streams = Streams::of(&mut child);
    let mut last_state = None;
    let life = async {
        let status = live(&mut child, engine, name, stop).await;
        last_state = engine.state(name).await;
        engine.remove(name).await;
        status
    };
    let status = attend(streams, life, briefing, stop, (&mut output, &mut errors)).await;
    if let Some(mut guardian) = guardian {
        // It has nothing to do any more. One that has ended is no error.
        let _ = guardian.start_kill();
    }
    let how = match status {
        Some(status)
            if status.code() == Some(NOT_STARTED) && last_state.as_ref().is_none_or(|state| !state.has_run) =>
        {
            HowEnded::NotStarted
        }
        Some(status) => how_ended(status),
        None => HowEnded::NotStarted,
    };
    let (output, is_cut) = output.text();
    let is_out_of_memory = last_state.is_some_and(|state| state.is_out_of_memory);
    let (how, errors) = with_memory(stop.why().unwrap_or(how), errors.text(), is_out_of_memory);
    Ended { how, output, is_cut, errors }
}

/// Waits for the container's own end, or brings it about.
async fn live(child: &mut Child, engine: &Engine, name: &str, stop: &Stop) -> Option<ExitStatus> {
    tokio::select! {
        biased;
        status = child.wait() => return status.ok(),
        () = stop.told() => engine.terminate(name).await,
    }
    if let Ok(status) = timeout(GRACE, child.wait()).await {
        return status.ok();
    }
    engine.remove(name).await;
    if let Ok(status) = timeout(GRACE, child.wait()).await {
        return status.ok();
    }
    // It was fetching the image, say. What it has made meanwhile is removed once more by whoever called this.
    child.kill().await.ok()?;
    child.wait().await.ok()
}

/// All variables of a program in a container.
pub(super) fn variables_of(
    program: &Program,
    briefing: &Briefing,
    variables: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let home = [("HOME", HOME), ("TMPDIR", HOME), ("XDG_CACHE_HOME", HOME)];
    let python = [("PYTHONUNBUFFERED", "1"), ("PYTHONDONTWRITEBYTECODE", "1")];
    let mut seen: BTreeMap<String, String> =
        home.into_iter().chain(python).map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let passed = PASSED.iter().copied().chain(program.pass_env.iter().map(String::as_str));
    seen.extend(passed.filter_map(|name| Some((name.to_owned(), variables.get(name)?.clone()))));
    seen.extend(program.env.clone());
    seen.extend(briefing.variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    seen
}

/// Writes what engines read as variables, a line each: on their command lines everybody could read them.
fn write_variables(file: &Path, variables: &BTreeMap<String, String>) -> Result<(), String> {
    if let Some((name, _)) = variables.iter().find(|(_, value)| value.contains(['\n', '\r', '\0'])) {
        return Err(format!("the variable {name} has several lines, which no container can be given"));
    }
    let text: String = variables.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| format!("failed to write a container's variables: {error}"))
}

/// Seconds of processor time between the signal that tells a process of its limit and the one that ends it.
const CPU_GRACE_S: u64 = 5;

/// The command line of a container.
struct Run<'r> {
    name: &'r str,
    owner: &'r str,
    program: &'r Program,
    image: &'r Image,
    relay: &'r Relay,
    socket: &'r Path,
    variables: &'r Path,
}

impl Run<'_> {
    fn words(&self) -> Vec<String> {
        let Limits { cpu_s, memory_mb, file_mb, files, processes, cpus } = self.program.limits;
        let processes = processes.unwrap_or(PROCESSES_MAX);
        let mut words: Vec<String> = ["run", "--interactive", "--init", "--read-only"].map(str::to_owned).to_vec();
        words.extend([
            format!("--name={}", self.name),
            format!("--label={OWNER}={}", self.owner),
            format!("--network={}", self.image.network.as_deref().unwrap_or("none")),
            format!("--user={}:{}", self.image.user.0, self.image.user.1),
            "--cap-drop=ALL".to_owned(),
            "--security-opt=no-new-privileges".to_owned(),
            format!("--pids-limit={processes}"),
            format!("--memory={memory_mb}m"),
            // The same as memory alone, so that nothing is swapped.
            format!("--memory-swap={memory_mb}m"),
            format!("--ulimit=nofile={files}:{files}"),
            // The hard limit comes later, since what it sends says nothing of the reason.
            format!("--ulimit=cpu={cpu_s}:{}", u64::from(cpu_s) + CPU_GRACE_S),
            "--ulimit=core=0:0".to_owned(),
            format!("--tmpfs={HOME}:rw,nosuid,nodev,noexec,mode=1777,size={file_mb}m"),
            // Its output is kept by the worker; the engine would keep it without a limit.
            "--log-driver=none".to_owned(),
            "--stop-timeout=0".to_owned(),
            format!("--env-file={}", self.variables.display()),
            bind(self.socket, SOCKET),
        ]);
        words.extend(cpus.map(|cpus| format!("--cpus={cpus}")));
        words.extend(self.relay.mounts().map(|(from, to)| bind(from, &to)));
        words.extend(self.program.directory.as_ref().map(|directory| format!("--workdir={}", directory.display())));
        let own = self.relay.words();
        words.extend([format!("--entrypoint={}", own[0]), self.image.name.clone()]);
        words.extend_from_slice(&own[1..]);
        words.extend(relay_arguments(PORT, SOCKET, &own, &self.program.command));
        words
    }
}

fn bind(from: &Path, to: &str) -> String {
    format!("--mount=type=bind,source={},target={to},readonly", from.display())
}

/// Longest time that an engine may take to end, look at or remove a container.
const ENGINE_MAX: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests;
