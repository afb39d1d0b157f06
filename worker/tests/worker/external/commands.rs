//! Agents that are commands.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::time::Duration;

use regatta_processes::{Cgroups, Limits};
use regatta_proto::{AttemptTotals, Cause, Event, ExternalAgent, Money, Outcome, Report, SessionOutcome, Simulation};
use regatta_worker::{Policy, PolicyFile};
use tokio::sync::oneshot;

use super::office::{Office, command, output, python, replies, story};
use crate::stage::within;

const LOST: Outcome = Outcome::NotMeasured { cause: Cause::AgentLost };

#[tokio::test]
async fn everything_that_it_asks_is_recorded_and_paid() {
    let agent = python("print(ask('a')); print(fetch(errand['tools_url'] + '/proxy/http/host:80/x')); print(ask('a'))");
    let office = Office::with(1, agent, Simulation::default(), |lock| lock.budget_usd = Some(100.0)).await;
    office.fund(Money(100_000_000_000)).await;
    let outcome = office.outcome().await;
    assert_eq!(outcome.outcome, Outcome::Measured);
    let transcript = &outcome.transcript;
    insta::assert_snapshot!(story(transcript).join("\n"));
    let said = replies(transcript);
    assert_eq!(output(transcript), format!("{}\nGET for item-0-\n{}\n", said[0], said[1]));
    assert_ne!(said[0], said[1], "each time is a sample of its own");
    let cost = transcript.totals_of(1).cost;
    assert!(cost.known > Money::ZERO);
    assert_eq!(office.spent().await, cost.known);
}

#[tokio::test]
async fn one_that_is_killed_is_started_again_and_no_call_is_paid_twice() {
    let agent = python(
        "said = [ask('a'), ask('a')]\nif first_time('x'): os.kill(os.getpid(), signal.SIGKILL)\nprint(said, ask('b'))",
    );
    let office = Office::with(1, agent, Simulation::default(), |lock| lock.budget_usd = Some(100.0)).await;
    office.fund(Money(100_000_000_000)).await;
    let outcome = office.outcome().await;
    assert_eq!(outcome.outcome, Outcome::Measured);
    let transcript = &outcome.transcript;
    insta::assert_snapshot!(story(transcript).join("\n"));
    let said = replies(transcript);
    assert_eq!(said[..2], said[2..4]);
    assert_ne!(said[0], said[1]);
    assert_eq!(office.server.counters().total_answered(), 3);
    assert_eq!(office.spent().await, transcript.totals_of(1).cost.known);
}

#[tokio::test]
async fn what_was_asked_at_the_same_time_is_known_again_too() {
    let agent = python(
        "from concurrent.futures import ThreadPoolExecutor\n\
         said = list(ThreadPoolExecutor(8).map(ask, ['same', 'same', 'same', 'same', 'a', 'b', 'c', 'd']))\n\
         if first_time('x'): os.kill(os.getpid(), signal.SIGKILL)\nprint(ask('end'))",
    );
    let office = Office::of(agent).await;
    let outcome = office.outcome().await;
    assert_eq!(outcome.outcome, Outcome::Measured);
    assert_eq!(office.server.counters().total_answered(), 9);
    let said = replies(&outcome.transcript);
    let (mut first, mut second) = (said[..8].to_vec(), said[8..16].to_vec());
    first.sort_unstable();
    second.sort_unstable();
    assert_eq!((said.len(), first.clone()), (17, second));
    first.dedup();
    assert_eq!(first.len(), 8, "also equal requests are answered one by one");
}

#[tokio::test]
async fn one_that_is_killed_each_time_is_lost() {
    let agent = ExternalAgent { starts_max: 2, ..python("ask('a')\nos.kill(os.getpid(), signal.SIGTERM)") };
    let office = Office::of(agent).await;
    let outcome = office.outcome().await;
    assert_eq!(outcome.outcome, LOST);
    insta::assert_snapshot!(story(&outcome.transcript).join("\n"));
    assert_eq!(office.server.counters().total_answered(), 1);
}

