//! Sessions per second, and CPU per session, of sessions that a warm agent does: a service behind a `url`, which asks its model once.
//!
//! `cargo bench -p regatta-tests --bench warm_agent [-- TRIALS]`. Agent and endpoint are processes of their own, so that what is measured from
//! outside is Regatta's alone: a session at its bridge, the call through its limits and its books, transcript and scores. The machine's noise is
//! in the wall time; quote the CPU time.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement that cannot go on has failed; it prints its figures"
)]

use std::process::Stdio;

use regatta_tests::regatta::{Process, finish, regatta, workspace};

/// Items of the miniature data set, each of which is a session a trial.
const ITEMS: u32 = 35;

/// Asks its model for each session that is posted to it, and answers with the reply.
const AGENT: &str = r#"
import json, http.client, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit
kept = threading.local()
class Agent(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        task = json.loads(self.rfile.read(int(self.headers["content-length"])))
        base = urlsplit(task["base_url"])
        if not hasattr(kept, "bridge"):
            kept.bridge = http.client.HTTPConnection(base.netloc)
        asked = json.dumps({"model": task["model"], "messages": task["messages"]})
        headers = {"content-type": "application/json", "authorization": "Bearer " + task["api_key"]}
        kept.bridge.request("POST", base.path.rstrip("/") + "/chat/completions", asked, headers)
        said = json.load(kept.bridge.getresponse())["choices"][0]["message"]["content"]
        body = json.dumps({"answer": said}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Agent)
print(f"http://127.0.0.1:{server.server_port}/", flush=True)
server.serve_forever()
"#;

#[tokio::main]
async fn main() {
    let trials: u32 = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(30);
    let folder = tempfile::tempdir().unwrap();
    let data = workspace().join("examples/data/worfbench");
    let mut simulate = regatta().unwrap();
    simulate
        .args(["simulate", "llm", "--listen", "127.0.0.1:0", "--data"])
        .arg(format!("worfbench={}", data.display()));
    let endpoint = Process::start_and_read(simulate).await.unwrap();
    let mut agent = tokio::process::Command::new("python3");
    agent.args(["-c", AGENT]).stdin(Stdio::null()).kill_on_drop(true);
    let agent = Process::start_and_read(agent).await.unwrap();
    let text = format!(
        "name: warm-agent\ntrials: {trials}\nagents:\n  warm: {{ url: '{}', concurrency: 16 }}\nbenchmarks:\n  worfbench: {{ data: '{}', \
         settings: [external/warm/two-shot], judge: judge/lexical }}\nendpoints:\n  sim: {{ kind: openai, base_url: '{}', api_key_env: none, \
         identify_sessions: true, limits: {{ concurrency: 256 }} }}\n  judge: {{ kind: simulated }}\nmodels: [sim/oracle]\n",
        agent.first_line,
        data.display(),
        endpoint.first_line,
    );
    let spec = folder.path().join("warm-agent.yaml");
    std::fs::write(&spec, text).unwrap();
    // The shell's own clock accounts for the finished child, threads included.
    let script = "TIMEFORMAT='%U %S %R'; time \"$0\" run \"$1\" --output \"$2\" >/dev/null 2>&1";
    let mut command = tokio::process::Command::new("bash");
    command
        .args(["-c", script])
        .arg(regatta().unwrap().as_std().get_program())
        .arg(&spec)
        .arg(folder.path().join("run"));
    let output = finish(command).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let times: Vec<f64> =
        String::from_utf8(output.stderr).unwrap().split_whitespace().map(|time| time.parse().unwrap()).collect();
    let sessions = f64::from(trials * ITEMS);
    println!("{:>9} {:>12} {:>14}", "sessions", "sessions/s", "CPU ms/session");
    println!("{sessions:>9} {:>12.0} {:>14.4}", sessions / times[2], 1e3 * (times[0] + times[1]) / sessions);
}
