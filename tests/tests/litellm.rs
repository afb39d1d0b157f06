//! A provider that others wrote: LiteLLM's proxy, with mock responses, asked in OpenAI's and in Anthropic's format.
//!
//! Runs where the proxy can be installed; says so where it cannot.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::process::Command as Blocking;

use regatta_tests::regatta::{Process, finish, free_address, regatta, skipped, workspace};
use serde_json::Value;
use tokio::process::Command;

const KEY: &str = "sk-regatta-tests-0123456789abcdef";
const CONFIG: &str = r#"
model_list:
  - model_name: mocked
    litellm_params:
      model: openai/gpt-4o-mini
      api_key: none
      mock_response: "Node:\n1: boil water\n2: pour it\nEdges: (START,1) (1,2) (2,END)"
"#;

fn litellm() -> Option<PathBuf> {
    let found = Blocking::new(workspace().join("tests/fixtures/litellm.sh")).output().unwrap();
    if found.status.success() {
        return Some(String::from_utf8(found.stdout).unwrap().trim().into());
    }
    skipped("litellm", &String::from_utf8_lossy(&found.stderr));
    None
}

/// The proxy and its address.
async fn proxy(litellm: &Path, folder: &Path) -> (Process, String) {
    let config = folder.join("litellm.yaml");
    std::fs::write(&config, CONFIG).unwrap();
    let address = free_address().await.unwrap();
    let mut command = Command::new(litellm);
    command.arg("--config").arg(config).args(["--host", "127.0.0.1", "--port", &address.port().to_string()]);
    // Its table of prices comes with the package; nothing is fetched.
    command.env("LITELLM_MASTER_KEY", KEY).env("LITELLM_LOCAL_MODEL_COST_MAP", "True").kill_on_drop(true);
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    (Process::start_and_probe(command, address).await.unwrap(), format!("http://{address}"))
}

fn spec(folder: &Path, base: &str) -> PathBuf {
    let data = workspace().join("examples/data/worfbench");
    let text = format!(
        "name: litellm\nbenchmarks:\n  worfbench: {{ data: {}, settings: [zero-shot], limit: 'first:3', judge: sim/lexical }}\nendpoints:\n  \
         sim: {{ kind: simulated }}\n  \
         openai-format: {{ kind: openai, base_url: '{base}/v1', api_key_env: LITELLM_KEY }}\n  \
         openai-stream: {{ kind: openai, base_url: '{base}/v1', api_key_env: LITELLM_KEY, stream: true }}\n  \
         anthropic-format: {{ kind: anthropic, base_url: '{base}', api_key_env: LITELLM_KEY }}\n\
         models:\n  - {{ id: openai-format/mocked, price: {{ input_per_mtok: 0.15, output_per_mtok: 0.6 }} }}\n  \
         - {{ id: openai-stream/mocked, price: {{ input_per_mtok: 0.15, output_per_mtok: 0.6 }} }}\n  \
         - {{ id: anthropic-format/mocked, price: {{ input_per_mtok: 0.15, output_per_mtok: 0.6 }} }}\n",
        data.display()
    );
    let path = folder.join("litellm.spec.yaml");
    std::fs::write(&path, text).unwrap();
    path
}

#[tokio::test]
async fn litellms_proxy_answers_a_sweep_in_both_formats_and_as_a_stream() {
    let Some(litellm) = litellm() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (_proxy, base) = proxy(&litellm, folder.path()).await;
    let directory = folder.path().join("run");
    let mut command = regatta().unwrap();
    command.arg("run").arg(spec(folder.path(), &base)).arg("--output").arg(&directory).env("LITELLM_KEY", KEY);
    let output = finish(command).await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));

    let read = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap();
    let results: Vec<Value> = read("results.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(results.iter().all(|line| line["outcome"] == "measured"));
    // The same answer to the same items has the same scores, whatever it was wrapped in.
    let scores = |model: &str| -> Vec<&Value> {
        results.iter().filter(|line| line["model"] == model).map(|line| &line["scores"]).collect()
    };
    assert!(!scores("openai-format/mocked").is_empty());
    for model in ["openai-stream/mocked", "anthropic-format/mocked"] {
        assert_eq!(scores(model), scores("openai-format/mocked"), "{model}");
    }
    let summary: Value = serde_json::from_str(&read("summary.json")).unwrap();
    assert_eq!(summary["comparisons"][0]["providers"].as_array().unwrap().len(), 3);
    assert!(summary["comparisons"][0]["providers"][1]["first_token"].is_object(), "{summary:#}");
    assert!(summary["spending"]["cost"]["known"].as_u64().unwrap() > 0);
    assert_eq!(summary["spending"]["cost"]["unknown_calls"], 0);
    let log = String::from_utf8_lossy(&output.stderr).into_owned() + &read("attempts.jsonl") + &read("sweep.lock.yaml");
    assert!(!log.contains(KEY));
}
