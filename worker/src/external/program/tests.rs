use std::path::Path;
use std::sync::Arc;

use rustix::process::{Pid, test_kill_process};

use super::*;
use crate::Policy;

/// Longest wait for what a program does.
const PATIENCE: Duration = Duration::from_secs(300);

fn agent(script: &str) -> ExternalAgent {
    let mut agent: ExternalAgent = serde_json::from_str("{}").unwrap();
    agent.command = ["sh", "-c", script].map(str::to_owned).to_vec();
    agent
}

fn briefing() -> Briefing {
    Briefing {
        line: "{\"task\":\"tea\"}\n".to_owned(),
        variables: ["A", "B", "C", "D", "E", "F", "G"].map(|name| (name, format!("told {name}"))).to_vec(),
    }
}

fn variables() -> BTreeMap<String, String> {
    let path = std::env::var("PATH").unwrap();
    let all =
        [("PATH", path.as_str()), ("LANG", "C.UTF-8"), ("OPENAI_API_KEY", "sk-real"), ("WANTED", "w"), ("SECRET", "s")];
    all.map(|(name, text)| (name.to_owned(), text.to_owned())).into()
}

async fn run_with(agent: &ExternalAgent, stop: &Stop) -> Ended {
    run(agent, Policy::trusting().program(agent, false), &briefing(), &variables(), stop).await
}

async fn end_of(script: &str) -> Ended {
    run_with(&agent(script), &Stop::default()).await
}

fn lives(pid: &str) -> bool {
    test_kill_process(Pid::from_raw(pid.trim().parse().unwrap()).unwrap()).is_ok()
}

/// Waits until the program has written a process's number there.
async fn number_in(file: &Path) -> String {
    let reading = async {
        loop {
            match std::fs::read_to_string(file) {
                Ok(text) if text.ends_with('\n') => return text,
                _ => tokio::task::yield_now().await,
            }
        }
    };
    let number = tokio::time::timeout(PATIENCE, reading).await;
    number.unwrap_or_else(|_| panic!("waited {} s for a number in {}", PATIENCE.as_secs(), file.display()))
}

#[tokio::test]
async fn it_gets_its_errand_on_standard_input_and_its_output_is_kept() {
    let ended = end_of("cat; echo oops >&2; exit 3").await;
    assert_eq!((ended.how, &*ended.output, &*ended.errors), (HowEnded::Exited(3), "{\"task\":\"tea\"}\n", "oops\n"));
}

#[tokio::test]
async fn it_sees_what_it_is_meant_to_see_of_the_environment_and_no_key() {
    let mut agent = agent("env");
    agent.pass_env = vec!["WANTED".to_owned(), "UNSET".to_owned()];
    agent.env = [("OWN", "o"), ("A", "not this")].map(|(name, text)| (name.to_owned(), text.to_owned())).into();
    let output = run_with(&agent, &Stop::default()).await.output;
    let has = |line: &str| output.lines().any(|seen| seen == line);
    for line in ["WANTED=w", "OWN=o", "A=told A", "G=told G", "LANG=C.UTF-8", "PYTHONUNBUFFERED=1"] {
        assert!(has(line), "{line} in {output}");
    }
    assert!(!output.contains("sk-real") && !output.contains("SECRET") && !output.contains("UNSET"), "{output}");
}

#[tokio::test]
async fn it_runs_in_its_directory() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().canonicalize().unwrap();
    let agent = ExternalAgent { directory: Some(directory.clone()), ..agent("pwd -P") };
    assert_eq!(run_with(&agent, &Stop::default()).await.output.trim(), directory.to_str().unwrap());
}

#[tokio::test]
async fn what_is_no_program_is_not_started_and_the_reason_is_told() {
    let missing = ExternalAgent { command: vec!["/no/such/program".to_owned()], ..agent("") };
    let nowhere = ExternalAgent { directory: Some("/no/such/directory".into()), ..agent("true") };
    for (agent, named) in [(missing, "/no/such/program"), (nowhere, "/no/such/directory")] {
        let ended = run_with(&agent, &Stop::default()).await;
        assert_eq!(ended.how, HowEnded::NotStarted);
        assert!(ended.errors.contains(named), "{}", ended.errors);
    }
}

