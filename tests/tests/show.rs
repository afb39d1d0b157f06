//! A run is looked at afterwards: its sessions, one of them with pictures, and how its judge agrees with people.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;

use regatta_tests::regatta::{finish, regatta, workspace};
use serde_json::{Value, json};

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
