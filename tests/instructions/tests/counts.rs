//! The instructions of hot paths, as callgrind counts them: unlike time, they are the same on a busy machine.
//!
//! `counts.json` has what each path took when it was last looked at, in the build of the tests. `REGATTA_UPDATE=1` writes it anew, for a change
//! that is meant, and for another compiler.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use regatta_tests::regatta::skipped;

/// Paths, and the times that each is gone.
const PATHS: [(&str, u32); 5] = [("prompts", 4), ("questions", 2), ("scores", 2), ("messages", 2), ("records", 4)];
/// Share by which a path may exceed its count: seeds of maps and the addresses of a process move it by less.
const SHARE: f64 = 0.03;

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("counts.json")
}

/// Instructions of a process that goes `name` so many `times`.
fn instructions(name: &str, times: u32) -> u64 {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", env!("CARGO_BIN_EXE_hot-paths"), name]);
    let output = valgrind.arg(times.to_string()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let collected = said.lines().find_map(|line| line.split_once("Collected :"));
    collected.unwrap_or_else(|| panic!("callgrind counts nothing: {said}")).1.trim().parse().unwrap()
}

/// Instructions of going `name` once, without what comes before the first time.
fn once(name: &str, times: u32) -> u64 {
    let (few, many) = (instructions(name, times), instructions(name, 2 * times));
    many.saturating_sub(few) / u64::from(times)
}

/// Sentences about paths that take more than their counts. One that takes less is told of only by `REGATTA_UPDATE`.
fn exceeding(found: &BTreeMap<String, u64>, recorded: &BTreeMap<String, u64>) -> Vec<String> {
    let exceeds = |(name, count): (&String, &u64)| {
        let recorded = *recorded.get(name)?;
        let percent = 100.0 * (*count as f64 / recorded as f64 - 1.0);
        (percent > 100.0 * SHARE)
            .then(|| format!("{name} takes {count} instructions, {percent:.1} % more than {recorded}"))
    };
    found.iter().filter_map(exceeds).collect()
}

#[test]
fn hot_paths_take_no_more_instructions_than_when_they_were_last_looked_at() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return skipped("hot_paths", "there is no valgrind; `apt-get install valgrind` brings it");
    }
    let recorded: BTreeMap<String, u64> = serde_json::from_str(&std::fs::read_to_string(file()).unwrap()).unwrap();
    let is_update = std::env::var_os("REGATTA_UPDATE").is_some();
    if !is_update && !PATHS.iter().all(|(name, _)| recorded.contains_key(*name)) {
        return skipped("hot_paths", "a path has no count yet; REGATTA_UPDATE=1 scripts/test -p regatta-instructions");
    }
    let found: BTreeMap<String, u64> =
        PATHS.into_iter().map(|(name, times)| (name.to_owned(), once(name, times))).collect();
    if is_update {
        std::fs::write(file(), serde_json::to_string_pretty(&found).unwrap() + "\n").unwrap();
        return;
    }
    let exceeding = exceeding(&found, &recorded);
    assert!(exceeding.is_empty(), "{}; if that is meant, REGATTA_UPDATE=1", exceeding.join("; "));
}

#[test]
fn a_path_that_takes_more_than_its_count_is_named_with_both() {
    let of = |counts: [u64; 2]| BTreeMap::from([("a".to_owned(), counts[0]), ("b".to_owned(), counts[1])]);
    assert!(exceeding(&of([1_029, 500]), &of([1_000, 1_000])).is_empty());
    let said = exceeding(&of([1_029, 1_100]), &of([1_000, 1_000]));
    assert_eq!(said, ["b takes 1100 instructions, 10.0 % more than 1000"]);
    assert!(exceeding(&of([9, 9]), &BTreeMap::new()).is_empty(), "what has no count is held to none");
}
