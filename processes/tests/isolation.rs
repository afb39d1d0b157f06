//! Programs in namespaces of their own: what they see, and what is left of them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stdout, reason = "a skipped test says so")]

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};

use regatta_processes::{Account, Group, Launch, Limits, Namespaces};

/// Nobody, where this process may become somebody else.
fn account() -> Option<Account> {
    rustix::process::geteuid().is_root().then_some(Account { uid: 65534, gid: 65534 })
}

/// The namespaces that this system gives; `None`, and a sentence, where it gives none.
fn namespaces() -> Option<Namespaces> {
    match Namespaces::available(account()) {
        Namespaces::Shared => {
            println!("skipped: this system lets nobody make process namespaces");
            None
        }
        found => Some(found),
    }
}

fn start(script: &str, namespaces: Namespaces) -> Child {
    start_with(script, namespaces, &[])
}

/// Namespaces that users make who are not root; `None`, and a sentence, where they may make none.
fn of_one_user() -> Option<Namespaces> {
    let works = start("exit 0", Namespaces::OwnUsers).wait().unwrap().success();
    if !works {
        println!("skipped: this system lets no user make namespaces");
    }
    works.then_some(Namespaces::OwnUsers)
}

fn start_with(script: &str, namespaces: Namespaces, more: &[(&str, String)]) -> Child {
    let command = ["/bin/sh", "-c", script].map(str::to_owned);
    let mut variables = std::collections::BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]);
    variables.insert("OF_ITS_OWN".into(), script.len().to_string().into());
    variables.extend(more.iter().map(|(name, value)| ((*name).into(), value.into())));
    let (limits, account) = (Limits::default(), account());
    let mut command =
        Launch { command: &command, variables, limits, account, namespaces, cgroup: None }.command().unwrap();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

fn output(script: &str, namespaces: Namespaces) -> (String, ExitStatus) {
    let output = start(script, namespaces).wait_with_output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), output.status)
}

/// A pipe with a name, which everybody may write to.
fn fifo(folder: &Path) -> String {
    let path = folder.join("fifo");
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(std::process::Command::new("mkfifo").args(["-m", "666"]).arg(&path).status().unwrap().success());
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_program_sees_no_process_but_its_own() {
    let Some(namespaces) = namespaces() else { return };
    let mut neighbour = start("read -r line", namespaces);
    let (seen, _) =
        output("for process in /proc/[0-9]*; do tr '\\0' '\\n' < $process/environ; done 2>/dev/null", namespaces);
    assert!(seen.contains("OF_ITS_OWN=") && !seen.contains("OF_ITS_OWN=12"), "{seen}");
    drop(neighbour.stdin.take());
    neighbour.wait().unwrap();
}

#[test]
fn root_that_starts_a_program_as_itself_shares_all_rights_with_it_and_no_process() {
    let namespaces = Namespaces::available(None);
    if namespaces != Namespaces::OwnProcessesOfRoot {
        println!("skipped: this is not root, or root may make no process namespaces here");
        return;
    }
    let script = "id -u; grep CapEff /proc/self/status; ls -d /proc/[0-9]* | wc -l";
    let seen_by = |namespaces| {
        let command = ["/bin/sh", "-c", script].map(str::to_owned);
        let variables = std::collections::BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]);
        let limits = Limits::default();
        let launch = Launch { command: &command, variables, limits, account: None, namespaces, cgroup: None };
        String::from_utf8(launch.command().unwrap().output().unwrap().stdout).unwrap()
    };
    let (here, there) = (seen_by(Namespaces::Shared), seen_by(namespaces));
    let (here, there): (Vec<&str>, Vec<&str>) = (here.lines().collect(), there.lines().collect());
    assert_eq!(here[..2], there[..2], "it is root with the same rights");
    assert!(there[2].trim().parse::<u32>().unwrap() <= 4, "it sees its own processes alone: {there:?}");
}

#[test]
fn nothing_survives_its_end_wherever_it_went_and_whatever_it_forgot() {
    let Some(namespaces) = namespaces() else { return };
    let folder = tempfile::tempdir().unwrap();
    let fifo = fifo(folder.path());
    let script = format!("setsid env -i /bin/sh -c 'echo here; exec sleep 1000' > {fifo} & read -r line; exit 0");
    let mut program = start(&script, namespaces);
    let mut reader = std::io::BufReader::new(std::fs::File::open(&fifo).unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut reader, &mut line).unwrap();
    assert_eq!(line, "here\n");
    drop(program.stdin.take());
    assert!(program.wait().unwrap().success());
    // The end of the pipe: nobody holds it any more.
    assert_eq!(std::io::Read::read_to_end(&mut reader, &mut Vec::new()).unwrap(), 0);
}

#[test]
fn its_group_ends_it_with_all_that_left_the_group() {
    let Some(namespaces) = namespaces() else { return };
    let folder = tempfile::tempdir().unwrap();
    let fifo = fifo(folder.path());
    let script =
        format!("setsid env -i /bin/sh -c 'trap \"\" TERM; echo here; exec sleep 1000' > {fifo} & read -r line");
    let mut program = start(&script, namespaces);
    let mut group = Group::of(Some(program.id()));
    let mut reader = std::io::BufReader::new(std::fs::File::open(&fifo).unwrap());
    std::io::BufRead::read_line(&mut reader, &mut String::new()).unwrap();
    group.kill();
    program.wait().unwrap();
    group.end();
    assert_eq!(std::io::Read::read_to_end(&mut reader, &mut Vec::new()).unwrap(), 0);
}

