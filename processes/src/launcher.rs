//! Starts a command by a shell that limits what it may use and then becomes it.
//!
//! The limits of a process can be set by itself alone, between fork and exec, where Rust allows nothing that is safe; set from outside they
//! would come too late for what it starts first.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use crate::limits::PROCESSES_MAX;
use crate::namespaces::is_of_the_loader;
use crate::running::threads_of;
use crate::{Account, Cgroup, Limits, Namespaces};

/// Sets variables of a program that the programs before it must not obey.
const ENV: &str = "/usr/bin/env";

const SHELL: &str = "/bin/sh";
/// A limit that is lower already stays. Shells disagree about the letter of the number of processes. The hard limit of processor time is
/// higher than the soft one, because at the hard one the system sends SIGKILL, which says nothing of the reason.
const SCRIPT: &str = r#"{ ulimit -c 0; ulimit -S -t "$1"; ulimit -H -t $(($1 + 5)); ulimit -d "$2"; ulimit -f "$3"; ulimit -n "$4"
[ "$5" = 0 ] || ulimit -u "$5" || ulimit -p "$5"; } 2>/dev/null
shift 5; exec "$@""#;
/// Enters a control group before anything can be forked, and becomes what follows.
const ENTER: &str = r#"echo 0 > "$0" || exit 126; exec "$@""#;
/// Shells count the size of files in blocks.
const BLOCKS_A_MB: u64 = 2048;
const KB_A_MB: u64 = 1024;
/// Rights of a file that somebody may execute.
const EXECUTABLE: u32 = 0o111;

/// A command that is to be started.
#[derive(Debug, Clone)]
pub struct Launch<'a> {
    /// Program and arguments.
    pub command: &'a [String],
    /// All variables that it sees.
    pub variables: BTreeMap<OsString, OsString>,
    /// Resources of each of its processes.
    pub limits: Limits,
    /// The user that it runs as; this process's when absent.
    pub account: Option<Account>,
    /// Namespaces of its own.
    pub namespaces: Namespaces,
    /// Control group of its own, where the system gives one.
    pub cgroup: Option<&'a Cgroup>,
}

impl Launch<'_> {
    /// The command, limited, as its user and in its namespaces; it begins a process group of its own.
    ///
    /// # Errors
    /// In words, when a program is gone by which its namespaces are made, or a variable cannot be told to it.
    pub fn command(mut self) -> Result<Command, String> {
        let gone = || "unshare and setpriv of util-linux are not there any more".to_owned();
        let limited = self.words()?;
        let mut words = self.namespaces.words(limited, self.account).ok_or_else(gone)?;
        if let Some(cgroup) = self.cgroup {
            let mut entering = [SHELL, "-c", ENTER].map(str::to_owned).to_vec();
            let entrance = cgroup.entrance();
            entering.push(
                entrance
                    .into_os_string()
                    .into_string()
                    .map_err(|path| format!("{} is not valid UTF-8", path.display()))?,
            );
            entering.extend(self.namespaces.changing_user(self.account).ok_or_else(gone)?);
            entering.append(&mut words);
            words = entering;
        }
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).process_group(0).env_clear().envs(self.variables);
        if self.cgroup.is_none() {
            self.namespaces.become_user(self.account, |uid, gid| {
                command.uid(uid).gid(gid);
            });
        }
        Ok(command)
    }

    /// The words that limit the command and become it. Takes the variables that they set themselves.
    fn words(&mut self) -> Result<Vec<String>, String> {
        let Limits { cpu_s, memory_mb, file_mb, files, processes, cpus: _ } = self.limits;
        let mut words = [SHELL, "-c", SCRIPT, SHELL].map(str::to_owned).to_vec();
        words.extend([
            cpu_s.to_string(),
            (u64::from(memory_mb) * KB_A_MB).to_string(),
            (u64::from(file_mb) * BLOCKS_A_MB).to_string(),
            files.to_string(),
            processes.map_or_else(|| self.usual_processes(), u64::from).to_string(),
        ]);
        let begins_with_rights = self.cgroup.is_some() || self.namespaces.begins_with_rights();
        let own = if begins_with_rights { self.take_loaders_variables()? } else { Vec::new() };
        if !own.is_empty() {
            words.push(ENV.to_owned());
            words.extend(own);
        }
        words.extend(self.command.iter().cloned());
        Ok(words)
    }

    /// Most processes and threads of the program's user unless the limits say; 0, which is no limit, where they cannot be counted.
    fn usual_processes(&self) -> u64 {
        let uid = self.account.map_or_else(|| rustix::process::geteuid().as_raw(), |account| account.uid);
        threads_of(uid).map_or(0, |running| running + u64::from(PROCESSES_MAX))
    }

    /// Variables that say what is loaded, as `NAME=VALUE`. They are an operator's words and no secrets, so that others may see them in a list
    /// of processes.
    fn take_loaders_variables(&mut self) -> Result<Vec<String>, String> {
        let is_loaders = |name: &OsString| name.to_str().is_some_and(is_of_the_loader);
        let (own, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
            std::mem::take(&mut self.variables).into_iter().partition(|(name, _)| is_loaders(name));
        self.variables = others;
        own.into_iter()
            .map(|(name, value)| {
                let assigned = [name.clone(), "=".into(), value].into_iter().collect::<OsString>();
                assigned.into_string().map_err(|_| format!("the variable {} is not valid UTF-8", name.display()))
            })
            .collect()
    }
}