#[tokio::test]
async fn a_gigabyte_is_neither_kept_nor_waited_for() {
    let started = tokio::time::Instant::now();
    let mut agent = agent("head -c 1073741824 /dev/zero; sleep 1000");
    agent.output_bytes_max = 1 << 20;
    let ended = run_with(&agent, &Stop::default()).await;
    assert_eq!((ended.how, ended.output.len(), ended.is_cut), (HowEnded::TooMuchOutput, 1 << 20, true));
    assert!(started.elapsed() < Duration::from_secs(100));
}

#[tokio::test]
async fn a_gigabyte_of_errors_does_not_hold_it_up() {
    let ended = end_of("head -c 200000000 /dev/zero | tr '\\0' x >&2; echo done").await;
    assert_eq!((ended.how, &*ended.output), (HowEnded::Exited(0), "done\n"));
    assert!(ended.errors.len() <= 8 << 10);
}

#[tokio::test]
async fn what_it_wrote_before_it_was_stopped_counts() {
    let stop = Arc::new(Stop::default());
    let folder = tempfile::tempdir().unwrap();
    let ready = folder.path().join("ready");
    let agent = agent(&format!("echo begun; echo $$ > {}; sleep 1000", ready.display()));
    let (ended, ()) = tokio::join!(run_with(&agent, &stop), async {
        number_in(&ready).await;
        stop.now(HowEnded::Deadline);
    });
    assert_eq!((ended.how, &*ended.output), (HowEnded::Deadline, "begun\n"));
}

#[tokio::test]
async fn one_that_does_not_want_to_end_is_ended_with_everything_it_started() {
    let stop = Stop::default();
    let folder = tempfile::tempdir().unwrap();
    let child = folder.path().join("child");
    let agent = agent(&format!(
        "trap '' TERM; sh -c \"trap '' TERM; echo \\$\\$ > {}; sleep 1000\" & wait; wait",
        child.display()
    ));
    let (ended, pid) = tokio::join!(run_with(&agent, &stop), async {
        let pid = number_in(&child).await;
        stop.now(HowEnded::Interrupted);
        pid
    });
    assert_eq!(ended.how, HowEnded::Interrupted);
    gone(&pid).await;
}

#[tokio::test]
async fn what_it_leaves_behind_when_it_exits_is_ended_too() {
    let ended = end_of("sleep 1000 & echo $!").await;
    assert_eq!(ended.how, HowEnded::Exited(0));
    gone(&ended.output).await;
}

#[tokio::test]
async fn nothing_of_it_is_left_when_nobody_waits_for_it_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let child = folder.path().join("child");
    let agent = agent(&format!("sleep 1000 & echo $! > {}; wait", child.display()));
    let stop = Stop::default();
    let pid = tokio::select! {
        _ = run_with(&agent, &stop) => panic!("it ended"),
        pid = number_in(&child) => pid,
    };
    gone(&pid).await;
}

/// A process that was killed is there until somebody has looked at it.
async fn gone(pid: &str) {
    let state = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    let going = async {
        while lives(pid) && !state().contains(") Z ") {
            tokio::task::yield_now().await;
        }
    };
    let gone = tokio::time::timeout(PATIENCE, going).await;
    assert!(gone.is_ok(), "waited {} s for the end of process {}", PATIENCE.as_secs(), state());
}

#[tokio::test]
async fn whoever_else_kills_it_is_told_from_its_own_doing() {
    for (script, how) in [
        ("kill -KILL $$", HowEnded::Killed(9)),
        ("kill -TERM $$", HowEnded::Killed(15)),
        ("sh -c 'kill -KILL $$'; exit $?", HowEnded::Killed(9)),
        ("kill -SEGV $$", HowEnded::Exited(139)),
        ("kill -ABRT $$", HowEnded::Exited(134)),
        ("kill -ALRM $$", HowEnded::Exited(142)),
        ("kill -XCPU $$", HowEnded::Exited(152)),
        ("kill -XFSZ $$", HowEnded::Exited(153)),
        ("exit 1", HowEnded::Exited(1)),
    ] {
        assert_eq!(end_of(script).await.how, how, "{script}");
    }
}

