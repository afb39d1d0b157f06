use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::oneshot;

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

async fn run_by(policy: &Policy, agent: &ExternalAgent) -> Ended {
    run(agent, policy.program(agent, false), &briefing(), &variables(), &Stop::default()).await
}

/// A person's policy that gives agents no namespaces.
fn sharing() -> Policy {
    Policy::trusting().with(crate::PolicyFile::from_yaml("shared_processes: true").unwrap())
}

async fn end_of(script: &str) -> Ended {
    run_with(&agent(script), &Stop::default()).await
}

/// A pipe with a name, by which a process is followed into namespaces where its number is another.
struct Lifeline {
    folder: tempfile::TempDir,
}

impl Lifeline {
    fn new() -> Self {
        let line = Self { folder: tempfile::tempdir().unwrap() };
        assert!(std::process::Command::new("mkfifo").arg(line.pipe()).status().unwrap().success());
        line
    }

    fn pipe(&self) -> PathBuf {
        self.folder.path().join("pipe")
    }

    /// Words of a shell that begin a process by `sh`, which holds the pipe for as long as it is there, and wait until it does.
    fn holding(&self, sh: &str) -> String {
        let (pipe, begun) = (self.pipe(), self.folder.path().join("begun"));
        let (pipe, begun) = (pipe.display(), begun.display());
        let held = format!("echo here; : > {begun}; exec sleep 1000");
        format!("{sh} -c 'trap \"\" TERM; {held}' > {pipe} 2>/dev/null & until [ -e {begun} ]; do :; done")
    }

    /// Waits until somebody has written a line to the pipe.
    async fn begun(&self) -> BufReader<File> {
        let pipe = self.pipe();
        awaited("a process that holds the pipe", move || {
            let mut reader = BufReader::new(File::open(pipe).unwrap());
            reader.read_line(&mut String::new()).unwrap();
            reader
        })
        .await
    }
}

/// Waits until nobody holds the pipe any more.
async fn gone(mut reader: BufReader<File>) {
    awaited("the end of a process", move || reader.read_to_end(&mut Vec::new()).unwrap()).await;
}

/// Waits for `work` on a thread of its own, which a test that has failed leaves behind.
async fn awaited<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = oneshot::channel();
    std::thread::spawn(move || done.send(work()).is_ok());
    let result = tokio::time::timeout(PATIENCE, result).await;
    result.unwrap_or_else(|_| panic!("waited {} s for {what}", PATIENCE.as_secs())).unwrap()
}

/// Waits until the program has written a line there.
async fn line_in(file: &Path) {
    let reading = async {
        while !std::fs::read_to_string(file).is_ok_and(|text| text.ends_with('\n')) {
            tokio::task::yield_now().await;
        }
    };
    let there = tokio::time::timeout(PATIENCE, reading).await;
    assert!(there.is_ok(), "waited {} s for a line in {}", PATIENCE.as_secs(), file.display());
}

/// True, and a sentence, where this system gives `account` no process namespaces.
fn has_none(account: Option<regatta_processes::Account>) -> bool {
    let has_none = Namespaces::available(account) == Namespaces::Shared;
    if has_none {
        println!("skipped: this system lets nobody make process namespaces");
    }
    has_none
}

#[tokio::test]
async fn it_gets_its_errand_on_standard_input_and_its_output_is_kept() {
    let ended = end_of("cat; echo oops >&2; exit 3").await;
    assert_eq!((ended.how, &*ended.output, &*ended.errors), (HowEnded::Exited(3), "{\"task\":\"tea\"}\n", "oops\n"));
}

#[tokio::test]
async fn an_answer_in_its_file_goes_before_what_it_printed() {
    let leaving = "echo a log; printf 'the answer' > \"$REGATTA_ANSWER_FILE\"";
    let ended = end_of(leaving).await;
    assert_eq!((ended.how, &*ended.output, ended.is_cut), (HowEnded::Exited(0), "the answer", false));
    let ended = run_with(&ExternalAgent { output_bytes_max: 6, ..agent(leaving) }, &Stop::default()).await;
    assert_eq!((&*ended.output, ended.is_cut), ("the an", true));
}

