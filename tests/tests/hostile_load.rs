//! Hostile requests, all at once, beside a running sweep: little memory, the same results, and nearly the same rate.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on has failed; it says what it measured"
)]

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::future::join_all;
use futures::stream::FuturesUnordered;
use regatta_tests::regatta::{Process, finish, regatta, workspace};
use regatta_tests::{Deployment, unique_name};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;

/// Most memory that each process of a deployment holds, whatever is asked of it, in KiB: 300 MB.
const RESIDENT_MAX_KB: u64 = 300_000_000 >> 10;
/// Uploads at once, and bytes of each.
const UPLOADS: usize = 12;
const UPLOAD_BYTES: usize = 250 << 20;
/// Bytes of a file that is really stored, and how often a submission lists it.
const STORED_BYTES: usize = 4 << 20;
const LISTED: usize = 80;
/// Connections of one address on which half a head is sent: more than a listener has places for.
const HALF_SENT: usize = 600;
/// Addresses whose shares of the connections are together more than a listener has places for, and the share of each.
const CROWD: [&str; 9] = [
    "127.0.1.1",
    "127.0.1.2",
    "127.0.1.3",
    "127.0.1.4",
    "127.0.1.5",
    "127.0.1.6",
    "127.0.1.7",
    "127.0.1.8",
    "127.0.1.9",
];
const SHARE: usize = 64;
/// Addresses of this machine, as of several strangers: half-sent heads, uploads, looks at files, forms, and whoever submits.
const ADDRESSES: [&str; 5] = ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.1"];
/// Longest wait of somebody at another address while one has all the connections that it can get.
const OTHERS_WAIT_MAX: Duration = Duration::from_secs(5);
/// Forms of a login at once, and bytes of each.
const FORMS: usize = 50;
const FORM_BYTES: usize = 2 << 20;
/// Mebibytes of a long answer: with what is parsed of it, nearly the quarter of the largest budget that a process takes by itself.
const LONG_MIB: usize = 15;
/// Long answers at once.
const AT_ONCE: usize = 7;
/// Longest time that half a head is waited for, with some to spare.
const HEAD_TIME_MAX: Duration = Duration::from_secs(25);

struct Simulator {
    server: Process,
}

impl Simulator {
    async fn start(simulation: &str) -> Self {
        let data = format!("worfbench={}", data());
        let mut simulate = regatta().unwrap();
        simulate.args(["simulate", "llm", "--listen", "127.0.0.1:0", "--data", &data, "--simulation", simulation]);
        Self { server: Process::start_and_read(simulate).await.unwrap() }
    }

    fn spec(&self, folder: &Path, name: &str, trials: u32) -> PathBuf {
        let spec = folder.join(format!("{name}.yaml"));
        let text = format!(
            "name: {name}\nseed: 5\ntrials: {trials}\nbenchmarks:\n  worfbench: {{ data: {}, settings: [two-shot], judge: sim/lexical }}\n\
             endpoints:\n  sim: {{ kind: openai, base_url: '{}', identify_sessions: true, api_key_env: none, limits: {{ concurrency: 8 }} }}\n\
             models: [sim/noisy-0.3]\n",
            data(),
            self.server.first_line
        );
        std::fs::write(&spec, text).unwrap();
        spec
    }
}

