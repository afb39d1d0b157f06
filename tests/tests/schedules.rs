//! Schedules over a deployment: nights by hand, held against each other, a webhook that hears of it, a coordinator that is killed meanwhile;
//! and what changed from night to night, named.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use regatta_tests::http::Request;
use regatta_tests::regatta::{Process, regatta, workspace};
use regatta_tests::waiting;
use regatta_tests::{Deployment, Proxy, Traffic, unique_name};
use serde_json::Value;
use sha2::Sha256;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

const SECRET: &str = "a-secret-of-this-test-alone";

/// A request as a receiver gets it.
struct Received(Request);

impl Received {
    fn header(&self, name: &str) -> &str {
        self.0.header(name).unwrap_or_else(|| panic!("no {name} in {}", self.0.head))
    }

    /// The body, if the signature is right.
    fn verified(&self) -> Value {
        let body = str::from_utf8(&self.0.body).unwrap();
        let signed = format!("{}.{}.{}", self.header("webhook-id"), self.header("webhook-timestamp"), body);
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
        mac.update(signed.as_bytes());
        let expected = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
        assert_eq!(self.header("webhook-signature"), expected);
        serde_json::from_str(body).unwrap()
    }
}

async fn receive(stream: TcpStream) -> Received {
    let mut stream = BufReader::new(stream);
    let request = Request::read(&mut stream).await.unwrap().unwrap();
    stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").await.unwrap();
    Received(request)
}

async fn receiver() -> (SocketAddr, mpsc::UnboundedReceiver<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, received) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = sender.send(receive(stream).await);
        }
    });
    (address, received)
}

async fn next(received: &mut mpsc::UnboundedReceiver<Received>) -> Received {
    waiting::in_time("a request of the webhook", received.recv()).await.unwrap().unwrap()
}

async fn coordinator(deployment: &Deployment, address: SocketAddr, policy: &Path) -> Process {
    let mut command = deployment.command("coordinator").unwrap();
    command.args(["--listen", &address.to_string(), "--policy", &policy.to_string_lossy()]);
    command.env("HOOK_SECRET", SECRET);
    Process::start_until_ready(command, address).await.unwrap()
}

fn data() -> PathBuf {
    workspace().join("examples/data/worfbench")
}

/// A simulated endpoint of this `latency`, the way to it, and the URL of that.
async fn endpoint(latency: &str) -> (Process, Proxy, String) {
    let mut simulate = regatta().unwrap();
    let served = format!("worfbench={}", data().display());
    simulate.args(["simulate", "llm", "--listen", "127.0.0.1:0", "--data", &served]);
    simulate.args(["--simulation", &format!("latency: {latency}")]);
    let simulated = Process::start_and_read(simulate).await.unwrap();
    let (way, base_url) = Proxy::before(&simulated.first_line).await.unwrap();
    (simulated, way, base_url)
}

/// Runs a client's command and returns what it printed.
async fn said(deployment: &Deployment, arguments: &[&str]) -> String {
    let output = deployment.run(arguments).await.unwrap();
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{arguments:?}: {error}");
    out.into_owned()
}

