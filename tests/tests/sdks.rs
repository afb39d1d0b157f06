//! The SDKs of OpenAI and Anthropic, whose helpers parse what a simulated endpoint answers.
//!
//! Runs where the packages can be installed; says so where they cannot.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::PathBuf;
use std::process::Command as Blocking;

use regatta_tests::regatta::{Process, finish, regatta, skipped, workspace};
use serde_json::{Value, json};
use tokio::process::Command;

/// A Python that has the packages.
fn python() -> Option<PathBuf> {
    let found = Blocking::new(workspace().join("tests/fixtures/sdks.sh")).output().unwrap();
    if found.status.success() {
        return Some(String::from_utf8(found.stdout).unwrap().trim().into());
    }
    skipped("sdks", &String::from_utf8_lossy(&found.stderr));
    None
}

#[tokio::test]
async fn every_helper_of_the_sdks_that_parses_answers_can_parse_those_of_a_simulated_endpoint() {
    let Some(python) = python() else { return };
    let data = format!("autoslurp={}", workspace().join("examples/data/autoslurp").display());
    let mut command = regatta().unwrap();
    command.args(["simulate", "llm", "--listen", "127.0.0.1:0", "--data", &data]);
    let server = Process::start_and_read(command).await.unwrap();
    let mut command = Command::new(python);
    command.arg(workspace().join("tests/fixtures/sdks.py")).arg(&server.first_line);
    let output = finish(command).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let made: Value = serde_json::from_slice(&output.stdout).unwrap();
    let plan = json!({"first": {"text": "text", "minutes": 0, "kind": "boil"}, "steps": [], "owner": "text"});
    let bounded = json!({"count": 3, "names": ["text", "text"]});
    let made = made.as_object().unwrap();
    assert_eq!(made.len(), 13);
    for (helper, answer) in made {
        let expected = if helper.ends_with("bounds") { &bounded } else { &plan };
        assert_eq!(answer, expected, "{helper}");
    }
}