/// Finds out, as far as can be seen, that `command` cannot be started in `directory`, or from the folders of `path`: the shell would only
/// say so in its own words, as an exit code.
///
/// # Errors
/// With the reason, for people.
pub fn check(command: &[String], directory: Option<&Path>, path: &str) -> Result<(), String> {
    check_by(Path::new(SHELL), command, directory, path)
}

fn check_by(shell: &Path, command: &[String], directory: Option<&Path>, path: &str) -> Result<(), String> {
    let Some(name) = command.first() else { return Err("its command is empty".to_owned()) };
    if !shell.exists() {
        return Err(format!(
            "failed to start {name}: there is no {} here, by which programs are limited; run this role in an image that has one, as that of \
             the target `agents` of deploy/Dockerfile",
            shell.display()
        ));
    }
    let directory = directory.unwrap_or(Path::new("."));
    if !directory.is_dir() {
        return Err(format!("failed to start {name} in {}: there is no such directory", directory.display()));
    }
    let is_path = name.contains('/');
    let folders =
        if is_path { vec![directory.to_owned()] } else { path.split(':').map(|at| directory.join(at)).collect() };
    let found = folders.iter().filter_map(|folder| std::fs::metadata(folder.join(name)).ok());
    let modes: Vec<u32> = found.filter(Metadata::is_file).map(|file| file.permissions().mode()).collect();
    if modes.is_empty() {
        let place = if is_path { "" } else { " in PATH" };
        return Err(format!("failed to start {name}: there is no such program{place}"));
    }
    if modes.iter().all(|mode| mode & EXECUTABLE == 0) {
        return Err(format!("failed to start {name}: it is not executable (`chmod +x` makes it so)"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_without_a_shell_starts_nothing_and_says_which_one_does() {
        let command = ["agent".to_owned()];
        let folder = tempfile::tempdir().unwrap();
        make_program(&folder.path().join("agent"), 0o755);
        let path = folder.path().to_str().unwrap();
        let without = check_by(&folder.path().join("sh"), &command, None, path).unwrap_err();
        assert!(without.contains("/sh here") && without.contains("`agents` of deploy/Dockerfile"), "{without}");
        assert_eq!(check_by(&folder.path().join("agent"), &command, None, path), Ok(()));
    }

    fn make_program(path: &Path, mode: u32) {
        std::fs::write(path, "").unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_program_is_there_if_one_of_its_places_has_a_file_that_may_be_executed() {
        let folder = tempfile::tempdir().unwrap();
        for (name, mode) in [("first", 0o644), ("second", 0o755)] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
            make_program(&folder.path().join(name).join("agent"), mode);
        }
        let at = |name: &str, path: &str| check(&[name.to_owned()], Some(folder.path()), path);
        assert_eq!(at("agent", "first:second"), Ok(()));
        assert_eq!(at("second/agent", ""), Ok(()));
        for (name, path) in [("agent", "first"), ("first/agent", "second")] {
            let plain = at(name, path).unwrap_err();
            assert!(plain.contains("it is not executable (`chmod +x` makes it so)"), "{plain}");
        }
        assert_eq!(at("agnet", "first").unwrap_err(), "failed to start agnet: there is no such program in PATH");
        assert_eq!(at("./agent", "first").unwrap_err(), "failed to start ./agent: there is no such program");
    }
}
