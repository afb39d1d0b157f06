//! `regatta repair` on runs whose files were lost or damaged, with an endpoint that keeps books: nothing is paid for twice, and no number
//! is another one.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use regatta_tests::referee::Referee;
use regatta_tests::regatta::{Process, finish, get_json, regatta, workspace};
use regatta_tests::waiting::until;

/// A run of 24 sessions or more, and the endpoint that answered it.
struct Stage {
    folder: tempfile::TempDir,
    server: Process,
    spec: PathBuf,
}

impl Stage {
    async fn set(trials: u32, latency_ms: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = workspace().join("examples/data/worfbench");
        let mut simulate = regatta().unwrap();
        simulate.args(["simulate", "llm", "--listen", "127.0.0.1:0"]);
        simulate.args(["--data", &format!("worfbench={}", data.display())]);
        simulate.args(["--simulation", &format!("latency: {{ median_ms: {latency_ms}, spread: 1.5 }}")]);
        let server = Process::start_and_read(simulate).await.unwrap();
        let text = format!(
            "name: mended\nseed: 3\ntrials: {trials}\nbenchmarks:\n  \
             worfbench: {{ data: {}, settings: [two-shot], judge: sim/lexical }}\nendpoints:\n  \
             sim: {{ kind: openai, base_url: {}, api_key_env: none, identify_sessions: true, limits: {{ concurrency: 16 }} }}\n\
             models:\n  - {{ id: sim/oracle, price: {{ input_per_mtok: 1, output_per_mtok: 2 }} }}\n",
            data.display(),
            server.first_line
        );
        let spec = folder.path().join("mended.yaml");
        std::fs::write(&spec, text).unwrap();
        Self { folder, server, spec }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    async fn run(&self, directory: &Path) -> Output {
        let mut command = regatta().unwrap();
        command.arg("run").arg(&self.spec).arg("--output").arg(directory);
        finish(command).await.unwrap()
    }

    /// Calls of the model under test that the endpoint has answered.
    async fn calls(&self) -> u64 {
        let counters = self.server.first_line.replace("/v1", "/simulator/counters");
        get_json(&counters).await.unwrap()["answered"]["oracle"].as_u64().unwrap_or(0)
    }

    /// A copy of `directory`, links and all.
    fn copy(&self, directory: &Path, name: &str) -> PathBuf {
        let copy = self.at(name);
        let status = std::process::Command::new("cp").arg("-a").arg(directory).arg(&copy).status().unwrap();
        assert!(status.success());
        copy
    }
}

async fn repair(directory: &Path, options: &[&str]) -> Output {
    let mut command = regatta().unwrap();
    command.arg("repair").arg(directory).args(options);
    finish(command).await.unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn results(directory: &Path) -> String {
    std::fs::read_to_string(directory.join("results.jsonl")).unwrap()
}

/// Files of the run, but for those that say who works there.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![directory.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().unwrap() != "lock" {
                found.insert(path.clone(), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

fn only_entry(folder: &Path) -> PathBuf {
    std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path()
}

fn stored(directory: &Path) -> PathBuf {
    only_entry(&directory.join("store/blobs/sweeps"))
}

fn remove(paths: &[PathBuf]) {
    for path in paths {
        std::fs::remove_file(path).unwrap();
    }
}

/// A segment, in the store and in the run's directory.
fn segment(directory: &Path) -> [PathBuf; 2] {
    let segment = only_entry(&stored(directory).join("transcripts"));
    let linked = directory.join("transcripts").join(segment.file_name().unwrap());
    [segment, linked]
}

fn change(path: &Path, change: impl Fn(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).unwrap();
    change(&mut bytes);
    // In place: both links of a file are damaged.
    std::fs::write(path, bytes).unwrap();
}

type Damage = fn(&Path);

/// Name, damage, words of the first finding.
const DAMAGES: [(&str, Damage, &str); 15] = [
    ("missing ledger", |run| remove(&[run.join("store/ledger.sqlite")]), "ledger: it is gone"),
    ("empty ledger", |run| change(&run.join("store/ledger.sqlite"), Vec::clear), "ledger: it is gone"),
    (
        "truncated ledger",
        |run| change(&run.join("store/ledger.sqlite"), |bytes| bytes.truncate(bytes.len() / 2)),
        "ledger: it is damaged",
    ),
    (
        "overwritten ledger",
        |run| change(&run.join("store/ledger.sqlite"), |bytes| bytes[4096..16384].fill(0x5a)),
        "ledger: it is damaged",
    ),
    (
        "ledger without its beginning",
        |run| change(&run.join("store/ledger.sqlite"), |bytes| bytes[..100].fill(0)),
        "ledger: it is damaged",
    ),
    (
        "changed counters",
        |run| {
            let ledger = rusqlite::Connection::open(run.join("store/ledger.sqlite")).unwrap();
            let fewer = "recorded = recorded - 1, settled = settled - 1, measured = measured - 1";
            ledger.execute(&format!("UPDATE cells SET {fewer}, known = known + 1, dispatched = 999"), []).unwrap();
        },
        "the counters of 2 cells are not those of their sessions",
    ),
    ("missing segment", |run| remove(&segment(run)), "transcripts: 1 files are missing"),
    ("segment missing in the store", |run| remove(&segment(run)[..1]), "missing or damaged in the store"),
    (
        "flipped bit in a segment",
        |run| change(&segment(run)[0], |bytes| bytes[40] ^= 4),
        "transcripts: 1 files are damaged",
    ),
    (
        "deleted results",
        |run| {
            for name in ["results.jsonl", "summary.json"] {
                remove(&[run.join(name), stored(run).join(name)]);
            }
        },
        "documents: results.jsonl and summary.json are missing",
    ),
    ("changed results", |run| change(&run.join("results.jsonl"), |bytes| bytes[9] ^= 1), "not what the ledger says"),
    ("missing lock", |run| remove(&[only_entry(&run.join("store/blobs/locks"))]), "lock: locks/"),
    (
        "missing lock and ledger",
        |run| remove(&[only_entry(&run.join("store/blobs/locks")), run.join("store/ledger.sqlite")]),
        "lock: it is gone",
    ),
    ("damaged accounts", |run| std::fs::write(run.join("store/accounts.json"), "[{").unwrap(), "accounts: "),
    (
        "damaged reserve",
        |run| std::fs::write(run.join("store/reserve"), [0x5a; 4096]).unwrap(),
        "reserve: what it holds is damaged",
    ),
];

#[tokio::test]
async fn every_damage_to_an_ended_run_is_repaired_without_a_call_and_gives_the_same_results() {
    let stage = Stage::set(2, 1).await;
    let sound = stage.at("sound");
    assert_eq!(stage.run(&sound).await.status.code(), Some(0));
    let (expected, paid) = (results(&sound), stage.calls().await);
    let untouched = repair(&sound, &[]).await;
    assert_eq!(untouched.status.code(), Some(0), "{}", said(&untouched));
    assert!(said(&untouched).starts_with("nothing is missing or damaged\n"), "{}", said(&untouched));
    for (name, damage, words) in DAMAGES {
        let run = stage.copy(&sound, &name.replace(' ', "-"));
        damage(&run);
        let before = files(&run);
        let told = repair(&run, &["--dry-run"]).await;
        assert_eq!(told.status.code(), Some(1), "{name}: {}", said(&told));
        assert!(said(&told).contains(words), "{name}: {}", said(&told));
        assert!(files(&run) == before, "{name}: a dry run changes nothing");
        let repaired = repair(&run, &[]).await;
        assert!(matches!(repaired.status.code(), Some(0 | 4)), "{name}: {}", said(&repaired));
        assert!(said(&repaired).contains(words), "{name}: {}", said(&repaired));
        let again = repair(&run, &[]).await;
        assert_eq!(again.status.code(), repaired.status.code(), "{name}: {}", said(&again));
        let is_kept = ["missing segment", "flipped bit in a segment"].contains(&name);
        assert!(is_kept || said(&again).contains("nothing is missing or damaged"), "{name}: {}", said(&again));
        let ended = stage.run(&run).await;
        assert_eq!(ended.status.code(), Some(0), "{name}: {}", said(&ended));
        assert_eq!(results(&run), expected, "{name}");
        assert_eq!(stage.calls().await, paid, "{name}: nothing is paid for twice");
    }
}

#[tokio::test]
async fn sessions_whose_transcripts_are_gone_run_again_only_where_that_is_wished() {
    let stage = Stage::set(1, 1).await;
    let run = stage.at("run");
    assert_eq!(stage.run(&run).await.status.code(), Some(0));
    let (expected, paid) = (results(&run), stage.calls().await);
    remove(&segment(&run));
    let repaired = repair(&run, &["--run-again"]).await;
    assert_eq!(repaired.status.code(), Some(4), "{}", said(&repaired));
    assert!(said(&repaired).contains("sessions are planned again"), "{}", said(&repaired));
    assert_eq!(stage.run(&run).await.status.code(), Some(0));
    assert_eq!(results(&run), expected);
    let again = stage.calls().await - paid;
    assert!(again > 0 && again <= expected.lines().count() as u64, "{again}");
    let attempts = std::fs::read_to_string(run.join("attempts.jsonl")).unwrap();
    assert_eq!(attempts.matches("\"state\":\"waste\"").count() as u64, again, "what was paid before is told");
}

/// Starts a run and kills it once it has recorded some sessions.
async fn killed(stage: &Stage, run: &Path) {
    let mut command = regatta().unwrap();
    command.arg("run").arg(&stage.spec).arg("--output").arg(run);
    let mut first = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let segments = || {
        let sweeps = std::fs::read_dir(run.join("store/blobs/sweeps")).ok()?.next()?.ok()?;
        Some(std::fs::read_dir(sweeps.path().join("transcripts")).ok()?.count())
    };
    let recorded = until("three segments of transcripts", async || {
        assert!(first.try_wait().unwrap().is_none(), "it ended before it could be killed");
        match segments() {
            Some(3..) => Ok(()),
            few => Err(format!("{few:?}")),
        }
    });
    recorded.await.unwrap();
    first.kill().await.unwrap();
}

/// Name and damage of what a killed run leaves, all of which is in the ledger's log; what the same command comes to when it is run again, and
/// its words.
const OF_KILLED: [(&str, Damage, (i32, &str)); 3] = [
    ("missing log", |run| remove(&[run.join("store/ledger.sqlite-wal")]), (78, "knows of no sweep")),
    (
        "damaged log",
        |run| {
            change(&run.join("store/ledger.sqlite-wal"), |bytes| {
                let middle = bytes.len() / 2;
                bytes[middle] ^= 0x5a;
            });
        },
        (0, "from transcripts, which the ledger did not know"),
    ),
    (
        "missing ledger",
        |run| remove(&[run.join("store/ledger.sqlite"), run.join("store/ledger.sqlite-wal")]),
        (78, "the ledger has been removed or emptied"),
    ),
];

/// Calls beyond one for each session of `run`. What was in flight is among them, and what was answered and not yet in a segment when the
/// process died.
async fn surplus(stage: &Stage, run: &Path) -> u64 {
    stage.calls().await - results(run).lines().count() as u64
}

#[tokio::test]
async fn a_killed_run_that_lost_or_damaged_its_log_goes_on_and_repeats_only_what_was_in_flight() {
    for (name, damage, _) in OF_KILLED {
        let stage = Stage::set(20, 60).await;
        let run = stage.at("run");
        killed(&stage, &run).await;
        let _ = std::fs::remove_file(run.join("store/ledger.sqlite-shm"));
        damage(&run);
        let repaired = repair(&run, &[]).await;
        assert_eq!(repaired.status.code(), Some(4), "{name}: {}", said(&repaired));
        let ended = stage.run(&run).await;
        assert_eq!(ended.status.code(), Some(0), "{name}: {}", said(&ended));
        let surplus = surplus(&stage, &run).await;
        assert!(surplus <= 2 * 16, "{name}: {surplus} were paid for twice");
    }
}

/// Whoever does not know that anything is damaged runs the same command again.
#[tokio::test]
async fn a_killed_run_that_lost_or_damaged_its_log_loses_nothing_without_a_word_when_it_is_run_again() {
    for (name, damage, (code, words)) in OF_KILLED {
        let stage = Stage::set(20, 60).await;
        let run = stage.at("run");
        killed(&stage, &run).await;
        let _ = std::fs::remove_file(run.join("store/ledger.sqlite-shm"));
        damage(&run);
        let paid = stage.calls().await;
        let again = stage.run(&run).await;
        assert_eq!(again.status.code(), Some(code), "{name}: {}", said(&again));
        assert!(said(&again).contains(words), "{name}: {}", said(&again));
        if code == 0 {
            let surplus = surplus(&stage, &run).await;
            assert!(surplus <= 2 * 16, "{name}: {surplus} were paid for twice");
        } else {
            // What was in flight as it was killed is answered a moment later.
            assert!(stage.calls().await <= paid + 16, "{name}: nothing is paid for anew");
        }
    }
}

#[tokio::test]
async fn a_repair_that_is_killed_anywhere_is_done_again_to_the_same_end() {
    let stage = Stage::set(2, 1).await;
    let sound = stage.at("sound");
    assert_eq!(stage.run(&sound).await.status.code(), Some(0));
    let (expected, paid) = (results(&sound), stage.calls().await);
    for (number, millis) in [0, 5, 10, 20, 30, 40, 50, 60, 80, 100, 140, 200].into_iter().enumerate() {
        let run = stage.copy(&sound, &format!("killed-{number}"));
        change(&run.join("store/ledger.sqlite"), |bytes| bytes[4096..12288].fill(0x5a));
        let mut command = regatta().unwrap();
        command.arg("repair").arg(&run).stdout(Stdio::null()).stderr(Stdio::null());
        let mut first = command.spawn().unwrap();
        let _ = tokio::time::timeout(Duration::from_millis(millis), first.wait()).await;
        first.kill().await.unwrap();
        let repaired = repair(&run, &[]).await;
        assert!(matches!(repaired.status.code(), Some(0 | 4)), "{millis} ms: {}", said(&repaired));
        let ended = stage.run(&run).await;
        assert_eq!(ended.status.code(), Some(0), "{millis} ms: {}", said(&ended));
        assert_eq!(results(&run), expected, "{millis} ms");
    }
    assert_eq!(stage.calls().await, paid);
}

#[tokio::test]
async fn a_run_that_is_at_work_is_not_repaired_and_what_is_no_run_is_said_to_be_none() {
    let folder = tempfile::tempdir().unwrap();
    let (run, empty) = (folder.path().join("run"), folder.path().join("empty"));
    let referee = Referee::start(0, Duration::ZERO).await.unwrap();
    let spec = referee.spec(folder.path(), "working", 24, "").unwrap();
    let mut command = regatta().unwrap();
    command.arg("run").arg(&spec).arg("--output").arg(&run);
    let mut first = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    referee.has_read(1).await;
    let refused = repair(&run, &[]).await;
    assert_eq!(refused.status.code(), Some(78), "{}", said(&refused));
    assert!(said(&refused).contains("is at work in"), "{}", said(&refused));
    first.kill().await.unwrap();
    std::fs::create_dir(&empty).unwrap();
    let none = repair(&empty, &[]).await;
    assert_eq!(none.status.code(), Some(78));
    assert!(said(&none).contains("holds no run"), "{}", said(&none));
    assert_eq!(std::fs::read_dir(&empty).unwrap().count(), 0, "nothing is made there");
}
