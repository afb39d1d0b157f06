//! One process of a program: started within limits, asked line by line, ended with everything that it started.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use regatta_processes::{
    Cgroup, Cgroups, Group, Home, Launch, Namespaces, Place, check, end_survivors, gain_nothing, home,
    keep_to_ourselves,
};
use regatta_proto::plain_message;
use serde_json::value::RawValue;

use crate::permissions::Start;
use crate::pipes::{Pipes, Silence, pause};
use crate::protocol::{Envelope, VERSION, write_line};

/// Time that a process which closed its output gets to end by itself.
const ENDING: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(2);
/// Bytes that are quoted of a line that is not a valid answer.
const QUOTED_MAX: usize = 120;
/// Bytes of memory that are kept for the next call's line.
const LINE_KEPT: usize = 64 << 10;
/// Characters that are told of an error about an answer, which may quote any part of it.
const PROBLEM_MAX: usize = 300;

/// Answer of a process to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// The answer as JSON.
    Answer(String),
    /// The call failed, with the program's message, such as that of an exception.
    Error(String),
}

/// Limits of one answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) time: Duration,
    pub(crate) bytes_max: usize,
}

/// A running process.
pub(crate) struct Process {
    /// Number of the process, unique in its pool.
    pub(crate) number: u64,
    child: Child,
    group: Group,
    cgroup: Option<Cgroup>,
    pipes: Pipes,
    /// Removed when the process group has ended.
    home: Home,
    /// Number of calls that were sent.
    pub(crate) calls: u64,
    /// Empty between calls; kept for its memory.
    line: Vec<u8>,
    is_over: bool,
}

impl Process {
    /// Starts a process of `start` with the working directory `folder`.
    ///
    /// # Errors
    /// If the system refuses; the text gives the reason.
    pub(crate) fn start(number: u64, start: &Start, folder: &Path) -> Result<Self, String> {
        keep_to_ourselves();
        check(&start.command, Some(folder), &start.path)?;
        let home = home("regatta-program-", start.account)?;
        let Start { limits, account, .. } = *start;
        let namespaces = if start.is_isolated { Namespaces::available(account) } else { Namespaces::Shared };
        let mut variables: BTreeMap<OsString, OsString> =
            Place::variables(home.path()).map(|(name, folder)| (name.into(), folder.to_owned())).collect();
        variables.insert("PATH".into(), (&start.path).into());
        // Fixes the settings that differ between machines and processes, since answers must not depend on them;
        // Python writes no bytecode, because the folder is read-only.
        let fixed = [
            ("LANG", "C.UTF-8"),
            ("TZ", "UTC"),
            ("PYTHONHASHSEED", "0"),
            ("PYTHONUTF8", "1"),
            ("PYTHONDONTWRITEBYTECODE", "1"),
        ];
        variables.extend(fixed.map(|(name, value)| (name.into(), value.into())));
        let cgroup = Cgroups::delegated().map(|groups| groups.make(&limits)).transpose()?;
        let launch =
            Launch { command: &start.command, variables, limits, account, namespaces, cgroup: cgroup.as_ref() };
        let mut command = launch.command()?;
        command.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        gain_nothing();
        let failed = |error: std::io::Error| format!("failed to start {}: {error}", start.command[0]);
        let mut child = command.spawn().map_err(failed)?;
        let kill_file = cgroup.as_ref().map(Cgroup::kill_file);
        let group = Group::with_kill_file(Some(child.id()), kill_file.as_deref());
        let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(format!("failed to start {}: it has no pipes", start.command[0]));
        };
        let pipes = Pipes::new(stdin, stdout, stderr).map_err(failed)?;
        Ok(Self { number, child, group, cgroup, pipes, home, calls: 0, line: Vec::new(), is_over: false })
    }

    /// Sends the call with this `json` and waits for the answer.
    ///
    /// # Errors
    /// If no valid answer comes; the process cannot be used any more.
    pub(crate) fn ask(&mut self, json: &[u8], bounds: Bounds) -> Result<Said, String> {
        self.calls += 1;
        write_line(&mut self.line, self.calls, json);
        let exchanged = self.pipes.exchange(&self.line, bounds.time, bounds.bytes_max);
        self.line.clear();
        self.line.shrink_to(LINE_KEPT);
        let said = match exchanged {
            Ok(()) => said(self.pipes.line(), self.calls),
            Err(Silence::Closed) => Err(self.ended()),
            Err(Silence::Late) => Err(format!("no answer came within {} s", bounds.time.as_secs_f64())),
            Err(Silence::Flood) => Err(format!("its answer has more than {} bytes", bounds.bytes_max)),
            Err(Silence::Broken(error)) => Err(format!("its pipes broke: {error}")),
        };
        self.pipes.forget();
        said
    }

    /// Waits for a process that has closed its output and describes how it ended.
    fn ended(&mut self) -> String {
        let since = Instant::now();
        while since.elapsed() < ENDING {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    let is_out_of_memory = self.cgroup.as_ref().is_some_and(|cgroup| cgroup.killed_for_memory() > 0);
                    let reason = if is_out_of_memory { ", because it used more memory than its limit" } else { "" };
                    return format!("{}{reason}", how(status));
                }
                Ok(None) => pause(LOOK_AGAIN),
                Err(_) => break,
            }
        }
        "it closed its standard output".to_owned()
    }

    /// Ends the process and returns the last bytes of its standard error.
    pub(crate) fn end(mut self) -> String {
        self.stop();
        self.pipes.last_errors()
    }

    fn stop(&mut self) {
        self.group.kill();
        // `wait` fails only when the process is gone already.
        let _ = self.child.wait();
        self.group.end();
        if let Some(cgroup) = &self.cgroup {
            cgroup.end();
        }
        end_survivors(self.home.path());
        self.is_over = true;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A process that exited by itself may have left children behind.
        if !self.is_over {
            self.stop();
        }
    }
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("the program ended with exit code {code}"),
        (None, Some(signal)) => format!("the program was ended by signal {signal}"),
        (None, None) => "the program ended".to_owned(),
    }
}

