//! The pool of processes of one program: each call goes to a free one.

use std::num::NonZeroUsize;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use regatta_processes::Limits;
use regatta_proto::FileSet;
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::failure::Failure;
use crate::folder::Folder;
use crate::permissions::Start;
use crate::process::{Bounds, Process, Said, brief};
use crate::protocol::{Answer, Call, Encoded, Load, Loaded};
use crate::purity::{Sample, difference};

/// Limits that a benchmark declares for its program.
#[derive(Debug, Clone, Copy)]
pub struct PoolLimits {
    /// Time limit of the first call (`load`) of each process.
    pub load: Duration,
    /// Time limit of every other call.
    pub call: Duration,
    /// Memory limit of a process, in MiB.
    pub memory_mb: u32,
    /// Size limit of an answer, in bytes.
    pub answer_bytes: usize,
    /// Greatest number of processes; at least two are used, because sampled calls are repeated in another process.
    pub processes: NonZeroUsize,
}

/// A pool of processes that have loaded the same data. Dropping it ends them and everything that they started.
pub struct Pool {
    start: Start,
    folder: Folder,
    limits: PoolLimits,
    load: Call,
    /// Answer of the first process to `load`; every other process must give the same.
    loaded: OnceLock<String>,
    state: Mutex<State>,
    /// Signalled when a process becomes free, or there is room for another: for calls that any process may answer.
    freed: Condvar,
    /// The same for calls that not every process may answer.
    freed_for_some: Condvar,
    sample: Sample,
    /// Set once the program was found to be impure; every later call fails with it.
    impure: OnceLock<Failure>,
}

#[derive(Default)]
struct State {
    idle: Vec<Process>,
    /// Number of processes that are idle, busy, or being started.
    alive: usize,
    started: u64,
    /// Calls that wait for a certain process.
    choosy: usize,
    /// Times that a call which waits was woken.
    #[cfg(test)]
    woken: u64,
}

/// Constraint on the process that a call goes to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Any,
    /// A process that has answered nothing but `load`.
    Fresh,
    /// Any process but the one with this number.
    Another(u64),
}

