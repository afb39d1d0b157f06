//! Agents in containers, by a real engine: Podman, with an image of a shell that is made here. Where there is none, the tests say so.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use regatta_processes::{LinkedProgram, become_arguments, install_arguments};
use regatta_proto::{Event, ExternalAgent, Outcome, SessionOutcome};

use super::office::{Office, command, output, story};

const IMAGE: &str = "localhost/regatta-test:1";
/// Asks its model, with nothing but a shell.
const ASK: &str = r#"ask() {
    wget -q -O- --header 'content-type: application/json' --header "authorization: Bearer $OPENAI_API_KEY" \
        --post-data '{"model":"'$REGATTA_MODEL'","messages":[{"role":"user","content":"'$1'"}]}' "$OPENAI_BASE_URL/chat/completions"
}
"#;

/// Podman with storage of its own.
struct Engine {
    folder: tempfile::TempDir,
    relay: PathBuf,
}

impl Engine {
    /// `None`, and a sentence, where something is missing.
    fn available() -> Option<Self> {
        let skipped = |why: &str| {
            regatta_tests::regatta::skipped("containers", why);
            None
        };
        let tests = std::env::current_exe().unwrap();
        let relay = tests.parent().unwrap().parent().unwrap().join("examples/relay");
        let find = |name: &str| {
            let folders = std::env::var("PATH").unwrap();
            folders.split(':').map(|folder| Path::new(folder).join(name)).find(|place| place.is_file())
        };
        let (Some(podman), Some(busybox)) = (find("podman"), find("busybox")) else {
            return skipped("there is no podman, or no busybox to make an image of");
        };
        if !relay.is_file() {
            return skipped("the example `relay` of this crate is not built");
        }
        for runtime in ["crun", "runc"] {
            let engine = Self { folder: tempfile::tempdir().unwrap(), relay: relay.clone() };
            engine.install(&podman, runtime);
            if engine.has_image(&busybox)
                && engine.run(&["run", "--rm", "--init", "--network=none", IMAGE, "/bin/true"]).status.success()
            {
                return Some(engine);
            }
        }
        skipped("podman starts no containers here, has no catatonit for `--init`, or busybox is not static")
    }

