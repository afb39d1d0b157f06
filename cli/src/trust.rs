//! Trust in the directory of a run. One that this user began on this machine holds the user's own spec; any other may hold a stranger's,
//! who chose its commands, its addresses and the names of the keys that go there.
//!
//! Nothing in a directory tells one from the other, because whoever made the directory made all of it. So the locks of sweeps that were
//! planned here are remembered elsewhere, by their digests: as empty files in a folder of the user's own. A lock that was changed has
//! another digest, and a directory that was moved or copied is trusted as before.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use regatta_backends::Blobs;
use regatta_benchmarks::Registry;
use regatta_files::own_folder;
use regatta_proto::{Digest, EndpointKind, EndpointName, EndpointSpec, SweepLock};
use regatta_worker::Policy;

use crate::benchmarks::{BENCHMARKS, READ_BENCHMARKS};
use crate::exit::BadConfiguration;
use crate::output;
use crate::policy::{of_person, with_file};

/// Rights of a run's spec on this machine.
#[derive(Clone)]
pub(crate) struct Rights {
    /// The spec is this user's own, or is trusted as if it were.
    pub(crate) is_own: bool,
    /// Commands, keys and addresses.
    pub(crate) policy: Arc<Policy>,
    /// Benchmarks, whose programs are started only for the user's own.
    pub(crate) benchmarks: Registry,
}

impl Rights {
    /// Rights of a spec that the user wrote or chose, with what the policy file adds.
    pub(crate) fn own(file: Option<&Path>) -> anyhow::Result<Self> {
        Ok(Self { is_own: true, policy: of_person(file)?, benchmarks: BENCHMARKS })
    }

    /// Rights of a stranger's spec, which are those of one that was submitted to a deployment.
    pub(crate) fn foreign(file: Option<&Path>) -> anyhow::Result<Self> {
        let policy = Arc::new(with_file(Policy::closed(), file)?);
        Ok(Self { is_own: false, policy, benchmarks: READ_BENCHMARKS })
    }

    /// Rights of the run that has these locks: its user's own if every lock was planned here.
    pub(crate) fn of(locks: &[Digest], wish: Wish<'_>) -> anyhow::Result<Self> {
        if wish.trusts {
            locks.iter().for_each(remember);
        }
        let is_own = wish.trusts || are_remembered(locks);
        if is_own { Self::own(wish.policy) } else { Self::foreign(wish.policy) }
    }
}

/// Benchmarks by which the run that has these locks is read.
pub(crate) fn benchmarks_of(locks: &[Digest]) -> Registry {
    if are_remembered(locks) { BENCHMARKS } else { READ_BENCHMARKS }
}

/// True if each of these locks was planned here. A run without any may be anybody's.
fn are_remembered(locks: &[Digest]) -> bool {
    !locks.is_empty() && locks.iter().all(is_remembered)
}

/// Digests of all locks in the stores of a run, whatever its ledger and its reports say that it holds. Some file systems read a file by a name
/// in other letters, so a lock is one whatever its letters.
pub(crate) async fn locks_in(blobs: &Blobs) -> anyhow::Result<Vec<Digest>> {
    let keys = blobs.list("locks/").await?;
    let digest = |key: &String| key.to_ascii_lowercase().strip_prefix("locks/")?.strip_suffix(".json")?.parse().ok();
    Ok(keys.iter().filter_map(digest).collect())
}

/// The command line about a directory that may be a stranger's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish<'a> {
    /// `--trust`
    pub(crate) trusts: bool,
    /// `--policy`
    pub(crate) policy: Option<&'a Path>,
}

/// Says what a run that was not begun here may not, and how that changes.
pub(crate) fn tell_of_foreign(what: &str) {
    output::note(&format!(
        "{what} was not begun by this user on this machine{}: its spec starts no program, reaches no private address, and gets no key but \
         a provider's own at that provider (or what --policy allows); if you trust whoever wrote it, give --trust",
        if folder().is_none() { ", or there was no home (HOME, XDG_STATE_HOME) to remember it in" } else { "" }
    ));
}

/// Refuses a stranger's run whose sessions would all fail, as none of its commands may be started and no endpoint on this machine reached.
pub(crate) fn check_foreign(lock: &SweepLock) -> anyhow::Result<()> {
    if let Some(name) = lock.agents.iter().find_map(|(name, agent)| (!agent.command.is_empty()).then_some(name)) {
        let problem = format!("agents.{name}: a run that was not begun here starts no command of its own");
        return Err(BadConfiguration(format!("{problem}; give --trust to start it")).into());
    }
    let used = lock.used_endpoints();
    check_simulated(lock.endpoints.iter().filter(|(name, _)| used.contains(name)))
}

/// Refuses simulated endpoints of a stranger's run: they are at a private address, that of this machine.
pub(crate) fn check_simulated<'a>(
    mut used: impl Iterator<Item = (&'a EndpointName, &'a EndpointSpec)>,
) -> anyhow::Result<()> {
    match used.find(|(_, endpoint)| endpoint.kind == EndpointKind::Simulated) {
        Some((name, _)) => {
            let problem =
                format!("endpoints.{name}: a run that was not begun here reaches no endpoint on this machine");
            Err(BadConfiguration(format!("{problem}, simulated ones included; give --trust to start it")).into())
        }
        None => Ok(()),
    }
}

/// Remembers that the lock of this digest is this user's own. Where it cannot be remembered, the run is asked about later.
pub(crate) fn remember(lock: &Digest) {
    let Some(folder) = folder() else { return };
    if let Err(error) = write(&folder, lock) {
        tracing::info!(%error, "failed to remember that this run was begun here; `resume` and its like will ask for --trust");
    }
}

fn write(folder: &Path, lock: &Digest) -> io::Result<()> {
    if let Some(ours) = folder.parent() {
        own_folder(ours)?;
    }
    own_folder(folder)?;
    let path = folder.join(lock.to_string());
    if path.is_file() { Ok(()) } else { regatta_files::write(&path, b"") }
}

/// `true` if the lock was planned here.
pub(crate) fn is_remembered(lock: &Digest) -> bool {
    // A folder that others could have written to remembers nothing.
    folder().is_some_and(|folder| own_folder(&folder).is_ok() && folder.join(lock.to_string()).is_file())
}

/// `$XDG_STATE_HOME/regatta/begun`, else `~/.local/state/regatta/begun`; `None` without either.
fn folder() -> Option<PathBuf> {
    let given = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = given("XDG_STATE_HOME").or_else(|| Some(given("HOME")?.join(".local/state")))?;
    base.is_absolute().then(|| base.join("regatta/begun"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn locks_are_remembered_in_files_of_this_user_alone() {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join("regatta/begun");
        let lock = Digest::of(b"lock");
        for _ in 0..2 {
            write(&folder, &lock).unwrap();
        }
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&folder.join(lock.to_string()))), (0o700, 0o600));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn a_strangers_run_starts_nothing_and_is_refused_with_the_way_to_trust_it() {
        let foreign = Rights::foreign(None).unwrap();
        assert!(!foreign.is_own && Rights::own(None).unwrap().is_own);
        let simulated = EndpointSpec::of_kind(EndpointKind::Simulated);
        let name = "sim".parse().unwrap();
        let error = check_simulated([(&name, &simulated)].into_iter()).unwrap_err().to_string();
        assert!(error.starts_with("endpoints.sim: ") && error.ends_with("give --trust to start it"), "{error}");
        let real = EndpointSpec::of_kind(EndpointKind::Openai);
        check_simulated([(&name, &real)].into_iter()).unwrap();
    }
}
