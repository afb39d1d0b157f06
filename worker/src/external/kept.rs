//! External agents whose processes live for many sessions: a process reads one session after another, each a line of JSON, and says of each
//! when it is done. In between it waits.
//!
//! Only what the process itself keeps goes from one session to the next: the working directory is of the session, standard error is told of
//! the session alone, and a process that prints anything after its word that it is done is not used again. A session that fails, or is
//! stopped, ends its process and no other.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::mem;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures::FutureExt as _;
use regatta_bridge::{LateRequests, OpenSession};
use regatta_processes::{Cgroup, Cgroups, Group, Home, Limits, end_survivors, home, keep_to_ourselves};
use regatta_proto::{AgentName, Ended, ExternalAgent, HowEnded, SweepId};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;
use tokio::task::coop::unconstrained;
use tokio::time::{Instant, timeout};

use super::answer_file;
use super::briefing::{AUTHORITIES, Briefing};
use super::pipes::{CHUNK, Head, Tail};
use super::program::{GRACE, LEFTOVERS, SIGKILL, how_ended, live, start, with_memory};
use super::stop::Stop;
use crate::policy::Program;

/// Longest that a process waits for its next session.
const IDLE_MAX: Duration = Duration::from_secs(60);
/// Most processes that wait at once, of all agents; the one that has waited longest goes.
const WAITING_MAX: usize = 64;
/// Longest line by which a process says that it is done, in bytes. Longer ones are output.
const DONE_BYTES_MAX: usize = 64 << 10;

/// The agent whose process one is. Those of two sweeps never share one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) sweep: SweepId,
    pub(super) agent: AgentName,
}

/// Processes that wait for their next session.
#[derive(Default)]
pub(super) struct Kept(Arc<Mutex<Waiting>>);

#[derive(Default)]
struct Waiting {
    /// The one that has waited longest first.
    processes: Vec<(Owner, Instant, Process)>,
    /// Somebody ends those that have waited for too long.
    are_watched: bool,
}

/// A process, in a session or between two. It ends, with everything that it has started, when this is dropped.
struct Process {
    tree: Tree,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    errors: Arc<Mutex<Tail>>,
    /// Ends when nobody holds standard error any more.
    reader: JoinHandle<()>,
    /// Sessions that it was given.
    sessions: u32,
    /// Requests at the address of its first session, once that is over.
    late: Option<LateRequests>,
}

/// Requests of a process at the address of an earlier session.
#[derive(Default)]
pub(super) struct Strays {
    /// Requests at the address of this session, once it is over.
    own: LateRequests,
    are_found: AtomicBool,
}

impl Strays {
    pub(super) fn of(session: &OpenSession) -> Self {
        Self { own: session.late_requests(), are_found: AtomicBool::new(false) }
    }

    /// `true` if the process asked at the address of its first session during this one.
    pub(super) fn are_found(&self) -> bool {
        self.are_found.load(Ordering::Relaxed)
    }
}

/// The process with all that it has started, wherever that went.
struct Tree {
    group: Group,
    child: Child,
    cgroup: Option<Cgroup>,
    home: Home,
}

/// The end of a process.
struct End {
    /// `None` when the system does not tell.
    status: Option<ExitStatus>,
    /// Processes of it that were killed for the memory that they used, since it was started.
    killed_for_memory: u64,
}

/// The line by which a process says that it is done.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Done {
    /// Number of the session.
    done: u32,
    /// Reason for which it failed.
    #[serde(default)]
    failed: Option<String>,
}

/// The end of what a process says in a session.
enum Heard {
    Done(Option<String>),
    /// It says that it is done, and has not read all that it was told.
    Unread,
    /// It says that an earlier session is done: nobody knows of which session the rest is.
    Earlier,
    TooMuch,
    /// It closed its output.
    Nothing,
}

impl Heard {
    /// `true` if that is the end of the session and not of the process.
    const fn is_done(&self) -> bool {
        match self {
            Self::Done(_) | Self::Unread | Self::Earlier => true,
            Self::TooMuch | Self::Nothing => false,
        }
    }
}

impl Kept {
    /// A process of `owner` that waits, and that can be given a session.
    fn take(&self, owner: &Owner) -> Option<Process> {
        loop {
            let mut process = {
                let mut waiting = lock(&self.0);
                let at = waiting.processes.iter().rposition(|(of, ..)| of == owner)?;
                waiting.processes.remove(at).2
            };
            if process.is_silent() {
                return Some(process);
            }
            discard(process);
        }
    }

