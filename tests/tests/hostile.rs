//! A whole sweep at the hostile endpoint: every event on every wire, from the spec to `results.jsonl`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use regatta_hostile::{Event, Hostile, Wire, ways};
use regatta_tests::regatta::{finish, regatta, workspace};
use serde_json::Value;

/// The first way of each event on each wire, an endpoint each.
fn spec(hostile: &Hostile, filtered: &str) -> String {
    let data = workspace().join("examples/data/worfbench");
    let (mut endpoints, mut models) = (String::new(), String::new());
    for event in Event::ALL {
        for wire in Wire::ALL.into_iter().filter(|wire| !ways(event, *wire).is_empty()) {
            let (name, address) = (name(event, wire), hostile.base_url(event, 0, wire));
            let access = match wire {
                Wire::Bedrock => "region: eu-central-2",
                Wire::Azure => "api_key_env: HOSTILE_KEY, api_version: 2024-10-21",
                Wire::OpenAi | Wire::Responses | Wire::Anthropic | Wire::Gemini => "api_key_env: HOSTILE_KEY",
            };
            writeln!(endpoints, "  {name}: {{ kind: {}, base_url: '{address}', {access} }}", wire.as_str()).unwrap();
            writeln!(models, "  - {{ id: {name}/m, price: {{ input_per_mtok: 1, output_per_mtok: 2 }} }}").unwrap();
        }
    }
    format!(
        "name: hostile\nfiltered: {filtered}\nbenchmarks:\n  worfbench: {{ data: {}, settings: [two-shot], tasks: [wikihow], limit: 1, \
         judge: sim/lexical }}\nendpoints:\n  sim: {{ kind: simulated }}\n{endpoints}models:\n{models}",
        data.display()
    )
}

fn name(event: Event, wire: Wire) -> String {
    format!("{}--{}", event.as_str(), wire.as_str()).replace('_', "-")
}

/// Outcome and cause of each endpoint's session, and the report.
async fn run(hostile: &Hostile, folder: &Path, filtered: &str) -> (BTreeMap<String, String>, String) {
    let (file, out) = (folder.join(format!("{filtered}.yaml")), folder.join(filtered));
    std::fs::write(&file, spec(hostile, filtered)).unwrap();
    let mut command = regatta().unwrap();
    command
        .env("HOSTILE_KEY", "sk-hostile")
        .env("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
        .env("AWS_SECRET_ACCESS_KEY", "secret");
    // Some of its endpoints refuse keys, which would be found before anything is begun.
    command.args(["run", "--no-preflight"]).arg(&file).arg("--output").arg(&out);
    let output = finish(command).await.unwrap();
    // Some of its sessions cannot be measured, whatever is chosen.
    assert_eq!(output.status.code(), Some(4), "{}", String::from_utf8_lossy(&output.stderr));
    let results = std::fs::read_to_string(out.join("results.jsonl")).unwrap();
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| line[name].as_str().unwrap_or("-").to_owned();
        (text("model").trim_end_matches("/m").to_owned(), format!("{} {}", text("outcome"), text("cause")))
    };
    (results.lines().map(line).collect(), String::from_utf8(output.stdout).unwrap())
}

#[tokio::test]
async fn a_session_has_one_outcome_for_an_event_whatever_the_wire() {
    let hostile = Hostile::start(0).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    // They wait for the same retries.
    let (wrong, missing) = tokio::join!(run(&hostile, folder.path(), "wrong"), run(&hostile, folder.path(), "missing"));
    for (filtered, (outcomes, shown)) in [("wrong", wrong), ("missing", missing)] {
        let of_filters = match filtered {
            "wrong" => "model_failure content_filter",
            _ => "not_measured content_filter",
        };
        for event in Event::ALL {
            let expected = match event {
                Event::PromptFiltered | Event::AnswerFiltered | Event::Refused => of_filters,
                Event::ContextOverflow => "model_failure context_length",
                Event::OutputLimitTooLarge
                | Event::RequestTooLarge
                | Event::UnknownParameter
                | Event::RequestRefused => "not_measured request_refused",
                Event::CredentialsRefused => "not_measured auth",
                Event::ModelUnknown => "not_measured model_not_found",
                Event::OutOfCredit => "not_measured quota",
                Event::RateLimited => "not_measured rate_limited",
                Event::ServerTrouble => "not_measured endpoint_unavailable",
                Event::Unreadable => "not_measured bad_response",
                Event::AnswerCutOff
                | Event::AnswerMalformed
                | Event::UsageUnknown
                | Event::TierTold
                | Event::Answered => "measured -",
            };
            let wires = Wire::ALL.into_iter().filter(|wire| !ways(event, *wire).is_empty());
            let came: BTreeSet<&str> = wires.map(|wire| outcomes[&name(event, wire)].as_str()).collect();
            assert_eq!(came, BTreeSet::from([expected]), "{} with filtered: {filtered}", event.as_str());
        }
        assert!(shown.contains("filtered: 1 of 1 session of prompt-filtered--openai/m"), "{shown}");
    }
}
