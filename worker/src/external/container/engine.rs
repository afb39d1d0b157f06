//! Docker or Podman, by their command lines.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::ENGINE_MAX;

/// Label of each container: the process that started it.
pub(super) const OWNER: &str = "io.regatta.worker";
/// Engines in the order in which they are looked for: the first needs no service, and no right that is as good as root's.
const ENGINES: [&str; 2] = ["podman", "docker"];
/// Variables of the worker by which engines find themselves. They get no others, keys of providers least of all.
const PASSED: [&str; 14] = [
    "PATH",
    "HOME",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "DOCKER_CONFIG",
    "DOCKER_CERT_PATH",
    "DOCKER_TLS_VERIFY",
    "CONTAINERS_CONF",
    "CONTAINERS_STORAGE_CONF",
];
/// Waits until the pipe that only this process holds is closed, as it is when this process is gone, and removes the container.
const GUARDIAN: &str = r#"read -r line; exec "$@""#;

/// An engine of containers.
pub(super) struct Engine {
    program: PathBuf,
    variables: BTreeMap<String, String>,
}

/// An ended container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct State {
    pub(super) is_out_of_memory: bool,
    /// The program in the container was started.
    pub(super) has_run: bool,
}

impl Engine {
    /// The program `chosen`, or the first engine in the worker's `PATH`.
    pub(super) fn find(chosen: Option<&str>, variables: &BTreeMap<String, String>) -> Result<Self, String> {
        let path = variables.get("PATH").map_or("", String::as_str);
        let in_path =
            |name: &str| path.split(':').map(|folder| Path::new(folder).join(name)).find(|place| place.is_file());
        let program = match chosen {
            Some(chosen) if chosen.contains('/') => Some(PathBuf::from(chosen)).filter(|place| place.is_file()),
            Some(chosen) => in_path(chosen),
            None => ENGINES.into_iter().find_map(in_path),
        };
        let wanted = chosen.map_or_else(|| ENGINES.join(" or "), str::to_owned);
        let program = program.ok_or_else(|| {
            format!("an agent in a container needs {wanted} on the worker, which is not there; install it, or name its place as `engine` under `containers` of the policy file")
        })?;
        let passed = PASSED.into_iter().filter_map(|name| Some((name.to_owned(), variables.get(name)?.clone())));
        Ok(Self { program, variables: passed.collect() })
    }

    pub(super) fn program(&self) -> impl std::fmt::Display {
        self.program.display()
    }

    /// The engine with these arguments, in a group of its own: what a terminal sends is for the worker.
    pub(super) fn command(&self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).env_clear().envs(&self.variables).process_group(0).kill_on_drop(true);
        command
    }

    /// A process that removes the container `name` once this process is gone, or what is returned is dropped.
    pub(super) fn guard(&self, name: &str) -> Option<Child> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", GUARDIAN, "/bin/sh"]).arg(&self.program).args(["rm", "--force", name]);
        command.env_clear().envs(&self.variables).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        match command.spawn() {
            Ok(guardian) => Some(guardian),
            Err(error) => {
                tracing::warn!(%error, "failed to start /bin/sh beside a container: should this process be killed, the container stays");
                None
            }
        }
    }

    /// Asks the program of the container to end.
    pub(super) async fn terminate(&self, name: &str) {
        self.told(&["kill", "--signal=TERM", name]).await;
    }

    /// Ends and removes the container, if it is there.
    pub(super) async fn remove(&self, name: &str) {
        self.told(&["rm", "--force", name]).await;
    }

    /// End of the container; `None` when there is none.
    pub(super) async fn state(&self, name: &str) -> Option<State> {
        state(&self.told(&["container", "inspect", "--format={{.State.OOMKilled}} {{.State.Status}}", name]).await?)
    }

    /// Removes containers of workers that are gone.
    pub(super) async fn remove_leftovers(&self) {
        let labelled = format!("--filter=label={OWNER}");
        let listed = self.told(&["ps", "--all", "--quiet", &labelled]).await.unwrap_or_default();
        let format = format!("--format={{{{index .Config.Labels \"{OWNER}\"}}}}");
        for id in listed.split_whitespace() {
            let label = self.told(&["container", "inspect", &format, id]).await.unwrap_or_default();
            if is_gone(label.trim(), &owner(), started) {
                tracing::warn!(container = id, "removing a container that a worker which is gone has left behind");
                self.remove(id).await;
            }
        }
    }

    /// Answer of the engine; `None` when it refuses, or takes too long.
    async fn told(&self, words: &[&str]) -> Option<String> {
        let mut command = self.command(words);
        let answer =
            timeout(ENGINE_MAX, command.stdin(Stdio::null()).stderr(Stdio::null()).output()).await.ok()?.ok()?;
        answer.status.success().then(|| String::from_utf8_lossy(&answer.stdout).into_owned())
    }
}

