//! Namespaces of a program's own, where the system allows them.
//!
//! In a process namespace a program sees itself and what it has started, so that it reads no variables of its neighbours, and all of it
//! ends with its first process, also what has left its process group. `unshare` of util-linux makes them: what it does happens between fork
//! and exec, where Rust allows nothing that is safe.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::process::{getgid, getuid};

use crate::Account;

/// Places of `unshare`; the variable `PATH` is not asked, because whoever sets it would be started as root.
const UNSHARE: [&str; 2] = ["/usr/bin/unshare", "/bin/unshare"];

/// Means by which a program gets namespaces of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Namespaces {
    /// It shares those of this process.
    Shared,
    /// Processes are its own. This process may make namespaces, and the program becomes its user afterwards.
    OwnProcesses(&'static str),
    /// Processes are its own, in a user namespace, which everybody may make.
    OwnUsers(&'static str),
}

impl Namespaces {
    /// The best that programs of `account` can have here. It is tried, once for each account.
    #[must_use]
    pub fn available(account: Option<Account>) -> Self {
        static FOUND: Mutex<BTreeMap<Option<(u32, u32)>, Namespaces>> = Mutex::new(BTreeMap::new());
        let key = account.map(|Account { uid, gid }| (uid, gid));
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        *found.entry(key).or_insert_with(|| {
            let best = Self::probe(account);
            if best == Self::Shared {
                tracing::warn!("this system gives programs no process namespace of their own (unshare --pid)");
            }
            best
        })
    }

    fn probe(account: Option<Account>) -> Self {
        let Some(unshare) = UNSHARE.into_iter().find(|place| Path::new(place).is_file()) else { return Self::Shared };
        let ways = [Self::OwnProcesses(unshare), Self::OwnUsers(unshare)];
        ways.into_iter().find(|way| way.works(account)).unwrap_or(Self::Shared)
    }

    fn works(self, account: Option<Account>) -> bool {
        let words = self.words(vec!["/bin/sh".to_owned(), "-c".to_owned(), "exit 0".to_owned()], account);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.become_user(account, |uid, gid| {
            use std::os::unix::process::CommandExt as _;
            command.uid(uid).gid(gid);
        });
        command.status().is_ok_and(|status| status.success())
    }

    /// The words that start `command`, itself a shell that waits for the program, as `account` in these namespaces.
    #[must_use]
    pub fn words(self, command: Vec<String>, account: Option<Account>) -> Vec<String> {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let mut words = match self {
            Self::Shared => return command,
            Self::OwnProcesses(unshare) => {
                let Account { uid, gid } =
                    account.unwrap_or(Account { uid: getuid().as_raw(), gid: getgid().as_raw() });
                let mut words = owned(&[unshare, "--pid", "--mount-proc", "--fork", "--kill-child=KILL"]);
                words.extend([format!("--setgid={gid}"), format!("--setuid={uid}")]);
                words
            }
            Self::OwnUsers(unshare) => owned(&[
                unshare,
                "--user",
                "--map-current-user",
                "--pid",
                "--mount-proc",
                "--fork",
                "--kill-child=KILL",
            ]),
        };
        words.push("--".to_owned());
        words.extend(command);
        words
    }

    /// Tells `set` the user and group that the first of [`Self::words`] is to be started as, where it is not this process's.
    pub fn become_user(self, account: Option<Account>, set: impl FnOnce(u32, u32)) {
        match (self, account) {
            (Self::Shared | Self::OwnUsers(_), Some(Account { uid, gid })) => set(uid, gid),
            // It needs this process's rights, and changes the user itself.
            (Self::OwnProcesses(_), _) | (_, None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHELL: [&str; 3] = ["/bin/sh", "-c", "true"];

    fn words(namespaces: Namespaces, account: Option<Account>) -> String {
        namespaces.words(SHELL.map(str::to_owned).to_vec(), account).join(" ")
    }

    #[test]
    fn whoever_may_make_namespaces_changes_the_user_inside_them() {
        let account = Some(Account { uid: 990, gid: 980 });
        assert_eq!(
            words(Namespaces::OwnProcesses("/usr/bin/unshare"), account),
            "/usr/bin/unshare --pid --mount-proc --fork --kill-child=KILL --setgid=980 --setuid=990 -- /bin/sh -c true"
        );
        let mut became = None;
        Namespaces::OwnProcesses("/usr/bin/unshare").become_user(account, |uid, gid| became = Some((uid, gid)));
        assert_eq!(became, None);
    }

    #[test]
    fn others_make_them_in_a_user_namespace_as_the_user_that_they_are() {
        let account = Some(Account { uid: 990, gid: 980 });
        assert_eq!(
            words(Namespaces::OwnUsers("/usr/bin/unshare"), account),
            "/usr/bin/unshare --user --map-current-user --pid --mount-proc --fork --kill-child=KILL -- /bin/sh -c true"
        );
        let mut became = None;
        Namespaces::OwnUsers("/usr/bin/unshare").become_user(account, |uid, gid| became = Some((uid, gid)));
        assert_eq!(became, Some((990, 980)));
    }

    #[test]
    fn without_them_a_command_stays_as_it_is() {
        assert_eq!(words(Namespaces::Shared, None), "/bin/sh -c true");
    }
}