/// Parses an answer to call number `id`.
fn said(line: &[u8], id: u64) -> Result<Said, String> {
    let envelope: Envelope<'_> = serde_json::from_slice(line).map_err(|error| {
        format!("it wrote a line to standard output that is no answer ({}): {}", brief(&error), quoted(line))
    })?;
    match envelope.v {
        Some(VERSION) => {}
        Some(other) => return Err(format!("it speaks version {other} of the protocol; this build speaks {VERSION}")),
        None => return Err(format!("its answer has no version (`v`): {}", quoted(line))),
    }
    if envelope.id != Some(id) {
        let given = envelope.id.map_or_else(|| "none".to_owned(), |given| given.to_string());
        return Err(format!("it answered call {given} when call {id} was asked"));
    }
    match (envelope.error, envelope.answer.map(RawValue::get)) {
        (Some(error), _) => Ok(Said::Error(error)),
        (None, Some(answer)) => Ok(Said::Answer(answer.to_owned())),
        (None, None) => Err(format!("its answer has neither `answer` nor `error`: {}", quoted(line))),
    }
}

/// The beginning of an error about an answer.
pub(crate) fn brief(error: &serde_json::Error) -> String {
    let problem = plain_message(&error.to_string());
    match problem.char_indices().nth(PROBLEM_MAX) {
        Some((end, _)) => format!("{}… at line {} column {}", &problem[..end], error.line(), error.column()),
        None => problem,
    }
}

fn quoted(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(QUOTED_MAX)]).into_owned();
    format!("{text:?}")
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Longest error about a line, in bytes.
    const ERROR_MAX: usize = 1000;
    const ANSWER: &str = r#"{"v": 1, "id": 7, "answer": {"items": [{"id": "a"}], "said": "\u00e9"}}"#;

    #[test]
    fn an_error_about_a_long_line_is_short() {
        let long = "x".repeat(100_000);
        for line in [
            format!("{{\"{long}\": 1}}"),
            format!("{{\"v\": \"{long}\"}}"),
            format!("{{\"v\": 1, \"id\": \"{long}\"}}"),
            long.clone(),
        ] {
            let error = said(line.as_bytes(), 7).unwrap_err();
            assert!(error.len() < ERROR_MAX, "{} bytes: {:.300}", error.len(), error);
        }
    }

    proptest! {
        #[test]
        fn a_line_is_an_answer_to_its_call_or_an_error_that_is_short(
            at in 0..ANSWER.len(), cut in 0..10_usize, put_in in vec(any::<u8>(), 0..4),
        ) {
            let mut line = ANSWER.as_bytes().to_vec();
            line.splice(at..(at + cut).min(ANSWER.len()), put_in);
            match said(&line, 7) {
                Ok(Said::Answer(answer)) => {
                    prop_assert!(serde_json::from_str::<serde_json::Value>(&answer).is_ok(), "{}", answer);
                }
                Ok(Said::Error(_)) => {}
                Err(error) => prop_assert!(error.len() < ERROR_MAX, "{}", error),
            }
        }
    }
}
