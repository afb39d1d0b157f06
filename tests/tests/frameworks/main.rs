//! Agents of frameworks that others wrote: the published packages of LangGraph, AutoGen, AgentLite and CAMEL, started by a worker, which records
//! and pays what they do; in `alone`, agents of further packages that do everything alone; and, in `everywhere`, three that do every benchmark.
//!
//! Runs where the packages can be installed, those of `alone` where they are asked for; says so where they cannot.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod alone;
mod everywhere;

use std::path::{Path, PathBuf};
use std::process::Command as Blocking;

use regatta_tests::regatta::{Process, finish, get_json, regatta, skipped, workspace};
use regatta_tests::unique_name;
use serde_json::Value;

/// Domains of the miniature that the tests select, and their items: each starts Python anew.
const DOMAINS: &str = "lists, alarm, news, stock";
const ITEMS: usize = 6;
const PRICE: &str = "{ input_per_mtok: 1, output_per_mtok: 2 }";

/// A Python that has the packages of `framework`.
fn python(framework: &str) -> Option<String> {
    found("frameworks.sh", framework)
}

/// The program that a script of the fixtures finds or installs for `framework`.
fn found(script: &str, framework: &str) -> Option<String> {
    let found = Blocking::new(workspace().join("tests/fixtures").join(script)).arg(framework).output().unwrap();
    if found.status.success() {
        return Some(String::from_utf8(found.stdout).unwrap().trim().to_owned());
    }
    skipped(framework, &String::from_utf8_lossy(&found.stderr));
    None
}

fn folder_of(framework: &str) -> PathBuf {
    workspace().join("examples/frameworks").join(framework)
}

async fn simulate() -> Process {
    simulate_by(None).await
}

/// The endpoint, whose model `scripted` goes by the rules in the file `script`.
async fn simulate_by(script: Option<&Path>) -> Process {
    simulate_of("autoslurp", script).await
}

/// The same, which knows the items of `benchmark`.
async fn simulate_of(benchmark: &str, script: Option<&Path>) -> Process {
    let mut command = regatta().unwrap();
    let data = format!("{benchmark}={}", workspace().join("examples/data").join(benchmark).display());
    let simulation = format!("{{ prices: {{ oracle: {PRICE}, scripted: {PRICE} }} }}");
    command.args(["simulate", "llm", "--listen", "127.0.0.1:0", "--data", &data, "--simulation", &simulation]);
    if let Some(script) = script {
        command.arg("--script").arg(script);
    }
    Process::start_and_read(command).await.unwrap()
}

/// The endpoint's counter `key` for the oracle.
async fn counted(server: &Process, key: &str) -> Value {
    counted_of(server, key, "oracle").await
}

/// The endpoint's counter `key` for `model`.
async fn counted_of(server: &Process, key: &str, model: &str) -> Value {
    let counters = get_json(&server.first_line.replace("/v1", "/simulator/counters")).await.unwrap();
    counters[key][model].clone()
}

/// A finished run.
struct Run {
    code: Option<i32>,
    folder: PathBuf,
    errors: String,
}

impl Run {
    /// Run over the utterances of `domains`, in `settings`, with agents as the spec writes them.
    async fn of(folder: &Path, server: &Process, agents: &str, settings: &[&str], domains: &str) -> Self {
        Self::at(folder, server, agents, settings, domains, "oracle").await
    }

    /// The same at another model of the endpoint.
    async fn at(folder: &Path, server: &Process, agents: &str, settings: &[&str], domains: &str, model: &str) -> Self {
        let text = format!(
            "name: {}\nseed: 5\nagents:\n{agents}benchmarks:\n  autoslurp:\n    data: {}\n    settings: [{}]\n    tasks: [{domains}]\n    \
             evaluators: [official, official-langgraph, official-agentlite, official-camelai, structured]\n    judge: judge/oracle\n    \
             judge_price: {{ input_per_mtok: 0, output_per_mtok: 0 }}\nendpoints:\n  \
             main: {{ kind: openai, base_url: '{}', api_key_env: none, identify_sessions: true }}\n  judge: {{ kind: simulated }}\n\
             models:\n  - {{ id: main/{model}, price: {PRICE} }}\n",
            unique_name("frameworks"),
            workspace().join("examples/data/autoslurp").display(),
            settings.join(", "),
            server.first_line,
        );
        Self::by(folder, &text).await
    }