fn state(answer: &str) -> Option<State> {
    let (is_out_of_memory, status) = answer.trim().split_once(' ')?;
    let has_run = !["created", "configured", "initialized"].contains(&status);
    Some(State { is_out_of_memory: is_out_of_memory == "true", has_run })
}

/// This process as the label of its containers says it: the machine's start, its process namespace, its number, and its own start.
pub(super) fn owner() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let digits: String = namespace.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    let pid = std::process::id();
    format!("{}/{digits}/{pid}/{}", boot.trim(), started(pid).unwrap_or_default())
}

/// When a process was started, in ticks since the machine's; `None` when it is no more.
fn started(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before may hold anything but is in parentheses.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19).map(str::to_owned)
}

/// `true` of a label of a process that is gone, as `own` can tell: processes of other machines and namespaces are not known.
fn is_gone(label: &str, own: &str, started: impl Fn(u32) -> Option<String>) -> bool {
    fn fields(label: &str) -> Option<[&str; 4]> {
        label.split('/').collect::<Vec<_>>().try_into().ok()
    }
    let (Some([boot, namespace, pid, start]), Some([own_boot, own_namespace, ..])) = (fields(label), fields(own))
    else {
        return false;
    };
    let Ok(pid) = pid.parse() else { return false };
    boot == own_boot && namespace == own_namespace && started(pid).is_none_or(|known| known != start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_process_of_this_machine_left_that_is_gone_is_removed() {
        let started = |pid| (pid == 7).then(|| "100".to_owned());
        let gone = |label| is_gone(label, "boot/1/9/5", started);
        assert!(gone("boot/1/8/50"), "no such process");
        assert!(gone("boot/1/7/99"), "another has its number");
        assert!(!gone("boot/1/7/100"));
        assert!(!gone("boot/2/8/50"), "of another namespace");
        assert!(!gone("other/1/8/50"), "of another machine");
        assert!(!gone("") && !gone("somebody else's"));
    }

    #[test]
    fn this_process_is_not_gone() {
        assert_eq!(owner().split('/').filter(|field| !field.is_empty()).count(), 4, "{}", owner());
        assert!(!is_gone(&owner(), &owner(), started));
    }

    #[test]
    fn what_an_engine_says_of_an_ended_container_is_read() {
        assert_eq!(state("true exited\n"), Some(State { is_out_of_memory: true, has_run: true }));
        assert_eq!(state("false created\n"), Some(State { is_out_of_memory: false, has_run: false }));
        assert_eq!(state(""), None);
    }

    #[tokio::test]
    async fn a_container_is_removed_when_nobody_waits_for_it_any_more() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let (program, told) = (folder.path().join("engine"), folder.path().join("told"));
        assert!(std::process::Command::new("mkfifo").arg(&told).status().unwrap().success());
        std::fs::write(&program, format!("#!/bin/sh\necho \"$@\" > {}\n", told.display())).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let engine = Engine { program, variables: BTreeMap::new() };
        drop(engine.guard("one"));
        assert_eq!(std::fs::read_to_string(&told).unwrap(), "rm --force one\n");
    }

    #[test]
    fn an_engine_gets_no_key_and_its_absence_is_told() {
        let variables = |path: &str| {
            BTreeMap::from(
                [("PATH", path), ("OPENAI_API_KEY", "sk"), ("HOME", "/h")]
                    .map(|(name, value)| (name.to_owned(), value.to_owned())),
            )
        };
        let engine = Engine::find(Some("/bin/sh"), &variables("")).unwrap();
        assert_eq!(engine.variables.keys().collect::<Vec<_>>(), ["HOME", "PATH"]);
        let Err(missing) = Engine::find(None, &variables("/no/such")) else { panic!("it was found") };
        assert!(missing.starts_with("an agent in a container needs podman or docker"), "{missing}");
    }
}
