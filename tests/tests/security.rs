//! Attacks of strangers, models and neighbours: hostile requests beside a running sweep, secrets in every place, files of others.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod issuer;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use regatta_tests::deployment_roles::connect;
use regatta_tests::regatta::{Process, finish, free_address, get_text, regatta, workspace};
use regatta_tests::{Deployment, unique_name};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Most memory that a coordinator holds, whatever is asked of it, in KiB.
const RESIDENT_MAX_KB: u64 = 300 << 10;

async fn simulator(folder: &Path, name: &str, endpoint: &str) -> (Process, PathBuf) {
    let data = workspace().join("examples/data/worfbench");
    let mut simulate = regatta().unwrap();
    simulate.args(["simulate", "llm", "--listen", "127.0.0.1:0", "--data", &format!("worfbench={}", data.display())]);
    let server = Process::start_and_read(simulate).await.unwrap();
    let spec = folder.join(format!("{name}.yaml"));
    let text = format!(
        "name: {name}\nseed: 5\nbenchmarks:\n  worfbench: {{ data: {}, settings: [two-shot], judge: sim/lexical }}\n\
         endpoints:\n  sim: {{ kind: openai, base_url: '{}', identify_sessions: true, {endpoint} }}\n\
         models: [sim/oracle]\n",
        data.display(),
        server.first_line
    );
    std::fs::write(&spec, text).unwrap();
    (server, spec)
}

/// Every file below `folder`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found
}

/// A file's bytes, and what they are when they are decompressed.
fn contents(file: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(file).unwrap();
    let plain = zstd::decode_all(&bytes[..]).ok();
    plain.into_iter().chain([bytes]).collect()
}

#[tokio::test]
async fn no_secret_is_in_anything_that_a_run_writes_or_says_and_nobody_else_can_read_it() {
    const MARKERS: [&str; 2] = ["marker-of-the-key-0123456789", "marker-of-the-header-0123456789"];
    let folder = tempfile::tempdir().unwrap();
    let endpoint = "api_key_env: MARKED_KEY, headers_env: { x-litellm-api-key: MARKED_HEADER }";
    let (_server, spec) = simulator(folder.path(), "marked", endpoint).await;
    let directory = folder.path().join("run");
    let mut run = regatta().unwrap();
    run.arg("--log").arg("debug").arg("run").arg(&spec).arg("--output").arg(&directory);
    run.env("MARKED_KEY", MARKERS[0]).env("MARKED_HEADER", MARKERS[1]);
    let output = finish(run).await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let holds = |bytes: &[u8], marker: &str| bytes.windows(marker.len()).any(|window| window == marker.as_bytes());
    for marker in MARKERS {
        assert!(!holds(&output.stdout, marker) && !holds(&output.stderr, marker), "it was said");
        for file in files(&directory) {
            assert!(!contents(&file).iter().any(|bytes| holds(bytes, marker)), "{}", file.display());
        }
    }
    for file in files(&directory) {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o077, 0, "{}", file.display());
    }
    assert_eq!(directory.join("store").metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn without_a_home_nothing_is_kept_where_others_could_have_prepared_it() {
    let folder = tempfile::tempdir().unwrap();
    let (temporary, directory) = (folder.path().join("tmp"), folder.path().join("run"));
    std::fs::create_dir(&temporary).unwrap();
    let (_server, spec) = simulator(folder.path(), "homeless", "api_key_env: none").await;
    let mut run = regatta().unwrap();
    run.arg("run").arg(&spec).args(["--cache", "read_write"]).arg("--output").arg(&directory);
    run.env_remove("HOME").env("TMPDIR", &temporary);
    let output = finish(run).await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!files(&directory.join("store/answers")).is_empty());
    let mut replay = regatta().unwrap();
    replay.arg("replay").arg(&directory).env_remove("HOME").env("TMPDIR", &temporary);
    assert_eq!(finish(replay).await.unwrap().status.code(), Some(0));
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0, "{:?}", files(&temporary));
}