fn data() -> String {
    workspace().join("examples/data/worfbench").display().to_string()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// A stranger with a token, who submits, uploads and asks from one address.
#[derive(Clone, Copy)]
struct Attacker {
    api: SocketAddr,
    own: &'static str,
}

impl Attacker {
    fn new(api: SocketAddr) -> Self {
        let [.., own] = ADDRESSES;
        Self { api, own }
    }

    const fn from(self, own: &'static str) -> Self {
        Self { own, ..self }
    }

    async fn connect(&self) -> std::io::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::new(self.own.parse().unwrap(), 0))?;
        socket.connect(self.api).await
    }

    fn head(&self, method: &str, path: &str, rest: &str) -> String {
        let (api, token) = (self.api, Deployment::TOKEN);
        format!(
            "{method} {path} HTTP/1.1\r\nhost: {api}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n{rest}\r\n"
        )
    }

    /// Status and beginning of the answer to a request whose body is `piece` as often as `times`; `None` when it is cut off.
    async fn answer(&self, head: String, piece: &[u8], times: usize) -> Option<(u16, String)> {
        let stream = self.connect().await.ok()?;
        let (mut reads, mut writes) = stream.into_split();
        let send = async {
            writes.write_all(head.as_bytes()).await?;
            for _ in 0..times {
                writes.write_all(piece).await?;
            }
            std::future::pending::<std::io::Result<()>>().await
        };
        let receive = async {
            let mut answer = vec![0; 4096];
            let read = reads.read(&mut answer).await.ok()?;
            let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
            Some((answer.split(' ').nth(1)?.parse().ok()?, answer))
        };
        tokio::pin!(receive);
        // A server that refuses a body does not read it to its end.
        tokio::select! {
            answer = &mut receive => answer,
            _ = send => receive.await,
        }
    }

    async fn post(&self, path: &str, body: &str) -> Option<(u16, String)> {
        let rest = format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
        self.answer(self.head("POST", path, &rest), body.as_bytes(), 1).await
    }

    /// Uploads `bytes`, and returns their digest.
    async fn store(&self, bytes: &[u8]) -> String {
        let digest: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let put = self.head("PUT", &content(&digest), &format!("content-length: {}\r\n", bytes.len()));
        let (status, answer) = self.answer(put, bytes, 1).await.unwrap();
        assert_eq!(status, 204, "{answer}");
        digest
    }

    /// Uploads zeros under the digest of something else.
    async fn upload(&self) -> Option<(u16, String)> {
        let piece = vec![0; 1 << 20];
        let head = self.head("PUT", &content(&"0".repeat(64)), &format!("content-length: {UPLOAD_BYTES}\r\n"));
        self.answer(head, &piece, UPLOAD_BYTES / piece.len()).await
    }

    /// A form of a login that is far longer than one, without any credential.
    async fn log_in(&self) -> Option<(u16, String)> {
        let head = format!(
            "POST /ui/login HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/x-www-form-urlencoded\r\n\
             content-length: {FORM_BYTES}\r\n\r\n",
            self.api
        );
        self.answer(head, &vec![b'x'; FORM_BYTES], 1).await
    }

    async fn submit(&self, models: &[String], trials: u32, files: Vec<Value>) -> Option<(u16, String)> {
        let spec = json!({
            "name": unique_name("hostile"), "trials": trials, "models": models,
            "benchmarks": { "worfbench": { "data": "nowhere", "settings": ["two-shot"], "judge": "sim/lexical" } },
            "endpoints": { "sim": { "kind": "openai", "base_url": "http://127.0.0.1:9/v1", "api_key_env": "none" } },
        });
        self.post("/v1/sweeps", &json!({ "spec": spec, "data": { "worfbench": { "files": files } } }).to_string()).await
    }

    /// Connections on which half a head is sent. One that is too many may be closed already.
    async fn half_heads(&self, count: usize) -> Vec<TcpStream> {
        let mut half_sent = Vec::new();
        for _ in 0..count {
            let mut stream = self.connect().await.unwrap();
            let _ = stream.write_all(b"GET /v1/sweeps HTTP/1.1\r\nhost:").await;
            half_sent.push(stream);
        }
        half_sent
    }

    /// Takes all places of the listener from many addresses. Whoever comes then is let in once a head has had its time.
    async fn crowd(self) {
        let mut half_sent = Vec::new();
        for address in CROWD {
            half_sent.extend(self.from(address).half_heads(SHARE).await);
        }
        let mut ends: FuturesUnordered<_> = half_sent.into_iter().map(ended).collect();
        let look = self.answer(self.head("GET", "/v1/sweeps", ""), b"", 0);
        tokio::pin!(look);
        let is_closed_first = tokio::select! {
            biased;
            _ = ends.next() => true,
            _ = &mut look => false,
        };
        assert!(is_closed_first, "all places are taken until a head has had its time");
        let (status, _) = tokio::time::timeout(HEAD_TIME_MAX, look).await.unwrap().unwrap();
        assert_eq!(status, 200, "whoever comes next is let in");
        assert!(tokio::time::timeout(HEAD_TIME_MAX, ends.count()).await.is_ok(), "no half-sent head stays");
    }

    /// Everything at once. Each is answered with a refusal, or not at all.
    async fn attack(self) {
        let digest = self.store(&vec![b'x'; STORED_BYTES]).await;
        let mut files = Vec::new();
        for path in files_below(Path::new(&data())) {
            let bytes = std::fs::read(&path).unwrap();
            let (path, digest) = (path.strip_prefix(data()).unwrap(), self.store(&bytes).await);
            files.push(json!({ "path": path, "digest": digest, "size": bytes.len() }));
        }
        let [halting, uploading, looking, forging, _] = ADDRESSES.map(|address| self.from(address));
        let half_sent = halting.half_heads(HALF_SENT).await;
        let look = self.answer(self.head("GET", "/v1/sweeps", ""), b"", 0);
        let (status, _) = tokio::time::timeout(OTHERS_WAIT_MAX, look).await.unwrap().unwrap();
        assert_eq!(status, 200, "whoever is at another address is let in");
        let listed = (0..LISTED)
            .map(|number| json!({ "path": format!("{number}.json"), "digest": digest, "size": STORED_BYTES }));
        let listed: Vec<Value> = listed.collect();
        let models: Vec<String> = (0..1_500).map(|number| format!("sim/m{number}")).collect();
        let one = ["sim/oracle".to_owned()];
        let nested = format!("{{\"spec\":{}", "[".repeat(200_000));
        let looks = || looking.answer(self.head("HEAD", &content(&digest), ""), b"", 0);
        let (uploaded, repeated, wide, deep, looked, entered, (), ()) = tokio::join!(
            join_all((0..UPLOADS).map(|_| uploading.upload())),
            self.submit(&one, 1, listed),
            self.submit(&models, 1_000, files),
            self.post("/v1/sweeps", &nested),
            join_all((0..200).map(|_| looks())),
            join_all((0..FORMS).map(|_| forging.log_in())),
            nested_yaml_is_refused(),
            closed(half_sent),
        );
        // Whoever is cut off has no answer; of each kind some have.
        let statuses = |answers: &[Option<(u16, String)>]| {
            let statuses: BTreeSet<u16> = answers.iter().flatten().map(|(status, _)| *status).collect();
            statuses.into_iter().collect::<Vec<_>>()
        };
        assert!(matches!(statuses(&uploaded)[..], [422] | [429] | [422, 429]), "{uploaded:?}");
        let (status, repeated) = repeated.unwrap();
        assert!(status == 422 && repeated.contains("268435456"), "{repeated}");
        let (status, wide) = wide.unwrap();
        assert!(status == 422 && wide.contains("1500000 cells"), "{wide}");
        let (status, deep) = deep.unwrap();
        assert!(matches!(status, 400 | 422), "{deep}");
        assert_eq!(statuses(&looked), [204], "{looked:?}");
        assert_eq!(statuses(&entered), [413], "{entered:?}");
    }
}

