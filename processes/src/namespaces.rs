//! Namespaces of a program's own, where the system allows them.
//!
//! In a process namespace a program sees itself and what it has started, so that it reads no variables of its neighbours, and all of it
//! ends with its first process, also what has left its process group. `unshare` of util-linux makes them: what it does happens between fork
//! and exec, where Rust allows nothing that is safe.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, Once, PoisonError};

use crate::Account;

/// Folders of system programs; the variable `PATH` is not asked, because whoever sets it would be started as root.
const FOLDERS: [&str; 2] = ["/usr/bin", "/bin"];
/// The first process of a namespace: it stays root, so that the program cannot trace it and walk out, and waits for the program and its orphans.
const FIRST: &str = r#"u="$1"; g="$2"; p="$3"; shift 3
(exec "$p" --reuid="$u" --regid="$g" --clear-groups --inh-caps=-all -- "$@"); exit "$?""#;
/// The same where it cannot be another user: it keeps the rights that it has in its user namespace, and the program has none, so that the
/// program cannot trace it and walk out. A shell that cannot fork says so as one that cannot run a program.
const FIRST_OF_ONE_USER: &str = r#"p="$1"; shift; trap 'exit 126' EXIT
(trap - EXIT; exec "$p" --inh-caps=-all --ambient-caps=-all --bounding-set=-all -- "$@"); code=$?; trap - EXIT; exit "$code""#;
/// The same where the program is root as well: it keeps the rights that root has, and could walk out on purpose.
const FIRST_OF_ROOT: &str = r#"(exec "$@"); exit "$?""#;
/// Exact names of variables that are the loader's or a shell's; see [`is_of_the_loader`].
const OF_THE_LOADER: [&str; 15] = [
    "GLIBC_TUNABLES",
    "GCONV_PATH",
    "GETCONF_DIR",
    "HOSTALIASES",
    "LOCALDOMAIN",
    "LOCPATH",
    "MALLOC_TRACE",
    "NIS_PATH",
    "NLSPATH",
    "RESOLV_HOST_CONF",
    "RES_OPTIONS",
    "TZDIR",
    "ENV",
    "BASH_ENV",
    "IFS",
];

/// Means by which a program gets namespaces of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Namespaces {
    /// It shares those of this process.
    Shared,
    /// Processes are its own. This process may make namespaces, and the program becomes its user inside them.
    OwnProcesses,
    /// Processes are its own, in a user namespace, which everybody may make.
    OwnUsers,
    /// Processes are its own. This process is root, and so is the program, with all rights that root has here.
    OwnProcessesOfRoot,
}

impl Namespaces {
    /// The best that programs of `account` can have here. What works is tried once for each account, what does not again each time; the
    /// warning is given once.
    #[must_use]
    pub fn available(account: Option<Account>) -> Self {
        static FOUND: Mutex<BTreeMap<Option<(u32, u32)>, Namespaces>> = Mutex::new(BTreeMap::new());
        static TOLD: Once = Once::new();
        let key = account.map(|Account { uid, gid }| (uid, gid));
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = found.get(&key) {
            return *known;
        }
        match Self::ways(account).iter().copied().find(|way| way.works(account)) {
            Some(way) => *found.entry(key).or_insert(way),
            None => {
                TOLD.call_once(|| {
                    tracing::warn!(
                        "this system gives programs no process namespace of their own (unshare --pid): those of one user see each other's \
                         variables, and one that hides on purpose outlives its session"
                    );
                });
                Self::Shared
            }
        }
    }

    /// Ways to give programs of `account` namespaces, the best first. A user namespace would take from root what root may do outside of it.
    fn ways(account: Option<Account>) -> &'static [Self] {
        match account {
            None if rustix::process::geteuid().is_root() => &[Self::OwnProcessesOfRoot],
            Some(_) | None => &[Self::OwnProcesses, Self::OwnUsers],
        }
    }

    fn works(self, account: Option<Account>) -> bool {
        let Some(words) = self.words(vec!["/bin/sh".to_owned(), "-c".to_owned(), "exit 0".to_owned()], account) else {
            return false;
        };
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.become_user(account, |uid, gid| {
            use std::os::unix::process::CommandExt as _;
            command.uid(uid).gid(gid);
        });
        command.status().is_ok_and(|status| status.success())
    }

    /// The words that start `command` as `account` in these namespaces; `None` where a program that it takes is not there, or they are
    /// for programs of another user alone.
    pub(crate) fn words(self, command: Vec<String>, account: Option<Account>) -> Option<Vec<String>> {
        let unshare = |more: &[&str], first: &str| {
            let mut words = vec![place("unshare")?];
            words.extend(["--pid", "--mount-proc", "--fork", "--kill-child=KILL"].map(str::to_owned));
            words.extend(more.iter().map(|word| (*word).to_owned()));
            words.extend(["--", "/bin/sh", "-c", first, "/bin/sh"].map(str::to_owned));
            Some(words)
        };
        let mut words = match self {
            Self::Shared => return Some(command),
            Self::OwnProcesses => {
                let Account { uid, gid } = account?;
                let mut words = unshare(&[], FIRST)?;
                words.extend([uid.to_string(), gid.to_string(), place("setpriv")?]);
                words
            }
            Self::OwnUsers => {
                let mut words = unshare(&["--user", "--map-current-user", "--keep-caps"], FIRST_OF_ONE_USER)?;
                words.push(place("setpriv")?);
                words
            }
            Self::OwnProcessesOfRoot => unshare(&[], FIRST_OF_ROOT)?,
        };
        words.extend(command);
        Some(words)
    }

    /// Tells `set` the user and group that the first of [`Self::words`] is to be started as, where it is not this process's.
    pub(crate) fn become_user(self, account: Option<Account>, set: impl FnOnce(u32, u32)) {
        match (self, account) {
            (Self::Shared | Self::OwnUsers, Some(Account { uid, gid })) => set(uid, gid),
            // It needs this process's rights, and changes the user itself, or stays root.
            (Self::OwnProcesses | Self::OwnProcessesOfRoot, _) | (_, None) => {}
        }
    }

    /// The words that do the same for what follows them, where the user can only be changed after something else; none where it need not.
    /// `None` where the program that does it is not there.
    pub(crate) fn changing_user(self, account: Option<Account>) -> Option<Vec<String>> {
        let mut wanted = None;
        self.become_user(account, |uid, gid| wanted = Some((uid, gid)));
        let Some((uid, gid)) = wanted else { return Some(Vec::new()) };
        let (uid, gid) = (format!("--reuid={uid}"), format!("--regid={gid}"));
        Some(vec![place("setpriv")?, uid, gid, "--clear-groups".to_owned(), "--".to_owned()])
    }

    /// `true` if programs with rights that the program lacks run before it does: they must not see what its variables have them load.
    pub(crate) const fn begins_with_rights(self) -> bool {
        match self {
            Self::OwnProcesses | Self::OwnUsers => true,
            Self::Shared | Self::OwnProcessesOfRoot => false,
        }
    }
}

