//! The budget of a process that was told none: a part of the memory that it may have.

use std::path::Path;

/// Largest budget that is taken by itself, in bytes. One answer has a quarter of it, 32 MiB; seven of those at once took a worker to 220 MiB.
const MOST: u64 = 128 << 20;
/// Smallest one, in bytes: an answer of 8 MiB is still read.
const LEAST: u64 = 32 << 20;
/// Share of the machine's or the container's memory.
const PART: u64 = 4;
/// Limits of control groups, version 2 and 1. Inside of a container, the process's own group is the root.
const LIMITS: [&str; 2] = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];

/// A quarter of the memory of the container or machine, between 32 and 128 MiB.
#[must_use]
pub fn default_bytes() -> u64 {
    budget_of(memory_bytes())
}

/// Bytes of memory of the container or machine; `None` where the system does not tell.
#[must_use]
pub fn memory_bytes() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(Path::new(path)).ok();
    let limits = LIMITS.iter().filter_map(|path| limit(&read(path)?));
    let physical = read("/proc/meminfo").and_then(|text| physical(&text));
    limits.chain(physical).min()
}

/// The budget where so much memory can be had; `None` is unknown.
fn budget_of(memory: Option<u64>) -> u64 {
    memory.map_or(MOST, |memory| (memory / PART).clamp(LEAST, MOST))
}

/// Limit of a control group; `None` for none.
fn limit(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// `MemTotal` of `/proc/meminfo`, in bytes.
fn physical(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_takes_a_quarter_of_its_memory_within_bounds() {
        assert_eq!(budget_of(Some(16 << 30)), 128 << 20);
        assert_eq!(budget_of(Some(256 << 20)), 64 << 20);
        assert_eq!(budget_of(Some(64 << 20)), 32 << 20);
        assert_eq!(budget_of(None), 128 << 20);
    }

    #[test]
    fn limits_are_read_as_the_kernel_writes_them() {
        assert_eq!((limit("536870912\n"), limit("max\n")), (Some(512 << 20), None));
        assert_eq!(physical("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16 << 20));
        assert_eq!(physical("MemFree: 1 kB\n"), None);
    }
}
