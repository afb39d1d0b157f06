//! A provider that others wrote: LiteLLM's proxy, with mock responses or before the simulated endpoint, asked in every format that it has.
//!
//! Runs where the proxy can be installed; says so where it cannot.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
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

/// The proxy with the configuration `text`, and its address.
async fn proxy(litellm: &Path, folder: &Path, text: &str) -> (Process, String) {
    let config = folder.join("litellm.yaml");
    std::fs::write(&config, text).unwrap();
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
    let (_proxy, base) = proxy(&litellm, folder.path(), CONFIG).await;
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

/// A way to ask LiteLLM: the name of the endpoint in the spec, its kind, the path of its base URL, and `true` if answers are streamed.
type Lane = (&'static str, &'static str, &'static str, bool);

/// Every format that LiteLLM serves, whole and streamed.
const LANES: [Lane; 8] = [
    ("chat", "openai", "/v1", false),
    ("chat-stream", "openai", "/v1", true),
    ("responses", "openai_responses", "/v1", false),
    ("responses-stream", "openai_responses", "/v1", true),
    ("messages", "anthropic", "", false),
    ("messages-stream", "anthropic", "", true),
    ("gemini", "gemini", "/v1beta", false),
    ("gemini-stream", "gemini", "/v1beta", true),
];
/// The endpoint in the spec that LiteLLM passes calls on to.
const DIRECT: &str = "direct";
/// LiteLLM ends a stream in Gemini's format before the provider has told it the tokens.
const TELLS_NO_TOKENS: &str = "gemini-stream";

/// The simulated endpoint, which knows the items of `benchmark`.
async fn simulate(benchmark: &str) -> Process {
    let mut command = regatta().unwrap();
    let data = format!("{benchmark}={}", workspace().join("examples/data").join(benchmark).display());
    command.args(["simulate", "llm", "--listen", "127.0.0.1:0", "--data", &data]);
    Process::start_and_read(command).await.unwrap()
}

/// LiteLLM before the endpoint at `provider`, which knows the model `oracle` and none called `ghost`.
async fn proxy_before(litellm: &Path, folder: &Path, provider: &str) -> (Process, String) {
    let model = |name: &str| {
        format!(
            "  - model_name: {name}\n    litellm_params: {{ model: openai/{name}, api_base: '{provider}', api_key: none }}\n"
        )
    };
    // A call that is passed on fails as it fails at the provider, and at once.
    let settings =
        "litellm_settings: { num_retries: 0 }\nrouter_settings: { num_retries: 0, disable_cooldowns: true }\n";
    proxy(litellm, folder, &format!("model_list:\n{}{}{settings}", model("oracle"), model("ghost"))).await
}

/// A finished run of `benchmark` (as a spec has it) at the provider itself and by all lanes.
struct Asked {
    results: Vec<Value>,
    transcripts: Vec<Value>,
}

impl Asked {
    /// Asks `model` in all lanes, with `key` where it is LiteLLM's.
    async fn of(folder: &Path, (provider, base): (&str, &str), benchmark: &str, (model, key): (&str, &str)) -> Self {
        let price = "price: { input_per_mtok: 1, output_per_mtok: 2 }";
        let mut endpoints = format!(
            "  sim: {{ kind: simulated }}\n  {DIRECT}: {{ kind: openai, base_url: '{provider}', api_key_env: none }}\n"
        );
        let mut models = format!("  - {{ id: {DIRECT}/{model}, {price} }}\n");
        for (name, kind, path, stream) in LANES {
            endpoints += &format!(
                "  {name}: {{ kind: {kind}, base_url: '{base}{path}', api_key_env: LITELLM_KEY, stream: {stream}, retries: {{ attempts: 1 }} }}\n"
            );
            models += &format!("  - {{ id: {name}/{model}, {price} }}\n");
        }
        let text = format!("name: lanes\nbenchmarks:\n  {benchmark}\nendpoints:\n{endpoints}models:\n{models}");
        let (spec, directory) =
            (folder.join(format!("{model}.yaml")), folder.join(format!("run-{model}-{}", key.len())));
        std::fs::write(&spec, text).unwrap();
        let mut command = regatta().unwrap();
        command.arg("run").arg(&spec).arg("--no-preflight").arg("--output").arg(&directory).env("LITELLM_KEY", key);
        let output = finish(command).await.unwrap();
        let written = directory.join("results.jsonl");
        assert!(written.exists(), "{}", String::from_utf8_lossy(&output.stderr));
        let results = std::fs::read_to_string(written).unwrap();
        let unpacked = |path: &Path| zstd::decode_all(&std::fs::read(path).unwrap()[..]).unwrap();
        let segments = directory.join("transcripts").read_dir().unwrap().map(|segment| segment.unwrap().path());
        let texts = segments.map(|path| String::from_utf8(unpacked(&path)).unwrap());
        let transcripts = texts.flat_map(|text| lines(&text)).collect();
        Self { results: lines(&results), transcripts }
    }

    /// Value of `field` in each result of `endpoint`, in order of the items.
    fn told(&self, endpoint: &str, field: &str) -> Vec<&Value> {
        let is_of = |line: &&Value| line["model"].as_str().unwrap().split('/').next() == Some(endpoint);
        self.results.iter().filter(is_of).map(|line| &line[field]).collect()
    }

    /// The one value of `field` that all results of `endpoint` have.
    fn told_by_all(&self, endpoint: &str, field: &str) -> &Value {
        let told = self.told(endpoint, field);
        assert!(!told.is_empty() && told.iter().all(|value| *value == told[0]), "{endpoint}: {told:?}");
        told[0]
    }

    /// Tokens of the calls of each endpoint: those of prompts, and those that were generated.
    fn tokens(&self) -> BTreeMap<&str, (u64, u64)> {
        let mut tokens = BTreeMap::new();
        for event in self.events("call").filter(|call| call["role"] == "agent") {
            let (input, output): &mut (u64, u64) =
                tokens.entry(event["model"].as_str().unwrap().split('/').next().unwrap()).or_default();
            *input += event["usage"]["input"].as_u64().unwrap();
            *output += event["usage"]["output"].as_u64().unwrap();
        }
        tokens
    }

    fn events<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        let events = self.transcripts.iter().flat_map(|line| line["transcript"]["events"].as_array().unwrap());
        events.filter_map(move |event| event.get(kind))
    }

    /// Asserts that every lane comes to the scores and the tokens of the provider itself; to those of prompts only where LiteLLM passes these on
    /// word for word, as it does not with definitions of tools.
    fn assert_alike(&self, are_prompts_passed_on: bool) {
        let direct = self.told(DIRECT, "scores");
        assert!(!direct.is_empty());
        assert!(self.results.iter().all(|line| line["outcome"] == "measured"), "{:#?}", self.results);
        let tokens = self.tokens();
        for (name, ..) in LANES {
            assert_eq!(self.told(name, "scores"), direct, "{name}");
            if name != TELLS_NO_TOKENS {
                let (prompts, generated) = tokens[name];
                let (of_provider, generated_by_provider) = tokens[DIRECT];
                assert_eq!(generated, generated_by_provider, "{name}");
                assert!(prompts > 0 && (prompts == of_provider || !are_prompts_passed_on), "{name}: {tokens:?}");
            }
        }
    }
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn in_every_format_litellm_scores_and_counts_what_the_provider_behind_it_does() {
    let Some(litellm) = litellm() else { return };
    let (folder, provider) = (tempfile::tempdir().unwrap(), simulate("worfbench").await);
    let (_proxy, base) = proxy_before(&litellm, folder.path(), &provider.first_line).await;
    let data = workspace().join("examples/data/worfbench");
    let benchmark = format!(
        "worfbench: {{ data: {}, settings: [zero-shot], limit: 'first:3', judge: sim/lexical }}",
        data.display()
    );
    Asked::of(folder.path(), (&provider.first_line, &base), &benchmark, ("oracle", KEY)).await.assert_alike(true);
}

#[tokio::test]
async fn calls_of_tools_pass_litellm_in_every_format() {
    let Some(litellm) = litellm() else { return };
    let (folder, provider) = (tempfile::tempdir().unwrap(), simulate("orchestrationbench").await);
    let (_proxy, base) = proxy_before(&litellm, folder.path(), &provider.first_line).await;
    let data = workspace().join("examples/data/orchestrationbench");
    let benchmark = format!(
        "orchestrationbench: {{ data: {}, settings: [stepwise], limit: 'first:1', evaluators: [official, paper], judge: sim/oracle }}",
        data.display()
    );
    let asked = Asked::of(folder.path(), (&provider.first_line, &base), &benchmark, ("oracle", KEY)).await;
    asked.assert_alike(false);
    let calls: Vec<&Value> = asked.events("call").filter(|call| call["reply"]["tool_calls"].is_array()).collect();
    for (name, ..) in LANES {
        let is_of = |call: &&Value| call["model"].as_str().unwrap().starts_with(&format!("{name}/"));
        assert!(calls.iter().any(is_of), "a step is answered by a call: {name}");
    }
}

#[tokio::test]
async fn what_litellm_refuses_or_passes_on_has_the_cause_that_the_provider_would_give() {
    let Some(litellm) = litellm() else { return };
    let (folder, provider) = (tempfile::tempdir().unwrap(), simulate("worfbench").await);
    let (_proxy, base) = proxy_before(&litellm, folder.path(), &provider.first_line).await;
    let data = workspace().join("examples/data/worfbench");
    let benchmark = format!(
        "worfbench: {{ data: {}, settings: [zero-shot], limit: 'first:1', judge: sim/lexical }}",
        data.display()
    );
    // A model that the provider does not know; one that LiteLLM does not know (400); a key that is not LiteLLM's (400).
    for (model, key, cause) in [
        ("ghost", KEY, "model_not_found"),
        ("absent", KEY, "model_not_found"),
        ("oracle", "sk-another-key-of-nobody-0123456789", "auth"),
    ] {
        let asked = Asked::of(folder.path(), (&provider.first_line, &base), &benchmark, (model, key)).await;
        for (name, ..) in LANES {
            assert_eq!(asked.told_by_all(name, "outcome"), "not_measured", "{name}: {model}");
            // In Gemini's format LiteLLM answers 500 to what a provider behind it refuses.
            let is_hidden = model == "ghost" && name.starts_with("gemini");
            let cause = if is_hidden { "endpoint_unavailable" } else { cause };
            assert_eq!(asked.told_by_all(name, "cause"), cause, "{name}: {model}");
        }
        if model == "ghost" {
            assert_eq!(asked.told_by_all(DIRECT, "cause"), cause);
        }
    }
}
