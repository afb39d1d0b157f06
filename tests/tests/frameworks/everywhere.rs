//! Three frameworks on every benchmark: what their agents asked is in the endpoint's books to the call and to the nano-dollar, and they score
//! what the model scores that they hand on.

use std::path::PathBuf;

use regatta_tests::regatta::{Process, workspace};
use regatta_tests::unique_name;
use serde_json::Value;
use tempfile::TempDir;

use super::{PRICE, Run, agent, alone, cost, counted_of, events, folder_of, left, made, simulate_of};

/// Finds a Python for the test of this name, if there is one.
type FindsPython = fn(&str) -> Option<String>;

/// The frameworks, each with what finds a Python that has its packages.
pub(crate) const FRAMEWORKS: [(&str, FindsPython); 3] =
    [("langgraph", alone::python), ("openaiagents", alone::python), ("pydanticai", alone::python)];

/// A benchmark: its name, the agent's program, a setting of the benchmark's own that comes to the same scores, and further fields in a spec.
struct Row {
    benchmark: &'static str,
    program: &'static str,
    native: Option<&'static str>,
    more: &'static str,
}

const ROWS: [Row; 5] = [
    Row {
        benchmark: "appbench",
        program: "answer.py",
        native: Some("flat"),
        more: "limit: 'first:2', evaluators: [official, paper, exec]",
    },
    Row {
        benchmark: "autoslurp",
        program: "agent.py",
        native: None,
        more: "tasks: [alarm], evaluators: [structured], judge: judge/oracle",
    },
    Row {
        benchmark: "flowbench",
        program: "answer.py",
        native: Some("turn/single/flowchart"),
        more: "limit: 'first:2', evaluators: [official_fixed, paper], judge: judge/oracle",
    },
    Row {
        benchmark: "orchestrationbench",
        program: "answer.py",
        native: Some("stepwise"),
        more: "limit: 'first:1', evaluators: [official, paper], judge: judge/oracle",
    },
    Row {
        benchmark: "worfbench",
        program: "answer.py",
        native: Some("zero-shot"),
        more: "limit: 'first:3', judge: judge/lexical",
    },
];

/// Runs `row` by an agent in `framework` at `model` of the endpoint, and in the benchmark's own setting.
async fn run(row: &Row, (framework, python): (&str, &str), model: &str) -> (Run, Process, TempDir) {
    let (folder, mark, server) =
        (tempfile::tempdir().unwrap(), unique_name("mark"), simulate_of(row.benchmark, None).await);
    let agents = agent(framework, &[python, row.program], &folder_of(framework), &mark);
    let settings: Vec<String> =
        row.native.map(str::to_owned).into_iter().chain([format!("external/{framework}")]).collect();
    let text = format!(
        "name: {}\nseed: 5\nagents:\n{agents}benchmarks:\n  {}: {{ data: {}, settings: ['{}'], {} }}\nendpoints:\n  \
         main: {{ kind: openai, base_url: '{}', api_key_env: none, identify_sessions: true }}\n  judge: {{ kind: simulated }}\n\
         models:\n  - {{ id: main/{model}, price: {PRICE} }}\n",
        unique_name("everywhere"),
        row.benchmark,
        workspace().join("examples/data").join(row.benchmark).display(),
        settings.join("', '"),
        row.more,
        server.first_line,
    );
    let run = Run::by(folder.path(), &text).await;
    assert_eq!(left(&mark), Vec::<PathBuf>::new());
    (run, server, folder)
}

/// The scores of each item in `setting`.
fn scores(run: &Run, setting: &str) -> Vec<(String, Value)> {
    let results = run.results().into_iter().filter(|line| line["setting"] == setting);
    results.map(|line| (line["item"].to_string(), line["scores"].clone())).collect()
}

/// Outcome of each item in `setting`.
fn ends(run: &Run, setting: &str) -> Vec<(String, Value, Value)> {
    let results = run.results().into_iter().filter(|line| line["setting"] == setting);
    results.map(|line| (line["item"].to_string(), line["outcome"].clone(), line["cause"].clone())).collect()
}

#[tokio::test]
async fn agents_in_three_frameworks_do_every_benchmark_and_the_books_agree() {
    for (framework, found) in FRAMEWORKS {
        let Some(python) = found(framework) else { continue };
        for row in &ROWS {
            let place = format!("{framework} on {}", row.benchmark);
            let (run, server, _folder) = run(row, (framework, &python), "oracle").await;
            assert_eq!(run.code, Some(0), "{place}: {}", run.errors);
            let external = format!("external/{framework}");
            assert!(ends(&run, &external).iter().all(|(_, outcome, _)| outcome == "measured"), "{place}");
            if let Some(native) = row.native {
                assert_eq!(scores(&run, &external), scores(&run, native), "{place}");
            }
            let transcripts = run.transcripts();
            let started = transcripts.iter().filter(|transcript| !events(transcript, "started").is_empty());
            assert!(started.clone().count() > 0, "{place}");
            for transcript in started {
                assert!(!events(transcript, "call").is_empty(), "{place} asked nothing: {transcript:#}");
            }
            let (calls, spent) = (made(&transcripts), run.summary()["spending"]["cost"]["known"].as_u64().unwrap());
            assert!(spent > 0, "{place}");
            assert_eq!(cost(&calls), spent, "{place}");
            assert_eq!(counted_of(&server, "answered", "oracle").await, calls.len(), "{place}");
            assert_eq!(counted_of(&server, "billed_nanodollars", "oracle").await["delivered"], spent, "{place}");
        }
    }
}

#[tokio::test]
async fn what_an_endpoint_refuses_an_agent_has_the_cause_that_it_has_without_one() {
    for (framework, found) in FRAMEWORKS {
        let Some(python) = found(framework) else { continue };
        for row in ROWS.iter().filter(|row| row.native.is_some()) {
            let place = format!("{framework} on {}", row.benchmark);
            let (run, server, _folder) = run(row, (framework, &python), "ghost").await;
            let refused = ends(&run, &format!("external/{framework}"));
            let unknown =
                |(_, outcome, cause): &(String, Value, Value)| outcome == "not_measured" && cause == "model_not_found";
            assert!(!refused.is_empty() && refused.iter().all(unknown), "{place}: {refused:?}");
            assert_eq!(refused, row.native.map(|native| ends(&run, native)).unwrap(), "{place}");
            assert_eq!(run.summary()["spending"]["cost"]["known"], 0, "{place}");
            assert_eq!(counted_of(&server, "answered", "ghost").await, Value::Null, "{place}");
        }
    }
}
