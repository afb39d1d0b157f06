//! Agents that do everything alone, in some thirty lines each: of six frameworks, and three coding agents with a shell of their own. They run
//! where `REGATTA_TEST_FRAMEWORKS` asks for their packages.

use std::path::PathBuf;

use regatta_tests::regatta::{must_run_all, skipped, workspace};
use regatta_tests::unique_name;
use serde_json::{Value, json};

use super::{Run, agent, cost, counted_of, events, folder_of, found, left, made, simulate_by};

/// Domains of the miniature in which the home's own servers do everything.
const DOMAINS: &str = "lists, alarm";
const ITEMS: usize = 4;
/// The agents, each of one file.
const AGENTS: [&str; 9] =
    ["claudeagent", "claudecode", "codex", "dspy", "googleadk", "openaiagents", "opencode", "pydanticai", "smolagents"];
/// Most lines of such a file.
const LINES: usize = 40;
/// The URL of scripted models, which is right for one of the two items of `alarm`.
const ALARMS: &str = "http://127.0.0.1:3000/alarm?intent=alarm_query";
const ANSWER: &str = "No alarm is set.";

#[test]
fn an_agent_in_a_framework_takes_forty_lines_at_most() {
    for name in AGENTS {
        let text = std::fs::read_to_string(folder_of(name).join("agent.py")).unwrap();
        assert!(text.lines().count() <= LINES, "{name}: {}", text.lines().count());
    }
    for (name, _) in super::everywhere::FRAMEWORKS {
        let text = std::fs::read_to_string(folder_of(name).join("answer.py")).unwrap();
        assert!(text.lines().count() <= LINES, "{name}: {}", text.lines().count());
    }
}

/// The program that `script` finds or installs for the agent `name`, unless `REGATTA_NAME_KIND` names it. The packages of all have hundreds of
/// megabytes, so they are installed only where that is asked for.
fn program(script: &str, name: &str, kind: &str) -> Option<String> {
    let is_set = |variable: &str| std::env::var_os(variable).is_some_and(|value| !value.is_empty());
    let given = format!("REGATTA_{}_{kind}", name.to_uppercase());
    if !is_set(&given) && !is_set("REGATTA_TEST_FRAMEWORKS") && !must_run_all() {
        let why = format!(
            "set REGATTA_TEST_FRAMEWORKS to install the packages of such agents, or {given} to a program that is there"
        );
        skipped(name, &why);
        return None;
    }
    found(script, name)
}

/// A Python that has the packages of `framework`.
pub(crate) fn python(framework: &str) -> Option<String> {
    program("frameworks.sh", framework, "PYTHON")
}

/// Runs the agent `name` over the items of `domains`. Each has to be scored, and calls and money have to be those of the endpoint's books.
/// Returns the success of each item.
async fn measured(name: &str, command: &[&str], model: &str, script: &[Value], domains: &str) -> Vec<f64> {
    let (folder, mark) = (tempfile::tempdir().unwrap(), unique_name("mark"));
    let rules = folder.path().join("script.jsonl");
    let lines: Vec<String> = script.iter().map(Value::to_string).collect();
    std::fs::write(&rules, lines.join("\n")).unwrap();
    let server = simulate_by((!script.is_empty()).then_some(rules.as_path())).await;
    let (agents, external) = (agent(name, command, &folder_of(name), &mark), format!("external/{name}"));
    let run = Run::at(folder.path(), &server, &agents, &[&external], domains, model).await;
    assert_eq!(run.code, Some(0), "{}", run.errors);
    assert_eq!(left(&mark), Vec::<PathBuf>::new());

    let results = run.results();
    assert!(results.iter().all(|line| line["outcome"] == "measured"), "{results:#?}");
    let transcripts = run.transcripts();
    assert!(transcripts.iter().all(|transcript| !events(transcript, "exchange").is_empty()), "{transcripts:#?}");
    let (calls, spent) = (made(&transcripts), run.summary()["spending"]["cost"]["known"].as_u64().unwrap());
    assert_eq!(cost(&calls), spent);
    assert_eq!(counted_of(&server, "answered", model).await, calls.len());
    assert_eq!(counted_of(&server, "billed_nanodollars", model).await["delivered"], spent);
    results.iter().map(|line| line["scores"]["structured"]["success"].as_f64().unwrap()).collect()
}

