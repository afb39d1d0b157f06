//! Processes of this machine, as `/proc` has them.

use std::fs;

/// Threads of all processes whose real user is `uid`; `None` where there is no `/proc`.
pub(crate) fn threads_of(uid: u32) -> Option<u64> {
    let entries = fs::read_dir("/proc").ok()?;
    let processes = entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit())));
    // One that has ended meanwhile has no status. The owner of its folder would not do: that of a hidden process is root's.
    let statuses = processes.filter_map(|process| fs::read_to_string(process.path().join("status")).ok());
    Some(
        statuses
            .filter(|status| field(status, "Uid:") == Some(u64::from(uid)))
            .filter_map(|status| field(&status, "Threads:"))
            .sum(),
    )
}

/// First number of the line that begins with `name`.
fn field(status: &str, name: &str) -> Option<u64> {
    status.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_counted_by_the_real_user_of_their_process() {
        let status = "Name:\tUid: 7\nState:\tS\nUid:\t1000\t0\t0\t0\nThreads:\t12\n";
        assert_eq!((field(status, "Uid:"), field(status, "Threads:")), (Some(1000), Some(12)));
        assert_eq!(field("Name:\tx\n", "Uid:"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_is_among_those_of_its_user() {
        assert!(threads_of(rustix::process::getuid().as_raw()).unwrap() >= 1);
        assert_eq!(threads_of(u32::MAX - 7), Some(0));
    }
}
