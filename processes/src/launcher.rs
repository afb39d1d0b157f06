//! Starts a command by a shell that limits what it may use and then becomes it.
//!
//! The limits of a process can be set by itself alone, between fork and exec, where Rust allows nothing that is safe; set from outside they
//! would come too late for what it starts first.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use crate::{Account, Namespaces};

const SHELL: &str = "/bin/sh";
/// A limit that is lower already stays. Shells disagree about the letter of the number of processes. In a process namespace of its own the
/// shell is the first process and stays: the kernel keeps signals from a first process that does not expect them, and orphans are its to wait for.
const SCRIPT: &str = r#"{ ulimit -c 0; ulimit -t "$1"; ulimit -d "$2"; ulimit -f "$3"; ulimit -n "$4"
[ "$5" = 0 ] || ulimit -u "$5" || ulimit -p "$5"; } 2>/dev/null
[ "$6" = first ] && { shift 6; "$@"; exit "$?"; }
shift 6; exec "$@""#;
/// Shells count the size of files in blocks.
const BLOCKS_A_MB: u64 = 2048;
const KB_A_MB: u64 = 1024;

/// Limits of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Processor time of a process, in seconds.
    pub cpu_s: u32,
    /// Memory that a process may write to, in MiB.
    pub memory_mb: u32,
    /// Largest file it may write, in MiB.
    pub file_mb: u32,
    /// Files and connections that a process holds open.
    pub files: u32,
    /// Processes and threads of its user, all together; not limited when absent, because a user who shares it with this process would count
    /// this process's.
    pub processes: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { cpu_s: 3600, memory_mb: 16 << 10, file_mb: 4 << 10, files: 4096, processes: None }
    }
}

/// A command that is to be started.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'a> {
    /// Program and arguments.
    pub command: &'a [String],
    /// Resources of each of its processes.
    pub limits: Limits,
    /// The user that it runs as; this process's when absent.
    pub account: Option<Account>,
    /// Namespaces of its own.
    pub namespaces: Namespaces,
}

impl Launch<'_> {
    /// The command, limited, as its user and in its namespaces; it begins a process group of its own.
    #[must_use]
    pub fn command(self) -> Command {
        let words = self.namespaces.words(self.words(), self.account);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).process_group(0);
        self.namespaces.become_user(self.account, |uid, gid| {
            command.uid(uid).gid(gid);
        });
        command
    }

    fn words(self) -> Vec<String> {
        let Limits { cpu_s, memory_mb, file_mb, files, processes } = self.limits;
        let mut words = [SHELL, "-c", SCRIPT, SHELL].map(str::to_owned).to_vec();
        words.extend([
            cpu_s.to_string(),
            (u64::from(memory_mb) * KB_A_MB).to_string(),
            (u64::from(file_mb) * BLOCKS_A_MB).to_string(),
            files.to_string(),
            processes.unwrap_or(0).to_string(),
            if self.namespaces == Namespaces::Shared { "one of many" } else { "first" }.to_owned(),
        ]);
        words.extend(self.command.iter().cloned());
        words
    }
}

/// Finds out, as far as can be seen, that `command` cannot be started in `directory`, or from the folders of `path`: the shell would only
/// say so in its own words, as an exit code.
///
/// # Errors
/// With the reason, for people.
pub fn check(command: &[String], directory: Option<&Path>, path: &str) -> Result<(), String> {
    let Some(name) = command.first() else { return Err("its command is empty".to_owned()) };
    let directory = directory.unwrap_or(Path::new("."));
    if !directory.is_dir() {
        return Err(format!("failed to start {name} in {}: there is no such directory", directory.display()));
    }
    let is_there = match name.contains('/') {
        true => directory.join(name).is_file(),
        false => path.split(':').any(|folder| directory.join(folder).join(name).is_file()),
    };
    let place = if name.contains('/') { "" } else { " in PATH" };
    if is_there { Ok(()) } else { Err(format!("failed to start {name}: there is no such program{place}")) }
}
