//! An agent that somebody else wrote does sessions of a benchmark, of one answer or turn by turn: it is given the messages, and tools where there
//! are any, and what it writes is scored.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use regatta_tests::regatta::{finish, regatta, workspace};
use serde_json::Value;

/// Asks its model once, as any client does, with a field that nobody here knows, and answers with the reply.
const AGENT: &str = r#"
import json, sys, urllib.request
task = json.loads(sys.stdin.readline())
body = {"model": task["model"], "messages": task["messages"], "top_k": 5}
if "tools" in task:
    body["tools"] = task["tools"]
headers = {"content-type": "application/json", "authorization": "Bearer " + task["api_key"]}
request = urllib.request.Request(task["base_url"] + "/chat/completions", json.dumps(body).encode(), headers)
message = json.load(urllib.request.urlopen(request))["choices"][0]["message"]
print("thinking")
print(json.dumps({"answer": message.get("content") or "", "tool_calls": message.get("tool_calls") or []}))
"#;

/// Runs `benchmark` in `native`, a setting of its own, and in that of an agent that hands its model's reply on; `more` are further fields of the
/// benchmark in the spec. Returns the items with their scores in either.
async fn scores_of_both(benchmark: &str, native: &str, more: &str) -> [Vec<(String, Value)>; 2] {
    scores_in(benchmark, [native, "external/mine"], more).await
}

/// Runs `benchmark` in both `settings`. Returns the items with their scores in either.
async fn scores_in(benchmark: &str, settings: [&str; 2], more: &str) -> [Vec<(String, Value)>; 2] {
    let [native, external] = settings;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("agent.py"), AGENT).unwrap();
    let data = workspace().join("examples/data").join(benchmark);
    let spec = format!(
        "name: delegated\nagents:\n  mine: {{ command: [python3, agent.py], directory: . }}\nbenchmarks:\n  {benchmark}: {{ data: {}, settings: \
         [{native}, {external}], {more} }}\nendpoints:\n  sim: {{ kind: simulated }}\nmodels:\n  - sim/oracle\n",
        data.display()
    );
    let path = folder.path().join("spec.yaml");
    std::fs::write(&path, spec).unwrap();
    let directory = folder.path().join("run");
    let mut command = regatta().unwrap();
    command.arg("run").arg(&path).arg("--output").arg(&directory);
    let output = finish(command).await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));

    let results = std::fs::read_to_string(directory.join("results.jsonl")).unwrap();
    let results: Vec<Value> = results.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(results.iter().all(|line| line["outcome"] == "measured"), "{results:?}");
    settings.map(|setting| {
        let of = results.iter().filter(|line| line["setting"] == setting);
        of.map(|line| (line["item"].to_string(), line["scores"].clone())).collect()
    })
}

fn assert_alike([native, external]: [Vec<(String, Value)>; 2]) {
    assert!(!native.is_empty());
    assert_eq!(external, native);
}

#[tokio::test]
async fn an_agent_that_hands_its_models_reply_on_scores_what_the_model_scores() {
    assert_alike(scores_of_both("worfbench", "zero-shot", "limit: 'first:3', judge: sim/lexical").await);
}

#[tokio::test]
async fn turns_of_an_agent_score_what_its_models_turns_score() {
    let all = "limit: 'first:2', evaluators: [official_fixed, paper], judge: sim/oracle";
    assert_alike(scores_of_both("flowbench", "turn/single/flowchart", all).await);
}

#[tokio::test]
async fn plans_of_an_agent_score_what_its_models_plans_score() {
    let all = "limit: 'first:2', evaluators: [official, paper, exec]";
    assert_alike(scores_of_both("appbench", "flat", all).await);
}

#[tokio::test]
async fn plans_and_calls_of_an_agent_score_what_its_models_score() {
    let all = "limit: 'first:1', evaluators: [official, paper], judge: sim/oracle";
    let [native, external] = scores_of_both("orchestrationbench", "stepwise", all).await;
    assert!(native.iter().any(|(_, scores)| scores["official"]["name_f1"] == 1.0), "a step is answered by a call");
    assert_alike([native, external]);
}

/// Runs `benchmark` in `native`, a setting of conversations, and in that of an agent that takes its turns in them.
async fn scores_of_conversations(benchmark: &str, native: &str, more: &str) -> [Vec<(String, Value)>; 2] {
    scores_in(benchmark, [native, &format!("external/mine/{native}")], more).await
}

#[tokio::test]
async fn conversations_of_an_agent_score_what_its_models_conversations_score() {
    let all = "limit: 'first:1', evaluators: [official_fixed, paper], judge: sim/oracle, roles: { user: sim/oracle, environment: sim/oracle }";
    assert_alike(scores_of_conversations("flowbench", "session/single/flowchart", all).await);
}

#[tokio::test]
async fn calls_of_an_agent_at_the_phone_score_what_its_models_calls_score() {
    assert_alike(scores_of_conversations("appbench", "tools", "limit: 'first:1', evaluators: [exec]").await);
}

#[tokio::test]
async fn scenarios_of_an_agent_score_what_its_models_scenarios_score() {
    let all = "limit: 'first:1', evaluators: [official, paper], judge: sim/oracle";
    assert_alike(scores_of_conversations("orchestrationbench", "end-to-end", all).await);
}
