//! A directory that somebody else has made gets nothing of this machine's.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::rescore::graded;
use super::{examples, regatta, regatta_of, text};

/// Exit code of a bad configuration.
const REFUSED: Option<i32> = Some(78);
/// Exit code of a sweep in which something was not measured.
const INCOMPLETE: Option<i32> = Some(4);
/// Exit code of a request that failed again.
const FAILED_AGAIN: Option<i32> = Some(1);

/// The state of a user who has begun nothing.
fn another_user() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// An endpoint of this machine that refuses every request, and counts them.
struct Refusing {
    address: String,
    asked: Arc<AtomicU32>,
}

impl Refusing {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let asked = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("a connection");
                // The beginning of a request says enough.
                let _ = stream.read(&mut [0; 64 << 10]).expect("a request");
                count.fetch_add(1, Ordering::SeqCst);
                let body = r#"{"error":{"message":"not this one"}}"#;
                let head = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close";
                let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                stream.write_all(answer.as_bytes()).expect("it is taken");
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> u32 {
        self.asked.load(Ordering::SeqCst)
    }
}

/// The directory of a run that was begun by the user of the tests, and in which something was not measured.
fn incomplete_run(folder: &Path, spec: &str) -> PathBuf {
    let (file, directory) = (folder.join("spec.yaml"), folder.join("run"));
    std::fs::write(&file, spec).expect("it can be written");
    let output = regatta(&["run", &file.display().to_string(), "--output", &directory.display().to_string()]);
    assert_eq!(output.status.code(), INCOMPLETE, "{}", text(&output.stderr));
    directory
}

#[test]
fn a_request_of_a_run_that_was_begun_elsewhere_reaches_nothing_on_this_machine() {
    let (folder, endpoint) = (tempfile::tempdir().expect("a folder"), Refusing::start());
    let spec = format!(
        "name: handed-on
benchmarks:
  worfbench: {{ data: {}, settings: [zero-shot], limit: 1, judge: sim/lexical }}
endpoints:
  sim: {{ kind: simulated }}
  main: {{ kind: openai, base_url: '{}', api_key_env: none }}
models: [main/m]
",
        examples().join("data/worfbench").display(),
        endpoint.address
    );
    let run = incomplete_run(folder.path(), &spec).display().to_string();
    let listed = text(&regatta(&["replay", &run]).stdout);
    let session: Vec<&str> = listed.split_whitespace().skip(3).take(2).collect();
    let replay = [&["replay", &run], &session[..]].concat();
    let (state, before) = (another_user(), endpoint.asked());
    assert!(before > 0, "{listed}");
    let output = regatta_of(state.path(), &replay);
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), endpoint.asked()), (REFUSED, before), "{said}");
    assert!(said.contains("was not begun by this user on this machine") && said.contains("give --trust"), "{said}");
    let output = regatta(&replay);
    assert_eq!((output.status.code(), endpoint.asked()), (FAILED_AGAIN, before + 1), "{}", text(&output.stderr));
    let output = regatta_of(state.path(), &[&replay[..], &["--trust"]].concat());
    assert_eq!((output.status.code(), endpoint.asked()), (FAILED_AGAIN, before + 2), "{}", text(&output.stderr));
    let output = regatta_of(state.path(), &replay);
    assert_eq!(endpoint.asked(), before + 3, "it is trusted from then on: {}", text(&output.stderr));
    // Another address in the lock makes it another's again.
    let (lock, other) = (Path::new(&run).join("sweep.lock.yaml"), Refusing::start());
    let changed = std::fs::read_to_string(&lock).expect("a lock").replace(&endpoint.address, &other.address);
    std::fs::remove_file(&lock).expect("it can be removed");
    std::fs::write(&lock, changed).expect("it can be written");
    let output = regatta(&replay);
    assert_eq!((output.status.code(), other.asked()), (REFUSED, 0), "{}", text(&output.stderr));
}

#[test]
fn a_command_of_a_run_that_was_begun_elsewhere_is_not_started() {
    let folder = tempfile::tempdir().expect("a folder");
    let marker = folder.path().join("ran");
    let spec = format!(
        "name: handed-on
agents:
  mine: {{ command: [/bin/sh, -c, 'echo x >> {}; kill -9 $$'] }}
benchmarks:
  autoslurp: {{ data: {}, settings: [external/mine], limit: 1, judge: sim/oracle }}
endpoints: {{ sim: {{ kind: simulated }} }}
models: [sim/oracle]
",
        marker.display(),
        examples().join("data/autoslurp").display()
    );
    let run = incomplete_run(folder.path(), &spec).display().to_string();
    let starts = || std::fs::read_to_string(&marker).map_or(0, |text| text.lines().count());
    let (state, before) = (another_user(), starts());
    assert!(before > 0);
    let output = regatta_of(state.path(), &["resume", &run]);
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), starts()), (REFUSED, before), "{said}");
    assert!(said.contains("agents.mine: a run that was not begun here starts no command"), "{said}");
    assert!(said.contains("give --trust"), "{said}");
    assert_eq!(regatta(&["resume", &run]).status.code(), INCOMPLETE, "whoever began it goes on");
    let own = starts();
    assert!(own > before);
    assert_eq!(regatta_of(state.path(), &["resume", &run, "--trust"]).status.code(), INCOMPLETE);
    assert!(starts() > own);
}

#[test]
fn judges_of_a_run_that_was_begun_elsewhere_are_not_reached_on_this_machine() {
    let (folder, state) = (tempfile::tempdir().expect("a folder"), another_user());
    let old = graded(folder.path());
    let rescore = ["rescore", &old, "--judge", "sim/noisy-1.0", "--yes"];
    let output = regatta_of(state.path(), &rescore);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), REFUSED, "{said}");
    assert!(
        said.contains("endpoints.sim: a run that was not begun here reaches no endpoint on this machine"),
        "{said}"
    );
    let new = folder.path().join("run-rescored");
    assert!(!new.exists(), "nothing is written");
    let output = regatta_of(state.path(), &[&rescore[..], &["--trust"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = regatta_of(state.path(), &["resume", &new.display().to_string()]);
    assert!(output.status.success(), "what a user made of it is the user's own: {}", text(&output.stderr));
}