/// Waits until the newest tick of `schedule` stands at `state`.
async fn until(deployment: &Deployment, schedule: &str, state: &str) -> Value {
    let reached = waiting::until(format!("tick {state}"), async || {
        // A coordinator may be on its way back.
        let output = deployment.run(&["schedule", "history", schedule, "--json"]).await.unwrap();
        let history: Value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        assert_ne!(history[0]["state"], "refused", "{history}");
        if history[0]["state"] == state { Ok(history) } else { Err(history.to_string()) }
    });
    reached.await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worse_night_is_told_to_the_webhook_although_the_leader_is_killed_in_it() {
    let deployment = Deployment::new().await.unwrap();
    let folder = deployment.folder.path();
    let data = data();
    let (_simulated, endpoint, base_url) = endpoint("{ median_ms: 100, spread: 1.2 }").await;
    let (hook, mut received) = receiver().await;
    let (name, policy) = (unique_name("nightly"), folder.join("coordinator-policy.yaml"));
    let write = |file: &str, text: String| std::fs::write(folder.join(file), text).unwrap();
    write(
        "coordinator-policy.yaml",
        format!("webhooks: {{ ci: {{ url: 'http://{hook}/hook', secret_env: HOOK_SECRET }} }}"),
    );
    write(
        "sweep.yaml",
        format!(
            "name: s\nbenchmarks:\n  worfbench: {{ data: {}, settings: [two-shot], judge: sim/lexical }}\nendpoints:\n  \
             sim: {{ kind: openai, base_url: '{}', api_key_env: none, identify_sessions: true, limits: {{ concurrency: 8 }} }}\n\
             models: [sim/oracle]\n",
            data.display(),
            base_url
        ),
    );
    write("gate.yaml", "metrics: { f1_chain: { margin: 5pp } }\nnights: { method: alpha_spending }".to_owned());
    let schedule = |more: &str| {
        format!(
            "name: {name}\ncron: 0 0 29 2 *\nspec: sweep.yaml\ngate: gate.yaml\nnotify: {{ webhooks: [ci] }}\n{more}\n"
        )
    };
    write("schedule.yaml", schedule(""));
    let first = coordinator(&deployment, deployment.api(), &policy).await;
    let another = regatta_tests::regatta::free_address().await.unwrap();
    let _second = coordinator(&deployment, another, &policy).await;
    let _roles = [deployment.start("worker").await.unwrap(), deployment.start("scorer").await.unwrap()];
    let file = folder.join("schedule.yaml");
    let file = file.to_str().unwrap();

    said(&deployment, &["schedule", "create", file]).await;
    said(&deployment, &["schedule", "run", &name]).await;
    until(&deployment, &name, "ended").await;
    let told = next(&mut received).await.verified();
    assert_eq!((&told["event"], &told["state"]), (&"ended".into(), &"complete".into()), "{told}");

    // Somebody serves another model; and the coordinator that leads is killed.
    write("schedule.yaml", schedule("overrides: { models: [sim/noisy-0.9] }"));
    said(&deployment, &["schedule", "create", file, "--replace"]).await;
    endpoint.set(Traffic::IsHeld);
    said(&deployment, &["schedule", "run", &name]).await;
    until(&deployment, &name, "running").await;
    first.kill().await.unwrap();
    endpoint.set(Traffic::Passes);
    let _first = coordinator(&deployment, deployment.api(), &policy).await;
    let history = until(&deployment, &name, "ended").await;
    assert_eq!(history.as_array().unwrap().len(), 2, "{history}");
    assert_eq!(history[0]["outcome"]["verdict"], "no_go", "{history}");
    let told = next(&mut received).await.verified();
    assert_eq!((&told["event"], &told["verdict"]), (&"no_go".into(), &"no_go".into()));
    assert_eq!(told["baseline"], history[1]["sweep"]);
    assert!(!told["judgement"]["checks"].as_array().unwrap().is_empty());
    let sweeps: Value = serde_json::from_str(&said(&deployment, &["status", "--json"]).await).unwrap();
    assert_eq!(sweeps.as_array().unwrap().len(), 2, "one sweep a tick: {sweeps}");

    let drift: Value = serde_json::from_str(&said(&deployment, &["drift", &name, "--json"]).await).unwrap();
    assert_eq!(drift["nights"][1]["findings"][0]["cause"], "model", "{drift}");
    let would_go = said(&deployment, &["gc", "--days", "0", "--json"]).await;
    let would_go: Value = serde_json::from_str(&would_go).unwrap();
    assert_eq!(
        (would_go["going"][0]["sweep"].clone(), would_go["kept"].clone()),
        (history[1]["sweep"].clone(), 1.into())
    );
    said(&deployment, &["gc", "--days", "0", "--apply"]).await;
    let sweeps: Value = serde_json::from_str(&said(&deployment, &["status", "--json"]).await).unwrap();
    assert_eq!(sweeps.as_array().unwrap().len(), 1, "{sweeps}");
    assert_eq!(sweeps[0]["id"], history[0]["sweep"], "the baseline of the next night is kept");
}

/// Schedules as `regatta schedule list` tells them.
async fn listed(deployment: &Deployment) -> Vec<Value> {
    serde_json::from_str(&said(deployment, &["schedule", "list", "--json"]).await).unwrap()
}

/// Makes every file below `folder` one that no benchmark can read.
fn spoil(folder: &Path) {
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { spoil(&path) } else { std::fs::write(path, "no data any more").unwrap() }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_is_paused_and_deleted_by_its_name_and_its_nights_run_on_the_data_that_was_handed_in() {
    let deployment = Deployment::new().await.unwrap();
    let folder = deployment.folder.path();
    let (_simulated, _way, base_url) = endpoint("{ median_ms: 10 }").await;
    let (name, copy, file) = (unique_name("nightly"), folder.join("data"), folder.join("schedule.yaml"));
    let copied = std::process::Command::new("cp").arg("-r").arg(data()).arg(&copy).status().unwrap();
    assert!(copied.success());
    std::fs::write(&file, format!("name: {name}\ncron: 0 0 29 2 *\nspec: sweep.yaml\n")).unwrap();
    let spec = format!(
        "name: s\nbenchmarks:\n  worfbench: {{ settings: [two-shot], judge: sim/lexical }}\nendpoints:\n  \
         sim: {{ kind: openai, base_url: '{base_url}', api_key_env: none, identify_sessions: true, limits: {{ concurrency: 16 }} }}\n\
         models: [sim/oracle]\n"
    );
    std::fs::write(folder.join("sweep.yaml"), spec).unwrap();
    let mut coordinator = deployment.role_at("coordinator", deployment.api()).unwrap();
    coordinator.env("REGATTA_LOG", "info").env("REGATTA_LOG_FORMAT", "json");
    let coordinator = Process::start_until_ready_and_listen(coordinator, deployment.api()).await.unwrap();
    let _others = [deployment.start("worker").await.unwrap(), deployment.start("scorer").await.unwrap()];

    let (data, file) = (format!("worfbench={}", copy.display()), file.to_str().unwrap());
    said(&deployment, &["schedule", "create", file, "--data", &data]).await;
    let schedules = listed(&deployment).await;
    assert_eq!((schedules.len(), &schedules[0]["schedule"]["name"]), (1, &name.as_str().into()), "{schedules:?}");
    assert!(schedules[0]["is_paused"] == false && schedules[0]["next"].is_string(), "{schedules:?}");

    said(&deployment, &["schedule", "pause", &name]).await;
    let schedules = listed(&deployment).await;
    assert!(schedules[0]["is_paused"] == true && schedules[0]["next"].is_null(), "{schedules:?}");
    assert!(said(&deployment, &["schedule", "list"]).await.contains("paused"));

    spoil(&copy);
    let again = deployment.run(&["schedule", "create", file, "--data", &data, "--replace"]).await.unwrap();
    assert!(!again.status.success(), "what is in the folder now cannot be read");
    said(&deployment, &["schedule", "run", &name]).await;
    let history = until(&deployment, &name, "ended").await;
    assert_eq!(
        (&history[0]["outcome"]["state"], &history[0]["by_hand"]),
        (&"complete".into(), &true.into()),
        "{history}"
    );

    said(&deployment, &["schedule", "resume", &name]).await;
    assert_eq!(listed(&deployment).await[0]["is_paused"], false);
    said(&deployment, &["schedule", "delete", &name]).await;
    assert!(listed(&deployment).await.is_empty());
    assert!(!deployment.run(&["schedule", "show", &name]).await.unwrap().status.success());
    let sweeps: Value = serde_json::from_str(&said(&deployment, &["status", "--json"]).await).unwrap();
    assert_eq!(sweeps[0]["id"], history[0]["sweep"], "its sweeps stay");

    // Machines read the coordinator's log: every line is an object, and names what it is about in fields of its own.
    let lines: Vec<Value> = coordinator.lines().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let about = |message: &str| lines.iter().find(|line| line["fields"]["message"] == message);
    let ended = about("night ended").unwrap_or_else(|| panic!("{lines:?}"));
    assert_eq!((&ended["level"], &ended["fields"]["schedule"]), (&"INFO".into(), &name.as_str().into()), "{ended}");
    assert_eq!(ended["fields"]["sweep"], history[0]["sweep"], "{ended}");
    assert!(about("leading").is_some_and(|line| line["fields"]["term"].is_u64()), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn over_five_nights_a_changed_model_a_changed_judge_and_a_slow_provider_are_named() {
    let deployment = Deployment::new().await.unwrap();
    let folder = deployment.folder.path();
    // So long that a busy machine, which takes its time for each call too, makes no night look slow.
    let (_simulated, provider, base_url) = endpoint("{ median_ms: 1000 }").await;
    let name = unique_name("nightly");
    let file = folder.join("schedule.yaml");
    std::fs::write(&file, format!("name: {name}\ncron: 0 0 29 2 *\nspec: sweep.yaml\n")).unwrap();
    // The same place under two names: the spec has another judge then, and nothing else changes.
    let at = format!(
        "{{ kind: openai, base_url: '{base_url}', api_key_env: none, identify_sessions: true, limits: {{ concurrency: 16 }} }}"
    );
    let spec = |model: &str, judge: &str| {
        let data = data();
        format!(
            "name: s\nseed: 7\nbenchmarks:\n  worfbench: {{ data: {}, settings: [two-shot], judge: {judge} }}\nendpoints:\n  \
             sim: {at}\n  other: {at}\nmodels: [{model}]\n",
            data.display()
        )
    };
    let _coordinator = deployment.start("coordinator").await.unwrap();
    let _others = [deployment.start("worker").await.unwrap(), deployment.start("scorer").await.unwrap()];
    let nights = [
        ("sim/oracle", "sim/lexical", Traffic::Passes),
        ("sim/oracle", "sim/lexical", Traffic::Passes),
        ("sim/noisy-0.9", "sim/lexical", Traffic::Passes),
        ("sim/noisy-0.9", "other/lexical", Traffic::Passes),
        // Each piece of a request and of an answer.
        ("sim/noisy-0.9", "other/lexical", Traffic::Takes(Duration::from_secs(2))),
    ];
    for (before, (model, judge, traffic)) in nights.into_iter().enumerate() {
        std::fs::write(folder.join("sweep.yaml"), spec(model, judge)).unwrap();
        said(&deployment, &["schedule", "create", file.to_str().unwrap(), "--replace"]).await;
        provider.set(traffic);
        said(&deployment, &["schedule", "run", &name]).await;
        let ended = waiting::until(format!("the end of night {}", before + 1), async || {
            let history: Value =
                serde_json::from_str(&said(&deployment, &["schedule", "history", &name, "--json"]).await).unwrap();
            let is_last = history.as_array().is_some_and(|ticks| ticks.len() > before);
            if is_last && history[0]["state"] == "ended" { Ok(()) } else { Err(history.to_string()) }
        });
        ended.await.unwrap();
    }

    let drift: Value = serde_json::from_str(&said(&deployment, &["drift", &name, "--json"]).await).unwrap();
    let causes = |night: &Value| -> BTreeSet<String> {
        let findings = night["findings"].as_array().unwrap();
        findings.iter().map(|finding| finding["cause"].as_str().unwrap().to_owned()).collect()
    };
    let found: Vec<BTreeSet<String>> = drift["nights"].as_array().unwrap().iter().map(causes).collect();
    let named = [None, None, Some("model"), Some("judge"), Some("provider")];
    let expected = named.map(|cause| cause.into_iter().map(str::to_owned).collect::<BTreeSet<_>>());
    assert_eq!(found, expected, "{drift}");
    assert_eq!(drift["nights"][4]["findings"][0]["evidence"], "measured", "{drift}");

    // The pages draw the same.
    let drawn = page(&deployment, &format!("/ui/schedules/{name}/drift")).await;
    assert!(drawn.contains(&format!("<h1>Drift of {name}</h1>")) && drawn.contains("<svg"), "{drawn}");
    for cause in named.into_iter().flatten() {
        assert!(drawn.contains(cause), "{cause} is missing in {drawn}");
    }
}

/// A page of the coordinator, with the head of the answer.
async fn page(deployment: &Deployment, path: &str) -> String {
    let (address, token) = (deployment.api(), Deployment::TOKEN);
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.0\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}