/// An agent whose framework has calls of functions in the provider's form: the oracle does with it what the user wants.
async fn does_all(framework: &str) {
    let Some(python) = python(framework) else { return };
    assert_eq!(measured(framework, &[&python, "agent.py"], "oracle", &[], DOMAINS).await, [1.0; ITEMS]);
}

/// An agent in a form of its own, which a script speaks: of the items of `alarm` it does one as the user wants.
async fn does_as_the_script_says(name: &str, command: &[&str], script: &[Value]) {
    let success = measured(name, command, "scripted", script, "alarm").await;
    assert_eq!((success.len(), success.iter().sum::<f64>()), (2, 1.0), "{success:?}");
}

#[tokio::test]
async fn an_agent_in_openais_sdk_is_measured() {
    does_all("openaiagents").await;
}

#[tokio::test]
async fn an_agent_in_pydantic_ai_is_measured() {
    does_all("pydanticai").await;
}

#[tokio::test]
async fn an_agent_in_googles_kit_is_measured() {
    does_all("googleadk").await;
}

#[tokio::test]
async fn an_agent_in_claudes_sdk_is_measured_also_at_an_endpoint_of_openais_format() {
    does_all("claudeagent").await;
}

#[tokio::test]
async fn an_agent_in_smolagents_which_ends_by_a_call_is_measured() {
    let Some(python) = python("smolagents") else { return };
    let script = [
        json!({"match": {"contains": "SUCCESS"}, "tool_calls": [{"name": "final_answer", "arguments": {"answer": ANSWER}}]}),
        json!({"tool_calls": [{"name": "request", "arguments": {"url": ALARMS}}]}),
    ];
    does_as_the_script_says("smolagents", &[&python, "agent.py"], &script).await;
}

#[tokio::test]
async fn an_agent_in_dspy_which_writes_its_calls_as_text_is_measured() {
    let Some(python) = python("dspy") else { return };
    let step = |name: &str, arguments: &Value| {
        let arguments = arguments.to_string();
        let fields = [("next_thought", "It is so."), ("next_tool_name", name), ("next_tool_args", arguments.as_str())];
        fields.map(|(field, value)| format!("[[ ## {field} ## ]]\n{value}\n")).join("\n")
    };
    let end =
        format!("[[ ## reasoning ## ]]\nThe home said so.\n\n[[ ## answer ## ]]\n{ANSWER}\n\n[[ ## completed ## ]]");
    let script = [
        json!({"match": {"contains": "[[ ## reasoning ## ]]"}, "reply": end}),
        json!({"match": {"contains": "SUCCESS"}, "reply": step("finish", &json!({}))}),
        json!({"reply": step("request", &json!({"url": ALARMS}))}),
    ];
    does_as_the_script_says("dspy", &[&python, "agent.py"], &script).await;
}

/// A coding agent, whose shell is called `shell` and takes its command as `field`.
async fn sends_requests_by_its_shell(name: &str, shell: &str, field: &str) {
    let Some(coding_agent) = program("node.sh", name, "PROGRAM") else { return };
    let request = format!("python3 {} '{ALARMS}'", workspace().join("examples/frameworks/team.py").display());
    let script = [
        // A call beside the session's own, of some of them.
        json!({"match": {"contains": "title for this conversation"}, "reply": "A smart home"}),
        json!({"match": {"contains": "SUCCESS"}, "reply": ANSWER}),
        json!({"tool_calls": [{"name": shell, "arguments": {field: request, "description": "asks the home"}}]}),
    ];
    does_as_the_script_says(name, &["python3", "agent.py", &coding_agent], &script).await;
}

#[tokio::test]
async fn a_session_of_claude_code_is_measured() {
    sends_requests_by_its_shell("claudecode", "Bash", "command").await;
}

#[tokio::test]
async fn a_session_of_codex_is_measured() {
    sends_requests_by_its_shell("codex", "exec_command", "cmd").await;
}

#[tokio::test]
async fn a_session_of_opencode_is_measured() {
    sends_requests_by_its_shell("opencode", "bash", "command").await;
}
