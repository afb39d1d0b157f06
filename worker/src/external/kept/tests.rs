use super::*;
use crate::Policy;

/// Says how many sessions it has had, with what it was told, and that it is done; `sh` of a script that does more in each session.
const LOOP: &str =
    "while read -r line; do n=$((n + 1)); cd \"$HOME\"; SCRIPT; echo \"session $n\"; echo \"{\\\"done\\\": $n}\"; done";

fn agent(script: &str) -> ExternalAgent {
    let mut agent: ExternalAgent = serde_json::from_str(r#"{"sessions_max": 3}"#).unwrap();
    let script = LOOP.replace("SCRIPT", script);
    agent.command = ["sh", "-c", script.as_str()].map(str::to_owned).to_vec();
    agent
}

fn briefing() -> Briefing {
    let variables = vec![("OPENAI_API_KEY", "of the session".to_owned()), ("SSL_CERT_FILE", "/known.pem".to_owned())];
    Briefing { line: "{\"task\":\"tea\"}\n".to_owned(), variables }
}

fn owner(name: &str) -> Owner {
    Owner { sweep: SweepId::new("s").unwrap(), agent: name.parse().unwrap() }
}

async fn session_of(kept: &Kept, name: &str, agent: &ExternalAgent, stop: &Stop) -> Ended {
    told(&briefing(), kept, name, agent, stop).await
}

async fn told(briefing: &Briefing, kept: &Kept, name: &str, agent: &ExternalAgent, stop: &Stop) -> Ended {
    let program = Policy::trusting().program(agent, false).unwrap();
    run(kept, agent, (program, owner(name), false), (briefing, &Strays::default()), &path(), stop).await
}

fn path() -> BTreeMap<String, String> {
    BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap())])
}

/// The outputs of `count` sessions, one after another, with how each ended.
async fn sessions(agent: &ExternalAgent, count: usize) -> Vec<(HowEnded, String)> {
    let kept = Kept::default();
    let mut ends = Vec::new();
    for _ in 0..count {
        let ended = session_of(&kept, "mine", agent, &Stop::default()).await;
        ends.push((ended.how, ended.output.to_string()));
    }
    ends
}

/// Errors of the session without the word of a shell for being ended.
fn errors_of_its_own(ended: &Ended) -> &str {
    ended.errors.strip_prefix("Terminated\n").unwrap_or(&ended.errors)
}

fn done(number: u32) -> (HowEnded, String) {
    (HowEnded::Exited(0), format!("session {number}\n"))
}

#[tokio::test]
async fn a_process_does_as_many_sessions_as_it_may_and_another_one_the_next() {
    assert_eq!(sessions(&agent(":"), 5).await, [done(1), done(2), done(3), done(1), done(2)]);
}

#[tokio::test]
async fn a_session_that_is_begun_again_has_a_new_process_in_the_place_of_one_that_waits() {
    let (kept, agent) = (Kept::default(), agent(":"));
    for (again, expected) in
        [(false, "session 1\n"), (false, "session 2\n"), (true, "session 1\n"), (false, "session 2\n")]
    {
        let program = Policy::trusting().program(&agent, false).unwrap();
        let ended = run(
            &kept,
            &agent,
            (program, owner("mine"), again),
            (&briefing(), &Strays::default()),
            &path(),
            &Stop::default(),
        )
        .await;
        assert_eq!((ended.how, &*ended.output), (HowEnded::Exited(0), expected));
        assert_eq!(lock(&kept.0).processes.len(), 1);
    }
}

#[tokio::test]
async fn processes_of_two_agents_are_never_those_of_the_other() {
    let (kept, agent) = (Kept::default(), agent(":"));
    for (name, number) in [("one", 1), ("other", 1), ("one", 2), ("other", 2)] {
        let ended = session_of(&kept, name, &agent, &Stop::default()).await;
        assert_eq!((ended.how, &*ended.output), (HowEnded::Exited(0), &*format!("session {number}\n")), "{name}");
    }
}

#[tokio::test]
async fn a_session_is_told_its_task_number_and_places_and_has_a_directory_of_its_own() {
    // What it leaves in the directory of one session is not in that of the next.
    let script = "directory=${line#*\\\"directory\\\":\\\"}; directory=${directory%%\\\"*}; ls -A \"$directory\"; \
                  : > \"$directory/left\"; printf '%s\\n' \"$line\"";
    let kept = Kept::default();
    for number in 1..=3 {
        let output = session_of(&kept, "mine", &agent(script), &Stop::default()).await.output;
        let (line, end) = output.split_once('\n').unwrap();
        let told: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{output}"));
        assert_eq!((&told["task"], &told["session"]), (&"tea".into(), &number.into()));
        let directory = told["directory"].as_str().unwrap();
        assert_eq!(told["answer_file"], format!("{directory}/answer"));
        assert!(!std::path::Path::new(directory).exists(), "it goes with its session");
        assert_eq!(end, format!("session {number}\n"));
    }
}

