//! Price tables on the command line.

use super::{regatta, text};

const LITELLM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../llm/src/prices/fixtures/litellm.json");
const GENAI_PRICES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../llm/src/prices/fixtures/genai_prices.json");

/// Snapshot settings that hide the date of the day.
fn settings() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"prices of \d{4}-\d\d-\d\d", "prices of TODAY");
    settings.add_filter(r"Cross-check of \d{4}-\d\d-\d\d", "Cross-check of TODAY");
    settings
}

#[test]
fn two_sources_are_imported_and_what_they_disagree_on_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("prices.yaml");
    let out = out.to_str().expect("a path of text");
    let import = regatta(&["prices", "import", "--litellm", LITELLM, "--genai-prices", GENAI_PRICES, "--out", out]);
    assert_eq!(import.status.code(), Some(0), "{}", text(&import.stderr));
    settings().bind(|| insta::assert_snapshot!(text(&import.stdout)));

    let check = regatta(&["prices", "check", out]);
    assert_eq!(check.status.code(), Some(0), "{}", text(&check.stderr));
    let shown = regatta(&["prices", "show", "openai/o3", "--prices", out]);
    assert!(text(&shown.stdout).contains("2025-06-10"), "{}", text(&shown.stdout));
}

#[test]
fn what_both_agree_on_can_be_had_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("prices.yaml");
    let out = out.to_str().expect("a path of text");
    let arguments = [
        "prices",
        "import",
        "--litellm",
        LITELLM,
        "--genai-prices",
        GENAI_PRICES,
        "--agreed",
        "--only",
        "gpt-*",
        "--out",
        out,
    ];
    assert_eq!(regatta(&arguments).status.code(), Some(0));
    let shown = text(&regatta(&["prices", "show", "--json", "--prices", out]).stdout);
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    let models: Vec<&String> = shown["models"].as_object().expect("models").keys().collect();
    assert_eq!(models, ["gpt-5.4"]);
    assert_eq!(shown["models"]["gpt-5.4"][0]["price"]["variants"].as_object().expect("variants").len(), 1);
}

#[test]
fn a_report_as_json_has_every_name() {
    let import = regatta(&["prices", "import", "--litellm", LITELLM, "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&import.stdout).expect("JSON");
    assert_eq!(report["litellm"]["skipped"]["mode audio_transcription"], serde_json::json!(["whisper-1"]));
    assert_eq!(report["cross_check"], serde_json::Value::Null);
}

#[test]
fn a_file_that_is_no_table_is_bad_configuration() {
    let check = regatta(&["prices", "check", LITELLM]);
    assert_eq!(check.status.code(), Some(78));
    assert!(text(&check.stderr).contains("failed to read the price table"), "{}", text(&check.stderr));
    let import = regatta(&["prices", "import", "--genai-prices", LITELLM]);
    assert_eq!(import.status.code(), Some(78));
    assert_eq!(regatta(&["prices", "import"]).status.code(), Some(64), "one source at least");
    assert_eq!(regatta(&["prices", "import", "--litellm", LITELLM, "--agreed"]).status.code(), Some(64), "needs both");
}

#[test]
fn an_unknown_model_is_said_to_be_unknown() {
    let shown = regatta(&["prices", "show", "openai/never-heard-of"]);
    assert_eq!(shown.status.code(), Some(78));
    assert!(text(&shown.stderr).contains("has no price of openai/never-heard-of"), "{}", text(&shown.stderr));
}
