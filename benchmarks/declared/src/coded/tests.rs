//! Whole benchmarks with programs: the miniatures, and programs that say what cannot be.

mod pods;
mod worlds;

use std::path::PathBuf;
use std::process::Command;

use regatta_benchmark_testing::{answered, drive, drive_agent, drive_with, examples};
use regatta_benchmarks::{Benchmark, Persona, RecordedVerdicts, Scoring, Step, Suite, Unplayed, Verdicts};
use regatta_coded::Permissions;
use regatta_proto::{
    ChatMessage, ChatRequest, ChatRole, Evaluator, Event, FailedCall, FileSet, ItemIndex, Question, Reply, Role,
    Sampling, SessionSeed, Setting, Transcript, Verdict,
};

use crate::Declared;
use crate::definition::FILE;

const DECLARED: Declared = Declared::new(Permissions::trusting());

/// `true` if there is `program`; a test that needs it says so and passes otherwise.
fn has(program: &str) -> bool {
    let is_there = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_there {
        println!("skipped: there is no {program} here");
    }
    is_there
}

fn miniature(folder: &str) -> FileSet {
    let root: PathBuf = examples().join("benchmarks").join(folder);
    let mut files = FileSet::from_origin(folder);
    files.insert(FILE, std::fs::read(root.join(FILE)).unwrap());
    for path in DECLARED.further_files(&files).unwrap() {
        if let Ok(content) = std::fs::read(root.join(&path)) {
            files.insert(path, content);
        }
    }
    files
}

fn scoring(suite: &dyn Suite, item: ItemIndex, setting: &Setting, transcript: &Transcript) -> Scoring {
    suite.score_session(item, setting, &[Evaluator::Declared], transcript, &RecordedVerdicts::default())
}

fn value(suite: &dyn Suite, item: ItemIndex, setting: &Setting, transcript: &Transcript, name: &str) -> f64 {
    match scoring(suite, item, setting, transcript) {
        Scoring::Scored(mut scores) => scores.remove(&Evaluator::Declared).unwrap().values[name],
        other => panic!("{other:?}"),
    }
}

/// Every session of the miniature `folder`, by a player that is always right and by one that never is.
fn plays_rightly_and_wrongly(folder: &str, name: &str) {
    let suite = DECLARED.load(&miniature(folder)).unwrap();
    for setting in suite.declared_settings() {
        for item in suite.select(&setting, &[], None).unwrap() {
            let right = drive(&*suite, item, &setting, Persona::Oracle, 1);
            assert!(matches!(suite.next(item, &setting, &right), Step::Done), "{setting} {item}");
            assert_eq!(value(&*suite, item, &setting, &right, name), 1.0, "{setting} {item}");
            let wrong = drive_with(&*suite, item, &setting, |role, request| match role {
                Role::Agent => Reply::said("No."),
                other => suite.simulate(item, &setting, other, Persona::Oracle, regatta_proto::SessionSeed(1), request),
            });
            assert_eq!(value(&*suite, item, &setting, &wrong, name), 0.0, "{setting} {item}");
        }
    }
}

#[test]
fn a_benchmark_in_python_with_a_user_and_tools_is_played_to_its_end() {
    if has("python3") {
        plays_rightly_and_wrongly("parcels", "solved");
    }
}

#[test]
fn a_session_has_a_server_of_mcp_of_its_own_with_a_seeded_world() {
    if has("python3") {
        plays_rightly_and_wrongly("library", "right");
    }
}

#[test]
fn an_agent_and_a_user_have_tools_of_one_world_that_the_program_serves() {
    if has("python3") {
        plays_rightly_and_wrongly("router", "solved");
    }
}

#[test]
fn an_external_agent_takes_the_models_turns_beside_the_user_and_the_tools_of_a_program() {
    if !has("python3") {
        return;
    }
    let suite = DECLARED.load(&miniature("parcels")).unwrap();
    let native = suite.declared_settings().remove(1);
    let setting: Setting = format!("external/mine/{native}").parse().unwrap();
    assert_eq!(suite.roles(&setting), suite.roles(&native));
    for item in suite.select(&setting, &[], None).unwrap() {
        let session = drive_agent(&*suite, item, &setting, |task| {
            let request = regatta_benchmarks::delegated::asked(task).unwrap();
            let seed = regatta_proto::SessionSeed(1);
            let reply = suite.simulate(item, &setting, Role::Agent, Persona::Oracle, seed, &request);
            let text = reply.text.as_deref().unwrap_or_default();
            serde_json::json!({"answer": text, "tool_calls": reply.tool_calls}).to_string()
        });
        assert!(matches!(suite.next(item, &setting, &session), Step::Done), "{item}");
        assert_eq!(value(&*suite, item, &setting, &session, "solved"), 1.0, "{item}");
    }
}

