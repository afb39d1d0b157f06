//! Traces while sessions run: one of each session, over all roles, the same as those that are exported afterwards; and collectors that are
//! away, slow or not wanted.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod collector;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Output;

use regatta_tests::regatta::{Process, finish, free_address, regatta, workspace};
use regatta_tests::waiting::until;
use regatta_tests::{Deployment, unique_name};
use serde_json::Value;

use collector::{Collector, Manner, Span};

/// Attributes of exports that are texts of a session, or of the endpoint about it.
const SAID: [&str; 5] = [
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.tool.definitions",
    "gen_ai.request.stop_sequences",
    "exception.message",
];

/// The quick start, in a folder of its own, with these variables.
async fn quick_start(place: &Path, variables: &[(&str, &str)]) -> Output {
    let mut command = regatta().unwrap();
    command.args(["run", "examples/quickstart.yaml", "--output"]).arg(place).envs(variables.iter().copied());
    let output = finish(command).await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn lines(place: &Path, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(place.join(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Spans of sessions by their traces; those of judges apart.
fn by_trace(spans: Vec<Span>) -> (BTreeMap<String, Vec<Span>>, Vec<Span>) {
    let mut traces: BTreeMap<String, Vec<Span>> = BTreeMap::new();
    let (judges, of_sessions): (Vec<_>, Vec<_>) = spans.into_iter().partition(|span| span.name.starts_with("judge "));
    for span in of_sessions {
        traces.entry(span.trace.clone()).or_default().push(span);
    }
    (traces, judges)
}

fn named<'s>(spans: &'s [Span], name: &str) -> Vec<&'s Span> {
    spans.iter().filter(|span| span.name.split(' ').next() == Some(name)).collect()
}

fn sum(spans: &[&Span], attribute: &str) -> u64 {
    spans.iter().filter_map(|span| span.attributes.get(attribute)?.as_u64()).sum()
}

/// Each session of `results` is one trace of all roles, with the numbers of `attempts`.
fn check_traces(traces: &BTreeMap<String, Vec<Span>>, results: &[Value], attempts: &[Value]) {
    assert_eq!(traces.len(), results.len(), "a trace for each session, and no other");
    let mut found = BTreeSet::new();
    for spans in traces.values() {
        let [root] = named(spans, "invoke_agent")[..] else { panic!("{spans:?} has not one root") };
        assert_eq!(root.parent, "");
        let of = |name: &str| root.attributes[name].clone();
        found.insert((of("regatta.cell").as_u64().unwrap(), of("regatta.item").as_str().unwrap().to_owned()));
        let is_it = |line: &&Value| line["cell"] == of("regatta.cell") && line["item"] == of("regatta.item");
        let result = results.iter().find(is_it).unwrap();
        assert_eq!(result["outcome"], of("regatta.outcome"));
        assert_eq!(root.error.is_none(), result["cause"].is_null());
        let told: Vec<&Value> = attempts.iter().filter(is_it).collect();
        let (dispatched, tried) = (named(spans, "dispatch"), named(spans, "attempt"));
        let (calls, recorded) = (named(spans, "chat"), named(spans, "record"));
        assert_eq!((tried.len(), recorded.len()), (told.len(), told.len()));
        assert!(!dispatched.is_empty());
        for span in dispatched.iter().chain(&tried).chain(&recorded) {
            assert_eq!(span.parent, root.id, "{span:?}");
        }
        assert!(dispatched.iter().all(|span| span.part == "regatta.coordinator" && span.kind == 4));
        assert!(tried.iter().chain(&calls).all(|span| span.part == "regatta.worker"));
        assert!(recorded.iter().chain(&named(spans, "score")).all(|span| span.part == "regatta.scorer"));
        assert_eq!(named(spans, "score")[0].parent, recorded[0].id);
        for call in calls.iter().chain(&named(spans, "wait")) {
            let attempt = tried.iter().find(|attempt| attempt.id == call.parent).unwrap();
            assert!(attempt.begun <= call.begun && call.ended <= attempt.ended, "{call:?} is not within {attempt:?}");
        }
        let asked: u64 = told.iter().map(|attempt| attempt["calls"].as_u64().unwrap()).sum();
        assert_eq!(calls.len() as u64, asked);
        let cost: u64 = told.iter().map(|attempt| attempt["cost_nanodollars"].as_u64().unwrap()).sum();
        let tokens = |name: &str| told.iter().map(|attempt| attempt["usage"][name].as_u64().unwrap()).sum::<u64>();
        for spans in [&calls, &tried] {
            assert_eq!(sum(spans, "regatta.cost_nanodollars"), cost);
            assert_eq!(sum(spans, "gen_ai.usage.input_tokens"), tokens("input"));
            assert_eq!(sum(spans, "gen_ai.usage.output_tokens"), tokens("output"));
        }
        let scored: Vec<_> =
            root.events.iter().chain(named(spans, "settle").iter().flat_map(|span| &span.events)).collect();
        for (evaluator, values) in result["scores"].as_object().unwrap() {
            for (name, value) in values.as_object().unwrap() {
                let name = format!("{evaluator}.{name}");
                let score = scored.iter().find(|(_, score)| score["gen_ai.evaluation.name"] == name.as_str()).unwrap();
                assert_eq!(score.1["gen_ai.evaluation.score.value"].as_f64(), value.as_f64(), "{name}");
            }
        }
    }
    assert_eq!(found.len(), results.len());
}

/// Attributes of a span of an export, as they are in the JSON of OTLP.
fn exported_attributes(span: &Value) -> BTreeMap<String, Value> {
    let plain = |value: &Value| {
        let (kind, value) = value.as_object().unwrap().iter().next().unwrap();
        match kind.as_str() {
            "intValue" => value.as_str().unwrap().parse::<i64>().unwrap().into(),
            "arrayValue" => value["values"].as_array().unwrap().iter().map(|one| one["stringValue"].clone()).collect(),
            _ => value.clone(),
        }
    };
    let attributes = span["attributes"].as_array().unwrap().iter();
    attributes.map(|one| (one["key"].as_str().unwrap().to_owned(), plain(&one["value"]))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_session_is_one_trace_of_all_roles_and_the_same_that_is_exported_without_what_was_said() {
    let (folder, collector) = (tempfile::tempdir().unwrap(), Collector::start(Manner::Takes).await);
    let place = folder.path().join("run");
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address.as_str()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20of-the-collector"),
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test"),
    ];
    quick_start(&place, &variables).await;
    let heads = collector.heads();
    assert!(heads.iter().all(|head| head.starts_with("POST /v1/traces ")), "{heads:?}");
    assert!(
        heads.iter().all(|head| head.to_lowercase().contains("authorization: bearer of-the-collector")),
        "{heads:?}"
    );
    let (traces, judges) = by_trace(collector.spans());
    check_traces(&traces, &lines(&place, "results.jsonl"), &lines(&place, "attempts.jsonl"));
    assert!(traces.values().flatten().all(|span| span.service == "regatta"));
    // Sessions that waited for verdicts are linked to the judge job that settled them.
    let jobs: BTreeSet<&String> = judges.iter().map(|span| &span.trace).collect();
    let settled: Vec<&Span> = traces.values().flat_map(|spans| named(spans, "settle")).collect();
    assert!(!jobs.is_empty() && !settled.is_empty());
    assert!(settled.iter().flat_map(|span| &span.links).all(|link| jobs.contains(link)));

    let mut command = regatta().unwrap();
    command.arg("export").arg(&place).args(["--format", "otlp", "--output"]).arg(folder.path().join("exported"));
    assert!(finish(command).await.unwrap().status.success());
    let sent = String::from_utf8_lossy(&collector.bodies()).into_owned();
    for request in lines(&folder.path().join("exported"), "traces.jsonl") {
        for exported in request["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap() {
            let (trace, id) = (exported["traceId"].as_str().unwrap(), exported["spanId"].as_str().unwrap());
            let live =
                traces[trace].iter().find(|span| span.id == id).unwrap_or_else(|| panic!("{exported} was not sent"));
            assert_eq!(
                (live.name.as_str(), live.parent.as_str()),
                (exported["name"].as_str().unwrap(), exported["parentSpanId"].as_str().unwrap_or(""))
            );
            for (name, value) in exported_attributes(exported) {
                if SAID.contains(&name.as_str()) {
                    assert!(!live.attributes.contains_key(&name), "{name}");
                    for text in serde_json::from_str::<Value>(value.as_str().unwrap()).unwrap().as_array().unwrap() {
                        let text = text["parts"][0]["content"].as_str().unwrap();
                        assert!(!sent.contains(text), "{text}");
                    }
                } else {
                    assert_eq!(live.attributes.get(&name), Some(&value), "{name} of {}", live.name);
                }
            }
        }
    }
    assert!(!sent.contains("of-the-collector"), "headers are in no span");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_where_traces_are_off_or_no_session_is_in_the_sample() {
    let (folder, collector) = (tempfile::tempdir().unwrap(), Collector::start(Manner::Takes).await);
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address.as_str());
    quick_start(&folder.path().join("off"), &[endpoint, ("OTEL_SDK_DISABLED", "true")]).await;
    quick_start(&folder.path().join("none"), &[endpoint, ("OTEL_TRACES_SAMPLER_ARG", "0")]).await;
    assert_eq!(collector.requests(), 0);
    // Each process decides alike, so half of the sessions have whole traces and the others none.
    let place = folder.path().join("half");
    quick_start(&place, &[endpoint, ("OTEL_TRACES_SAMPLER_ARG", "0.5")]).await;
    let (traces, _) = by_trace(collector.spans());
    let all = lines(&place, "results.jsonl").len();
    assert!(!traces.is_empty() && traces.len() < all, "{} of {all}", traces.len());
    assert!(traces.values().all(|spans| {
        ["invoke_agent", "dispatch", "attempt", "record"].iter().all(|name| !named(spans, name).is_empty())
    }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_away_or_never_answers_changes_no_result_and_is_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let run = async |name: &str, endpoint: Option<&str>| {
        // A request that is not answered does not fail before the run is over.
        let mut variables = vec![("OTEL_EXPORTER_OTLP_TIMEOUT", "600000")];
        variables.extend(endpoint.map(|endpoint| ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)));
        let place = folder.path().join(name);
        let output = quick_start(&place, &variables).await;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let told = said.lines().filter(|line| line.contains("the collector of traces")).count();
        (std::fs::read_to_string(place.join("results.jsonl")).unwrap(), told, said)
    };
    let (results, told, said) = run("untraced", None).await;
    assert_eq!(told, 0, "{said}");
    let away = format!("http://{}", free_address().await.unwrap());
    let (of_away, told, said) = run("away", Some(&away)).await;
    // Once more where the run takes longer than ten seconds.
    assert!(of_away == results && (1..=2).contains(&told), "{said}");
    let silent = Collector::start(Manner::NeverAnswers).await;
    let (of_silent, told, said) = run("silent", Some(&silent.address)).await;
    assert!(of_silent == results && told == 1, "{said}");
    assert!(silent.requests() > 0);
}

/// A role of `deployment` that sends its traces to `collector`.
async fn traced(deployment: &Deployment, role: &str, collector: &Collector) -> Process {
    let address = if role == "coordinator" { deployment.api() } else { free_address().await.unwrap() };
    let mut command = deployment.role_at(role, address).unwrap();
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.address);
    Process::start_until_ready_and_listen(command, address).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_one_trace_though_every_role_is_a_process_of_its_own() {
    let (deployment, collector) = (Deployment::new().await.unwrap(), Collector::start(Manner::Takes).await);
    let folder = tempfile::tempdir().unwrap();
    let mut simulate = regatta().unwrap();
    let data = workspace().join("examples/data/worfbench");
    simulate.args(["simulate", "llm", "--listen", "127.0.0.1:0", "--data", &format!("worfbench={}", data.display())]);
    let server = Process::start_and_read(simulate).await.unwrap();
    let spec: PathBuf = folder.path().join("spec.yaml");
    let text = format!(
        "name: {}\nbenchmarks:\n  worfbench: {{ data: {}, settings: [two-shot], judge: sim/lexical }}\nendpoints:\n  sim:\n    kind: openai\n    \
         base_url: {}\n    api_key_env: none\n    identify_sessions: true\nmodels: [{{ id: sim/oracle, price: {{ input_per_mtok: 1, output_per_mtok: 2 }} }}]\n",
        unique_name("traced"),
        data.display(),
        server.first_line
    );
    std::fs::write(&spec, text).unwrap();
    let mut roles = Vec::new();
    for role in ["coordinator", "scorer", "worker", "worker"] {
        roles.push(traced(&deployment, role, &collector).await);
    }
    let sweep = deployment.submit(&spec).await.unwrap();
    let (code, directory) = deployment.finish(&sweep).await.unwrap();
    assert_eq!(code, Some(0));
    let results = lines(&directory, "results.jsonl");
    // Spans wait for others for a second.
    let spans = until("all spans", async || {
        let spans = collector.spans();
        let count = |name: &str| named(&spans, name).len();
        let recorded = named(&spans, "record");
        let waited = recorded.iter().filter(|span| span.attributes["regatta.awaits_verdicts"] == true).count();
        let counts = [count("invoke_agent"), count("attempt"), count("dispatch"), recorded.len()];
        let is_whole = counts.iter().all(|count| *count >= results.len()) && count("settle") >= waited;
        if is_whole {
            Ok(spans)
        } else {
            Err(format!("{counts:?} of {}, {} of {waited}", results.len(), count("settle")))
        }
    })
    .await
    .unwrap();
    let (traces, _) = by_trace(spans);
    check_traces(&traces, &results, &lines(&directory, "attempts.jsonl"));
    let services: BTreeSet<&str> = traces.values().flatten().map(|span| span.service.as_str()).collect();
    assert_eq!(services, BTreeSet::from(["regatta-coordinator", "regatta-scorer", "regatta-worker"]));
}
