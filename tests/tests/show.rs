//! A run is looked at afterwards: its sessions, one of them with pictures, and how its judge agrees with people.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::net::SocketAddr;
use std::path::Path;

use regatta_tests::http::{self, Request};
use regatta_tests::regatta::{finish, regatta, workspace};
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

/// Runs `regatta`: what it wrote to standard output and standard error.
async fn run(arguments: &[&str]) -> (String, String) {
    let mut command = regatta().unwrap();
    command.args(arguments);
    let output = finish(command).await.unwrap();
    let written = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", written[1]);
    written.into()
}

/// People who agree with each other, whatever the judge says.
fn ratings(directory: &Path) -> String {
    let results = std::fs::read_to_string(directory.join("results.jsonl")).unwrap();
    let lines = results.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let sessions = lines.filter(|line| line["setting"].as_str().unwrap().starts_with("session/"));
    let rated = sessions.enumerate().map(|(number, line)| {
        let people = json!({ "ann": number, "bob": number });
        json!({ "setting": line["setting"], "model": line["model"], "trial": line["trial"], "item": line["item"], "ratings": people })
            .to_string()
    });
    rated.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_run_is_shown_session_by_session_and_its_judge_compared_with_people() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    let at = directory.to_str().unwrap();
    run(&["run", "examples/flowbench.yaml", "--output", at]).await;

    let (listed, _) = run(&["show", at]).await;
    let session = listed.lines().find(|line| line.contains("session/single/flowchart") && line.contains("sim/oracle"));
    let fields: Vec<&str> = session.unwrap().split_whitespace().collect();
    assert!(fields.contains(&"measured") && fields.contains(&"official_fixed:"), "{listed}");
    let (cell, item) = (fields[0], fields[1]);

    let (told, _) = run(&["show", at, cell, item]).await;
    for piece in ["outcome: measured", "── user · sim/oracle", "── agent · sim/oracle", "Thought:", "Way: "] {
        assert!(told.contains(piece), "{piece} is missing in {told}");
    }
    let page = folder.path().join("page.html");
    let page_at = page.to_str().unwrap();
    run(&["show", at, cell, item, "-o", page_at]).await;
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("<svg") && html.contains(" visited\"") && !html.contains("<script"), "{html}");

    // What comes before a turn is the gold: an oracle never leaves the flowchart.
    for turn in
        listed.lines().filter(|line| line.contains("turn/single/flowchart") && line.contains("sim/oracle")).take(4)
    {
        let fields: Vec<&str> = turn.split_whitespace().collect();
        let (told, _) = run(&["show", at, fields[0], fields[1]]).await;
        assert!(!told.contains("goes to"), "{told}");
    }

    // By the id of its item, in every cell; and what somebody said.
    let id = fields[fields.iter().position(|field| *field == "measured").unwrap() - 1];
    let (of_item, notes) = run(&["show", at, id]).await;
    assert!(
        of_item.lines().filter(|line| line.contains(id)).count() >= 2 && notes.contains(" of "),
        "{of_item}{notes}"
    );
    let (by_id, _) = run(&["show", at, cell, id]).await;
    assert_eq!(by_id, told);
    let (found, _) = run(&["show", at, "--grep", "THOUGHT:", "--flag", "truncated"]).await;
    assert!(!found.contains("sim/oracle"), "nothing was cut off: {found}");
    let (failed, notes) = run(&["show", at, "--failed"]).await;
    assert!(failed.is_empty() && notes.starts_with("no session matches the filters"), "{failed}{notes}");

    // As an exported run: without its store.
    std::fs::remove_dir_all(directory.join("store")).unwrap();
    let (told, notes) = run(&["show", at, cell, item]).await;
    assert!(told.contains("outcome: measured") && !told.contains("Way: ") && notes.contains("--data flowbench=DIR"));
    let data = format!("flowbench={}", workspace().join("examples/data/flowbench").display());
    let (told, notes) = run(&["show", at, cell, item, "--data", &data]).await;
    assert!(told.contains("Way: ") && notes.is_empty(), "{notes}");

    let file = folder.path().join("ratings.jsonl");
    std::fs::write(&file, ratings(&directory)).unwrap();
    let (table, _) = run(&["align", at, "--ratings", file.to_str().unwrap(), "--json"]).await;
    let table: Value = serde_json::from_str(&table).unwrap();
    for row in table["rows"].as_array().unwrap() {
        let between_people = row["entries"][0]["value"].as_f64().unwrap();
        assert!((between_people - 1.0).abs() < 1e-9, "{row}");
    }
}

/// Answer of a model that would rule the terminal of whoever reads it.
const COMMANDING: &str = "\u{1b}]0;owned\u{7}\u{9b}2J\rNode:\n1. nothing";

/// An endpoint whose model says [`COMMANDING`], and says that this is its name.
async fn commanding() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let body = json!({
        "id": "1",
        "model": COMMANDING,
        "choices": [{ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": COMMANDING } }],
        "usage": { "prompt_tokens": 10, "completion_tokens": 10 },
    });
    let answer = http::answer("200 OK", "application/json", &body.to_string());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let answer = answer.clone();
            tokio::spawn(async move {
                let mut stream = BufReader::new(stream);
                while let Ok(Some(_)) = Request::read(&mut stream).await {
                    if stream.write_all(&answer).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

#[tokio::test]
async fn what_a_model_says_commands_no_terminal_whichever_command_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    let (spec, directory) = (folder.path().join("s.yaml"), folder.path().join("run"));
    let text = format!(
        "name: commanding\nbenchmarks:\n  worfbench: {{ data: {}, settings: [two-shot], limit: 'first:1', judge: sim/lexical }}\n\
         endpoints:\n  sim: {{ kind: simulated }}\n  evil: {{ kind: openai, base_url: 'http://{}/v1', api_key_env: none }}\n\
         models: [evil/m]\n",
        workspace().join("examples/data/worfbench").display(),
        commanding().await
    );
    std::fs::write(&spec, text).unwrap();
    let said = async |arguments: &[&str]| {
        let mut command = regatta().unwrap();
        // Answers are kept with the run.
        command.args(arguments).env_remove("HOME");
        let output = finish(command).await.unwrap();
        let written = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", written[1]);
        for text in &written {
            let commands = text.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t'));
            assert!(!commands, "{arguments:?}: {text:?}");
        }
        let [shown, _] = written;
        shown
    };
    let (spec, at) = (spec.to_str().unwrap(), directory.to_str().unwrap());
    said(&["run", spec, "--cache", "read_write", "--output", at]).await;
    said(&["replay", at]).await;
    said(&["show", at]).await;
    let results = std::fs::read_to_string(directory.join("results.jsonl")).unwrap();
    let first: Value = serde_json::from_str(results.lines().next().unwrap()).unwrap();
    let told = said(&["show", at, "0", first["item"].as_str().unwrap()]).await;
    assert!(told.contains("\\u001b]0;owned\\u0007"), "its words are there: {told}");
}