#[test]
fn a_benchmark_in_javascript_speaks_the_same_protocol() {
    if has("node") {
        plays_rightly_and_wrongly("anagrams", "right");
    }
}

#[test]
fn helpers_beside_the_miniatures_are_those_that_are_published() {
    for (copy, original) in [
        ("benchmarks/parcels/regatta_benchmark.py", "../python/regatta/benchmark.py"),
        ("benchmarks/library/regatta_benchmark.py", "../python/regatta/benchmark.py"),
        ("benchmarks/router/regatta_benchmark.py", "../python/regatta/benchmark.py"),
        ("benchmarks/anagrams/regatta_benchmark.mjs", "../javascript/regatta_benchmark.mjs"),
    ] {
        let read = |path: &str| std::fs::read_to_string(examples().join(path)).unwrap();
        assert!(read(copy) == read(original), "copy {original} to examples/{copy}");
    }
    let program = std::fs::read_to_string(examples().join("benchmarks/parcels/benchmark.py")).unwrap();
    assert!(program.lines().count() <= 150);
}

#[test]
fn a_benchmark_with_a_program_is_what_its_file_declares() {
    if !has("python3") {
        return;
    }
    let suite = DECLARED.load(&miniature("parcels")).unwrap();
    let settings: Vec<String> = suite.declared_settings().iter().map(Setting::to_string).collect();
    assert_eq!(settings, ["rules=short", "rules=long"]);
    let setting = &suite.declared_settings()[0];
    assert_eq!(suite.roles(setting), [Role::Agent, Role::User]);
    assert_eq!((&*suite.items()[3].task, suite.items()[3].group.as_deref()), ("refund", Some("P-102")));
    let metrics = suite.metrics(setting, Evaluator::Declared);
    assert_eq!((metrics[0].name.as_str(), metrics[0].range), ("solved", (0.0, 1.0)));
    assert_eq!((metrics[1].name.as_str(), metrics[1].range), ("replies", (0.0, 40.0)));
    let worst = suite.score_failure(ItemIndex(0), &[Evaluator::Declared]).remove(&Evaluator::Declared).unwrap();
    assert_eq!(
        worst.values.into_iter().collect::<Vec<_>>(),
        [("replies".to_owned(), 40.0), ("solved".to_owned(), 0.0)]
    );
    let right = drive(&*suite, ItemIndex(0), setting, Persona::Oracle, 1);
    let Scoring::Scored(scores) = scoring(&*suite, ItemIndex(0), setting, &right) else { panic!() };
    let score = &scores[&Evaluator::Declared];
    let trials = [vec![(ItemIndex(0), score)], vec![(ItemIndex(0), score)]];
    let aggregate = suite.tabulate(Evaluator::Declared, &trials).aggregate;
    assert_eq!(aggregate, serde_json::json!({ "solved_in_every_trial": 1.0 }));
    let Step::Ask(_, request) = suite.next(ItemIndex(1), setting, &Transcript::default()) else { panic!() };
    let asks = request.messages.last().unwrap().content.clone();
    assert_eq!(&*asks, "Hello, what can I do for you?");
}

/// A benchmark of one item, whose program is given.
const YAML: &str = "v: 1\nprogram: [sh, run.sh]\nvalues: { right: {} }\n";
/// Answers each call with the text of a file that has its name.
const RUN: &str = r#"n=0; while IFS= read -r line; do n=$((n + 1)); call=${line#*\"call\":\"}; call=${call%%\"*}
printf '{"v":1,"id":%s,"answer":%s}\n' "$n" "$(cat "$call")"; done"#;