    /// Has `process` wait for its next session.
    fn put(&self, owner: Owner, process: Process) {
        let mut waiting = lock(&self.0);
        waiting.processes.push((owner, Instant::now(), process));
        if waiting.processes.len() > WAITING_MAX {
            discard(waiting.processes.remove(0).2);
        }
        if !mem::replace(&mut waiting.are_watched, true) {
            tokio::spawn(watch(Arc::downgrade(&self.0)));
        }
    }
}

/// Ends processes that have waited for too long, until none waits any more.
async fn watch(kept: Weak<Mutex<Waiting>>) {
    loop {
        tokio::time::sleep(IDLE_MAX).await;
        let Some(kept) = kept.upgrade() else { return };
        let mut waiting = lock(&kept);
        let late = waiting.processes.iter().take_while(|(_, since, _)| since.elapsed() >= IDLE_MAX).count();
        for (.., process) in waiting.processes.drain(..late) {
            discard(process);
        }
        if waiting.processes.is_empty() {
            waiting.are_watched = false;
            return;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends `process` on a thread that may wait: its directory may hold a lot.
fn discard(process: Process) {
    drop(tokio::task::spawn_blocking(move || drop(process)));
}

/// Has a process of the agent, a waiting one or a new one, do one session, until it says that it is done or `stop` ends it. A session that is
/// begun `again` has a new one: what ended the one before may be in every process that waits.
pub(super) async fn run(
    kept: &Kept,
    agent: &ExternalAgent,
    (program, owner, again): (Program, Owner, bool),
    (briefing, strays): (&Briefing, &Strays),
    variables: &BTreeMap<String, String>,
    stop: &Stop,
) -> Ended {
    let directory = home("regatta-session-", program.account);
    let process = match kept.take(&owner) {
        Some(process) if !again => Ok(process),
        waiting => {
            // There are no more of them than sessions at once.
            if let Some(waiting) = waiting {
                discard(waiting);
            }
            Process::start(&program, briefing, variables)
        }
    };
    let (directory, mut process) = match directory.and_then(|directory| Ok((directory, process?))) {
        Ok(ready) => ready,
        Err(problem) => {
            return Ended { how: HowEnded::NotStarted, output: "".into(), is_cut: false, errors: problem.into() };
        }
    };
    let late = process.late.get_or_insert_with(|| strays.own.clone()).clone();
    // What came between two sessions is of none.
    let _ = late.take();
    let mut output = Head::new(agent.output_bytes_max as usize);
    let (how, errors) = process.session(briefing, &directory, &mut output, stop).await;
    strays.are_found.store(late.take(), Ordering::Relaxed);
    let bytes_max = agent.output_bytes_max as usize;
    let left = tokio::task::spawn_blocking(move || {
        let left = answer_file::read(directory.path(), bytes_max);
        drop(directory);
        left
    });
    let left = left.await.ok().flatten();
    let is_well = how == HowEnded::Exited(0) && process.is_alive();
    if !is_well {
        discard(process);
    } else if process.sessions < program.sessions_max {
        kept.put(owner, process);
    } else {
        tokio::spawn(process.leave());
    }
    let (output, is_cut) = left.unwrap_or(output).text();
    Ended { how, output, is_cut, errors }
}

impl Process {
    fn start(program: &Program, briefing: &Briefing, variables: &BTreeMap<String, String>) -> Result<Self, String> {
        keep_to_ourselves();
        let home = home("regatta-agent-", program.account)?;
        // Of processor time, a process has what each of its sessions may have.
        let cpu_s = program.limits.cpu_s.saturating_mul(program.sessions_max);
        let program = Program { limits: Limits { cpu_s, ..program.limits }, ..program.clone() };
        let cgroup = Cgroups::delegated().map(|groups| groups.make(&program.limits)).transpose()?;
        // The others are of one session.
        let own = briefing.variables.iter().filter(|(name, _)| AUTHORITIES.contains(name));
        let own = own.map(|(name, value)| (*name, OsString::from(value))).collect();
        let mut child = start(&program, own, variables, (home.path(), cgroup.as_ref()))?;
        let group = Group::with_kill_file(child.id(), cgroup.as_ref().map(Cgroup::kill_file).as_deref());
        let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err("failed to start it: it has no pipes".to_owned());
        };
        let errors = Arc::new(Mutex::new(Tail::default()));
        let reader = tokio::spawn(read_errors(stderr, Arc::clone(&errors)));
        let (stdin, stdout) = (Some(stdin), BufReader::new(stdout));
        Ok(Self { tree: Tree { group, child, cgroup, home }, stdin, stdout, errors, reader, sessions: 0, late: None })
    }

    /// `true` if it has not ended.
    fn is_alive(&mut self) -> bool {
        matches!(self.tree.child.try_wait(), Ok(None))
    }

    /// `true` if it waits for a session, and has said nothing since its last one.
    fn is_silent(&mut self) -> bool {
        // Whatever it says now, also that there is nothing more to come, is of no session.
        self.is_alive() && unconstrained(self.stdout.fill_buf()).now_or_never().is_none()
    }

    /// Does one session. Returns how it ended, with the end of standard error.
    async fn session(
        &mut self,
        briefing: &Briefing,
        directory: &Home,
        output: &mut Head,
        stop: &Stop,
    ) -> (HowEnded, Arc<str>) {
        self.sessions += 1;
        let number = self.sessions;
        *lock(&self.errors) = Tail::default();
        let killed_before = self.tree.killed_for_memory();
        let answer = answer_file::path(directory.path());
        let places = [("directory", directory.path()), ("answer_file", answer.as_path())];
        let (heard, end) = self.course((number, &briefing.line_of_session(number, &places)), output, stop).await;
        let is_done = heard.as_ref().is_some_and(Heard::is_done);
        let is_well = matches!(heard, Some(Heard::Done(None))) && self.stdout.buffer().is_empty();
        if is_well && stop.why().is_none() {
            return (HowEnded::Exited(0), mem::take(&mut *lock(&self.errors)).text());
        }
        // Whatever else comes of it: it does no further session.
        let End { status, killed_for_memory } = match end {
            Some(end) => end,
            None => {
                let over = Stop::default();
                over.now(HowEnded::Interrupted);
                self.tree.live(&over).await
            }
        };
        // Somebody outside of its group may hold its pipes.
        let _ = timeout(LEFTOVERS, &mut self.reader).await;
        let errors = mem::take(&mut *lock(&self.errors)).text();
        let (how, said) = match (stop.why(), heard) {
            (Some(why), _) => (why, String::new()),
            (None, Some(Heard::Done(Some(reason)))) => (HowEnded::Exited(1), reason),
            // It has said all of this session, and its next one would begin with what it said after that.
            (None, Some(Heard::Done(None))) => (HowEnded::Exited(0), "it wrote on after it was done".to_owned()),
            (None, Some(Heard::Unread)) => (HowEnded::Exited(0), "it was done before it had read its task".to_owned()),
            // Its next process knows of no other session.
            (None, Some(Heard::Earlier)) => {
                (HowEnded::Killed(0), "it said of an earlier session that it was done".to_owned())
            }
            (None, Some(Heard::TooMuch | Heard::Nothing) | None) => {
                (status.map_or(HowEnded::Killed(SIGKILL), how_ended), String::new())
            }
        };
        let errors = if said.is_empty() { errors } else { format!("{errors}{said}\n").into() };
        let (how, errors) = with_memory(how, errors, killed_for_memory > killed_before);
        let has_answered = is_done || !output.is_empty() || answer.symlink_metadata().is_ok();
        (of_session(how, number, has_answered), errors)
    }

    /// Tells the process its session and takes what it says, until it says that it is done, or it has ended, by itself or as `stop` says; then
    /// with its end.
    async fn course(&mut self, session: (u32, &str), output: &mut Head, stop: &Stop) -> (Option<Heard>, Option<End>) {
        let Self { tree, stdin, stdout, .. } = self;
        let mut line = Vec::new();
        let course = async {
            let heard = converse((stdin, stdout), session, (&mut line, &mut *output)).await;
            if matches!(heard, Heard::TooMuch) {
                stop.now(HowEnded::TooMuchOutput);
            }
            heard
        };
        let ended = async {
            tokio::pin!(course);
            let mut heard = tokio::select! {
                biased;
                heard = &mut course => Some(heard),
                () = stop.told() => None,
                // What it has started may hold its output open for longer than it lives.
                _ = tree.child.wait() => None,
            };
            if heard.as_ref().is_some_and(Heard::is_done) {
                return (heard, None);
            }
            let life = tree.live(stop);
            tokio::pin!(life);
            let end = loop {
                tokio::select! {
                    end = &mut life => break end,
                    said = &mut course, if heard.is_none() => heard = Some(said),
                }
            };
            if heard.is_none() {
                heard = timeout(LEFTOVERS, &mut course).await.ok();
            }
            (heard, Some(end))
        };
        let ended = ended.await;
        // A line that it did not come to the end of is output as well.
        output.take(&line);
        ended
    }

    /// Lets it end by itself, as there is nothing more to read for it, and ends it where it does not.
    async fn leave(mut self) {
        drop(self.stdin.take());
        // One that does not end is ended.
        let _ = timeout(GRACE, self.tree.child.wait()).await;
        discard(self);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Tree {
    /// Waits until the process has ended, by itself or as `stop` says, and ends all that is left of it.
    async fn live(&mut self, stop: &Stop) -> End {
        let status = live(&mut self.child, &self.group, stop).await;
        self.group.end();
        let killed_for_memory = self.killed_for_memory();
        self.end();
        End { status, killed_for_memory }
    }

    fn killed_for_memory(&self) -> u64 {
        self.cgroup.as_ref().map_or(0, Cgroup::killed_for_memory)
    }

    fn end(&mut self) {
        self.group.end();
        if let Some(cgroup) = &self.cgroup {
            cgroup.end();
        }
        end_survivors(self.home.path());
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.end();
    }
}

/// The end of the session `number` of a process that ended as `how`. What the sessions before it have left in the process is no fault of its
/// own: it begins anew in another one.
const fn of_session(how: HowEnded, number: u32, has_answered: bool) -> HowEnded {
    match how {
        // It may have left just before it was given the session.
        HowEnded::Exited(0) if number > 1 && !has_answered => HowEnded::Killed(0),
        HowEnded::OutOfMemory if number > 1 => HowEnded::Killed(SIGKILL),
        HowEnded::Exited(_)
        | HowEnded::Killed(_)
        | HowEnded::Deadline
        | HowEnded::TooMuchOutput
        | HowEnded::OutOfMemory
        | HowEnded::NotStarted
        | HowEnded::Interrupted => how,
    }
}

/// Tells a process the line `told` of session `number`, and listens to it meanwhile: it need not read what it is told.
async fn converse(
    (stdin, stdout): (&mut Option<ChildStdin>, &mut BufReader<ChildStdout>),
    (number, told): (u32, &str),
    output: (&mut Vec<u8>, &mut Head),
) -> Heard {
    let tell = async {
        if let Some(stdin) = stdin {
            // A process that is gone is told of by its output, which ends.
            let _ = stdin.write_all(told.as_bytes()).await;
            let _ = stdin.flush().await;
        }
    };
    let listen = listen(stdout, number, output);
    tokio::pin!(tell, listen);
    let heard = tokio::select! {
        biased;
        () = &mut tell => None,
        heard = &mut listen => Some(heard),
    };
    match heard {
        None => listen.await,
        // The rest of the line would be the beginning of its next one.
        Some(Heard::Done(None)) => Heard::Unread,
        Some(heard) => heard,
    }
}

/// Reads what a process says in session `number`: everything until its word that it is done is its output. What it has begun to say stands in
/// `line`.
async fn listen(from: &mut BufReader<ChildStdout>, number: u32, (line, output): (&mut Vec<u8>, &mut Head)) -> Heard {
    let mut is_long = false;
    // A pipe that cannot be read any more has ended.
    while let Ok(bytes @ [_, ..]) = from.fill_buf().await {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let read = end.map_or(bytes.len(), |end| end + 1);
        line.extend_from_slice(&bytes[..read]);
        from.consume(read);
        if end.is_some()
            && !is_long
            && let Some(done) = done(line)
            && (1..=number).contains(&done.done)
        {
            line.clear();
            return if done.done == number { Heard::Done(done.failed) } else { Heard::Earlier };
        }
        if end.is_some() || line.len() > DONE_BYTES_MAX {
            if !take(line, output) {
                return Heard::TooMuch;
            }
            is_long = end.is_none();
        }
    }
    match take(line, output) {
        true => Heard::Nothing,
        false => Heard::TooMuch,
    }
}

/// Makes `line` output; `false` if it does not fit.
fn take(line: &mut Vec<u8>, output: &mut Head) -> bool {
    let fits = output.take(line);
    line.clear();
    fits
}

/// The word that a session is done, if `line` is that.
fn done(line: &[u8]) -> Option<Done> {
    serde_json::from_slice(line).ok()
}

/// Keeps the end of what a process writes to standard error, which would stand still if nobody read.
async fn read_errors(mut from: ChildStderr, errors: Arc<Mutex<Tail>>) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(read @ 1..) = from.read(&mut chunk).await {
        lock(&errors).take(&chunk[..read]);
    }
}

#[cfg(test)]
mod tests;