#[tokio::test]
async fn what_is_of_one_session_is_not_in_the_environment_of_a_process() {
    let (_, output) = sessions(&agent("env"), 1).await.remove(0);
    assert!(output.contains("SSL_CERT_FILE=/known.pem") && !output.contains("of the session"), "{output}");
    assert!(!output.contains(answer_file::VARIABLE), "{output}");
}

#[tokio::test]
async fn an_answer_in_the_file_of_a_session_goes_before_what_it_printed() {
    let script =
        "file=${line#*\\\"answer_file\\\":\\\"}; file=${file%%\\\"*}; [ $n = 2 ] || printf 'answer %s' $n > \"$file\"";
    let outputs: Vec<String> = sessions(&agent(script), 3).await.into_iter().map(|(_, output)| output).collect();
    assert_eq!(outputs, ["answer 1", "session 2\n", "answer 3"]);
}

#[tokio::test]
async fn errors_are_told_of_the_session_alone_that_wrote_them() {
    let kept = Kept::default();
    // It leaves in its second session, so that all it wrote is there.
    let agent = agent("echo \"oops $n\" >&2; [ $n = 1 ] || exit 7");
    session_of(&kept, "mine", &agent, &Stop::default()).await;
    let ended = session_of(&kept, "mine", &agent, &Stop::default()).await;
    assert_eq!(ended.how, HowEnded::Exited(7));
    assert!(ended.errors.contains("oops 2"), "{}", ended.errors);
}

#[tokio::test]
async fn a_session_that_fails_ends_its_process_and_the_next_one_has_a_new_one() {
    let failing = "if [ $n = 2 ]; then echo \"{\\\"done\\\": 2, \\\"failed\\\": \\\"no tea\\\"}\"; continue; fi";
    let (kept, agent) = (Kept::default(), agent(failing));
    assert_eq!(session_of(&kept, "mine", &agent, &Stop::default()).await.how, HowEnded::Exited(0));
    let failed = session_of(&kept, "mine", &agent, &Stop::default()).await;
    assert_eq!((failed.how, errors_of_its_own(&failed)), (HowEnded::Exited(1), "no tea\n"));
    assert_eq!(&*session_of(&kept, "mine", &agent, &Stop::default()).await.output, "session 1\n");
}

#[tokio::test]
async fn a_session_that_crashes_or_floods_ends_as_that_of_a_process_of_its_own() {
    for (script, how) in [
        ("exit 3", HowEnded::Exited(3)),
        ("kill -KILL $$", HowEnded::Killed(9)),
        ("head -c 5000000 /dev/zero", HowEnded::TooMuchOutput),
        ("head -c 5000000 /dev/zero | tr '\\0' '\\n'", HowEnded::TooMuchOutput),
    ] {
        let script = format!("if [ $n = 2 ]; then {script}; fi");
        let ends = sessions(&agent(&script), 3).await;
        assert_eq!((&ends[0], ends[1].0, &ends[2]), (&done(1), how, &done(1)), "{script}");
    }
}

#[tokio::test]
async fn a_session_that_is_stopped_ends_its_process() {
    let (kept, stop) = (Kept::default(), Stop::default());
    stop.now(HowEnded::Deadline);
    let ended = session_of(&kept, "mine", &agent("sleep 1000"), &stop).await;
    assert_eq!(ended.how, HowEnded::Deadline);
    assert!(lock(&kept.0).processes.is_empty());
}

#[tokio::test]
async fn what_a_process_has_started_keeps_its_session_no_longer_than_itself() {
    // Its output stays open: in a process namespace all would end with it.
    let (kept, agent) = (Kept::default(), agent("if [ $n = 2 ]; then printf half; sleep 1000 & exit 3; fi"));
    let program = Program { is_isolated: false, ..Policy::trusting().program(&agent, false).unwrap() };
    let mut ends = Vec::new();
    for _ in 0..2 {
        let of = (program.clone(), owner("mine"), false);
        let ended = run(&kept, &agent, of, (&briefing(), &Strays::default()), &path(), &Stop::default()).await;
        ends.push((ended.how, ended.output.to_string()));
    }
    assert_eq!(ends, [done(1), (HowEnded::Exited(3), "half".to_owned())]);
}

#[tokio::test]
async fn what_a_stopped_session_has_said_counts_to_the_last_byte() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let agent = agent(&format!("printf unfinished; : > {}; exec sleep 1000", pipe.display()));
    let (kept, stop) = (Kept::default(), Stop::default());
    // Nobody opens the pipe before the word is written.
    let written = tokio::task::spawn_blocking(move || std::fs::read(pipe).unwrap());
    let stopping = async {
        written.await.unwrap();
        stop.now(HowEnded::Deadline);
    };
    let (ended, ()) = tokio::join!(session_of(&kept, "mine", &agent, &stop), stopping);
    assert_eq!((ended.how, &*ended.output), (HowEnded::Deadline, "unfinished"));
}