/// `true` of variables that programs which gain rights drop, because they say what is loaded or run: nobody's but the program's own.
pub(crate) fn is_of_the_loader(name: &str) -> bool {
    name.starts_with("LD_") || name.starts_with("BASH_FUNC_") || OF_THE_LOADER.contains(&name)
}

fn place(program: &str) -> Option<String> {
    FOLDERS.into_iter().map(|folder| format!("{folder}/{program}")).find(|place| Path::new(place).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOBODY: Option<Account> = Some(Account { uid: 990, gid: 980 });

    fn words(namespaces: Namespaces, account: Option<Account>) -> Option<String> {
        let words = namespaces.words(["/bin/sh", "-c", "true"].map(str::to_owned).to_vec(), account)?;
        Some(words.join(" "))
    }

    fn started_as(namespaces: Namespaces) -> Option<(u32, u32)> {
        let mut became = None;
        namespaces.become_user(NOBODY, |uid, gid| became = Some((uid, gid)));
        became
    }

    #[test]
    fn whoever_may_make_namespaces_changes_the_user_below_the_first_process() {
        if let (Some(unshare), Some(setpriv)) = (place("unshare"), place("setpriv")) {
            let expected = format!(
                "{unshare} --pid --mount-proc --fork --kill-child=KILL -- /bin/sh -c {FIRST} /bin/sh 990 980 {setpriv} /bin/sh -c true"
            );
            assert_eq!(words(Namespaces::OwnProcesses, NOBODY), Some(expected));
        }
        assert_eq!(words(Namespaces::OwnProcesses, None), None, "there is nobody to become");
        assert_eq!(started_as(Namespaces::OwnProcesses), None);
    }

    #[test]
    fn others_make_them_in_a_user_namespace_as_the_user_that_they_are() {
        if let (Some(unshare), Some(setpriv)) = (place("unshare"), place("setpriv")) {
            let expected = format!(
                "{unshare} --pid --mount-proc --fork --kill-child=KILL --user --map-current-user --keep-caps -- /bin/sh -c \
                 {FIRST_OF_ONE_USER} /bin/sh {setpriv} /bin/sh -c true"
            );
            assert_eq!(words(Namespaces::OwnUsers, NOBODY), Some(expected));
        }
        assert_eq!(started_as(Namespaces::OwnUsers), Some((990, 980)));
    }

    #[test]
    fn a_program_of_root_changes_nothing_but_the_processes_that_it_sees() {
        if let Some(unshare) = place("unshare") {
            let expected = format!(
                "{unshare} --pid --mount-proc --fork --kill-child=KILL -- /bin/sh -c {FIRST_OF_ROOT} /bin/sh /bin/sh -c true"
            );
            assert_eq!(words(Namespaces::OwnProcessesOfRoot, None), Some(expected));
        }
        assert_eq!(started_as(Namespaces::OwnProcessesOfRoot), None);
        let is_of_root = Namespaces::ways(None) == [Namespaces::OwnProcessesOfRoot];
        assert_eq!(is_of_root, rustix::process::geteuid().is_root());
        assert!(!Namespaces::ways(NOBODY).contains(&Namespaces::OwnProcessesOfRoot), "a user of its own is not root");
    }

    #[test]
    fn without_them_a_command_stays_as_it_is() {
        assert_eq!(words(Namespaces::Shared, None).as_deref(), Some("/bin/sh -c true"));
        assert_eq!(started_as(Namespaces::Shared), Some((990, 980)));
    }

    #[test]
    fn variables_that_say_what_is_loaded_are_told_from_others() {
        for of_the_loader in ["LD_PRELOAD", "LD_LIBRARY_PATH", "BASH_FUNC_x%%", "ENV", "GCONV_PATH"] {
            assert!(is_of_the_loader(of_the_loader), "{of_the_loader}");
        }
        for other in ["PATH", "HOME", "LANG", "OLD_PATH", "PYTHONPATH", "ENVIRONMENT"] {
            assert!(!is_of_the_loader(other), "{other}");
        }
    }
}