impl Pool {
    /// Unpacks `files`, starts the first process and calls its `load`.
    ///
    /// # Errors
    /// If the program cannot be started or its `load` fails.
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
            freed_for_some: Condvar::new(),
            sample: Sample::default(),
            impure: OnceLock::new(),
        };
        let process = waiting(|| pool.take(Wanted::Fresh))?;
        pool.give_back(process);
        let said = pool.loaded.get().map(String::as_str).unwrap_or_default();
        let loaded = read(&pool.load, said)?;
        Ok((pool, loaded))
    }

    /// Number of calls that can be answered at once.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.limits.processes.get()
    }

    /// Asks a free process, and for sampled calls another one for comparison. Blocks; on a multi-threaded runtime the
    /// blocked thread is replaced meanwhile.
    ///
    /// # Errors
    /// If no answer comes, or an invalid one. Once two processes have answered the same call differently, every later
    /// call fails too; one that failed has not answered.
    pub fn ask<A: Answer>(&self, call: &Call) -> Result<A, Failure> {
        if let Some(impure) = self.impure.get() {
            return Err(impure.clone());
        }
        let unsent = |why| Failure { about: call.about(), why, errors: String::new() };
        let asked = Encoded::of(call).map_err(unsent)?;
        let (said, number) = waiting(|| self.say(&asked, Wanted::Any))?;
        if self.sample.takes(&asked) {
            self.compare(&asked, &said, number)?;
        }
        match said {
            Said::Answer(answer) => read(call, &answer),
            Said::Error(error) => Err(Failure { about: call.about(), why: error, errors: String::new() }),
        }
    }

    fn compare(&self, asked: &Encoded<'_>, said: &Said, number: u64) -> Result<(), Failure> {
        let again = match waiting(|| self.say(asked, Wanted::Another(number))) {
            Ok((again, _)) => again,
            Err(error) => {
                // The first answer stands; only the comparison is lost.
                tracing::warn!(%error, "failed to repeat a call of a benchmark's program for comparison");
                return Ok(());
            }
        };
        if again == *said {
            return Ok(());
        }
        let (Said::Answer(first), Said::Answer(second)) = (said, &again) else {
            // What fails once may have failed for reasons of its own, as a server that did not answer. No score comes of a failed call.
            tracing::warn!(
                call = asked.call.about(),
                "a call of a benchmark's program failed in one process, and otherwise in another"
            );
            return Ok(());
        };
        Err(self.is_impure(asked.call, first, second))
    }

    /// Records that the program is impure, so that nothing is asked any more: earlier answers may be wrong too.
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

    /// Has a process answer. If one fails that has answered other calls before, the call is repeated once in a fresh
    /// process, because state left by those calls may have caused the failure.
    fn say(&self, asked: &Encoded<'_>, wanted: Wanted) -> Result<(Said, u64), Failure> {
        let mut process = self.take(wanted)?;
        let is_used = process.calls > 1;
        match process.ask(&asked.json, self.bounds(asked.call)) {
            Ok(said) => {
                let number = process.number;
                self.give_back(process);
                Ok((said, number))
            }
            Err(why) => {
                let failure = Failure { about: asked.call.about(), why, errors: process.end() };
                self.is_gone();
                if !is_used {
                    return Err(failure);
                }
                tracing::warn!(error = %failure, "a process of a benchmark's program failed; the call is repeated in a fresh one");
                self.say(asked, Wanted::Fresh)
            }
        }
    }

    const fn bounds(&self, call: &Call) -> Bounds {
        let time = match call {
            Call::Load(_) | Call::Tabulate(_) => self.limits.load,
            Call::Next(_) | Call::Score(_) | Call::Simulate(_) | Call::Serve(_) => self.limits.call,
        };
        Bounds { time, bytes_max: self.limits.answer_bytes }
    }

    fn take(&self, wanted: Wanted) -> Result<Process, Failure> {
        let mut state = self.locked();
        // Ending a process takes time, so it happens after the lock is released.
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
            state = self.wait(state, wanted);
            #[cfg(test)]
            {
                state.woken += 1;
            }
        };
        drop(state);
        drop(replaced);
        self.begin(number).inspect_err(|_| self.is_gone())
    }

    /// Waits until a process becomes free, or there is room for another.
    fn wait<'s>(&self, mut state: MutexGuard<'s, State>, wanted: Wanted) -> MutexGuard<'s, State> {
        match wanted {
            Wanted::Any => self.freed.wait(state).unwrap_or_else(PoisonError::into_inner),
            Wanted::Fresh | Wanted::Another(_) => {
                state.choosy += 1;
                let mut state = self.freed_for_some.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.choosy -= 1;
                state
            }
        }
    }

    /// Wakes a call that waits. One is enough where any process will do: a simulation has as many calls wait as it has sessions, and each
    /// wakes the next when it is done. Of those that want a certain process all look, since no one else knows which it is.
    fn wake(&self, state: MutexGuard<'_, State>) {
        let choosy = state.choosy;
        drop(state);
        if choosy > 0 {
            self.freed_for_some.notify_all();
        }
        self.freed.notify_one();
    }

    /// Starts a process and has it load.
    fn begin(&self, number: u64) -> Result<Process, Failure> {
        let failed = |why, errors| Failure { about: self.load.about(), why, errors };
        let asked = Encoded::of(&self.load).map_err(|why| failed(why, String::new()))?;
        let mut process =
            Process::start(number, &self.start, self.folder.path()).map_err(|why| failed(why, String::new()))?;
        let said = match process.ask(&asked.json, self.bounds(&self.load)) {
            Ok(Said::Answer(said)) => said,
            Ok(Said::Error(why)) | Err(why) => return Err(failed(why, process.end())),
        };
        let first = self.loaded.get_or_init(|| said.clone());
        if *first == said { Ok(process) } else { Err(self.is_impure(&self.load, first, &said)) }
    }

    fn give_back(&self, process: Process) {
        let mut state = self.locked();
        state.idle.push(process);
        self.wake(state);
    }

    fn is_gone(&self) {
        let mut state = self.locked();
        state.alive = state.alive.saturating_sub(1);
        self.wake(state);
    }

    /// Number of processes that were started so far.
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
        let why = format!("what it answered is no answer of {}: {}", call.name(), brief(&error));
        Failure { about: call.about(), why, errors: String::new() }
    })
}

/// Runs the blocking `wait` without holding up other tasks of the runtime.
fn waiting<T>(wait: impl FnOnce() -> T) -> T {
    match Handle::try_current() {
        Ok(runtime) if runtime.runtime_flavor() == RuntimeFlavor::MultiThread => tokio::task::block_in_place(wait),
        Ok(_) | Err(_) => wait(),
    }
}

#[cfg(test)]
mod tests;