#[tokio::test]
async fn answers_and_what_was_begun_here_are_kept_in_folders_of_the_user_and_in_none_that_somebody_else_prepared() {
    let folder = tempfile::tempdir().unwrap();
    let (home, elsewhere) = (folder.path().join("home"), folder.path().join("elsewhere"));
    std::fs::create_dir(&home).unwrap();
    std::fs::create_dir(&elsewhere).unwrap();
    let (_server, spec) = simulator(folder.path(), "homely", "api_key_env: none").await;
    let run = async |name: &str| {
        let mut run = regatta().unwrap();
        run.arg("run").arg(&spec).args(["--cache", "read_write"]).arg("--output").arg(folder.path().join(name));
        finish({
            run.env("HOME", &home);
            run
        })
        .await
        .unwrap()
    };
    let output = run("first").await;
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    for own in [".cache/regatta", ".cache/regatta/answers", ".local/state/regatta/begun"] {
        let own = home.join(own);
        assert_eq!(own.metadata().unwrap().permissions().mode() & 0o777, 0o700, "{}", own.display());
        assert!(!files(&own).is_empty(), "{}", own.display());
    }
    std::fs::rename(home.join(".cache/regatta"), folder.path().join("away")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, home.join(".cache/regatta")).unwrap();
    let output = run("second").await;
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(78), "{said}");
    assert!(said.contains("is a link"), "{said}");
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[tokio::test]
async fn a_store_that_somebody_else_prepared_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (elsewhere, directory) = (folder.path().join("elsewhere"), folder.path().join("run"));
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::create_dir(&directory).unwrap();
    std::os::unix::fs::symlink(&elsewhere, directory.join("store")).unwrap();
    let mut run = regatta().unwrap();
    run.arg("run").arg(workspace().join("examples/quickstart.yaml")).arg("--output").arg(&directory);
    let output = finish(run).await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(78), "{said}");
    assert!(said.contains("is a link"), "{said}");
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[tokio::test]
async fn a_coordinator_does_not_start_where_others_reach_it_without_a_token() {
    let mut command = regatta().unwrap();
    command.args(["coordinator", "--listen", "0.0.0.0:0", "--no-token"]);
    for (name, value) in
        [("AMQP_URL", "amqp://127.0.0.1:1"), ("DATABASE_URL", "postgres://127.0.0.1:1/x"), ("REGATTA_BUCKET", "x")]
    {
        command.env(name, value);
    }
    let output = finish(command).await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(78), "{said}");
    assert!(said.contains("REGATTA_TOKEN") && said.contains("openssl rand -hex 32"), "{said}");
}

/// Requests of somebody without a token who reaches the API.
#[tokio::test(flavor = "multi_thread")]
async fn an_api_that_others_reach_serves_no_metrics_unless_they_have_an_address_of_their_own() {
    let deployment = Deployment::new().await.unwrap();
    let get = async |path: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", deployment.api());
        status(&deployment, request, b"").await
    };
    let own = deployment.api();
    let everybody = std::net::SocketAddr::from(([0, 0, 0, 0], own.port()));
    for (listen, served) in [(own, Some(200)), (everybody, Some(401))] {
        let mut coordinator = deployment.command("coordinator").unwrap();
        coordinator.args(["--listen", &listen.to_string(), "--plain-http"]);
        let coordinator = Process::start_until_ready(coordinator, own).await.unwrap();
        assert_eq!((get("/metrics").await, get("/healthz").await), (served, Some(200)), "{listen}");
        coordinator.terminate().await.unwrap();
    }
}

