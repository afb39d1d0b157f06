//! Files that commands write where a person says: their owner's alone, and never through a link that somebody planted.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::rescore::run;
use super::{examples, regatta, said, text};

const LITELLM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../llm/src/prices/fixtures/litellm.json");
const POLICY: &str =
    "metrics: { f1_chain: { margin: 5pp } }\nnights: { method: alpha_spending, ledger: nights.json }\n";

/// Every file below `folder`, links included, by its path in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(at).expect("a folder") {
            let entry = entry.expect("an entry");
            match entry.file_type().expect("its kind").is_dir() {
                true => folders.push(entry.path()),
                false => found.push(entry.path().strip_prefix(folder).expect("below it").to_owned()),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn what_commands_write_is_private_and_goes_through_no_link() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = run(folder.path(), "[official]");
    let results = std::fs::read_to_string(Path::new(&run).join("results.jsonl")).expect("a file");
    let first: serde_json::Value = serde_json::from_str(results.lines().next().expect("a line")).expect("JSON");
    let item = first["item"].as_str().expect("an id").to_owned();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let predictions = at("predictions.jsonl");
    std::fs::write(&predictions, "{\"item\": \"bakery-1\", \"output\": \"#### 17\"}\n").expect("it can be written");
    let arithmetic = examples().join("benchmarks/arithmetic").display().to_string();
    let write = |into: &Path| {
        let to = |name: &str| into.join(name).display().to_string();
        let policy = to("policy.yaml");
        said(&["show", &run, "0", &item, "--output", &to("session.html")]);
        said(&["prices", "import", "--litellm", LITELLM, "--out", &to("prices.yaml")]);
        said(&["import", "predictions", &predictions, "--answer", "output", "--output", &to("imported.jsonl")]);
        said(&["export", &run, "--format", "eval,parquet,csv,otlp,site", "--output", &to("exported")]);
        std::fs::write(&policy, POLICY).expect("it can be written");
        let gate = ["gate", &run, "--baseline", &run, "--policy", &policy];
        let judged = regatta(&[&gate[..], &["--junit", &to("gate.xml"), "--markdown", &to("gate.md")]].concat());
        assert!(matches!(judged.status.code(), Some(0..=2)), "{}", text(&judged.stderr));
        let score =
            ["score", "arithmetic", "--setting", "shots=0", "--data", &arithmetic, "--predictions", &predictions];
        said(&[&score[..], &["--out", &to("scores.json")]].concat());
        std::fs::remove_file(&policy).expect("it is there");
    };
    let (plain, planted) = (folder.path().join("plain"), folder.path().join("planted"));
    std::fs::create_dir(&plain).expect("a folder");
    write(&plain);
    let written = files(&plain);
    let names: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
    for name in ["exported/traces.jsonl", "exported/attempts.csv", "exported/site/index.html", "gate.md", "nights.json"]
    {
        assert!(names.iter().any(|known| known == name), "{name} is not among {names:?}");
    }

    let victim = folder.path().join("victim");
    std::fs::write(&victim, "precious").expect("it can be written");
    for path in written.iter().filter(|path| !path.ends_with("nights.json") && !path.ends_with("nights.json.lock")) {
        let path = planted.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        symlink(&victim, path).expect("a link");
    }
    symlink(&victim, planted.join("nights.json.new")).expect("a link");
    write(&planted);

    assert_eq!(std::fs::read_to_string(&victim).expect("a file"), "precious");
    for path in written {
        let found = std::fs::symlink_metadata(planted.join(&path)).expect("a file");
        let shown = path.display();
        assert!(found.is_file(), "{shown} is a link still");
        assert_eq!(found.permissions().mode() & 0o777, 0o600, "{shown} can be read by others");
    }
}

#[test]
fn a_site_is_not_written_into_a_folder_that_a_link_leads_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = run(folder.path(), "[official]");
    let (elsewhere, exported) = (folder.path().join("elsewhere"), folder.path().join("exported"));
    std::fs::create_dir(&elsewhere).expect("a folder");
    std::fs::create_dir_all(exported.join("site")).expect("a folder");
    symlink(&elsewhere, exported.join("site/sessions")).expect("a link");
    let output = regatta(&["export", &run, "--format", "site", "--output", &exported.display().to_string()]);
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("is a link, and might lead anywhere"), "{}", text(&output.stderr));
    assert_eq!(files(&elsewhere), Vec::<PathBuf>::new());
}
