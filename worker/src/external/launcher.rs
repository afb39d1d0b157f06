//! Starts a command by a shell that limits what it may use and then becomes it.
//!
//! The limits of a process can be set by itself alone, between fork and exec, where Rust allows nothing that is safe; set from outside they
//! would come too late for what it starts first.

use std::path::Path;

use crate::policy::{AgentLimits, Program};

const SHELL: &str = "/bin/sh";
/// A limit that is lower already stays. Shells disagree about the letter of the number of processes.
const SCRIPT: &str = r#"{ ulimit -c 0; ulimit -t "$1"; ulimit -d "$2"; ulimit -f "$3"; ulimit -n "$4"
[ "$5" = 0 ] || ulimit -u "$5" || ulimit -p "$5"; } 2>/dev/null
shift 5; exec "$@""#;
/// Shells count the size of files in blocks.
const BLOCKS_A_MB: u64 = 2048;
const KB_A_MB: u64 = 1024;

/// The words that start `program`.
pub(super) fn words(program: &Program) -> Vec<String> {
    let AgentLimits { cpu_s, memory_mb, file_mb, files, processes } = program.limits;
    let mut words = [SHELL, "-c", SCRIPT, SHELL].map(str::to_owned).to_vec();
    words.extend([
        cpu_s.to_string(),
        (u64::from(memory_mb) * KB_A_MB).to_string(),
        (u64::from(file_mb) * BLOCKS_A_MB).to_string(),
        files.to_string(),
        processes.unwrap_or(0).to_string(),
    ]);
    words.extend(program.command.iter().cloned());
    words
}

/// Reason why `program` cannot be started, as far as can be seen: the shell would only say so in its own words, as an exit code.
pub(super) fn check(program: &Program, path: &str) -> Result<(), String> {
    let Some(name) = program.command.first() else { return Err("its command is empty".to_owned()) };
    let directory = program.directory.as_deref().unwrap_or(Path::new("."));
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