fn content(digest: &str) -> String {
    format!("/v1/content/{digest}")
}

/// A spec of deeply nested YAML is refused by the client, before it is submitted.
async fn nested_yaml_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let spec = folder.path().join("nested.yaml");
    std::fs::write(&spec, format!("name: {}", "[".repeat(200_000))).unwrap();
    let mut check = regatta().unwrap();
    check.arg("check").arg(&spec);
    let output = finish(check).await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("100"), "{said}");
}

/// Waits until the server has closed connections that do not go on with their heads.
async fn closed(streams: Vec<TcpStream>) {
    tokio::time::timeout(HEAD_TIME_MAX, join_all(streams.into_iter().map(ended))).await.unwrap();
}

/// Waits for the end of a connection.
async fn ended(mut stream: TcpStream) {
    let mut answer = Vec::new();
    // An answer, or a reset, are as good.
    let _ = stream.read_to_end(&mut answer).await;
}

/// A coordinator whose limits are those of a real one: other tests play many people at one address.
async fn start_coordinator(deployment: &Deployment) -> Process {
    let mut command = deployment.role_at("coordinator", deployment.api()).unwrap();
    command.env_remove("REGATTA_CONNECTIONS_PER_ADDRESS");
    Process::start_until_ready_and_listen(command, deployment.api()).await.unwrap()
}

