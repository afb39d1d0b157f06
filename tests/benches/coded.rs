//! CPU per session of a benchmark in Python: Regatta's own process, and the program's processes apart.
//!
//! `cargo bench -p regatta-tests --bench coded [-- TRIALS]`. It fails when Regatta takes more than its goal in a build with optimisations, for
//! thousands of sessions: what starts and ends a run is part of it. A process that has ended and was not waited for still tells its own times and
//! those of the children that it has waited for.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement that cannot go on has failed; it prints its figures"
)]

use std::process::Stdio;

use regatta_tests::regatta::{binary, workspace};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// Most CPU of Regatta a session, in milliseconds.
const GOAL_MS: f64 = 1.0;
/// Fewest sessions by which a session's share can be told from that of the run.
const SESSIONS_MIN: f64 = 5_000.0;
/// Position of the first of utime, stime, cutime and cstime in `/proc/PID/stat`, after the name in parentheses.
const TIMES: usize = 11;
/// Ticks of these times in a second.
const TICKS: f64 = 100.0;

fn main() {
    let trials: u32 = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(625);
    println!("{:<28} {:>9} {:>12} {:>16} {:>16}", "", "sessions", "sessions/s", "Regatta ms", "program ms");
    let measurements = [
        ("two replies a session", "parcels", ", settings: [rules=short]", 8),
        ("the same, twice the cells", "parcels", ", settings: [rules=short, rules=long]", 16),
        ("worlds that are served", "router", "", 6),
    ];
    let is_dear = measurements.map(|(name, folder, settings, items)| measure(name, (folder, settings), items, trials));
    assert!(!is_dear.contains(&true), "a session takes more than {GOAL_MS} ms of CPU");
}

/// Runs the miniature `folder`, which has so many sessions a trial; `true` if they cost too much.
fn measure(name: &str, (miniature, settings): (&str, &str), items: u32, trials: u32) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let spec = folder.path().join("spec.yaml");
    let text = format!(
        "name: coded\ntrials: {trials}\nbenchmarks:\n  {miniature}: {{ data: '{}'{settings}, roles: {{ user: sim/oracle }} }}\n\
         endpoints:\n  sim: {{ kind: simulated, limits: {{ concurrency: 64 }} }}\nmodels: [sim/noisy-1]\n",
        workspace().join("examples/benchmarks").join(miniature).display()
    );
    std::fs::write(&spec, text).unwrap();
    let mut command = std::process::Command::new(binary().unwrap());
    command.arg("run").arg(&spec).arg("--output").arg(folder.path().join("run"));
    let begun = std::time::Instant::now();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pid = Pid::from_child(&child);
    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
    let took = begun.elapsed().as_secs_f64();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    assert!(child.wait().unwrap().success());
    let fields = stat.rsplit_once(')').unwrap().1.split_whitespace().skip(TIMES);
    let times: Vec<f64> = fields.take(4).map(|ticks| ticks.parse::<f64>().unwrap() / TICKS).collect();
    let sessions = f64::from(trials * items);
    let a_session = |seconds: f64| 1e3 * seconds / sessions;
    println!(
        "{name:<28} {sessions:>9} {:>12.0} {:>16.4} {:>16.4}",
        sessions / took,
        a_session(times[0] + times[1]),
        a_session(times[2] + times[3])
    );
    !cfg!(debug_assertions) && sessions >= SESSIONS_MIN && a_session(times[0] + times[1]) > GOAL_MS
}
