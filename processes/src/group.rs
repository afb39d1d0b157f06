//! The processes of a program: one group, which ends with whoever holds it and with this process, however that ends.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use std::os::unix::process::CommandExt as _;

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process_group, waitpgid};

/// Waits until the pipe that only this process holds is closed, as it is when this process is gone, and ends the group that it is told. A
/// program of its own, because the kernel's own signal to orphans can only be asked for between fork and exec, where Rust allows nothing
/// that is safe.
const GUARDIAN: &str = r#"read -r line; [ -z "$1" ] || echo 1 > "$1"; kill -s KILL -- "-$0""#;

/// A process group that is killed when this is dropped. What leaves its group on purpose (`setsid`) is not caught.
pub struct Group {
    leader: Option<Pid>,
    /// Killed when it is dropped and before it could do anything, so that it harms nobody who gets the group's number later.
    guardian: Option<Child>,
}

impl Group {
    /// Group of the process with the number `leader`, which was started as the first of a group of its own and has not been waited for.
    #[must_use]
    pub fn of(leader: Option<u32>) -> Self {
        Self::with_kill_file(leader, None)
    }

    /// The same, of a process in a control group: should this process be gone, 1 is written to the `kill_file` of that too.
    #[must_use]
    pub fn with_kill_file(leader: Option<u32>, kill_file: Option<&Path>) -> Self {
        let id = leader.and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Self { leader: id, guardian: id.and_then(|id| guardian(id, kill_file)) }
    }

    /// Asks all of it to end.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends all that is left of it. To be called as soon as its leader has been waited for: the number is free for others then, and taken
    /// again only after all other numbers have been.
    pub fn end(&mut self) {
        self.signal(Signal::KILL);
        if let Some(leader) = self.leader.take() {
            reap(leader);
        }
        if let Some(mut guardian) = self.guardian.take() {
            // One that has ended already is no error.
            let _ = guardian.kill();
            let _ = guardian.wait();
        }
    }

    /// Ends all of it while its leader is still to be waited for.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// As if this process were gone.
    #[cfg(test)]
    fn lose_guardian(&mut self) {
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

/// Waits for what is left of a killed group where orphans are this process's, as in a container without an init: nobody else would, and they
/// stayed as zombies. On a thread, because one that is stuck in the kernel takes its time.
fn reap(group: Pid) {
    if !getpid().is_init() {
        return;
    }
    std::thread::spawn(move || while matches!(waitpgid(group, WaitOptions::empty()), Ok(Some(_))) {});
}

fn guardian(leader: Pid, kill_file: Option<&Path>) -> Option<Child> {
    let started = Command::new("/bin/sh")
        .args(["-c", GUARDIAN, &leader.as_raw_nonzero().to_string()])
        .arg(kill_file.unwrap_or(Path::new("")))
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    match started {
        Ok(guardian) => Some(guardian),
        Err(error) => {
            tracing::warn!(%error, "failed to start /bin/sh beside a program: should this process be killed, the program stays");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    #[test]
    fn the_guardian_ends_the_group_when_this_process_is_gone() {
        let mut leader = Command::new("sleep").arg("1000").process_group(0).spawn().unwrap();
        let mut group = Group::of(Some(leader.id()));
        // What the system does to this end of the pipe when this process is killed.
        group.lose_guardian();
        assert_eq!(leader.wait().unwrap().signal(), Some(9));
        group.end();
    }

    #[test]
    fn the_guardian_ends_the_control_group_first() {
        let folder = tempfile::tempdir().unwrap();
        let kill_file = folder.path().join("cgroup.kill");
        let mut leader = Command::new("sleep").arg("1000").process_group(0).spawn().unwrap();
        let mut group = Group::with_kill_file(Some(leader.id()), Some(&kill_file));
        group.lose_guardian();
        assert_eq!(leader.wait().unwrap().signal(), Some(9));
        assert_eq!(std::fs::read_to_string(kill_file).unwrap(), "1\n");
        group.end();
    }
}