#[tokio::test]
async fn what_is_no_file_of_its_own_is_no_answer() {
    for made in ["ln -s /etc/passwd", "mkfifo", "mkdir"] {
        let ended = end_of(&format!("{made} \"$REGATTA_ANSWER_FILE\"; echo printed")).await;
        assert_eq!(&*ended.output, "printed\n", "{made}");
    }
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
    let agent = agent(&format!("echo begun; echo ready > {}; sleep 1000", ready.display()));
    let (ended, ()) = tokio::join!(run_with(&agent, &stop), async {
        line_in(&ready).await;
        stop.now(HowEnded::Deadline);
    });
    assert_eq!((ended.how, &*ended.output), (HowEnded::Deadline, "begun\n"));
}

#[tokio::test]
async fn one_that_does_not_want_to_end_is_ended_with_everything_it_started() {
    let (stop, line) = (Stop::default(), Lifeline::new());
    let agent = agent(&format!("trap '' TERM; {}; wait; wait", line.holding("sh")));
    let (ended, held) = tokio::join!(run_with(&agent, &stop), async {
        let held = line.begun().await;
        stop.now(HowEnded::Interrupted);
        held
    });
    assert_eq!(ended.how, HowEnded::Interrupted);
    gone(held).await;
}

#[tokio::test]
async fn what_it_leaves_behind_when_it_exits_is_ended_too() {
    let line = Lifeline::new();
    let script = line.holding("sh");
    let (ended, held) = tokio::join!(end_of(&script), line.begun());
    assert_eq!(ended.how, HowEnded::Exited(0));
    gone(held).await;
}

#[tokio::test]
async fn nothing_of_it_is_left_when_nobody_waits_for_it_any_more() {
    let (stop, line) = (Stop::default(), Lifeline::new());
    let agent = agent(&format!("{}; wait", line.holding("sh")));
    let held = tokio::select! {
        _ = run_with(&agent, &stop) => panic!("it ended"),
        held = line.begun() => held,
    };
    gone(held).await;
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
    for policy in [Policy::trusting(), sharing()] {
        let line = Lifeline::new();
        let agent = agent(&line.holding("setsid sh"));
        let (ended, held) = tokio::join!(run_by(&policy, &agent), line.begun());
        assert_eq!(ended.how, HowEnded::Exited(0));
        gone(held).await;
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn nothing_of_it_survives_by_leaving_its_group_and_forgetting_its_home() {
    if has_none(None) {
        return;
    }
    let line = Lifeline::new();
    let script = line.holding("setsid env -i /bin/sh");
    let (ended, held) = tokio::join!(end_of(&script), line.begun());
    assert_eq!(ended.how, HowEnded::Exited(0), "{}", ended.errors);
    gone(held).await;
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn its_neighbours_do_not_see_it_nor_the_secret_of_its_session() {
    if has_none(None) {
        return;
    }
    let (stop, line) = (Stop::default(), Lifeline::new());
    let mut neighbour = agent(&format!("{}; wait", line.holding("sh")));
    neighbour.env = [("OF_THE_NEIGHBOUR".to_owned(), "a secret".to_owned())].into();
    let look = "for name in OF_THE_NEIGHBOUR 'A=told A'; do
                    cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c \"$name\"
                done";
    let (_, ended) = tokio::join!(run_with(&neighbour, &stop), async {
        let held = line.begun().await;
        let ended = end_of(look).await;
        stop.now(HowEnded::Interrupted);
        gone(held).await;
        ended
    });
    let seen: Vec<usize> = ended.output.lines().map(|line| line.trim().parse().unwrap()).collect();
    assert!(seen[0] == 0 && seen[1] > 0, "its own variables and no others: {}", ended.output);
}

#[tokio::test]
async fn a_policy_that_shares_processes_has_an_agent_see_those_of_the_machine() {
    let here = std::process::id();
    let agent = agent(&format!("kill -0 {here} && echo there"));
    let ended = run_by(&sharing(), &agent).await;
    assert_eq!((ended.how, &*ended.output), (HowEnded::Exited(0), "there\n"), "{}", ended.errors);
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
    if has_none(program.account) {
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
