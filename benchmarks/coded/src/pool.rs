//! The processes of one program: calls go to whichever is free.

use std::num::NonZeroUsize;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use regatta_processes::Limits;
use regatta_proto::FileSet;
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::failure::Failure;
use crate::folder::Folder;
use crate::permissions::Start;
use crate::process::{Bounds, Process, Said};
use crate::protocol::{Answer, Call, Load, Loaded};
use crate::purity::{Sample, difference};

/// Limits of a program, as its benchmark declares them.
#[derive(Debug, Clone, Copy)]
pub struct PoolLimits {
    /// Time of the first call of each process.
    pub load: Duration,
    /// Time of every other call.
    pub call: Duration,
    /// Memory of a process, in MiB.
    pub memory_mb: u32,
    /// Largest answer, in bytes.
    pub answer_bytes: usize,
    /// Most processes; at least two, because calls are repeated in another one.
    pub processes: NonZeroUsize,
}

/// A pool of processes that have all read the same data. It ends with everything that they started when it is dropped.
pub struct Pool {
    start: Start,
    folder: Folder,
    limits: PoolLimits,
    load: Call,
    /// What the first process said to `load`; every other one must say the same.
    loaded: OnceLock<String>,
    state: Mutex<State>,
    /// A process has become free, or there is room for one.
    freed: Condvar,
    sample: Sample,
    /// Why nothing is asked any more.
    impure: OnceLock<Failure>,
}

#[derive(Default)]
struct State {
    idle: Vec<Process>,
    /// Processes that are idle, busy, or being started.
    alive: usize,
    started: u64,
}

/// The process that a call must go to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Any,
    /// One that has answered nothing yet but `load`.
    Fresh,
    /// Any but this one.
    Another(u64),
}

impl Pool {
    /// Unpacks `files`, starts the first process and has it load.
    ///
    /// # Errors
    /// When the program cannot be started, or does not load.
    pub fn open(start: Start, limits: PoolLimits, files: &FileSet, load: Load) -> Result<(Self, Loaded), Failure> {
        let load = Call::Load(load);
        let failed = |why| Failure { about: load.about(), why, errors: String::new() };
        let folder = Folder::unpack(files, start.account).map_err(failed)?;
        let memory_mb = start.limits.memory_mb.min(limits.memory_mb);
        let start = Start { limits: Limits { memory_mb, ..start.limits }, ..start };
        let pool = Self {
            start,
            folder,
            limits,
            load,
            loaded: OnceLock::new(),
            state: Mutex::default(),
            freed: Condvar::new(),
            sample: Sample::default(),
            impure: OnceLock::new(),
        };
        let process = waiting(|| pool.take(Wanted::Fresh))?;
        pool.give_back(process);
        let said = pool.loaded.get().map(String::as_str).unwrap_or_default();
        let loaded = read(&pool.load, said)?;
        Ok((pool, loaded))
    }

