//! Price tables on the command line.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;

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
    let misspelt = text(&regatta(&["prices", "show", "openai/gpt-4oo"]).stderr);
    assert!(misspelt.contains("did you mean \"gpt-4o\"?") && misspelt.contains("`price: {"), "{misspelt}");
}

/// A list of LiteLLM's with a model of each name, and what a million tokens of a prompt cost.
fn list(models: &[(&str, &str)]) -> String {
    let entry = |(name, figure): &(&str, &str)| {
        format!(
            r#""{name}": {{"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": {figure}, "output_cost_per_token": 1e-6}}"#
        )
    };
    format!("{{{}}}", models.iter().map(entry).collect::<Vec<_>>().join(","))
}

/// Exit code, standard output and standard error of an update of `prices` from `from`.
fn update(prices: &Path, from: &str, more: &[&str]) -> (Option<i32>, String, String) {
    let prices = prices.display().to_string();
    let output = regatta(&[&["prices", "update", "--from", from, "--prices", &prices][..], more].concat());
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn an_update_says_what_is_new_changed_and_gone_and_a_dry_run_writes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (prices, published) = (folder.path().join("prices.yaml"), folder.path().join("list.json"));
    let from = published.display().to_string();
    let publish = |models: &[(&str, &str)]| std::fs::write(&published, list(models)).expect("it can be written");
    publish(&[("gpt-a", "1e-6"), ("gpt-b", "2e-6")]);
    let (code, said, notes) = update(&prices, &from, &["--only", "gpt-a", "--only", "gpt-b"]);
    assert_eq!(code, Some(0), "{notes}");
    assert!(said.contains("new (2: gpt-a, gpt-b)"), "{said}");
    assert!(notes.contains("begins as a copy of the shipped table"), "{notes}");

    publish(&[("gpt-b", "2.5e-6"), ("gpt-c", "1e-6"), ("gpt-d", "-1e-6")]);
    let before = std::fs::read(&prices).expect("a file");
    let (code, dry, notes) = update(&prices, &from, &["--dry-run"]);
    assert_eq!((code, std::fs::read(&prices).expect("a file")), (Some(0), before), "{notes}");
    for told in [
        "new (1: gpt-c)",
        "changed: gpt-b: input_per_mtok 2 → 2.5",
        "gone, kept for old runs (1: gpt-a)",
        "problem: gpt-d: input_cost_per_token: -1e-6 is no price; the model is left out",
    ] {
        assert!(dry.contains(told), "{told:?} is not in {dry}");
    }
    assert_eq!(update(&prices, &from, &[]).1, dry);
    let prices = prices.display().to_string();
    let shown = text(&regatta(&["prices", "show", "gpt-b", "--prices", &prices]).stdout);
    assert!(shown.contains(&format!("read from LiteLLM, {from}, on 20")), "{shown}");
    let kept = text(&regatta(&["prices", "show", "gpt-4o", "--prices", &prices]).stdout);
    assert!(kept.contains("read from Regatta, the shipped table, on "), "{kept}");
}

#[test]
fn a_price_in_another_unit_is_told_and_not_taken() {
    let folder = tempfile::tempdir().expect("a folder");
    let (prices, published) = (folder.path().join("prices.yaml"), folder.path().join("list.json"));
    let from = published.display().to_string();
    for (figure, told) in [("1e-6", "new (1: gpt-a)"), ("1e-3", "doubtful, not taken: gpt-a: input_per_mtok 1 → 1000")]
    {
        std::fs::write(&published, list(&[("gpt-a", figure)])).expect("it can be written");
        let (code, said, notes) = update(&prices, &from, &[]);
        assert_eq!(code, Some(0), "{notes}");
        assert!(said.contains(told), "{said}");
    }
    let shown = text(&regatta(&["prices", "show", "gpt-a", "--prices", &prices.display().to_string()]).stdout);
    assert!(shown.contains("input_per_mtok: 1.0"), "{shown}");
}