#[tokio::test]
async fn a_process_that_does_not_read_its_task_can_flood_or_say_that_it_is_done() {
    // More than a pipe holds.
    let long = Briefing { line: format!("{{\"task\":\"{}\"}}\n", "x".repeat(1 << 20)), variables: Vec::new() };
    for (script, how, said) in [
        ("exec head -c 5000000 /dev/zero", HowEnded::TooMuchOutput, ""),
        ("echo '{\"done\": 1}'; exec sleep 1000", HowEnded::Exited(0), "it was done before it had read its task\n"),
    ] {
        let command = ["sh", "-c", script].map(str::to_owned).to_vec();
        let deaf = ExternalAgent { command, ..agent(":") };
        let kept = Kept::default();
        let ended = told(&long, &kept, "mine", &deaf, &Stop::default()).await;
        assert_eq!((ended.how, errors_of_its_own(&ended)), (how, said), "{script}");
        assert!(lock(&kept.0).processes.is_empty(), "{script}");
    }
}

#[test]
fn what_earlier_sessions_have_left_in_a_process_is_not_held_against_the_next_one() {
    for (how, number, has_answered, expected) in [
        (HowEnded::OutOfMemory, 1, false, HowEnded::OutOfMemory),
        (HowEnded::OutOfMemory, 2, true, HowEnded::Killed(9)),
        (HowEnded::Exited(0), 1, false, HowEnded::Exited(0)),
        (HowEnded::Exited(0), 2, false, HowEnded::Killed(0)),
        (HowEnded::Exited(0), 2, true, HowEnded::Exited(0)),
        (HowEnded::Exited(1), 2, false, HowEnded::Exited(1)),
        (HowEnded::Deadline, 2, false, HowEnded::Deadline),
    ] {
        assert_eq!(of_session(how, number, has_answered), expected, "{how:?} {number} {has_answered}");
    }
}

#[tokio::test]
async fn a_process_that_leaves_its_answer_in_the_file_and_goes_has_done_its_session() {
    let script =
        "file=${line#*\\\"answer_file\\\":\\\"}; file=${file%%\\\"*}; [ $n = 1 ] || { printf x > \"$file\"; exit 0; }";
    assert_eq!(sessions(&agent(script), 2).await, [done(1), (HowEnded::Exited(0), "x".to_owned())]);
}

#[tokio::test]
async fn what_a_process_prints_after_it_was_done_is_in_no_other_session() {
    let late = "echo \"session $n\"; printf '{\"done\": %s}\\nmore\\n' $n; continue";
    assert_eq!(sessions(&agent(late), 3).await, [done(1), done(1), done(1)]);
}

#[tokio::test]
async fn a_process_that_answers_an_earlier_session_again_answers_no_other() {
    let ends = sessions(&agent("[ $n = 1 ] || echo '{\"done\": 1}'"), 3).await;
    assert_eq!(ends, [done(1), (HowEnded::Killed(0), String::new()), done(1)]);
}

#[tokio::test]
async fn a_process_that_has_left_while_it_waited_did_nothing_in_the_session_after_that() {
    let kept = Kept::default();
    let leaving = agent("[ $n = 1 ] || exit 0");
    assert_eq!(session_of(&kept, "mine", &leaving, &Stop::default()).await.how, HowEnded::Exited(0));
    assert_eq!(session_of(&kept, "mine", &leaving, &Stop::default()).await.how, HowEnded::Killed(0));
}

#[tokio::test]
async fn a_program_that_knows_nothing_of_further_sessions_does_one() {
    let command = ["sh", "-c", "read -r line; echo done"].map(str::to_owned).to_vec();
    let plain = ExternalAgent { command, ..agent(":") };
    let ends = sessions(&plain, 2).await;
    assert_eq!(ends, [(HowEnded::Exited(0), "done\n".to_owned()), (HowEnded::Exited(0), "done\n".to_owned())]);
}

#[tokio::test]
async fn only_the_word_about_this_session_ends_it() {
    let script = "echo '{\"done\": 9}'; echo 'x {\"done\": 1}'; echo '{\"done\": 1, \"answer\": \"x\"}'";
    let (how, output) = sessions(&agent(script), 1).await.remove(0);
    assert_eq!((how, output.lines().count()), (HowEnded::Exited(0), 4), "{output}");
}

#[test]
fn the_published_schema_has_the_word_that_a_session_is_done() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../benchmarks/schemas/done.schema.json")).unwrap();
    let fields: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["done", "failed"]);
    let word = serde_json::json!({ "done": 1, "failed": "no tea" }).to_string();
    assert!(super::done(word.as_bytes()).is_some_and(|done| done.done == 1));
}

#[tokio::test]
async fn what_cannot_be_started_is_told() {
    let missing = ExternalAgent { command: vec!["/no/such/program".to_owned()], ..agent("") };
    let ended = session_of(&Kept::default(), "mine", &missing, &Stop::default()).await;
    assert_eq!(ended.how, HowEnded::NotStarted);
    assert!(ended.errors.contains("/no/such/program"), "{}", ended.errors);
}