/// The status with which `request` is answered; `None` when the connection is closed without one.
async fn status(deployment: &Deployment, request: String, body: &[u8]) -> Option<u16> {
    let mut stream = TcpStream::connect(deployment.api()).await.ok()?;
    stream.write_all(request.as_bytes()).await.ok()?;
    // A server that refuses a body does not read it to its end.
    let _ = stream.write_all(body).await;
    let mut answer = vec![0; 64];
    let read = stream.read(&mut answer).await.ok()?;
    String::from_utf8_lossy(&answer[..read]).split(' ').nth(1)?.parse().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_requests_beside_a_sweep_change_no_result_and_fill_no_memory() {
    let deployment = Deployment::new().await.unwrap();
    let (_server, spec) = simulator(deployment.folder.path(), &unique_name("beside"), "api_key_env: none").await;
    let coordinator = deployment.start("coordinator").await.unwrap();
    let _roles = [deployment.start("worker").await.unwrap(), deployment.start("scorer").await.unwrap()];
    let id = deployment.submit(&spec).await.unwrap();
    let head = |method: &str, path: &str, rest: &str| {
        format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n{rest}\r\n",
            deployment.api(),
            Deployment::TOKEN
        )
    };
    let large = vec![b'x'; 100 << 20];
    let upload = || {
        let digest = "0".repeat(64);
        head("PUT", &format!("/v1/content/{digest}"), &format!("content-length: {}\r\n", large.len()))
    };
    let uploads = futures::future::join_all((0..8).map(|_| status(&deployment, upload(), &large)));
    let mut half_sent = Vec::new();
    for _ in 0..100 {
        let mut stream = TcpStream::connect(deployment.api()).await.unwrap();
        stream.write_all(b"GET /v1/sweeps HTTP/1.1\r\nhost:").await.unwrap();
        half_sent.push(stream);
    }
    let nested = format!("{{\"spec\":{}", "[".repeat(200_000));
    let post = |rest: &str, length: usize| head("POST", "/v1/sweeps", &format!("{rest}content-length: {length}\r\n"));
    let json = "content-type: application/json\r\n";
    // Tokens of the right form that nobody made, each of which the ledger is asked for.
    let guess = |number: u32| {
        let token = format!("rgt_{number:012x}_{}", "0".repeat(64));
        format!("GET /v1/sweeps HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\r\n", deployment.api())
    };
    let guesses = futures::future::join_all((0..200).map(|number| status(&deployment, guess(number), b"")));
    let looks = (0..50).map(|_| status(&deployment, head("HEAD", "/v1/sweeps", ""), b""));
    let (uploaded, guessed, looked, deep, foreign, text, huge) = tokio::join!(
        uploads,
        guesses,
        futures::future::join_all(looks),
        status(&deployment, post(json, nested.len()), nested.as_bytes()),
        status(&deployment, post(&format!("{json}origin: https://evil.example\r\n"), 2), b"{}"),
        status(&deployment, post("content-type: text/plain\r\n", 2), b"{}"),
        status(&deployment, post(json, 1 << 30), &large),
    );
    assert!(uploaded.iter().all(|status| matches!(status, Some(422 | 429))), "{uploaded:?}");
    assert!(guessed.iter().all(|status| matches!(status, Some(401 | 429))), "{guessed:?}");
    assert!(looked.iter().all(|status| *status == Some(200)), "{looked:?}");
    assert!(matches!(deep, Some(400 | 422)), "{deep:?}");
    assert_eq!((foreign, text, huge), (Some(403), Some(415), Some(413)));
    let resident = coordinator.resident_max_kb().unwrap();
    assert!(resident < RESIDENT_MAX_KB, "{resident} KiB");
    let (code, directory) = deployment.finish(&id).await.unwrap();
    assert_eq!(code, Some(0));
    let mut alone = regatta().unwrap();
    let embedded = deployment.folder.path().join("alone");
    alone.arg("run").arg(&spec).arg("--output").arg(&embedded);
    assert_eq!(finish(alone).await.unwrap().status.code(), Some(0));
    let results = |directory: &Path| std::fs::read_to_string(directory.join("results.jsonl")).unwrap();
    assert_eq!(results(&directory), results(&embedded));
}

/// An endpoint that answers nothing and keeps the beginning of each request.
async fn recording() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (url, heads) = (format!("http://{}/v1", listener.local_addr().unwrap()), Arc::new(Mutex::new(Vec::new())));
    let kept = heads.clone();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = vec![0; 16 << 10];
            let read = stream.read(&mut head).await.unwrap_or(0);
            kept.lock().unwrap().push(String::from_utf8_lossy(&head[..read]).into_owned());
            let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
        }
    });
    (url, heads)
}

