//! An agent that somebody else wrote does sessions of a benchmark of one answer: it is given the messages, and what it writes is scored.

use regatta_tests::regatta::{finish, regatta, workspace};
use serde_json::Value;

/// Asks its model once, as any client does, with a field that nobody here knows, and answers with the reply.
const AGENT: &str = r#"
import json, sys, urllib.request
task = json.loads(sys.stdin.readline())
body = {"model": task["model"], "messages": task["messages"], "top_k": 5}
headers = {"content-type": "application/json", "authorization": "Bearer " + task["api_key"]}
request = urllib.request.Request(task["base_url"] + "/chat/completions", json.dumps(body).encode(), headers)
reply = json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]
print("thinking")
print(json.dumps({"answer": reply}))
"#;

#[tokio::test]
async fn an_agent_that_hands_its_models_reply_on_scores_what_the_model_scores() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("agent.py"), AGENT).unwrap();
    let data = workspace().join("examples/data/worfbench");
    let spec = format!(
        "name: delegated\nagents:\n  mine: {{ command: [python3, agent.py], directory: . }}\nbenchmarks:\n  worfbench: {{ data: {}, settings: \
         [zero-shot, external/mine], limit: 'first:3', judge: sim/lexical }}\nendpoints:\n  sim: {{ kind: simulated }}\nmodels:\n  - sim/oracle\n",
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
    let scores = |setting: &str| -> Vec<(&Value, &Value)> {
        let of = results.iter().filter(|line| line["setting"] == setting);
        of.map(|line| (&line["item"], &line["scores"])).collect()
    };
    assert!(!scores("zero-shot").is_empty());
    assert_eq!(scores("external/mine"), scores("zero-shot"));
}