#[tokio::test]
async fn what_cannot_be_started_is_lost_and_the_transcript_says_why() {
    let office = Office::of(command(&["/no/such/agent"])).await;
    let outcome = office.outcome().await;
    assert_eq!(outcome.outcome, LOST);
    assert_eq!(story(&outcome.transcript), ["attempt 1 starts mine", "ends: NotStarted"]);
    let Some(regatta_proto::Event::Ended(ended)) = outcome.transcript.events.last() else { panic!() };
    assert!(ended.errors.contains("/no/such/agent"), "{}", ended.errors);
}

#[tokio::test]
async fn one_that_never_ends_is_stopped_at_its_deadline_and_what_it_did_counts() {
    // Its start does not count, but what it does with the answer.
    let agent = ExternalAgent { deadline_s: 5, ..python("print(ask('a'))\ntime.sleep(1000)") };
    let office = Office::of(agent).await;
    let outcome = office.outcome().await;
    assert_eq!(outcome.outcome, Outcome::Measured);
    assert_eq!(story(&outcome.transcript), ["attempt 1 starts mine", "attempt 1 asks a", "ends: Deadline"]);
    assert_eq!(output(&outcome.transcript).trim_end(), replies(&outcome.transcript)[0]);
}

/// True, and a sentence, where this system gives this process no control groups that limit memory.
fn has_no_memory_groups() -> bool {
    let group = Cgroups::delegated().and_then(|groups| groups.make(&Limits::default()).ok());
    let has_none = group.is_none_or(|group| !group.entrance().with_file_name("memory.max").exists());
    if has_none {
        regatta_tests::regatta::skipped(
            "commands",
            "this process is given no control groups (cgroup v2) that limit memory",
        );
    }
    has_none
}

