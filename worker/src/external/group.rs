//! The processes of an external agent: one group, which ends with whoever holds it and with this process, however that ends.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// Waits until the pipe that only the worker holds is closed, as it is when the worker is gone, and ends the group that it is told. A
/// program of its own, because the kernel's own signal to orphans can only be asked for between fork and exec, where Rust allows nothing
/// that is safe.
const GUARDIAN: &str = r#"read -r line; kill -s KILL -- "-$0""#;

/// A process group that is killed when this is dropped. What leaves its group on purpose (`setsid`) is not caught.
pub(super) struct Group {
    leader: Option<Pid>,
    /// Killed when it is dropped and before it could do anything, so that it harms nobody who gets the group's number later.
    guardian: Option<Child>,
}

impl Group {
    /// That of `leader`, which was started as the first of a group of its own and has not been waited for.
    pub(super) fn of(leader: &Child) -> Self {
        let id = leader.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Self { leader: id, guardian: id.and_then(guardian) }
    }

    /// Asks all of it to end.
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends all that is left of it. To be called as soon as its leader has been waited for: the number is free for others then, and taken
    /// again only after all other numbers have been.
    pub(super) fn end(&mut self) {
        self.signal(Signal::KILL);
        self.leader = None;
        self.guardian = None;
    }

    /// Ends all of it while its leader is still to be waited for.
    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// As if this process were gone.
    #[cfg(test)]
    pub(super) fn lose_guardian(&mut self) {
        drop(self.guardian.as_mut().and_then(|guardian| guardian.stdin.take()));
    }

    fn signal(&self, signal: Signal) {
        // That there is nobody left is no error.
        let _ = self.leader.map(|leader| kill_process_group(leader, signal));
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

fn guardian(leader: Pid) -> Option<Child> {
    let started = Command::new("/bin/sh")
        .args(["-c", GUARDIAN, &leader.as_raw_nonzero().to_string()])
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    match started {
        Ok(guardian) => Some(guardian),
        Err(error) => {
            tracing::warn!(%error, "failed to start /bin/sh beside an external agent: should this worker be killed, the agent stays");
            None
        }
    }
}
