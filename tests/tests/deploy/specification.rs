//! The compose files against the compose specification, and before Docker's own reader.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use regatta_tests::regatta::{skipped, workspace};

use crate::succeeds;

/// The compose files of this repository.
fn files() -> [PathBuf; 2] {
    ["compose.yaml", "services.yaml"].map(|name| workspace().join("deploy").join(name))
}

/// A Python that has the specification's schema.
fn python() -> Option<PathBuf> {
    let found = Command::new(workspace().join("tests/fixtures/compose.sh")).output().unwrap();
    if found.status.success() {
        return Some(String::from_utf8(found.stdout).unwrap().trim().into());
    }
    skipped("deploy", &String::from_utf8_lossy(&found.stderr));
    None
}

fn check(python: &Path, file: &Path) -> Output {
    let mut check = Command::new(python);
    check.args(["-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]).arg(file).output().unwrap()
}

#[test]
fn compose_files_keep_to_the_compose_specification() {
    let Some(python) = python() else { return };
    for file in files() {
        let checked = check(&python, &file);
        assert!(checked.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&checked.stdout));
    }
}

#[test]
fn a_key_that_the_compose_specification_does_not_have_is_found() {
    let Some(python) = python() else { return };
    let [file, _] = files();
    let right = std::fs::read_to_string(file).unwrap();
    let misspelt = right.replace("read_only:", "readonly:");
    assert_ne!(misspelt, right);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("compose.yaml");
    std::fs::write(&file, misspelt).unwrap();
    let checked = check(&python, &file);
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(!checked.status.success() && said.contains("'readonly' was unexpected"), "{said}");
}

#[test]
fn docker_compose_reads_the_compose_files() {
    if !Command::new("docker").args(["compose", "version"]).output().is_ok_and(|output| output.status.success()) {
        return skipped("deploy", "there is no `docker compose` here");
    }
    for file in files() {
        succeeds(Command::new("docker").args(["compose", "--file"]).arg(file).args(["config", "--quiet"]));
    }
}
