//! A run's directory that cannot be written, from the start or in the middle of a run: nothing more is paid for, and nothing that was paid
//! for is lost.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stdout, reason = "what was measured is for whoever runs the tests")]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use regatta_tests::referee::{CONCURRENCY, Referee};
use regatta_tests::regatta::{binary, ended, finish, program, regatta, skipped};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

const SESSIONS: u64 = 100;
/// Calls that are answered before the directory becomes unwritable; all others wait for that.
const ANSWERS_BEFORE: u64 = 2 * CONCURRENCY;
/// Time for which a run may go on paying that cannot write any more.
const STOPS_WITHIN: Duration = Duration::from_secs(5);
/// User without rights beyond those that files give; the superuser writes where nobody may.
const NOBODY: u32 = 65_534;
/// Small enough to be filled in a moment, and too small for the largest reserve.
const DISK_MB: u32 = 8;

/// A way in which the directory of a run that is at work can no longer be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    ReadOnly,
    /// No file may grow beyond the largest that the run has written by then, but for its reserve.
    FileSizeLimit,
    FullDisk,
}

/// `true` if this process may write where nobody may.
fn is_superuser() -> bool {
    rustix::process::geteuid().is_root()
}

async fn shell(script: &str, place: &Path) {
    let done = Command::new("sh").arg("-c").arg(script).arg("sh").arg(place).status().await.unwrap();
    assert!(done.success(), "{script}");
}

/// A disk of its own, mounted where no process sees it but those that begin in the namespace of the one that keeps it.
struct Disk {
    keeper: Child,
    /// Path of the disk from outside of the namespace.
    folder: PathBuf,
}

impl Disk {
    /// Mounts one over `folder`. Says on standard error that `test` is skipped where that is not allowed.
    async fn mount(folder: &Path, test: &str) -> Option<Self> {
        let script = format!("mount -t tmpfs -o size={DISK_MB}m none \"$1\" && echo mounted && exec cat");
        let mut command = Command::new("unshare");
        // Without root, a namespace of users makes one who may mount.
        command.args(if is_superuser() { &["-m"][..] } else { &["-U", "-r", "-m"] });
        command.args(["sh", "-c", &script, "sh"]).arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        // It goes with the namespace, which ends with its last process.
        let Ok(mut keeper) = command.kill_on_drop(true).spawn() else {
            skipped(test, "there is no unshare; `apt-get install util-linux` brings it");
            return None;
        };
        let said = BufReader::new(keeper.stdout.take().unwrap()).lines().next_line().await.unwrap();
        if said.as_deref() != Some("mounted") {
            skipped(test, "no file system may be mounted here, not even in a namespace of users");
            return None;
        }
        let root = PathBuf::from(format!("/proc/{}/root", keeper.id().unwrap()));
        Some(Self { folder: root.join(folder.strip_prefix("/").unwrap()), keeper })
    }

    /// The program under test, where this disk is mounted.
    fn regatta(&self) -> Command {
        let mut command = program(Path::new("nsenter"));
        command.args(["--target", &self.keeper.id().unwrap().to_string(), "--mount"]);
        if !is_superuser() {
            command.args(["--user", "--preserve-credentials"]);
        }
        command.arg(binary().unwrap());
        command
    }
}

/// A run that can be taken the right or the room to write, and its endpoint.
struct Stage {
    way: Way,
    _folder: tempfile::TempDir,
    disk: Option<Disk>,
    /// The run's, as the run names it, and where it is seen from here.
    named: PathBuf,
    directory: PathBuf,
    referee: Referee,
    spec: PathBuf,
}

