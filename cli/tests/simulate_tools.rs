//! `regatta simulate tools`, as it is started and ended.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

fn tools(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_regatta"));
    command.args(["simulate", "tools"]).args(arguments).env_clear().stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Whole response to a GET, with its head.
fn get(url: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").as_bytes())
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn addresses_are_printed_and_sigterm_ends_it() {
    let arguments = ["--port", "alarm=0", "--today", "2026-01-02", "--simulation", "{faults: {slow: 1, slow_ms: 1}}"];
    let mut process = tools(&arguments).spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let url = lines.next().unwrap().unwrap();
    let own = lines.next().unwrap().unwrap();
    let own = own.strip_prefix("alarm ").unwrap();
    assert!(get(&url, "/calendar").starts_with("HTTP/1.1 200"));
    assert!(get(own, "/alarm").starts_with("HTTP/1.1 200") && get(own, "/calendar").starts_with("HTTP/1.1 404"));
    assert!(get(&url, "/api.marketstack.com/v1/eod?symbols=X&limit=1").contains("2026-01-01T00:00:00"));
    assert!(Command::new("kill").arg(process.id().to_string()).status().unwrap().success());
    assert_eq!(process.wait().unwrap().code(), Some(0));
}

#[test]
fn others_are_served_only_where_somebody_says_so() {
    let output = tools(&["--listen", "0.0.0.0:0"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(78), "{said}");
    assert!(
        said.contains("whoever reaches 0.0.0.0:0 could use this simulator") && said.contains("--no-token"),
        "{said}"
    );
    for arguments in [&["--listen", "0.0.0.0:0", "--no-token"][..], &["--listen", "127.0.0.1:0"]] {
        let mut process = tools(arguments).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert!(first.starts_with("http://"), "{arguments:?}: {first}");
        assert!(Command::new("kill").arg(process.id().to_string()).status().unwrap().success());
        assert_eq!(process.wait().unwrap().code(), Some(0), "{arguments:?}");
    }
}

#[test]
fn a_wrong_argument_is_a_configuration_error_that_says_what_is_wrong() {
    let output = tools(&["--port", "weather=0"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(78), "{said}");
    assert!(said.contains("\"weather\""), "{said}");
    let output = tools(&["--simulation", "concurrency: 1"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("tools have no limits"));
}