fn results(directory: &Path) -> String {
    std::fs::read_to_string(directory.join("results.jsonl")).unwrap()
}

fn assert_little_memory(roles: &[(&str, &Process)]) {
    for (name, role) in roles {
        let resident = role.resident_max_kb().unwrap();
        println!("{name}: {} MiB at most", resident >> 10);
        assert!(resident < RESIDENT_MAX_KB, "{name}: {resident} KiB");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_attacks_at_once_change_no_result_of_a_sweep_and_fill_no_memory() {
    let deployment = Deployment::new().await.unwrap();
    let simulator = Simulator::start("{ latency: { median_ms: 100 } }").await;
    let spec = simulator.spec(deployment.folder.path(), &unique_name("beside"), 20);
    let coordinator = start_coordinator(&deployment).await;
    let (worker, scorer) = (deployment.start("worker").await.unwrap(), deployment.start("scorer").await.unwrap());
    let id = deployment.submit(&spec).await.unwrap();
    Attacker::new(deployment.api()).attack().await;
    Attacker::new(deployment.api()).crowd().await;
    let (code, directory) = deployment.finish(&id).await.unwrap();
    assert_eq!(code, Some(0));
    assert_little_memory(&[("coordinator", &coordinator), ("worker", &worker), ("scorer", &scorer)]);
    let mut alone = regatta().unwrap();
    let embedded = deployment.folder.path().join("alone");
    alone.arg("run").arg(&spec).arg("--output").arg(&embedded);
    assert_eq!(finish(alone).await.unwrap().status.code(), Some(0));
    assert_eq!(results(&directory), results(&embedded));
}

/// An endpoint whose answers have many megabytes, the same ones at every time. Half of their length is left of them when they are compressed.
async fn chatterbox() -> SocketAddr {
    const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n";
    const BEGIN: &str = "{\"model\":\"m\",\"choices\":[{\"index\":0,\"finish_reason\":\"stop\",\"message\":{\"role\":\"assistant\",\"content\":\"";
    const END: &str = "\"}}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}";
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let piece: Arc<[u8]> = digits(1 << 20).into();
    tokio::spawn(async move {
        let mut serving = JoinSet::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let piece = Arc::clone(&piece);
            serving.spawn(async move {
                let mut request = vec![0; 64 << 10];
                // The beginning of a request says enough.
                let _ = stream.read(&mut request).await?;
                stream.write_all([HEAD, BEGIN].concat().as_bytes()).await?;
                for _ in 0..LONG_MIB {
                    stream.write_all(&piece).await?;
                }
                stream.write_all(END.as_bytes()).await?;
                stream.shutdown().await
            });
        }
    });
    address
}

/// Hexadecimal digits that follow no pattern.
fn digits(count: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        b"0123456789abcdef"[(state >> 28) as usize]
    };
    (0..count).map(|_| next()).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "reads some hundreds of megabytes, which takes minutes without optimisation"]