#[tokio::test]
async fn one_whose_processes_take_more_memory_together_than_its_limit_is_ended_and_the_session_says_why() {
    if has_no_memory_groups() {
        return;
    }
    // Each process stays below what a process may have, so that the limit of the group alone ends them.
    let greedy = python(
        "ask('a')\n\
         reading, writing = os.pipe()\n\
         for _ in range(4):\n    \
             if os.fork() == 0:\n        \
                 held = b'x' * (160 << 20)\n        \
                 os.write(writing, b'.')\n        \
                 time.sleep(1000)\n\
         for _ in range(4): os.read(reading, 1)\n\
         print('lived')",
    );
    let command = serde_json::to_string(&greedy.command).unwrap();
    let rules = format!("agents: {{ greedy: {{ command: {command}, limits: {{ memory_mb: 256 }} }} }}");
    let mut office = Office::of(serde_json::from_str(r#"{"registered":"greedy"}"#).unwrap()).await;
    office.stage.policy = Policy::trusting().with(PolicyFile::from_yaml(&rules).unwrap());
    let outcome = office.outcome().await;
    assert_eq!(outcome.outcome, LOST);
    assert_eq!(story(&outcome.transcript), ["attempt 1 starts mine", "attempt 1 asks a", "ends: OutOfMemory"]);
    let Some(Event::Ended(ended)) = outcome.transcript.events.last() else { panic!() };
    assert_eq!(&*ended.errors, "it was killed by the system for using more memory than its limit");
}

#[tokio::test]
async fn one_that_writes_a_gigabyte_is_stopped_and_its_beginning_counts() {
    let office = Office::of(python("ask('a')\nwhile True: print('x' * 65536)")).await;
    let outcome = office.outcome().await;
    assert_eq!(outcome.outcome, Outcome::Measured);
    assert_eq!(story(&outcome.transcript)[2], "ends: TooMuchOutput");
    assert_eq!(output(&outcome.transcript).len(), 1 << 20);
}

#[tokio::test]
async fn one_that_fails_by_itself_is_measured() {
    let office = Office::of(python("print(ask('a')); sys.exit('no')")).await;
    let outcome = office.outcome().await;
    assert_eq!(outcome.outcome, Outcome::Measured);
    assert_eq!(story(&outcome.transcript)[2], "ends: Exited(1)");
}

/// A missing file, a crash on import, a hang, a wrong URL, a flood: none of them says anything about the model.
#[tokio::test]
async fn one_that_fails_before_it_asked_its_model_is_lost() {
    let agents = [
        (command(&["python3", "/no/such/agent.py"]), "ends: Exited(2)"),
        (python("import no_such_module"), "ends: Exited(1)"),
        (ExternalAgent { deadline_s: 1, startup_s: 1, ..python("time.sleep(1000)") }, "ends: Deadline"),
        (python("fetch('http://127.0.0.1:9/')"), "ends: Exited(1)"),
        (command(&["head", "-c", "1073741824", "/dev/zero"]), "ends: TooMuchOutput"),
    ];
    for (agent, end) in agents {
        let outcome = Office::of(agent).await.outcome().await;
        assert_eq!((outcome.outcome, &story(&outcome.transcript)[1][..]), (LOST, end));
    }
}

#[tokio::test]
async fn a_cell_whose_agents_all_fail_alike_starts_a_few_of_them_and_says_so_of_the_others() {
    let agent = ExternalAgent { concurrency: 1, ..python("import no_such_module") };
    let office = Office::with(40, agent, Simulation::default(), |_| {}).await;
    let outcomes = office.outcomes(40).await;
    let starts = |outcome: &SessionOutcome| {
        outcome.transcript.events.iter().filter(|event| matches!(event, Event::Started(_))).count()
    };
    assert!(outcomes.iter().all(|outcome| outcome.outcome == LOST));
    assert_eq!(outcomes.iter().map(starts).sum::<usize>(), 5);
    let held = outcomes.iter().find(|outcome| starts(outcome) == 0).unwrap();
    insta::assert_snapshot!(story(&held.transcript).join("\n"));
}

#[tokio::test]
async fn a_program_that_is_killed_each_time_is_not_started_for_every_session() {
    let agent = ExternalAgent { concurrency: 1, starts_max: 2, ..command(&["sh", "-c", "kill -KILL $$"]) };
    let office = Office::with(12, agent, Simulation::default(), |_| {}).await;
    let outcomes = office.outcomes(12).await;
    let starts = |outcome: &SessionOutcome| {
        outcome.transcript.events.iter().filter(|event| matches!(event, Event::Started(_))).count()
    };
    assert!(outcomes.iter().all(|outcome| outcome.outcome == LOST));
    assert_eq!(outcomes.iter().map(starts).sum::<usize>(), 10, "five sessions, started twice each");
}

#[tokio::test]
async fn one_that_asks_nothing_and_says_nothing_is_lost_however_well_it_ends() {
    let outcome = Office::of(python("print(' ')")).await.outcome().await;
    assert_eq!((outcome.outcome, output(&outcome.transcript)), (LOST, " \n"));
    let outcome = Office::of(python("fetch(errand['tools_url'] + '/proxy/http/host:80/x')")).await.outcome().await;
    assert_eq!(outcome.outcome, Outcome::Measured, "what it did with its tools may be all that was asked for");
}

#[tokio::test]
async fn one_that_does_without_a_model_and_ends_well_is_measured() {
    let outcome = Office::of(python("print('done')")).await.outcome().await;
    assert_eq!((outcome.outcome, output(&outcome.transcript)), (Outcome::Measured, "done\n"));
}

#[tokio::test]
async fn a_route_that_the_bridge_does_not_have_is_no_reason_for_a_measured_failure() {
    let miss = "fetch(os.environ['OPENAI_BASE_URL'] + '/assistants');";
    let outcome_of = async |before: &str, after: &str| {
        Office::of(python(&format!("{before}{miss}{after}"))).await.outcome().await.outcome
    };
    assert_eq!(outcome_of("", "").await, LOST);
    assert_eq!(outcome_of("ask('a');", "sys.exit(1)").await, LOST);
    assert_eq!(outcome_of("", "print(ask('a'))").await, Outcome::Measured, "it did without");
}

#[tokio::test]
async fn the_deadline_begins_with_the_first_request() {
    // It is late by its deadline before it asks, and has all of that left to end.
    let slow = "time.sleep(6)\nprint(ask('a'))";
    let agent = ExternalAgent { deadline_s: 5, startup_s: 120, ..python(slow) };
    let outcome = Office::of(agent).await.outcome().await;
    assert_eq!((outcome.outcome, &story(&outcome.transcript)[2][..]), (Outcome::Measured, "ends: Exited(0)"));
}

#[tokio::test]
async fn one_whose_worker_leaves_is_started_again_elsewhere_and_knows_what_it_had_asked() {
    let agent = python("print(ask('a'))\nif first_time('x'): time.sleep(1000)\nprint(ask('b'))");
    let office = Office::of(agent).await;
    office.stage.publish([office.stage.job(0, 0)]).await;
    let mut reports = office.stage.reports().await;
    let first = office.stage.start("first", |config| config.drain = Duration::ZERO).await;
    reports.progress(|open| open.totals.usage.output > 0).await;
    within(async {
        while !office.folder.path().join("x").exists() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    first.leave().await;
    let Report::HandedOver { attempt, totals: AttemptTotals { cost, .. }, .. } = reports.result().await else {
        panic!("not handed over")
    };
    assert_eq!(attempt.number, 1);
    let second = office.stage.start("second", |_| {}).await;
    let outcome = reports.outcome().await;
    second.leave().await;
    assert_eq!((outcome.outcome, outcome.attempt.number), (Outcome::Measured, 2));
    insta::assert_snapshot!(story(&outcome.transcript).join("\n"));
    assert_eq!(office.server.counters().total_answered(), 2);
    assert_eq!(outcome.transcript.totals_of(1).cost, cost);
}

#[tokio::test]
async fn nothing_of_it_is_left_when_its_worker_is_killed() {
    let agent = python(
        "held = open(os.path.join(errand['folder'], 'held'), 'w')\n\
         child = __import__('subprocess').Popen(['sleep', '1000'], stdout=held)\n\
         print('here', file=held, flush=True)\ntime.sleep(1000)",
    );
    let office = Office::of(agent).await;
    // Its number is another in a process namespace; whoever holds a pipe can be told from outside.
    let held = office.folder.path().join("held");
    assert!(std::process::Command::new("mkfifo").arg(&held).status().unwrap().success());
    let ((begins, begun), (ends, ended)) = (oneshot::channel(), oneshot::channel());
    std::thread::spawn(move || {
        let mut reader = BufReader::new(File::open(held).unwrap());
        reader.read_line(&mut String::new()).unwrap();
        begins.send(()).unwrap();
        reader.read_to_end(&mut Vec::new()).unwrap();
        ends.send(()).unwrap();
    });
    office.stage.publish([office.stage.job(0, 0)]).await;
    let worker = office.stage.start_mortal("w").await;
    within(begun).await.unwrap();
    worker.kill();
    within(ended).await.unwrap();
}

#[tokio::test]
async fn what_ends_as_if_it_could_not_be_run_is_lost_unless_it_did_something() {
    for code in [126, 127] {
        let outcome = Office::of(command(&["sh", "-c", &format!("exit {code}")])).await.outcome().await;
        assert_eq!((outcome.outcome, &story(&outcome.transcript)[1][..]), (LOST, "ends: NotStarted"));
        let outcome = Office::of(python(&format!("ask('a'); sys.exit({code})"))).await.outcome().await;
        assert_eq!(outcome.outcome, Outcome::Measured);
    }
}
