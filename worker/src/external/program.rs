//! An external agent that is a command: started, fed, listened to, and gone when it is over, with everything that it started.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use regatta_processes::{
    Cgroup, Cgroups, Group, Launch, Namespaces, Place, check, end_survivors, gain_nothing, home, keep_to_ourselves,
};
use regatta_proto::{Ended, ExternalAgent, HowEnded};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::answer_file;
use super::briefing::Briefing;
use super::pipes::{Head, Tail, feed};
use super::stop::Stop;
use crate::policy::Program;

/// Time that a program has to end after it was asked to; then it is killed.
pub(super) const GRACE: Duration = Duration::from_secs(2);
/// Longest wait for the rest of the output, where somebody outside the group holds the pipes.
pub(super) const LEFTOVERS: Duration = Duration::from_secs(1);
/// Variables of the worker that every command gets.
const PASSED: [&str; 2] = ["PATH", "LANG"];

/// Signals that a program brings upon itself. All others are somebody else's.
const OWN_SIGNALS: [i32; 11] = [4, 5, 6, 7, 8, 11, 13, 14, 24, 25, 31];
/// Offset that shells and wrappers add to the number of the signal that ended their program, to make an exit code.
const BY_SIGNAL: i32 = 128;
/// Exit codes of shells and wrappers for a program that cannot be run (126) or is not found (127).
const NOT_RUN: [i32; 2] = [126, 127];
pub(super) const SIGKILL: i32 = 9;
pub(super) const SIGTERM: i32 = 15;

/// Runs the command of `agent` to its end, or until `stop` says so. Nothing of it is left afterwards, nor when this is dropped.
pub(super) async fn run(
    agent: &ExternalAgent,
    program: Result<Program, String>,
    briefing: &Briefing,
    variables: &BTreeMap<String, String>,
    stop: &Stop,
) -> Ended {
    keep_to_ourselves();
    // Held until the group has ended, also when this is dropped.
    let started = program.and_then(|program| {
        let home = home("regatta-agent-", program.account)?;
        let cgroup = Cgroups::delegated().map(|groups| groups.make(&program.limits)).transpose()?;
        let answer = (answer_file::VARIABLE, OsString::from(answer_file::path(home.path())));
        let told = briefing.variables.iter().map(|(name, value)| (*name, OsString::from(value)));
        let own = std::iter::once(answer).chain(told).collect();
        Ok((start(&program, own, variables, (home.path(), cgroup.as_ref()))?, home, cgroup))
    });
    let (home, mut child, cgroup) = match started {
        Ok((child, home, cgroup)) => (home, child, cgroup),
        Err(problem) => {
            return Ended { how: HowEnded::NotStarted, output: "".into(), is_cut: false, errors: problem.into() };
        }
    };
    let mut group = Group::with_kill_file(child.id(), cgroup.as_ref().map(Cgroup::kill_file).as_deref());
    let (mut output, mut errors) = (Head::new(agent.output_bytes_max as usize), Tail::default());
    let mut killed_for_memory = 0;
    let streams = Streams::of(&mut child);
    let life = async {
        let status = live(&mut child, &group, stop).await;
        group.end();
        if let Some(cgroup) = &cgroup {
            killed_for_memory = cgroup.killed_for_memory();
            cgroup.end();
        }
        end_survivors(home.path());
        status
    };
    let status = attend(streams, life, briefing, stop, (&mut output, &mut errors)).await;
    drop(group);
    let bytes_max = agent.output_bytes_max as usize;
    let left = tokio::task::spawn_blocking(move || {
        let left = answer_file::read(home.path(), bytes_max);
        // It may hold a lot. What cannot be removed is the system's to clean up.
        drop(home);
        left
    });
    let left = left.await.ok().flatten();
    let how = stop.why().or_else(|| status.map(how_ended)).unwrap_or(HowEnded::Killed(SIGKILL));
    let (output, is_cut) = left.unwrap_or(output).text();
    let (how, errors) = with_memory(how, errors.text(), killed_for_memory > 0);
    Ended { how, output, is_cut, errors }
}

/// The pipes of a program.
pub(super) struct Streams {
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
}

impl Streams {
    /// Pipes of `child`, which has none any more.
    pub(super) fn of(child: &mut Child) -> Self {
        Self { stdin: child.stdin.take(), stdout: child.stdout.take(), stderr: child.stderr.take() }
    }
}