    /// Writes a `podman` that keeps to this folder. Where podman may not raise limits, as in a machine that is a container itself, it has to be
    /// told of one that it could not set.
    fn install(&self, podman: &Path, runtime: &str) {
        let folder = self.folder.path();
        let (bin, root) = (folder.join("bin"), folder.display());
        std::fs::create_dir(&bin).unwrap();
        std::fs::write(
            folder.join("storage.conf"),
            format!("[storage]\ndriver=\"vfs\"\nrunroot=\"{root}/run\"\ngraphroot=\"{root}/graph\"\n"),
        )
        .unwrap();
        std::fs::write(
            folder.join("containers.conf"),
            format!("[engine]\nruntime=\"{runtime}\"\ncgroup_manager=\"cgroupfs\"\nevents_logger=\"none\"\n"),
        )
        .unwrap();
        let script = format!(
            "#!/bin/sh\nexport CONTAINERS_STORAGE_CONF={root}/storage.conf CONTAINERS_CONF={root}/containers.conf\n\
             [ \"$1\" = run ] && {{ shift; set -- run --ulimit=nproc=1024:1024 --ulimit=nofile=256:256 \"$@\"; }}\n\
             exec {} \"$@\"\n",
            podman.display()
        );
        std::fs::write(bin.join("podman"), script).unwrap();
        std::fs::set_permissions(bin.join("podman"), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Makes the image: busybox under the names that the tests use.
    fn has_image(&self, busybox: &Path) -> bool {
        let root = self.folder.path().join("image");
        for folder in ["bin", "tmp"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::fs::set_permissions(root.join("tmp"), std::fs::Permissions::from_mode(0o1777)).unwrap();
        std::fs::copy(busybox, root.join("bin/busybox")).unwrap();
        for name in ["sh", "cat", "id", "ip", "ls", "sleep", "touch", "true", "wget", "grep"] {
            std::os::unix::fs::symlink("busybox", root.join("bin").join(name)).unwrap();
        }
        let tar = self.folder.path().join("image.tar");
        let packed = Command::new("tar").arg("-cf").arg(&tar).arg("-C").arg(&root).arg(".").status();
        packed.is_ok_and(|status| status.success())
            && self.run(&["import", tar.to_str().unwrap(), IMAGE]).status.success()
    }

    fn path(&self) -> String {
        format!("{}/bin:/usr/bin:/bin", self.folder.path().display())
    }

    fn run(&self, words: &[&str]) -> Output {
        let mut podman = Command::new(self.folder.path().join("bin/podman"));
        podman.args(words).env("PATH", self.path()).stdin(Stdio::null()).output().unwrap()
    }

    /// Ids of all containers, ended ones too.
    fn containers(&self) -> String {
        String::from_utf8(self.run(&["ps", "--all", "--quiet"]).stdout).unwrap()
    }

    async fn office(&self, agent: ExternalAgent) -> Office {
        let mut office = Office::of(agent).await;
        office.stage.variables.insert("PATH".to_owned(), self.path());
        office
    }

    /// The outcome of the only session.
    async fn outcome(&self, agent: ExternalAgent) -> SessionOutcome {
        let office = self.office(agent).await;
        office.stage.publish([office.stage.job(0, 0)]).await;
        let mut reports = office.stage.reports().await;
        let relay = self.relay.clone();
        let worker = office.stage.start("w", |config| config.container_relay = Some(relay)).await;
        let outcome = reports.outcome().await;
        worker.leave().await;
        outcome
    }
}

fn contained(script: &str) -> ExternalAgent {
    let mut agent = command(&["/bin/sh", "-c", &format!("{ASK}{script}")]);
    agent.container = Some(IMAGE.to_owned());
    agent
}

fn errors(outcome: &SessionOutcome) -> &str {
    match outcome.transcript.events.last() {
        Some(Event::Ended(ended)) => &ended.errors,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn it_asks_its_model_and_has_no_other_network() {
    let Some(engine) = Engine::available() else { return };
    let script = "read -r line; ask a; echo; echo \"told $line\"; ip -o addr | grep -c 'inet '; id -u
        touch /x 2>/dev/null || echo read-only; touch /tmp/x && echo in memory; grep CapEff /proc/self/status";
    let outcome = engine.outcome(contained(script)).await;
    assert_eq!(
        story(&outcome.transcript),
        ["attempt 1 starts mine", "attempt 1 asks a", "ends: Exited(0)"],
        "{}",
        errors(&outcome)
    );
    assert_eq!(outcome.outcome, Outcome::Measured);
    let lines: Vec<&str> = output(&outcome.transcript).lines().collect();
    assert!(lines[0].contains("heard (a)"), "{lines:?}");
    assert!(lines[1].starts_with("told {") && lines[1].contains("http://127.0.0.1:7177/sessions/"), "{lines:?}");
    assert_eq!(lines[2..], ["1", "65534", "read-only", "in memory", "CapEff:\t0000000000000000"]);
    assert_eq!(engine.containers(), "");
}

#[tokio::test]
async fn one_that_never_ends_is_removed_at_its_deadline_and_what_it_did_counts() {
    let Some(engine) = Engine::available() else { return };
    let agent = ExternalAgent { deadline_s: 1, ..contained("ask a; trap '' TERM; sleep 1000 & wait; wait") };
    let outcome = engine.outcome(agent).await;
    assert_eq!(
        story(&outcome.transcript),
        ["attempt 1 starts mine", "attempt 1 asks a", "ends: Deadline"],
        "{}",
        errors(&outcome)
    );
    assert_eq!(engine.containers(), "");
}

#[tokio::test]
async fn its_exit_code_is_its_own_and_what_cannot_be_started_is_lost() {
    let Some(engine) = Engine::available() else { return };
    let outcome = engine.outcome(contained("ask a; exit 3")).await;
    assert_eq!(story(&outcome.transcript)[2], "ends: Exited(3)", "{}", errors(&outcome));
    for agent in [
        ExternalAgent { command: vec!["/no/such/program".to_owned()], ..contained("") },
        ExternalAgent { container: Some("localhost/no-such-image:1".to_owned()), ..contained("") },
    ] {
        let outcome = engine.outcome(agent).await;
        assert_eq!(story(&outcome.transcript), ["attempt 1 starts mine", "ends: NotStarted"], "{}", errors(&outcome));
        assert!(errors(&outcome).contains("no"), "{}", errors(&outcome));
    }
    assert_eq!(engine.containers(), "");
}

#[tokio::test]
async fn what_a_worker_that_is_gone_has_left_is_removed_by_the_next() {
    let Some(engine) = Engine::available() else { return };
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap();
    let digits: String = namespace.to_str().unwrap().chars().filter(char::is_ascii_digit).collect();
    let label = |pid: &str| format!("--label=io.regatta.worker={}/{digits}/{pid}/1", boot.trim());
    // Its number is taken by another that was started at another time.
    let gone = label(&std::process::id().to_string());
    let left = engine.run(&["create", "--network=none", "--ulimit=nproc=1024:1024", &gone, IMAGE, "/bin/true"]);
    let others = engine.run(&["create", "--network=none", "--ulimit=nproc=1024:1024", IMAGE, "/bin/true"]);
    assert!(left.status.success() && others.status.success(), "{left:?}");
    engine.outcome(contained("ask a")).await;
    let others = String::from_utf8(others.stdout).unwrap();
    assert!(others.starts_with(engine.containers().trim()) && !engine.containers().is_empty());
}

#[test]
fn the_program_that_a_pod_installs_becomes_the_agent_in_an_image_that_has_nothing_of_it() {
    let Some(engine) = Engine::available() else { return };
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).display().to_string();
    for shared in ["program", "session"] {
        std::fs::create_dir(place(shared)).unwrap();
    }
    std::fs::write(place("session/task.json"), "the task").unwrap();
    std::fs::write(place("errors"), "").unwrap();
    for open in [folder.path().to_path_buf(), place("errors").into()] {
        std::fs::set_permissions(open, std::fs::Permissions::from_mode(0o777)).unwrap();
    }
    let installed = Command::new(&engine.relay).args(install_arguments(&place("program"))).status().unwrap();
    assert!(installed.success());
    let mounts = ["program:/regatta/program", "session:/regatta/session", "errors:/dev/termination-log"];
    let mounts = mounts.map(|mount| format!("--volume={}", place(mount)));
    let own = LinkedProgram::find(None).unwrap().words("/regatta/program");
    let entrypoint = format!("--entrypoint={}", own[0]);
    let script = "cat; id -u; ulimit -n; echo failed >&2; exit 3".to_owned();
    let command = ["sh".to_owned(), "-c".to_owned(), script];
    let become_it = become_arguments("/regatta/session/task.json", "/dev/termination-log", 128, &command);
    let mut words = vec!["run", "--rm", "--network=none", "--read-only", "--user=65534:65534", "--cap-drop=ALL"];
    words.extend(mounts.iter().map(String::as_str));
    words.extend([entrypoint.as_str(), IMAGE]);
    words.extend(own[1..].iter().chain(&become_it).map(String::as_str));
    let ended = engine.run(&words);
    let errors = std::fs::read_to_string(place("errors")).unwrap();
    assert_eq!((ended.status.code(), errors.as_str()), (Some(3), "failed\n"), "{ended:?}");
    assert_eq!(String::from_utf8(ended.stdout).unwrap(), "the task65534\n128\n");
}

/// A server of the Model Context Protocol that says where it is, for programs of benchmarks.
const SERVER: &str = r#"
while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  say() { echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$1}"; }
  case "$line" in
    *'"initialize"'*) say '{"protocolVersion":"2025-06-18"}' ;;
    *'"tools/list"'*) say '{"tools":[{"name":"look"}]}' ;;
    *'"tools/call"'*)
      touch /written 2>/dev/null && root=written || root=read-only
      touch /tmp/written && tmp=written || tmp=read-only
      say "{\"content\":[{\"type\":\"text\",\"text\":\"$(ls /sys/class/net) $(id -u) $root $tmp $SEED $(cat /task/name)\"}]}" ;;
  esac
done
"#;

#[test]
fn a_world_of_a_programs_session_has_a_container_of_its_own() {
    const WORLD: &str = r#"
import sys
from regatta.benchmark import McpServer, container
def world(seed):
    return McpServer(container(sys.argv[1], ["sh", "-c", sys.argv[2]], runtime="podman", env={"SEED": seed}, files={"/task": "tasks/7"}))
one, two = world(7), world(8)
print(one.call("look", {}), two.call("look", {}), sep="\n")
one.close()
two.close()
"#;
    let Some(engine) = Engine::available() else { return };
    let path = format!("{}/bin:{}", engine.folder.path().display(), std::env::var("PATH").unwrap());
    let package = regatta_tests::regatta::workspace().join("python");
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("tasks/7")).unwrap();
    std::fs::write(folder.path().join("tasks/7/name"), "seventh").unwrap();
    let mut python = Command::new("python3");
    python
        .current_dir(folder.path())
        .args(["-B", "-c", WORLD, IMAGE, SERVER])
        .env("PATH", path)
        .env("PYTHONPATH", package);
    let Ok(output) = python.output() else {
        regatta_tests::regatta::skipped("containers", "there is no python3; `apt-get install python3` brings it");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said, "lo 65534 read-only written 7 seventh\nlo 65534 read-only written 8 seventh\n");
    assert_eq!(engine.containers(), "", "none is left when its world is closed");
}