#[test]
fn its_end_is_told_as_a_shell_tells_it() {
    let Some(namespaces) = namespaces() else { return };
    for (script, code) in [("exit 3", 3), ("kill -SEGV $$", 139), ("kill -TERM $$", 143), ("exit 0", 0)] {
        let (_, status) = output(script, namespaces);
        assert_eq!((status.code(), status.signal()), (Some(code), None), "{script}");
    }
}

#[test]
fn it_is_who_it_is_said_to_be_and_has_no_other_groups() {
    let Some(namespaces) = namespaces() else { return };
    let (seen, _) = output("id -u; id -g; id -G; grep CapEff /proc/self/status", namespaces);
    let Account { uid, gid } = account()
        .unwrap_or(Account { uid: rustix::process::getuid().as_raw(), gid: rustix::process::getgid().as_raw() });
    let lines: Vec<&str> = seen.lines().collect();
    assert_eq!((lines[0], lines[1]), (uid.to_string().as_str(), gid.to_string().as_str()), "{seen}");
    if account().is_some() {
        assert_eq!(lines[2], gid.to_string(), "{seen}");
    }
    assert_eq!(lines[3].split_whitespace().last(), Some("0000000000000000"), "{seen}");
}

#[test]
fn a_program_that_is_asked_to_end_may_do_so_in_its_own_way() {
    let Some(namespaces) = namespaces() else { return };
    let mut program =
        start("trap 'echo bye; exit 7' TERM; echo here; while :; do read -r line || sleep 0.01; done", namespaces);
    let mut reader = std::io::BufReader::new(program.stdout.take().unwrap());
    let mut said = String::new();
    std::io::BufRead::read_line(&mut reader, &mut said).unwrap();
    let group = Group::of(Some(program.id()));
    group.terminate();
    drop(program.stdin.take());
    std::io::Read::read_to_string(&mut reader, &mut said).unwrap();
    assert_eq!(said, "here\nbye\n");
    program.wait().unwrap();
    drop(group);
}

#[test]
fn it_ends_with_whoever_made_its_namespace() {
    let Some(namespaces) = namespaces() else { return };
    let folder = tempfile::tempdir().unwrap();
    let fifo = fifo(folder.path());
    let mut program = start(&format!("exec > {fifo}; echo here; exec sleep 1000"), namespaces);
    let mut reader = std::io::BufReader::new(std::fs::File::open(&fifo).unwrap());
    std::io::BufRead::read_line(&mut reader, &mut String::new()).unwrap();
    let leader = rustix::process::Pid::from_child(&program);
    rustix::process::kill_process(leader, rustix::process::Signal::KILL).unwrap();
    program.wait().unwrap();
    assert_eq!(std::io::Read::read_to_end(&mut reader, &mut Vec::new()).unwrap(), 0);
}

#[test]
fn its_variables_have_nothing_loaded_before_it_is_who_it_is() {
    let Some(namespaces @ Namespaces::OwnProcesses) = namespaces() else { return };
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let told = folder.path().join("loaded").to_str().unwrap().to_owned();
    let more = [("LD_DEBUG", "files".to_owned()), ("LD_DEBUG_OUTPUT", told)];
    let output = start_with("/bin/echo $LD_DEBUG", namespaces, &more).wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "files\n");
    let owners: Vec<u32> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|file| std::os::unix::fs::MetadataExt::uid(&file.unwrap().metadata().unwrap()))
        .collect();
    assert!(
        !owners.is_empty() && owners.iter().all(|uid| Some(*uid) == account().map(|account| account.uid)),
        "{owners:?}"
    );
}

#[test]
fn it_cannot_trace_the_first_process_of_its_namespace() {
    let Some(namespaces @ Namespaces::OwnProcesses) = namespaces() else { return };
    let (seen, _) =
        output("cat /proc/1/environ >/dev/null 2>&1 && echo readable; kill -0 1 2>/dev/null && echo mine", namespaces);
    assert_eq!(seen, "", "its first process is somebody else's");
}

#[test]
fn where_both_are_one_user_it_can_neither_trace_nor_end_the_first_process_either() {
    let Some(namespaces) = of_one_user() else { return };
    let seen = output(
        "for secret in environ mem maps; do head -c 1 /proc/1/$secret >/dev/null 2>&1 && echo $secret is readable; done
         kill -KILL 1; kill -STOP 1; grep CapEff /proc/self/status; grep CapEff /proc/1/status",
        namespaces,
    );
    let lines: Vec<&str> = seen.0.lines().collect();
    assert_eq!(lines.len(), 2, "{seen:?}");
    assert_eq!(lines[0].split_whitespace().last(), Some("0000000000000000"), "the program has no rights");
    assert_ne!(lines[0], lines[1], "its first process has rights in their namespace");
}

#[test]
fn where_both_are_one_user_its_variables_have_nothing_loaded_before_its_rights_are_gone() {
    let Some(namespaces) = of_one_user() else { return };
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let told = folder.path().join("loaded").to_str().unwrap().to_owned();
    let more = [("LD_DEBUG", "files".to_owned()), ("LD_DEBUG_OUTPUT", told)];
    let output = start_with("exec /bin/echo $LD_DEBUG", namespaces, &more).wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "files\n");
    let loaders: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    assert!(!loaders.is_empty());
    assert!(loaders.iter().all(|log| !log.contains("setpriv") && !log.contains("unshare")), "{loaders:?}");
}