fn of(yaml: &str, answers: &[(&str, &str)]) -> FileSet {
    let mut files = FileSet::from_origin("folder");
    files.insert(FILE, yaml.to_owned());
    files.insert("run.sh", RUN.to_owned());
    files.insert("load", r#"{"items": [{"id": "a"}]}"#.to_owned());
    for (name, answer) in answers {
        files.insert(*name, (*answer).to_owned());
    }
    files
}

fn refused(yaml: &str, answers: &[(&str, &str)]) -> String {
    DECLARED.load(&of(yaml, answers)).err().map_or_else(|| format!("not refused: {yaml}"), |error| error.to_string())
}

#[test]
fn whatever_is_wrong_in_a_file_with_a_program_is_named_with_its_line() {
    let with = |from: &str, to: &str| refused(&YAML.replace(from, to), &[]);
    let load = |answer: &str| refused(YAML, &[("load", answer)]);
    let said = [
        with("v: 1", "v: 2"),
        with("[sh, run.sh]", "[]"),
        with("[sh, run.sh]", "[no-such-program, run.sh]"),
        with("values: { right: {} }", "values: {}"),
        with("values: { right: {} }", "values: { right: { range: [1, 0] } }"),
        with("values: { right: {} }", "values: { right: { worst: 2 } }"),
        with("values: { right: {} }\n", "values: { right: {} }\nroles: [agent]"),
        with("values: { right: {} }\n", "values: { right: {} }\nroles: [user, user]"),
        with("values: { right: {} }\n", "values: { right: {} }\nfiles: [../secret]"),
        with("values: { right: {} }\n", "values: { right: {} }\nfiles: [helper.py]"),
        with("values: { right: {} }\n", "values: { right: {} }\nlimits: { processes: 1 }"),
        with("values: { right: {} }\n", "values: { right: {} }\nlimits: { call_s: 0 }"),
        with("values: { right: {} }\n", "values: { right: {} }\nprompt: { turns: [] }"),
        with("values: { right: {} }\n", "values: { right: {} }\nmetrics: { all: { mean: wrong } }"),
        load(r#"{"items": []}"#),
        load(r#"{"items": [{"id": "a"}, {"id": "a"}]}"#),
        load(r#"{"items": [{"id": ""}]}"#),
        load(r#"{"items": [{"id": "a", "worst": {"wrong": 1}}]}"#),
        load(r#"{"items": [{"id": "a"}], "functions": ["next"]}"#),
        load(r#"{"items": [{"name": "a"}]}"#),
    ];
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn values_that_replies_of_a_judge_can_change_are_those_that_the_file_says() {
    let suite = DECLARED.load(&of(&YAML.replace("right: {}", "right: { judged: true }, length: {}"), &[])).unwrap();
    let metrics = suite.metrics(&suite.declared_settings()[0], Evaluator::Declared);
    let judged = metrics.iter().filter(|metric| suite.is_judged_metric(Evaluator::Declared, metric));
    assert_eq!(judged.map(|metric| metric.name.as_str()).collect::<Vec<_>>(), ["right"]);
}

#[test]
fn what_a_program_says_of_a_session_is_held_against_what_its_file_declares() {
    let said = |name: &str, answer: &str| {
        let suite = DECLARED.load(&of(YAML, &[(name, answer)])).unwrap();
        let setting = suite.declared_settings().remove(0);
        match name {
            "next" => match suite.next(ItemIndex(0), &setting, &Transcript::default()) {
                Step::Failed(failed) => failed.why,
                other => panic!("{other:?}"),
            },
            _ => match scoring(&*suite, ItemIndex(0), &setting, &Transcript::of_recorded(Some("x"))) {
                Scoring::Failed(failed) => failed.why,
                other => panic!("{other:?}"),
            },
        }
    };
    let said = [
        said("next", r#"{"ask": {"messages": []}}"#),
        said("next", r#"{"ask": {"role": "judge", "messages": [{"role": "user", "content": "x"}]}}"#),
        said("next", r#"{"ask": {"messages": [{"role": "bot", "content": "x"}]}}"#),
        said("next", r#"{"ask": {"messages": [{"role": "tool", "content": "x"}]}}"#),
        said("next", r#"{"ask": {"messages": [{"role": "user", "content": "x"}], "sampling": {"temperature": 3}}}"#),
        said("next", r#"{"ask": {"messages": [{"role": "user", "content": "x"}], "sampling": {"top_p": 0}}}"#),
        said("score", r#"{"values": {"right": 2}}"#),
        said("score", r#"{"values": {}}"#),
        said("score", r#"{"values": {"right": 1, "wrong": 0}}"#),
        said("score", r#"{"values": {"right": "yes"}}"#),
        said("score", r#"{"values": {"right": 1}, "questions": ["Is it?"]}"#),
    ];
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn a_program_shows_images_of_its_folder_and_no_others() {
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
    let step = |role: &str, path: &str| {
        let next =
            format!(r#"{{"ask": {{"messages": [{{"role": "{role}", "content": "What?", "images": ["{path}"]}}]}}}}"#);
        let mut files = of(&format!("{YAML}files: [a.png, b.png]\n"), &[("next", next.as_str())]);
        files.insert("a.png", PNG);
        files.insert("b.png", "no image");
        let suite = DECLARED.load(&files).unwrap();
        let setting = suite.declared_settings().remove(0);
        match suite.next(ItemIndex(0), &setting, &Transcript::default()) {
            Step::Ask(_, request) => {
                assert_eq!(suite.recognise(&request), Some(ItemIndex(0)));
                Ok(request)
            }
            Step::Failed(failed) => Err(failed.why),
            other => panic!("{other:?}"),
        }
    };
    let request = step("user", "a.png").unwrap();
    assert_eq!(request.messages[0].images[0].base64().unwrap(), "iVBORw0KGgo=");
    for path in ["b.png", "c.png", "../a.png"] {
        let said = step("user", path).unwrap_err();
        assert!(said.contains(&format!("it shows {path:?}, which is none of its `files`, or no PNG")), "{said}");
    }
    assert!(step("system", "a.png").unwrap_err().ends_with("messages of the user alone have `images`"));
}

#[test]
fn judges_are_shown_images_of_the_folder_before_what_a_program_asks_them() {
    let scoring = |score: &str| {
        let mut files = of(&format!("{YAML}files: [a.png]\n"), &[("score", score)]);
        files.insert("a.png", b"\x89PNG\r\n\x1a\n".as_slice());
        let suite = DECLARED.load(&files).unwrap();
        let setting = suite.declared_settings().remove(0);
        scoring(&*suite, ItemIndex(0), &setting, &Transcript::of_recorded(Some("x")))
    };
    let Scoring::Needs(questions) = scoring(r#"{"questions": ["Is it one?"], "images": ["a.png"]}"#) else { panic!() };
    let [Question::Judgement { before, prompt, .. }] = &questions[..] else { panic!("{questions:?}") };
    assert_eq!((before.len(), prompt.as_str()), (1, "Is it one?"));
    assert_eq!(before[0].images[0].base64().unwrap(), "iVBORw0KGgo=");
    for (score, expected) in [
        (r#"{"questions": ["Is it one?"], "images": ["b.png"]}"#, "it shows \"b.png\", which is none of its `files`"),
        (r#"{"values": {"right": 1}, "images": ["a.png"]}"#, "shows images to judges and asks them nothing"),
    ] {
        let Scoring::Failed(failed) = scoring(score) else { panic!("{score}") };
        assert!(failed.why.contains(expected), "{}", failed.why);
    }
}

#[test]
fn a_prompt_for_judges_that_is_too_long_for_a_message_costs_its_session() {
    let scoring = |bytes: usize| {
        let score = format!(r#"{{"questions": ["{}"]}}"#, "x".repeat(bytes));
        let suite = DECLARED.load(&of(YAML, &[("score", score.as_str())])).unwrap();
        let setting = suite.declared_settings().remove(0);
        scoring(&*suite, ItemIndex(0), &setting, &Transcript::of_recorded(Some("x")))
    };
    assert!(matches!(scoring(1 << 20), Scoring::Needs(_)));
    let Scoring::Failed(failed) = scoring((1 << 20) + 1) else { panic!() };
    assert!(
        failed.why.ends_with("asks judges with a prompt of 1048577 bytes, at most 1048576 are sent"),
        "{}",
        failed.why
    );
}

#[test]
fn questions_about_one_item_are_told_apart_in_files_of_verdicts() {
    let score = r#"{"questions": ["Is it right?", "Is it kind?"]}"#;
    let suite = DECLARED.load(&of(YAML, &[("score", score)])).unwrap();
    let setting = suite.declared_settings().remove(0);
    let session = Transcript::of_recorded(Some("x"));
    let Scoring::Needs(questions) = scoring(&*suite, ItemIndex(0), &setting, &session) else { panic!() };
    let line = |question: &Question, reply: &str| {
        let Question::Judgement { kind, about, .. } = question else { panic!() };
        serde_json::json!({"kind": kind, "about": about, "responses": [reply]}).to_string()
    };
    let lines = [line(&questions[0], "yes"), line(&questions[1], "no")].join("\n");
    let recorded = RecordedVerdicts::read("verdicts.jsonl", lines.as_bytes()).unwrap();
    for (question, reply) in questions.iter().zip(["yes", "no"]) {
        let expected = Verdict::Replies { replies: vec![reply.to_owned()] };
        assert_eq!(recorded.answer(question), Some(expected), "{question:?}");
    }
}

#[test]
fn no_reply_stands_for_a_model_that_a_program_fails_to_play_and_sessions_of_other_models_go_on() {
    let load = r#"{"items": [{"id": "a"}], "functions": ["simulate"]}"#;
    let suite = DECLARED.load(&of(YAML, &[("load", load), ("next", r#"{"done": true}"#)])).unwrap();
    let setting = suite.declared_settings().remove(0);
    let request = ChatRequest::new(vec![ChatMessage::new(ChatRole::User, "x")], Sampling::default());
    let played = suite.try_simulate(ItemIndex(0), &setting, Role::Agent, Persona::Oracle, SessionSeed(1), &request);
    assert_eq!(played, Err(Unplayed));
    let call = answered(Role::Agent, request, Reply::said("yes"));
    let next = |events: Vec<Event>| suite.next(ItemIndex(0), &setting, &Transcript { events });
    assert!(matches!(next(vec![call.clone()]), Step::Done));
    let (role, model) = (Role::Agent, "sim/oracle".parse().unwrap());
    let refused = FailedCall { role, attempt: 1, model, tries: Vec::new(), request: None, asked: None };
    let Step::Failed(failed) = next(vec![Event::Failed(refused), call]) else { panic!() };
    assert!(failed.why.starts_with("simulate of item a in default: "), "an agent went on: {}", failed.why);
}

#[test]
fn a_session_that_never_ends_is_ended() {
    let yaml = format!("{YAML}limits: {{ replies: 3 }}\n");
    let next = r#"{"ask": {"messages": [{"role": "user", "content": "more"}]}}"#;
    let suite = DECLARED.load(&of(&yaml, &[("next", next)])).unwrap();
    let setting = suite.declared_settings().remove(0);
    let reply = || Transcript::of_recorded(Some("x")).events.remove(0);
    let after = |replies: usize| {
        let transcript = Transcript { events: (0..replies).map(|_| reply()).collect() };
        suite.next(ItemIndex(0), &setting, &transcript)
    };
    assert!(matches!(after(3), Step::Ask(..)));
    assert!(matches!(after(4), Step::Failed(failed) if failed.why.contains("more than 3 replies")));
}

#[test]
fn judges_are_asked_what_the_program_wants_to_know_and_it_scores_with_their_replies() {
    if !has("python3") {
        return;
    }
    let mut files = FileSet::from_origin("folder");
    files.insert(
        FILE,
        "v: 1\nprogram: [python3, b.py]\nfiles: [regatta_benchmark.py]\nvalues: { good: {} }\n".to_owned(),
    );
    files.insert(
        "b.py",
        "from regatta_benchmark import *\n\
         class Judged(Benchmark):\n    \
             def load(self, data): return [Item(id='a')]\n    \
             def next(self, item, setting, transcript): return done() if transcript else ask('Say hello.')\n    \
             def score(self, item, setting, transcript, verdicts):\n        \
                 prompt = 'Is this polite? ' + transcript[0].text\n        \
                 if prompt not in verdicts: return questions(prompt)\n        \
                 return {'good': verdicts[prompt] == ['yes', 'yes']}\n\
         Judged().serve()\n"
            .to_owned(),
    );
    let helper = examples().join("benchmarks/parcels/regatta_benchmark.py");
    files.insert("regatta_benchmark.py", std::fs::read(helper).unwrap());
    let suite = DECLARED.load(&files).unwrap();
    let setting = suite.declared_settings().remove(0);
    let transcript = Transcript::of_recorded(Some("Hello!"));
    let Scoring::Needs(questions) = scoring(&*suite, ItemIndex(0), &setting, &transcript) else { panic!() };
    let [Question::Judgement { prompt, .. }] = &questions[..] else { panic!("{questions:?}") };
    assert_eq!(prompt, "Is this polite? Hello!");
    struct Agreed;
    impl regatta_benchmarks::Verdicts for Agreed {
        fn answer(&self, _: &Question) -> Option<Verdict> {
            let members = vec![vec!["yes".to_owned()], vec!["perhaps".to_owned(), "yes".to_owned()]];
            Some(Verdict::Panel { rule: regatta_proto::PanelRule::Majority, members })
        }
    }
    let Scoring::Scored(scores) =
        suite.score_session(ItemIndex(0), &setting, &[Evaluator::Declared], &transcript, &Agreed)
    else {
        panic!()
    };
    assert_eq!(scores[&Evaluator::Declared].values["good"], 1.0);
}

#[test]
fn a_session_is_recognised_by_its_first_question() {
    if !has("node") {
        return;
    }
    let suite = DECLARED.load(&miniature("anagrams")).unwrap();
    let setting = suite.declared_settings().remove(0);
    let Step::Ask(_, request) = suite.next(ItemIndex(4), &setting, &Transcript::default()) else { panic!() };
    assert_eq!(suite.recognise(&request), Some(ItemIndex(4)));
    assert_eq!(suite.recognise(&ChatRequest::default()), None);
}