/// Waits until `holds`.
async fn until(holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let ended = tokio::time::timeout(std::time::Duration::from_secs(120), waiting).await;
    assert!(ended.is_ok(), "it did not happen in time");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_runs_no_command_on_a_worker_and_gets_no_key_of_it() {
    let deployment = Deployment::new().await.unwrap();
    let folder = deployment.folder.path();
    let log = folder.join("worker.log");
    let address = free_address().await.unwrap();
    let mut worker = deployment.role_at("worker", address).unwrap();
    worker.stderr(std::fs::File::create(&log).unwrap());
    let _roles = [
        deployment.start("coordinator").await.unwrap(),
        Process::start_until_ready(worker, address).await.unwrap(),
        deployment.start("scorer").await.unwrap(),
    ];
    let (url, heads) = recording().await;
    let (spec, data) = (folder.join("stranger.yaml"), workspace().join("examples/data/worfbench"));
    let write = |key: &str, more: &str| {
        let text = format!(
            "name: {}\nbenchmarks:\n  worfbench: {{ data: {}, settings: [two-shot], limit: 'first:1', judge: sim/lexical }}\n\
             endpoints:\n  sim: {{ kind: openai, base_url: '{url}', {key} }}\nmodels: [sim/oracle]\n{more}",
            unique_name("stranger"),
            data.display()
        );
        std::fs::write(&spec, text).unwrap();
    };
    write("api_key_env: none", "agents: { mine: { command: [sh, -c, 'touch ran'] } }\n");
    let refused = deployment.submit(&spec).await.unwrap_err().to_string();
    assert!(refused.contains("agents.mine.command") && refused.contains("registered: mine"), "{refused}");
    // Keys of the worker, to an address that the policy lets it reach and that no rule binds them to.
    for key in
        ["api_key_env: AWS_SECRET_ACCESS_KEY", "api_key_env: none, headers_env: { x-own: AWS_SECRET_ACCESS_KEY }"]
    {
        write(key, "");
        let id = deployment.submit(&spec).await.unwrap();
        let is_withheld = |line: &str| line.contains(&id) && line.contains("would send the key AWS_SECRET_ACCESS_KEY");
        until(|| std::fs::read_to_string(&log).unwrap().lines().any(is_withheld)).await;
        assert!(deployment.run(&["cancel", &id]).await.unwrap().status.success());
        assert_eq!(*heads.lock().unwrap(), Vec::<String>::new(), "nothing is asked");
    }
    // The same endpoint is asked as soon as no key would go there.
    write("api_key_env: none", "");
    let id = deployment.submit(&spec).await.unwrap();
    until(|| !heads.lock().unwrap().is_empty()).await;
    // Refused where it has ended already: the endpoint answers nothing but that there is no such thing.
    deployment.run(&["cancel", &id]).await.unwrap();
    for head in heads.lock().unwrap().iter() {
        assert!(!head.contains(&deployment.s3().secret_key) && !head.contains("authorization:"), "{head}");
    }
    // What a spec names of the worker's machine is refused before any worker hears of it.
    write("api_key_env: none }\n  minilm: { kind: encoder, path: /etc", "");
    let refused = deployment.submit(&spec).await.unwrap_err().to_string();
    assert!(refused.contains("endpoints.minilm.path") && refused.contains("registered: minilm"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_token_is_in_a_log_a_metric_a_table_or_an_answer_and_metrics_ask_for_none() {
    let deployment = Deployment::new().await.unwrap();
    let log = deployment.folder.path().join("coordinator.log");
    let metrics = free_address().await.unwrap();
    let mut coordinator = deployment.command("coordinator").unwrap();
    coordinator.args(["--listen", &deployment.api().to_string(), "--metrics-listen", &metrics.to_string()]);
    coordinator.args(["--log", "trace"]).stderr(std::fs::File::create(&log).unwrap());
    let _coordinator = Process::start_until_ready(coordinator, metrics).await.unwrap();
    let run = async |token: &str, arguments: &[&str]| {
        let (verb, rest) = arguments.split_first().unwrap();
        let mut command = deployment.command(verb).unwrap();
        finish({
            command.args(rest).env("REGATTA_TOKEN", token);
            command
        })
        .await
        .unwrap()
    };
    let made = run(Deployment::TOKEN, &["token", "create", "--owner", "alice", "--scopes", "read"]).await;
    let token = String::from_utf8_lossy(&made.stdout).trim().to_owned();
    assert!(token.starts_with("rgt_"), "{}", String::from_utf8_lossy(&made.stderr));
    assert!(run(&token, &["status"]).await.status.success());
    let refused = run(&token, &["audit"]).await;
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(78), "{said}");
    assert!(said.contains("needs the scope admin") && said.contains("alice has read"), "{said}");
    run(&format!("{token}0"), &["status"]).await;
    let id = token.split('_').nth(1).unwrap();
    assert!(run(Deployment::TOKEN, &["token", "revoke", id]).await.status.success());
    let revoked = run(&token, &["status"]).await;
    assert!(String::from_utf8_lossy(&revoked.stderr).contains("is revoked"), "{revoked:?}");
    // Who has no token reads the metrics where they are, and finds none at the API.
    let shown = get_text(&format!("http://{metrics}/metrics")).await.unwrap();
    assert!(shown.contains("regatta_coordinator_"), "{shown}");
    let plain = format!("GET /metrics HTTP/1.1\r\nhost: {}\r\n\r\n", deployment.api());
    assert_eq!(status(&deployment, plain, b"").await, Some(401));
    let audit = run(Deployment::TOKEN, &["audit", "--json"]).await.stdout;
    let list = run(Deployment::TOKEN, &["token", "list", "--json"]).await.stdout;
    let client = connect(deployment.database_url()).await.unwrap();
    let rows = client.query("SELECT t::text FROM tokens t UNION ALL SELECT a::text FROM audit a UNION ALL SELECT r::text FROM audit_results r", &[]);
    let rows: Vec<String> = rows.await.unwrap().iter().map(|row| row.get(0)).collect();
    let written = std::fs::read_to_string(&log).unwrap();
    assert!(rows.len() > 4 && written.contains("coordinating"), "{written}");
    let secret = token.rsplit('_').next().unwrap();
    for (place, text) in [
        ("log", written.as_str()),
        ("metrics", &shown),
        ("audit", &String::from_utf8_lossy(&audit)),
        ("list", &String::from_utf8_lossy(&list)),
        ("tables", &rows.join("\n")),
    ] {
        for marker in [secret, Deployment::TOKEN] {
            assert!(!text.contains(marker), "{marker} is in the {place}");
        }
    }
}