    /// Run by the spec `text`, in `folder`.
    async fn by(folder: &Path, text: &str) -> Self {
        let spec = folder.join("spec.yaml");
        std::fs::write(&spec, text).unwrap();
        let output = folder.join("run");
        let mut command = regatta().unwrap();
        command.arg("run").arg(&spec).arg("--output").arg(&output);
        let ended = finish(command).await.unwrap();
        let errors = String::from_utf8_lossy(&ended.stderr).into_owned();
        Self { code: ended.status.code(), folder: output, errors }
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.join(name)).unwrap()
    }

    fn results(&self) -> Vec<Value> {
        lines(&self.read("results.jsonl"))
    }

    fn summary(&self) -> Value {
        serde_json::from_str(&self.read("summary.json")).unwrap()
    }

    /// All transcripts, each with what it is of.
    fn transcripts(&self) -> Vec<Value> {
        let segments = self.folder.join("transcripts").read_dir().unwrap();
        let text =
            |path: &Path| String::from_utf8(zstd::decode_all(&std::fs::read(path).unwrap()[..]).unwrap()).unwrap();
        segments.flat_map(|segment| lines(&text(&segment.unwrap().path()))).collect()
    }
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Events of one kind in a session, in order.
fn events<'t>(transcript: &'t Value, kind: &str) -> Vec<&'t Value> {
    let events = transcript["transcript"]["events"].as_array().unwrap();
    events.iter().filter_map(|event| event.get(kind)).collect()
}

/// Calls of models that were made, rather than answered from what an earlier start of the agent had asked.
fn made(transcripts: &[Value]) -> Vec<&Value> {
    let calls = transcripts.iter().flat_map(|transcript| events(transcript, "call"));
    calls.filter(|call| call["from_cache"] != true).collect()
}

fn cost(calls: &[&Value]) -> u64 {
    calls.iter().map(|call| call["cost"].as_u64().unwrap()).sum()
}

/// An agent of a spec. All of its processes have `mark` in their environment.
fn agent(name: &str, command: &[&str], directory: &Path, mark: &str) -> String {
    let command = serde_json::to_string(command).unwrap();
    // Prices of models come with LiteLLM; nothing is fetched.
    let env = format!("{{ MARK: {mark}, PYTHONDONTWRITEBYTECODE: '1', LITELLM_LOCAL_MODEL_COST_MAP: 'True' }}");
    format!("  {name}: {{ command: {command}, directory: {}, starts_max: 2, env: {env} }}\n", directory.display())
}

/// Processes that have `mark` in their environment.
fn left(mark: &str) -> Vec<PathBuf> {
    let processes = Path::new("/proc").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let is_marked = |process: &PathBuf| {
        let environment = std::fs::read(process.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == format!("MARK={mark}").as_bytes())
    };
    processes.filter(is_marked).collect()
}

/// Things that are said to the home, to a team in `framework` and to our own of the same kind; `script` is the official evaluator that
/// reads its logs, and `tool` what the framework calls the tool that sends requests.
async fn is_measured_like_our_own(framework: &str, script: &str, tool: &str) {
    let Some(python) = python(framework) else { return };
    let (folder, server, mark) = (tempfile::tempdir().unwrap(), simulate().await, unique_name("mark"));
    let agents = agent(framework, &[&python, "agent.py"], &folder_of(framework), &mark);
    let external = format!("external/{framework}");
    let run = Run::of(folder.path(), &server, &agents, &[framework, &external], DOMAINS).await;
    assert_eq!(run.code, Some(0), "{}", run.errors);
    assert_eq!(left(&mark), Vec::<PathBuf>::new());

    let results = run.results();
    assert_eq!(results.len(), 2 * ITEMS);
    assert!(results.iter().all(|line| line["outcome"] == "measured"));
    // Of each thing that is said, what a rule made of it.
    let values = |setting: &str, evaluator: &str, value: &str| -> Vec<(Value, Option<f64>)> {
        let of = results.iter().filter(|line| line["setting"] == setting);
        of.map(|line| (line["item"].clone(), line["scores"][evaluator][value].as_f64())).collect()
    };
    let success = values(&external, "structured", "success");
    assert!(success.iter().filter_map(|(_, value)| *value).sum::<f64>() > 0.8 * ITEMS as f64, "{success:?}");
    assert_eq!(success, values(framework, "structured", "success"), "the same models do the same in our own team");
    for value in ["static_wrong", "right"] {
        assert_eq!(values(&external, script, value), values(framework, script, value), "logs tell as much: {value}");
    }
    let metrics = run.read("metrics.json");
    for cause in ["fail_intent", "fail_time", "fail_location", "fail_url", "fail_manager", "fail_function_call"] {
        assert!(metrics.contains(cause), "{cause}");
    }

    let transcripts = run.transcripts();
    let of_framework: Vec<&Value> =
        transcripts.iter().filter(|transcript| !events(transcript, "started").is_empty()).collect();
    assert_eq!(of_framework.len(), ITEMS);
    for transcript in of_framework {
        let calls = events(transcript, "call");
        assert!(!calls.is_empty());
        assert!(
            calls.iter().all(|call| call["request"]["member"].is_string() && call["cost"].is_u64()),
            "{transcript:#}"
        );
        // Whatever a server answered also stands in what the framework printed.
        let output = events(transcript, "ended")[0]["output"].as_str().unwrap();
        let exchanges = events(transcript, "exchange");
        assert!(
            exchanges.iter().all(|exchange| output.contains(exchange["response"].as_str().unwrap())),
            "{transcript:#}"
        );
        let requests = calls.iter().filter(|call| asks_for(tool, &call["reply"])).count();
        assert_eq!(exchanges.len(), requests, "{transcript:#}");
    }
    let spent = run.summary()["spending"]["cost"]["known"].as_u64().unwrap();
    assert_eq!(cost(&made(&transcripts)), spent);
    assert_eq!(counted(&server, "billed_nanodollars").await["delivered"], spent);
}