    /// Calls that can be answered at the same time.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.limits.processes.get()
    }

    /// Asks a free process, and perhaps another one for comparison. Waits for them: the threads of a runtime are replaced meanwhile.
    ///
    /// # Errors
    /// When no answer came, or what came is none; and from then on always when two processes gave different answers to the same call.
    pub fn ask<A: Answer>(&self, call: &Call) -> Result<A, Failure> {
        if let Some(impure) = self.impure.get() {
            return Err(impure.clone());
        }
        let (said, number) = waiting(|| self.say(call, Wanted::Any))?;
        if self.sample.takes(call) {
            self.compare(call, &said, number)?;
        }
        match said {
            Said::Answer(answer) => read(call, &answer),
            Said::Error(error) => Err(Failure { about: call.about(), why: error, errors: String::new() }),
        }
    }

    fn compare(&self, call: &Call, said: &Said, number: u64) -> Result<(), Failure> {
        let again = match waiting(|| self.say(call, Wanted::Another(number))) {
            Ok((again, _)) => again,
            Err(error) => {
                // It was answered once, which is what counts.
                tracing::warn!(%error, "failed to repeat a call of a benchmark's program for comparison");
                return Ok(());
            }
        };
        if again == *said {
            return Ok(());
        }
        let text = |said: &Said| match said {
            Said::Answer(text) | Said::Error(text) => text.clone(),
        };
        Err(self.is_impure(call, &text(said), &text(&again)))
    }

    /// From now on nothing is asked: what was answered before may be wrong as well.
    fn is_impure(&self, call: &Call, first: &str, second: &str) -> Failure {
        let why = format!(
            "the program is not pure: {}. Its answers must depend on the call alone, not on time, chance, or earlier calls; nothing more is \
             asked of it",
            difference(first, second)
        );
        let failure = Failure { about: call.about(), why, errors: String::new() };
        self.impure
            .get_or_init(|| {
                tracing::error!(call = failure.about, reason = failure.why, "a benchmark's program is not pure");
                failure
            })
            .clone()
    }

    /// Has a process answer. One that fails after it has answered other calls is replaced once: what these left behind must not cost this
    /// call its answer.
    fn say(&self, call: &Call, wanted: Wanted) -> Result<(Said, u64), Failure> {
        let mut process = self.take(wanted)?;
        let is_used = process.calls > 1;
        match process.ask(call, self.bounds(call)) {
            Ok(said) => {
                let number = process.number;
                self.give_back(process);
                Ok((said, number))
            }
            Err(why) => {
                let failure = Failure { about: call.about(), why, errors: process.end() };
                self.is_gone();
                if !is_used {
                    return Err(failure);
                }
                tracing::warn!(error = %failure, "a process of a benchmark's program failed; the call is repeated in a fresh one");
                self.say(call, Wanted::Fresh)
            }
        }
    }

    const fn bounds(&self, call: &Call) -> Bounds {
        let time = match call {
            Call::Load(_) | Call::Tabulate(_) => self.limits.load,
            Call::Next(_) | Call::Score(_) | Call::Simulate(_) => self.limits.call,
        };
        Bounds { time, bytes_max: self.limits.answer_bytes }
    }

    fn take(&self, wanted: Wanted) -> Result<Process, Failure> {
        let mut state = self.locked();
        // Ended where nobody waits for the pool meanwhile.
        let mut replaced = None;
        let number = loop {
            let fits = |process: &Process| match wanted {
                Wanted::Any => true,
                Wanted::Fresh => process.calls <= 1,
                Wanted::Another(number) => process.number != number,
            };
            if let Some(at) = state.idle.iter().rposition(fits) {
                return Ok(state.idle.swap_remove(at));
            }
            if state.alive >= self.size() && wanted == Wanted::Fresh && replaced.is_none() {
                replaced = state.idle.pop();
                state.alive -= usize::from(replaced.is_some());
            }
            if state.alive < self.size() {
                state.alive += 1;
                state.started += 1;
                break state.started;
            }
            state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        drop(state);
        drop(replaced);
        self.begin(number).inspect_err(|_| self.is_gone())
    }

    /// A new process that has loaded.
    fn begin(&self, number: u64) -> Result<Process, Failure> {
        let failed = |why, errors| Failure { about: self.load.about(), why, errors };
        let mut process =
            Process::start(number, &self.start, self.folder.path()).map_err(|why| failed(why, String::new()))?;
        let said = match process.ask(&self.load, self.bounds(&self.load)) {
            Ok(Said::Answer(said)) => said,
            Ok(Said::Error(why)) | Err(why) => return Err(failed(why, process.end())),
        };
        let first = self.loaded.get_or_init(|| said.clone());
        if *first == said { Ok(process) } else { Err(self.is_impure(&self.load, first, &said)) }
    }

    fn give_back(&self, process: Process) {
        self.locked().idle.push(process);
        // Those who wait may want different ones.
        self.freed.notify_all();
    }

    fn is_gone(&self) {
        let mut state = self.locked();
        state.alive = state.alive.saturating_sub(1);
        drop(state);
        self.freed.notify_all();
    }

    /// Processes that were started so far.
    #[must_use]
    pub fn started(&self) -> u64 {
        self.locked().started
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read<A: Answer>(call: &Call, answer: &str) -> Result<A, Failure> {
    serde_json::from_str(answer).map_err(|error| {
        let why = format!("what it answered is no answer of {}: {error}", call.name());
        Failure { about: call.about(), why, errors: String::new() }
    })
}

/// Runs `wait` where it holds up nobody else's tasks.
fn waiting<T>(wait: impl FnOnce() -> T) -> T {
    match Handle::try_current() {
        Ok(runtime) if runtime.runtime_flavor() == RuntimeFlavor::MultiThread => tokio::task::block_in_place(wait),
        Ok(_) | Err(_) => wait(),
    }
}

#[cfg(test)]
mod tests;