/// Feeds a program and listens to it until `life`, which ends it, is over, and nobody holds its pipes any more.
pub(super) async fn attend<S>(
    streams: Streams,
    life: impl Future<Output = S>,
    briefing: &Briefing,
    stop: &Stop,
    (output, errors): (&mut Head, &mut Tail),
) -> S {
    let Streams { stdin, stdout, stderr } = streams;
    let pipes = async {
        let listen = async {
            if let Some(stdout) = stdout
                && !output.fill(stdout).await
            {
                stop.now(HowEnded::TooMuchOutput);
            }
        };
        let learn = async {
            if let Some(stderr) = stderr {
                errors.fill(stderr).await;
            }
        };
        let tell = async {
            if let Some(stdin) = stdin {
                feed(stdin, &briefing.line).await;
            }
        };
        tokio::join!(listen, learn, tell);
    };
    tokio::pin!(pipes, life);
    let mut are_closed = false;
    let status = loop {
        tokio::select! {
            status = &mut life => break status,
            () = &mut pipes, if !are_closed => are_closed = true,
        }
    };
    if !are_closed && timeout(LEFTOVERS, &mut pipes).await.is_err() {
        tracing::warn!("a process outside of an agent's process group holds its output open");
    }
    status
}

/// The end of an agent that was, or was not, killed for the memory that it used: one that this ended could only end so again.
pub(super) fn with_memory(how: HowEnded, errors: Arc<str>, is_out_of_memory: bool) -> (HowEnded, Arc<str>) {
    if !is_out_of_memory {
        return (how, errors);
    }
    let how = if how == HowEnded::Killed(SIGKILL) { HowEnded::OutOfMemory } else { how };
    let errors = format!("{}\nit was killed by the system for using more memory than its limit", errors.trim_end());
    (how, errors.trim_start().into())
}

/// True if exit code `code` says that an agent which has done nothing never began: its program cannot be run or is not found.
pub(super) fn is_unable(code: i32) -> bool {
    NOT_RUN.contains(&code)
}

/// End that a status stands for which nobody here caused. Wrappers report the signal of what they wrapped as a number of their own.
pub(super) fn how_ended(status: ExitStatus) -> HowEnded {
    match (status.code(), status.signal()) {
        (Some(code), _) => how_exited(code),
        (None, Some(signal)) if OWN_SIGNALS.contains(&signal) => HowEnded::Exited(BY_SIGNAL + signal),
        (None, signal) => HowEnded::Killed(signal.unwrap_or(SIGKILL)),
    }
}

/// The same of an exit code.
pub(super) fn how_exited(code: i32) -> HowEnded {
    match code - BY_SIGNAL {
        signal @ (SIGKILL | SIGTERM) => HowEnded::Killed(signal),
        _ => HowEnded::Exited(code),
    }
}

/// Starts `program`, with the variables `own` beside those of the worker's `variables` that it may have, and its own.
pub(super) fn start(
    program: &Program,
    own: Vec<(&'static str, OsString)>,
    variables: &BTreeMap<String, String>,
    (home, cgroup): (&Path, Option<&Cgroup>),
) -> Result<Child, String> {
    check(&program.command, program.directory.as_deref(), variables.get("PATH").map_or("", String::as_str))?;
    let passed = PASSED.iter().copied().chain(program.pass_env.iter().map(String::as_str));
    let mut seen: BTreeMap<OsString, OsString> =
        Place::variables(home).map(|(name, folder)| (name.into(), folder.to_owned())).collect();
    seen.extend(passed.filter_map(|name| Some((name.into(), variables.get(name)?.into()))));
    // What an interpreter still holds back when it is stopped would be lost.
    seen.insert("PYTHONUNBUFFERED".into(), "1".into());
    seen.extend(program.env.iter().map(|(name, value)| (name.into(), value.into())));
    seen.extend(own.into_iter().map(|(name, value)| (name.into(), value)));
    let Program { limits, account, .. } = *program;
    let namespaces = if program.is_isolated { Namespaces::available(account) } else { Namespaces::Shared };
    let launch = Launch { command: &program.command, variables: seen, limits, account, namespaces, cgroup };
    let mut command = Command::from(launch.command()?);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    if let Some(directory) = &program.directory {
        command.current_dir(directory);
    }
    gain_nothing();
    let as_whom = account.map(|account| format!(" as user {}", account.uid)).unwrap_or_default();
    command.spawn().map_err(|error| format!("failed to start {}{as_whom}: {error}", program.command[0]))
}

/// Waits for the program's own end, or brings it about. `None` when the system does not tell.
pub(super) async fn live(child: &mut Child, group: &Group, stop: &Stop) -> Option<ExitStatus> {
    tokio::select! {
        biased;
        status = child.wait() => return status.ok(),
        () = stop.told() => group.terminate(),
    }
    match timeout(GRACE, child.wait()).await {
        Ok(status) => status.ok(),
        Err(_) => {
            group.kill();
            child.wait().await.ok()
        }
    }
}

#[cfg(test)]
mod tests;