/// True if a model asks for the tool, in a call or in its text.
fn asks_for(tool: &str, reply: &Value) -> bool {
    let calls = reply["tool_calls"].as_array().into_iter().flatten();
    let in_text = reply["text"].as_str().is_some_and(|text| text.starts_with(&format!("{tool}[")));
    in_text || calls.into_iter().any(|call| call["name"] == tool)
}

#[tokio::test]
async fn a_team_in_langgraph_is_measured_like_our_own() {
    is_measured_like_our_own("langgraph", "official-langgraph", "request_tool").await;
}

#[tokio::test]
async fn a_team_in_autogen_is_measured_like_our_own() {
    is_measured_like_our_own("autogen", "official", "url_request").await;
}

#[tokio::test]
async fn a_team_in_agentlite_is_measured_like_our_own() {
    is_measured_like_our_own("agentlite", "official-agentlite", "request").await;
}

#[tokio::test]
async fn a_team_in_camel_is_measured_like_our_own() {
    is_measured_like_our_own("camelai", "official-camelai", "req").await;
}

#[tokio::test]
async fn a_framework_that_is_killed_is_started_again_and_no_call_is_paid_twice() {
    let Some(python) = python("langgraph") else { return };
    let (folder, server, mark) = (tempfile::tempdir().unwrap(), simulate().await, unique_name("mark"));
    let (agent_folder, marks) = (folder_of("langgraph"), folder.path().join("marks"));
    std::fs::create_dir(&marks).unwrap();
    let mortal = workspace().join("tests/fixtures/mortal.py");
    let words = [&mortal, &agent_folder, &marks].map(|path| path.to_str().unwrap());
    let command = [&[python.as_str()], &words[..]].concat();
    let agents = agent("langgraph-mortal", &command, folder.path(), &mark);
    let run =
        Run::of(folder.path(), &server, &agents, &["langgraph", "external/langgraph-mortal"], "alarm, lists").await;
    assert_eq!(run.code, Some(0), "{}", run.errors);
    assert_eq!(left(&mark), Vec::<PathBuf>::new());

    let success = |setting: &str| -> Vec<Value> {
        let results = run.results().into_iter().filter(|line| line["setting"] == setting);
        results.map(|line| line["scores"]["structured"]["success"].clone()).collect()
    };
    assert_eq!(success("external/langgraph-mortal"), success("langgraph"));
    let transcripts = run.transcripts();
    for transcript in transcripts.iter().filter(|transcript| !events(transcript, "started").is_empty()) {
        let ends: Vec<&Value> = events(transcript, "ended").into_iter().map(|ended| &ended["how"]).collect();
        assert_eq!(ends, [&serde_json::json!({"killed": 9}), &serde_json::json!({"exited": 0})]);
        let calls = events(transcript, "call");
        assert!(calls.iter().any(|call| call["from_cache"] == true), "what was asked before is known: {transcript:#}");
    }
    let made = made(&transcripts);
    assert_eq!(counted(&server, "answered").await, made.len());
    assert_eq!(counted(&server, "billed_nanodollars").await["delivered"], cost(&made));
}

#[tokio::test]
async fn a_framework_that_is_killed_each_time_is_lost_and_leaves_nothing_behind() {
    let Some(python) = python("langgraph") else { return };
    let (folder, server, mark) = (tempfile::tempdir().unwrap(), simulate().await, unique_name("mark"));
    let (agent_folder, mortal) = (folder_of("langgraph"), workspace().join("tests/fixtures/mortal.py"));
    let command = [python.as_str(), mortal.to_str().unwrap(), agent_folder.to_str().unwrap()];
    let agents = agent("langgraph-mortal", &command, folder.path(), &mark);
    let run = Run::of(folder.path(), &server, &agents, &["external/langgraph-mortal"], "alarm").await;
    assert_eq!(run.code, Some(4), "{}", run.errors);
    assert_eq!(left(&mark), Vec::<PathBuf>::new());
    for line in run.results() {
        assert_eq!((&line["outcome"], &line["cause"]), (&"not_measured".into(), &"agent_lost".into()), "{line:#}");
    }
    let spent = run.summary()["spending"]["cost"]["known"].as_u64().unwrap();
    assert!(spent > 0);
    assert_eq!(
        counted(&server, "billed_nanodollars").await["delivered"],
        spent,
        "what was asked before it was lost is paid once"
    );
}