impl Stage {
    /// `None` where the system allows none of the kind.
    async fn set(way: Way) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let referee = Referee::start(ANSWERS_BEFORE, Duration::from_millis(100)).await.unwrap();
        let spec = referee.spec(folder.path(), "unwritable", SESSIONS, "").unwrap();
        let place = folder.path().join("place");
        std::fs::create_dir(&place).unwrap();
        let disk = match way {
            Way::FullDisk => Some(Disk::mount(&place, "a full disk").await?),
            Way::ReadOnly | Way::FileSizeLimit => None,
        };
        let named = place.join("run");
        let directory = disk.as_ref().map_or(&place, |disk| &disk.folder).join("run");
        std::fs::create_dir(&directory).unwrap();
        if way == Way::ReadOnly {
            let owner = if is_superuser() { format!("chown -R {NOBODY}:{NOBODY} \"$1\"") } else { "true".to_owned() };
            shell(&format!("{owner} && chmod -R go+rX \"$1\""), folder.path()).await;
        }
        Some(Self { way, _folder: folder, disk, named, directory, referee, spec })
    }

    /// `regatta run`, as somebody whom permissions bind where they are what is tested.
    fn run(&self) -> Command {
        let mut command = self.disk.as_ref().map_or_else(|| regatta().unwrap(), Disk::regatta);
        if self.way == Way::ReadOnly && is_superuser() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.arg("run").arg(&self.spec).arg("--output").arg(&self.named).args(["--give-up-after-s", "8"]);
        command.env("HOME", &self.named);
        command
    }

    fn filler(&self) -> Option<PathBuf> {
        Some(self.disk.as_ref()?.folder.join("filler"))
    }

    /// From now on `process`, the run, cannot write.
    async fn becomes_unwritable(&self, process: u32) {
        match self.way {
            Way::ReadOnly => shell("chmod -R a-w \"$1\"", &self.directory).await,
            Way::FileSizeLimit => {
                let log = std::fs::metadata(self.directory.join("store/ledger.sqlite-wal")).unwrap().len();
                let limit = format!("--fsize={log}");
                let done =
                    Command::new("prlimit").args(["--pid", &process.to_string(), &limit]).status().await.unwrap();
                assert!(done.success());
            }
            // It ends as all of the disk is taken.
            Way::FullDisk => shell("cat /dev/zero > \"$1\" 2> /dev/null || true", &self.filler().unwrap()).await,
        }
    }

    /// From now on it can be written again.
    async fn becomes_writable(&self) {
        match self.way {
            Way::ReadOnly => shell("chmod -R u+w \"$1\"", &self.directory).await,
            // The limit was that of the process that has ended.
            Way::FileSizeLimit => {}
            Way::FullDisk => std::fs::remove_file(self.filler().unwrap()).unwrap(),
        }
    }

    /// Money that the run knows to have been paid, by its summary and by its attempts, in nano-dollars.
    fn known(&self) -> (u64, u64) {
        let read = |name: &str| std::fs::read_to_string(self.directory.join(name)).unwrap();
        let summary: Value = serde_json::from_str(&read("summary.json")).unwrap();
        let attempts = read("attempts.jsonl");
        let attempts = attempts.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let of_attempts = attempts.map(|attempt| attempt["known_cost_nanodollars"].as_u64().unwrap()).sum();
        (summary["spending"]["cost"]["known"].as_u64().unwrap(), of_attempts)
    }
}

async fn a_run_stops_paying_ends_and_loses_nothing_that_was_paid_for(way: Way) {
    let Some(stage) = Stage::set(way).await else { return };
    let run = stage.run().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let process = run.id().unwrap();
    let mut running = tokio::spawn(ended(run));
    tokio::select! {
        () = stage.referee.has_read(ANSWERS_BEFORE + CONCURRENCY) => {}
        early = &mut running => panic!("it ended at once: {early:?}"),
    }
    stage.becomes_unwritable(process).await;
    // What is left takes several times as long as the run tries to write, on slow machines too.
    stage.referee.answer_after(Duration::from_secs(1));
    stage.referee.answer_all();
    let since = Instant::now();
    let output = running.await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let paid_for = since.elapsed().saturating_sub(stage.referee.idle().unwrap());
    println!("{way:?}: nothing was paid for after {paid_for:.1?}, and it had ended after {:.1?}", since.elapsed());
    assert!(paid_for <= STOPS_WITHIN, "{paid_for:?}");
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("so nothing more is paid for"), "{said}");
    assert!(said.lines().count() < 40, "{said}");
    let before = stage.referee.calls();
    assert!(before < SESSIONS, "it stopped before it had paid for everything");
    // What it paid for was kept, and is recorded once somebody may write again.
    stage.becomes_writable().await;
    stage.referee.answer_after(Duration::ZERO);
    let output = finish(stage.run()).await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(stage.referee.calls(), SESSIONS, "one call a session, over both runs");
    assert_eq!(stage.known(), (stage.referee.billed(), stage.referee.billed()));
}

#[tokio::test]
async fn a_run_whose_directory_becomes_read_only_stops_paying_ends_and_loses_nothing_that_was_paid_for() {
    a_run_stops_paying_ends_and_loses_nothing_that_was_paid_for(Way::ReadOnly).await;
}

#[tokio::test]
async fn a_run_whose_files_cannot_grow_stops_paying_ends_and_loses_nothing_that_was_paid_for() {
    a_run_stops_paying_ends_and_loses_nothing_that_was_paid_for(Way::FileSizeLimit).await;
}

#[tokio::test]
async fn a_run_whose_disk_is_full_stops_paying_ends_and_loses_nothing_that_was_paid_for() {
    a_run_stops_paying_ends_and_loses_nothing_that_was_paid_for(Way::FullDisk).await;
}

#[tokio::test]
async fn a_run_into_a_directory_that_is_read_only_pays_for_nothing_and_says_so() {
    let stage = Stage::set(Way::ReadOnly).await.unwrap();
    shell("chmod -R a-w \"$1\"", &stage.directory).await;
    let output = finish(stage.run()).await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("nothing can be written to") && said.contains("so nothing is paid for"), "{said}");
    assert_eq!(stage.referee.calls(), 0);
}