#[tokio::test]
async fn each_start_has_a_home_of_its_own_that_is_empty_and_gone_afterwards() {
    let script =
        "ls -A \"$HOME\" | wc -l; echo \"$HOME\"; echo \"$TMPDIR\"; echo \"$XDG_CACHE_HOME\"; touch \"$HOME/x\"";
    let mut homes = std::collections::BTreeSet::new();
    for _ in 0..2 {
        let output = end_of(script).await.output;
        let lines: Vec<&str> = output.lines().map(str::trim).collect();
        assert_eq!((lines[0], lines[1], lines[1]), ("0", lines[2], lines[3]));
        assert!(Path::new(lines[1]).is_absolute() && !Path::new(lines[1]).exists(), "{output}");
        homes.insert(lines[1].to_owned());
    }
    assert_eq!(homes.len(), 2);
}

#[tokio::test]
async fn one_that_is_to_have_the_workers_home_has_it() {
    let agent = ExternalAgent { pass_env: vec!["HOME".to_owned()], ..agent("echo \"$HOME\"") };
    let mut variables = variables();
    variables.insert("HOME".to_owned(), "/the/workers".to_owned());
    let ended = run(&agent, Policy::trusting().program(&agent, false), &briefing(), &variables, &Stop::default()).await;
    assert_eq!(&*ended.output, "/the/workers\n");
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn the_worker_hides_its_variables_before_an_agent_runs() {
    end_of("true").await;
    let behaviour = rustix::process::dumpable_behavior().unwrap();
    assert_eq!(behaviour, rustix::process::DumpableBehavior::NotDumpable);
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn nothing_of_it_survives_by_leaving_its_group() {
    let folder = tempfile::tempdir().unwrap();
    let child = folder.path().join("child");
    let script = format!(
        "setsid sh -c 'echo $$ > {0}; exec sleep 1000' >/dev/null 2>&1 & until [ -s {0} ]; do :; done",
        child.display()
    );
    let ended = end_of(&script).await;
    assert_eq!(ended.how, HowEnded::Exited(0));
    gone(&std::fs::read_to_string(child).unwrap()).await;
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn what_it_may_use_is_limited_and_it_gains_nothing_by_programs_of_others() {
    let output = end_of("ulimit -c; ulimit -t; ulimit -n; grep NoNewPrivs /proc/self/status").await.output;
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!((lines[0], lines[1]), ("0", "3600"), "{output}");
    assert!(lines[2].parse::<u32>().unwrap() <= 4096, "{output}");
    assert_eq!(lines[3].split_whitespace().last(), Some("1"), "{output}");
}

/// The end of a program in Python that a worker's policy limits, as a user of its own where the tests run as root: root has no limit of
/// processes.
#[cfg(target_os = "linux")]
async fn end_within(limits: &str, script: &str) -> Ended {
    let root = rustix::process::geteuid().is_root();
    let rules = format!("agents: {{ greedy: {{ command: [python3, -c, {script:?}], limits: {limits} }} }}");
    let policy = Policy::closed().with(crate::PolicyFile::from_yaml(&rules).unwrap());
    let policy = policy.with_agent_user(root.then(|| "65534".to_owned()));
    let chosen: ExternalAgent = serde_json::from_str(r#"{"registered":"greedy"}"#).unwrap();
    run(&chosen, policy.program(&chosen, root), &briefing(), &variables(), &Stop::default()).await
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn one_that_uses_up_its_processor_time_has_ended_itself() {
    let ended = end_within("{ cpu_s: 1 }", "while True: pass").await;
    // SIGXCPU, which is its own; a SIGKILL would be taken for somebody else's, and the agent be started again.
    assert_eq!(ended.how, HowEnded::Exited(BY_SIGNAL + 24), "{}", ended.errors);
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn one_gets_no_more_memory_than_its_limit() {
    let ended = end_within("{ memory_mb: 128 }", "held = bytearray(256 << 20)").await;
    assert!(ended.how == HowEnded::Exited(1) && ended.errors.contains("MemoryError"), "{ended:?}");
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn one_writes_no_file_that_is_larger_than_its_limit() {
    let script = "import os, signal\n\
                  signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n\
                  path = os.path.join(os.environ['HOME'], 'large')\n\
                  file = open(path, 'wb', buffering=0)\n\
                  try:\n  \
                      while True: file.write(bytes(1 << 16))\n\
                  except OSError as error: print(error.strerror, os.path.getsize(path))";
    let ended = end_within("{ file_mb: 1 }", script).await;
    assert_eq!(&*ended.output, "File too large 1048576\n", "{}", ended.errors);
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn one_opens_no_more_files_than_its_limit() {
    let script = "held = []\n\
                  try:\n  \
                      while True: held.append(open('/dev/null'))\n\
                  except OSError as error: print(error.strerror, len(held) < 32)";
    let ended = end_within("{ files: 32 }", script).await;
    assert_eq!(&*ended.output, "Too many open files True\n", "{}", ended.errors);
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn one_starts_no_more_processes_than_usual_where_its_limits_name_no_number() {
    let script = "import threading\n\
                  threading.stack_size(64 << 10)\n\
                  end, count = threading.Event(), 0\n\
                  try:\n  \
                      while count < 6000:\n    \
                          threading.Thread(target=end.wait, daemon=True).start()\n    \
                          count += 1\n\
                  except RuntimeError as error: print(error)\n\
                  end.set()";
    let ended = end_within("{}", script).await;
    assert_eq!(&*ended.output, "can't start new thread\n", "{}", ended.errors);
}

#[tokio::test]
async fn a_command_of_a_spec_is_not_started_by_a_worker_that_trusts_no_specs() {
    let folder = tempfile::tempdir().unwrap();
    let agent = agent(&format!("touch {}/ran", folder.path().display()));
    let program = Policy::closed().program(&agent, false);
    let ended = run(&agent, program, &briefing(), &variables(), &Stop::default()).await;
    assert_eq!(ended.how, HowEnded::NotStarted);
    assert!(ended.errors.contains("registered"), "{}", ended.errors);
    assert!(!folder.path().join("ran").exists());
}

#[tokio::test]
async fn agents_of_a_worker_that_trusts_no_specs_see_no_process_but_their_own() {
    let root = rustix::process::geteuid().is_root();
    let file = crate::PolicyFile::from_yaml("agents: { look: { command: [sh, -c, 'ls -d /proc/[0-9]*'] } }").unwrap();
    let policy = Policy::closed().with(file).with_agent_user(root.then(|| "65534".to_owned()));
    let chosen: ExternalAgent = serde_json::from_str(r#"{"registered":"look"}"#).unwrap();
    let program = policy.program(&chosen, root).unwrap();
    if Namespaces::available(program.account) == Namespaces::Shared {
        println!("skipped: this system lets nobody make process namespaces");
        return;
    }
    let ended = run(&chosen, Ok(program), &briefing(), &variables(), &Stop::default()).await;
    assert_eq!(ended.how, HowEnded::Exited(0), "{}", ended.errors);
    assert!(ended.output.lines().count() <= 3, "{}", ended.output);
}

#[test]
fn one_that_used_up_its_memory_is_not_taken_for_one_that_somebody_killed() {
    let end = |how, is_out_of_memory| with_memory(how, "last words\n".into(), is_out_of_memory);
    let told = "last words\nit was killed by the system for using more memory than its limit";
    assert_eq!(end(HowEnded::Killed(9), true), (HowEnded::OutOfMemory, told.into()));
    assert_eq!(end(HowEnded::Exited(1), true), (HowEnded::Exited(1), told.into()), "one of its processes was killed");
    assert_eq!(end(HowEnded::Killed(9), false), (HowEnded::Killed(9), "last words\n".into()));
}