async fn many_of_the_longest_answers_at_once_fill_no_memory_and_have_the_results_of_one_after_another() {
    let deployment = Deployment::new().await.unwrap();
    let (endpoint, simulator) = (chatterbox().await, Simulator::start("{}").await);
    let name = unique_name("chatter");
    let spec = |concurrency: usize| {
        let spec = deployment.folder.path().join(format!("chatter-{concurrency}.yaml"));
        let (data, sim) = (data(), &simulator.server.first_line);
        let text = format!(
            "name: {name}\nbenchmarks: {{ worfbench: {{ data: {data}, settings: [two-shot], judge: sim/lexical }} }}\nendpoints:\n\
             \x20 sim: {{ kind: openai, base_url: '{sim}', identify_sessions: true, api_key_env: none }}\n\
             \x20 long: {{ kind: openai, base_url: 'http://{endpoint}/v1', api_key_env: none, limits: {{ concurrency: {concurrency} }} }}\n\
             models: [long/m]\n"
        );
        std::fs::write(&spec, text).unwrap();
        spec
    };
    let coordinator = start_coordinator(&deployment).await;
    let (worker, scorer) = (deployment.start("worker").await.unwrap(), deployment.start("scorer").await.unwrap());
    let id = deployment.submit(&spec(AT_ONCE)).await.unwrap();
    let (code, directory) = deployment.finish(&id).await.unwrap();
    assert_eq!(code, Some(0));
    assert_little_memory(&[("coordinator", &coordinator), ("worker", &worker), ("scorer", &scorer)]);
    let mut alone = regatta().unwrap();
    let embedded = deployment.folder.path().join("alone");
    alone.arg("run").arg(spec(1)).arg("--output").arg(&embedded);
    assert_eq!(finish(alone).await.unwrap().status.code(), Some(0));
    assert_eq!(results(&directory), results(&embedded));
}

/// Seconds of a sweep without and with the attacks, which go on for as long as it does; by turns, in one deployment.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures time, which other work on the machine changes"]
async fn a_sweep_beside_all_attacks_has_four_fifths_of_its_rate() {
    let deployment = Deployment::new().await.unwrap();
    let simulator = Simulator::start("{ latency: { median_ms: 100 } }").await;
    let (coordinator, scorer) = (start_coordinator(&deployment).await, deployment.start("scorer").await.unwrap());
    let worker = deployment.start("worker").await.unwrap();
    let roles = [("coordinator", &coordinator), ("worker", &worker), ("scorer", &scorer)];
    let attacker = Attacker::new(deployment.api());
    let (mut alone, mut attacked) = (0.0, 0.0);
    for is_attacked in [false, true, true, false, false, true] {
        let spec = simulator.spec(deployment.folder.path(), &unique_name("rate"), 100);
        let processor = || roles.map(|(_, role)| role.processor_seconds().unwrap());
        let (begun, before) = (Instant::now(), processor());
        let id = deployment.submit(&spec).await.unwrap();
        let attacks = is_attacked.then(|| {
            tokio::spawn(async move {
                loop {
                    attacker.attack().await;
                }
            })
        });
        let (code, _) = deployment.finish(&id).await.unwrap();
        let seconds = begun.elapsed().as_secs_f64();
        assert_eq!(code, Some(0));
        if let Some(attacks) = attacks {
            attacks.abort();
            assert!(attacks.await.is_err_and(|ended| ended.is_cancelled()), "each attack is answered as it should be");
        }
        *(if is_attacked { &mut attacked } else { &mut alone }) += seconds;
        let after = processor();
        let used: Vec<String> = roles
            .iter()
            .zip(after.iter().zip(before))
            .map(|((name, _), (after, before))| format!("{name} {:.1}", after - before))
            .collect();
        println!("attacked: {is_attacked}, {seconds:.1} s, of the processor: {}", used.join(", "));
    }
    assert_little_memory(&roles);
    println!("rate with the attacks / without: {:.2}", alone / attacked);
    assert!(alone / attacked >= 0.8);
}
