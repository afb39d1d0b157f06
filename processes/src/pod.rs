//! The two programs of Regatta in a pod of Kubernetes. The first container of the pod installs this program in a volume of the pod; the second
//! starts it from there in the agent's image, and it becomes the agent. So an agent reads its task from standard input, and its standard error
//! is kept apart from its output, which a pod's log does not do.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::LinkedProgram;

/// First argument by which a program of Regatta knows that it is started in a container.
pub(crate) const RELAY: &str = "container-relay";
/// Second arguments of this program.
pub(crate) const INSTALL: &str = "install";
pub(crate) const BECOME: &str = "become";

/// Arguments of a program that copies itself, with what it is linked to, into `folder`.
#[must_use]
pub fn install_arguments(folder: &str) -> Vec<String> {
    [RELAY, INSTALL, folder].map(str::to_owned).to_vec()
}

/// Arguments of a program that becomes `command`, which reads `task` from its standard input, writes its standard error to the end of
/// `errors`, and holds at most `files` files open.
pub fn become_arguments(task: &str, errors: &str, files: u32, command: &[String]) -> Vec<String> {
    let files = files.to_string();
    let own = [RELAY, BECOME, task, errors, &files].map(str::to_owned);
    own.into_iter().chain(command.iter().cloned()).collect()
}

pub(crate) fn install(folder: &Path) -> io::Result<()> {
    for (file, name) in LinkedProgram::find(None).map_err(io::Error::other)?.files() {
        let place = folder.join(name);
        place.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::copy(file, &place)
            .map_err(|error| io::Error::new(error.kind(), format!("failed to write {}: {error}", place.display())))?;
    }
    Ok(())
}

/// Returns only when that failed.
pub(crate) fn become_program(task: &Path, errors: &Path, files: u64, command: &[OsString]) -> io::Error {
    let failed = |path: &Path, error: io::Error| {
        io::Error::new(error.kind(), format!("failed to open {}: {error}", path.display()))
    };
    let task = match File::open(task) {
        Ok(opened) => opened,
        Err(error) => return failed(task, error),
    };
    let errors = match OpenOptions::new().append(true).create(true).open(errors) {
        Ok(opened) => opened,
        Err(error) => return failed(errors, error),
    };
    limit(Resource::Nofile, files);
    limit(Resource::Core, 0);
    let Some((program, arguments)) = command.split_first() else { return io::ErrorKind::InvalidInput.into() };
    let error = Command::new(program).args(arguments).stdin(task).stderr(errors).exec();
    io::Error::new(error.kind(), format!("failed to start {}: {error}", OsStr::new(program).display()))
}

/// A limit that is lower already stays.
fn limit(resource: Resource, most: u64) {
    let most = getrlimit(resource).maximum.map_or(most, |known| known.min(most));
    // To lower a limit is always allowed.
    let _ = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_installed_with_what_it_is_linked_to() {
        let folder = tempfile::tempdir().unwrap();
        install(folder.path()).unwrap();
        let words = LinkedProgram::find(None).unwrap().words(folder.path().to_str().unwrap());
        let (program, arguments) = words.split_first().unwrap();
        let listed = Command::new(program).args(arguments).arg("--list").output().unwrap();
        assert!(String::from_utf8_lossy(&listed.stdout).contains("pod::tests"), "{listed:?}");
    }

    #[test]
    fn a_task_that_is_not_there_is_named() {
        let error = become_program(Path::new("/no/such/task"), Path::new("/dev/null"), 16, &["true".into()]);
        assert!(error.to_string().starts_with("failed to open /no/such/task: "), "{error}");
    }
}