#[test]
fn an_update_begins_with_what_another_one_has_written_at_the_same_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let (prices, published) = (folder.path().join("prices.yaml"), folder.path().join("list.json"));
    std::fs::write(&published, list(&[("gpt-a", "1e-6")])).expect("it can be written");
    let other = std::fs::File::open(folder.path()).expect("a folder");
    other.lock().expect("a lock");
    let updating = {
        let (prices, from) = (prices.clone(), published.display().to_string());
        std::thread::spawn(move || update(&prices, &from, &[]))
    };
    let theirs = "date: 2026-01-01\nmodels:\n  gpt-b: { input_per_mtok: 0.5, output_per_mtok: 1 }\n";
    std::fs::write(&prices, theirs).expect("it can be written");
    drop(other);
    let (code, _, notes) = updating.join().expect("an end");
    assert_eq!(code, Some(0), "{notes}");
    let written = std::fs::read_to_string(&prices).expect("a file");
    assert!(written.contains("gpt-a") && written.contains("gpt-b") && !written.contains("gpt-4o"), "{written}");
}

#[test]
fn an_update_of_models_that_the_list_does_not_have_writes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (prices, published) = (folder.path().join("prices.yaml"), folder.path().join("list.json"));
    std::fs::write(&published, list(&[("gpt-a", "1e-6")])).expect("it can be written");
    let (code, said, notes) = update(&prices, &published.display().to_string(), &["--only", "gtp-a"]);
    assert_eq!((code, said.as_str()), (Some(78), ""), "{notes}");
    assert!(notes.contains("has no model that --only names") && !prices.exists(), "{notes}");
}

#[test]
fn a_price_of_ones_own_is_kept_and_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let (prices, published) = (folder.path().join("prices.yaml"), folder.path().join("list.json"));
    let own = "date: 2026-01-01\nmodels:\n  gpt-a: { input_per_mtok: 0.5, output_per_mtok: 1 }\n";
    std::fs::write(&prices, own).expect("it can be written");
    std::fs::write(&published, list(&[("gpt-a", "1e-6")])).expect("it can be written");
    let from = published.display().to_string();
    let (_, said, _) = update(&prices, &from, &["--dry-run"]);
    assert!(said.contains("yours, kept: gpt-a: input_per_mtok 0.5 → 1"), "{said}");
    let (_, said, _) = update(&prices, &from, &["--replace-own"]);
    assert!(said.contains("changed: gpt-a: input_per_mtok 0.5 → 1"), "{said}");
}

/// The address of a host that answers whoever asks first, with this status, these lines of its head and this body.
fn serving(status: &'static str, headers: String, body: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}/list.json", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("a request");
            request.extend(byte);
        }
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n");
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
    });
    address
}

#[test]
fn an_address_is_read_and_named_without_its_parameters() {
    let folder = tempfile::tempdir().expect("a folder");
    let prices = folder.path().join("prices.yaml");
    let address = serving("200 OK", String::new(), list(&[("gpt-a", "1e-6")]));
    let (code, _, notes) = update(&prices, &format!("{address}?sig=hunter2"), &[]);
    assert_eq!(code, Some(0), "{notes}");
    let written = std::fs::read_to_string(&prices).expect("a file");
    assert!(written.contains(&address) && !written.contains("hunter2"));
}

#[test]
fn addresses_that_anybody_may_answer_for_are_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let prices = folder.path().join("prices.yaml");
    for (from, why) in [
        ("http://prices.example/list.json", "is of http"),
        ("ftp://prices.example/list.json", "is not of https"),
        ("file:///etc/passwd", "is not of https"),
        ("https://user:hunter2@prices.example/list.json", "has a user or a password"),
        ("https://", "is none"),
    ] {
        let (code, said, notes) = update(&prices, from, &[]);
        assert_eq!((code, said.as_str()), (Some(78), ""), "{from}: {notes}");
        assert!(notes.contains(why) && !notes.contains("hunter2"), "{from}: {notes}");
    }
    let elsewhere = serving("200 OK", String::new(), list(&[("gpt-a", "1e-6")])).replace("127.0.0.1", "localhost");
    for (address, why) in [
        (serving("302 Found", format!("location: {elsewhere}\r\n"), String::new()), "it leads to localhost"),
        (serving("404 Not Found", String::new(), String::new()), "it answered 404 Not Found"),
    ] {
        let (code, _, notes) = update(&prices, &address, &[]);
        assert_eq!(code, Some(1), "{notes}");
        assert!(notes.contains(why), "{notes}");
    }
    let empty = serving("200 OK", String::new(), "{}".to_owned());
    let (code, _, notes) = update(&prices, &empty, &[]);
    assert_eq!(code, Some(78), "{notes}");
    assert!(notes.contains("has no price that Regatta can use"), "{notes}");
    assert!(!prices.exists());
}
