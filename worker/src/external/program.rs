//! An external agent that is a command: started, fed, listened to, and gone when it is over, with everything that it started.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use regatta_processes::{
    Group, Launch, Namespaces, Place, check, end_survivors, gain_nothing, home, keep_to_ourselves,
};
use regatta_proto::{Ended, ExternalAgent, HowEnded};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::briefing::Briefing;
use super::pipes::{Head, Tail, feed};
use super::stop::Stop;
use crate::policy::Program;

/// Time from SIGTERM to SIGKILL.
const GRACE: Duration = Duration::from_secs(2);
/// Longest wait for output after the program's end, where a process outside its group still holds the pipes.
const LEFTOVERS: Duration = Duration::from_secs(1);
/// Variables of the worker that every command gets.
const PASSED: [&str; 2] = ["PATH", "LANG"];

/// Signals that a program brings upon itself. All others are somebody else's.
const OWN_SIGNALS: [i32; 11] = [4, 5, 6, 7, 8, 11, 13, 14, 24, 25, 31];
/// Offset that shells and wrappers add to the number of the signal that ended their program, to make an exit code.
const BY_SIGNAL: i32 = 128;
/// Exit codes of shells and wrappers for a program that cannot be run (126) or is not found (127).
const NOT_RUN: [i32; 2] = [126, 127];
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;

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
        Ok((start(&program, briefing, variables, home.path())?, home))
    });
    let (home, mut child) = match started {
        Ok((child, home)) => (home, child),
        Err(problem) => {
            return Ended { how: HowEnded::NotStarted, output: "".into(), is_cut: false, errors: problem.into() };
        }
    };
    let mut group = Group::of(child.id());
    let (mut output, mut errors) = (Head::new(agent.output_bytes_max as usize), Tail::default());
    let status = {
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
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
        tokio::pin!(pipes);
        let mut are_closed = false;
        let status = {
            let life = live(&mut child, &group, stop);
            tokio::pin!(life);
            loop {
                tokio::select! {
                    status = &mut life => break status,
                    () = &mut pipes, if !are_closed => are_closed = true,
                }
            }
        };
        group.end();
        end_survivors(home.path());
        if !are_closed && timeout(LEFTOVERS, &mut pipes).await.is_err() {
            tracing::warn!("somebody outside its process group holds an agent's output open");
        }
        status
    };
    drop(group);
    // It may hold a lot. What cannot be removed is the system's to clean up.
    let _ = tokio::task::spawn_blocking(move || drop(home)).await;
    let how = stop.why().or_else(|| status.map(how_ended)).unwrap_or(HowEnded::Killed(SIGKILL));
    let (output, is_cut) = output.text();
    Ended { how, output, is_cut, errors: errors.text() }
}

/// True if exit code `code` says that an agent which has done nothing never began: its program cannot be run or is not found.
pub(super) fn is_unable(code: i32) -> bool {
    NOT_RUN.contains(&code)
}

/// End of an agent by a status that the worker did not cause. Exit codes 128 + SIGKILL and 128 + SIGTERM count as those signals, because
/// wrappers report the signal of their program in this way.
fn how_ended(status: ExitStatus) -> HowEnded {
    match (status.code(), status.signal()) {
        (Some(code), _) if [SIGKILL, SIGTERM].contains(&(code - BY_SIGNAL)) => HowEnded::Killed(code - BY_SIGNAL),
        (Some(code), _) => HowEnded::Exited(code),
        (None, Some(signal)) if OWN_SIGNALS.contains(&signal) => HowEnded::Exited(BY_SIGNAL + signal),
        (None, signal) => HowEnded::Killed(signal.unwrap_or(SIGKILL)),
    }
}

fn start(
    program: &Program,
    briefing: &Briefing,
    variables: &BTreeMap<String, String>,
    home: &Path,
) -> Result<Child, String> {
    check(&program.command, program.directory.as_deref(), variables.get("PATH").map_or("", String::as_str))?;
    let passed = PASSED.iter().copied().chain(program.pass_env.iter().map(String::as_str));
    let mut seen: BTreeMap<OsString, OsString> =
        Place::variables(home).map(|(name, folder)| (name.into(), folder.to_owned())).collect();
    seen.extend(passed.filter_map(|name| Some((name.into(), variables.get(name)?.into()))));
    // What an interpreter still holds back when it is stopped would be lost.
    seen.insert("PYTHONUNBUFFERED".into(), "1".into());
    seen.extend(program.env.iter().map(|(name, value)| (name.into(), value.into())));
    seen.extend(briefing.variables.iter().map(|(name, value)| (name.into(), value.into())));
    let Program { limits, account, .. } = *program;
    let namespaces = if program.is_isolated { Namespaces::available(account) } else { Namespaces::Shared };
    let launch = Launch { command: &program.command, variables: seen, limits, account, namespaces };
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
async fn live(child: &mut Child, group: &Group, stop: &Stop) -> Option<ExitStatus> {
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
