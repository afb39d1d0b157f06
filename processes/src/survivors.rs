//! Processes that have left their program's group and would outlive it.

/// Ends every process that still has the `home` of one start among its variables, wherever it went.
#[cfg(target_os = "linux")]
pub fn end(home: &std::path::Path) {
    use rustix::process::{Pid, Signal, kill_process};
    use std::os::unix::ffi::OsStrExt as _;

    let marker = [b"HOME=".as_slice(), home.as_os_str().as_bytes()].concat();
    // What is being forked while it is looked for is found the next time; what forks faster than this ends is not waited for.
    for _ in 0..ROUNDS_MAX {
        let mut found = 0;
        let Ok(processes) = std::fs::read_dir("/proc") else { return };
        for process in processes.flatten() {
            let id = process.file_name().to_str().and_then(|name| Pid::from_raw(name.parse().ok()?));
            let Some(id) = id else { continue };
            let is_ours = |variables: &[u8]| variables.split(|byte| *byte == 0).any(|variable| variable == marker);
            if std::fs::read(process.path().join("environ")).is_ok_and(|variables| is_ours(&variables)) {
                // One that has ended meanwhile is no error.
                let _ = kill_process(id, Signal::KILL);
                found += 1;
            }
        }
        if found == 0 {
            return;
        }
    }
    tracing::warn!(home = %home.display(), "processes of a program were still there after it had ended");
}

#[cfg(target_os = "linux")]
const ROUNDS_MAX: usize = 50;

/// Other systems do not show the variables of processes.
#[cfg(not(target_os = "linux"))]
pub fn end(_home: &std::path::Path) {}
