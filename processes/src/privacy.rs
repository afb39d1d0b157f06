//! Limits on what processes of others can read of this one, and on the rights that they can gain.

/// From now on no process of the same user can read this one's memory and variables, keys among them, unless it may read everybody's.
pub fn keep_to_ourselves() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "failed to hide this process's variables from the programs that it starts");
    }
}

/// Keeps what this thread starts from now on from gaining rights by programs that run as somebody else (`sudo` and its like).
pub fn gain_nothing() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::set_no_new_privs(true) {
        tracing::warn!(%error, "failed to keep programs from others that run as somebody else");
    }
}
