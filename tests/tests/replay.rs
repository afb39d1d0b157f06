//! A request that fails again and again is put aside, and a person can send it once more.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use regatta_tests::http::{self, Request};
use regatta_tests::regatta::{finish, regatta, workspace};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Words of the prompt of one of the four items, which occur in no other.
const ONE_PROMPT: &str = "How to press flowers";

/// Exit code of a sweep in which something was not measured.
const INCOMPLETE: i32 = 4;

/// An endpoint that fails at every request with `stumbling_block` in it, until it is repaired, and answers all others.
struct Endpoint {
    address: String,
    repaired: Arc<AtomicBool>,
}

impl Endpoint {
    async fn start(stumbling_block: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let repaired = Arc::new(AtomicBool::new(false));
        let is_repaired = repaired.clone();
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(answer(connection, stumbling_block, is_repaired.clone()));
            }
        });
        Self { address, repaired }
    }
}

/// Answers the requests of a connection until its client closes it.
async fn answer(connection: TcpStream, stumbling_block: &str, is_repaired: Arc<AtomicBool>) -> std::io::Result<()> {
    const FAILURE: &str = r#"{"error":{"message":"stumbled\u001b]0;owned\u0007","type":"server_error"}}"#;
    const ANSWER: &str = r#"{"id":"1","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"I am back\u001b[2J\u009b1A\u202e"}}],"usage":{"prompt_tokens":9,"completion_tokens":3}}"#;
    let mut connection = BufReader::new(connection);
    while let Some(Request { body, .. }) = Request::read(&mut connection).await? {
        let body = String::from_utf8(body).unwrap();
        let fails = body.contains(stumbling_block) && !is_repaired.load(Ordering::SeqCst);
        let (status, json) = if fails { ("500 Internal Server Error", FAILURE) } else { ("200 OK", ANSWER) };
        connection.write_all(&http::answer(status, "application/json", json)).await?;
    }
    Ok(())
}

/// Runs `regatta` with `arguments`: exit code and standard output.
async fn run(arguments: &[&str]) -> (i32, String) {
    let mut command = regatta().unwrap();
    command.args(arguments);
    let output = finish(command).await.unwrap();
    let [written, errors] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let code = output.status.code().unwrap();
    assert!(code < 64, "{errors}");
    // What the endpoint says commands no terminal, in whatever is printed of it.
    for printed in [&written, &errors] {
        let commands = |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || c == '\u{202e}';
        assert!(!printed.contains(commands), "{arguments:?}: {printed:?}");
    }
    (code, written)
}

fn spec(address: &str) -> String {
    format!(
        "\
name: stumble
benchmarks:
  worfbench: {{ data: {}, tasks: [wikihow], limit: 'first:4', judge: sim/lexical }}
endpoints:
  sim: {{ kind: simulated }}
  shaky:
    kind: openai
    base_url: '{address}'
    api_key_env: none
    retries: {{ base_delay_ms: 1, max_delay_ms: 1, quarantine_after: 3 }}
models: [shaky/m]
",
        workspace().join("examples/data/worfbench").display()
    )
}

#[tokio::test]
async fn a_request_that_was_put_aside_is_listed_and_sent_again_by_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = Endpoint::start(ONE_PROMPT).await;
    let (spec_file, directory) = (folder.path().join("spec.yaml"), folder.path().join("run"));
    std::fs::write(&spec_file, spec(&endpoint.address)).unwrap();
    let (spec_file, directory) = (spec_file.to_str().unwrap(), directory.to_str().unwrap());

    let (code, _) = run(&["run", spec_file, "--output", directory]).await;
    assert_eq!(code, INCOMPLETE);
    let results = std::fs::read_to_string(Path::new(directory).join("results.jsonl")).unwrap();
    let outcomes: Vec<bool> = results.lines().map(|line| line.contains(r#""cause":"poison""#)).collect();
    assert_eq!(outcomes.iter().filter(|poisoned| **poisoned).count(), 1, "{results}");

    let (code, listed) = run(&["replay", directory]).await;
    assert_eq!((code, listed.lines().count()), (0, 1), "{listed}");
    let (line, reason) = listed.trim().split_once("  # ").unwrap();
    assert!(reason.contains("shaky/m: poison") && reason.contains("stumbled"), "{reason}");
    let report = std::fs::read_to_string(Path::new(directory).join("report.md")).unwrap();
    let session = line.strip_prefix(&format!("regatta replay {directory} ")).unwrap();
    assert!(report.contains(&format!("regatta replay DIRECTORY {session}")), "{report}");

    // The line that was listed, as a person would paste it.
    let pasted: Vec<&str> = line.split(' ').skip(1).collect();
    let (code, said) = run(&pasted).await;
    assert!(code == 1 && said.contains("failed again: server, HTTP 500") && said.contains("stumbled"), "{code} {said}");
    let (code, request) = run(&[&pasted[..], &["--print"]].concat()).await;
    assert!(code == 0 && request.contains(ONE_PROMPT), "{code} {request}");

    endpoint.repaired.store(true, Ordering::SeqCst);
    let (code, said) = run(&pasted).await;
    assert!(code == 0 && said.contains("I am back"), "{code} {said}");

    let (code, found) = run(&["show", directory, "--grep", "I am back"]).await;
    let fields: Vec<&str> = found.lines().find(|line| line.contains("shaky/m")).unwrap().split_whitespace().collect();
    assert_eq!(code, 0, "{found}");
    let (_, told) = run(&["show", directory, fields[0], fields[1]]).await;
    assert!(told.contains("I am back\\u001b[2J"), "{told}");
}
