//! The image and the compose files: what they name exists, what they say is understood, and their healthchecks tell the truth. The image is
//! built by `scripts/image-check`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod brokers;
mod healthchecks;
mod specification;

use std::path::Path;
use std::process::{Command, Output};

use regatta_tests::regatta::{binary, skipped, workspace};
use serde_yaml_ng::Value;

fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = |output: &Output| {
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    assert!(output.status.success(), "{command:?}: {}", text(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// A compose file of `deploy`, with what it merges.
fn compose(name: &str) -> Value {
    let text = std::fs::read_to_string(workspace().join("deploy").join(name)).unwrap();
    let mut compose: Value = serde_yaml_ng::from_str(&text).unwrap();
    compose.apply_merge().unwrap();
    compose
}

fn words(value: &Value) -> Vec<String> {
    let words = value.as_sequence().into_iter().flatten();
    words.map(|word| word.as_str().unwrap().to_owned()).collect()
}

/// Services that run the image.
fn of_the_image(compose: &Value) -> Vec<(&str, &Value)> {
    let services = compose["services"].as_mapping().unwrap();
    let services = services.iter().map(|(name, service)| (name.as_str().unwrap(), service));
    services.filter(|(_, service)| service["image"] == "regatta").collect()
}

#[test]
fn an_image_is_not_measured_with_another_binary_than_would_be_built() {
    let manifest = std::fs::read_to_string(workspace().join("cli/Cargo.toml")).unwrap();
    let full = manifest.lines().find_map(|line| line.strip_prefix("full = [")?.strip_suffix(']')).unwrap();
    let said = format!("features: {})", full.replace('"', ""));
    let script = std::fs::read_to_string(workspace().join("scripts/image-check")).unwrap();
    assert!(script.contains(&said), "{said}");

    // The one of the tests is no release, and has a feature more.
    let mut check = Command::new("bash");
    check.arg("scripts/image-check").env("REGATTA_IMAGE_BINARY", binary().unwrap()).current_dir(workspace());
    let output = check.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && told.contains("the image's is built with --features full"), "{told}");
}

#[test]
fn the_layer_of_dependencies_has_a_workspace_that_cargo_reads_and_changes_with_no_source() {
    let listed = Command::new("git").current_dir(workspace()).args(["ls-files", "-z"]).output();
    let Some(listed) = listed.ok().filter(|output| output.status.success()) else {
        return skipped("deploy", "this is no working copy of git, so it is not known what an image is built of");
    };
    let folder = tempfile::tempdir().unwrap();
    for file in String::from_utf8(listed.stdout).unwrap().split('\0').filter(|file| !file.is_empty()) {
        let (from, to) = (workspace().join(file), folder.path().join(file));
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        // One that is deleted and not committed is still listed.
        if from.is_file() {
            std::fs::copy(from, to).unwrap();
        }
    }
    succeeds(Command::new("bash").arg("deploy/without-sources").current_dir(folder.path()));
    let metadata = succeeds(
        Command::new(env!("CARGO"))
            .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
            .current_dir(folder.path())
            .env_remove("CARGO_TARGET_DIR"),
    );
    let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap();
    let targets =
        metadata["packages"].as_array().unwrap().iter().flat_map(|package| package["targets"].as_array().unwrap());
    let sources: Vec<&str> = targets.map(|target| target["src_path"].as_str().unwrap()).collect();
    assert!(sources.iter().any(|path| path.ends_with("cli/src/main.rs")), "{sources:?}");
    assert!(!folder.path().join("cli/src/args.rs").exists());
    for source in sources {
        let text = std::fs::read_to_string(source).unwrap();
        assert!(text.is_empty() || text == "fn main() { }\n", "{source}: {text}");
    }
}

#[test]
fn a_working_copy_keeps_its_sources() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join(".git")).unwrap();
    std::fs::write(folder.path().join("lib.rs"), "precious").unwrap();
    let script = workspace().join("deploy/without-sources");
    let output = Command::new("bash").arg(script).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(64));
    assert_eq!(std::fs::read_to_string(folder.path().join("lib.rs")).unwrap(), "precious");
}

#[test]
fn every_command_and_variable_of_the_compose_file_is_one_that_the_binary_knows() {
    let compose = compose("compose.yaml");
    let services = of_the_image(&compose);
    assert_eq!(services.len(), 7, "{services:?}");
    for (name, service) in services {
        let mut commands = vec![words(&service["command"])];
        let probe = words(&service["healthcheck"]["test"]);
        if let [_, binary, arguments @ ..] = &probe[..] {
            assert_eq!(binary, "/usr/local/bin/regatta", "{name}");
            commands.push(arguments.to_vec());
        }
        let helps: Vec<String> = commands
            .iter()
            .map(|arguments| succeeds(Command::new(binary().unwrap()).args(arguments).arg("--help")))
            .map(|help| help.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        for variable in service["environment"].as_mapping().into_iter().flat_map(|variables| variables.keys()) {
            let variable = variable.as_str().unwrap();
            if variable.starts_with("REGATTA_") || ["AMQP_URL", "DATABASE_URL", "S3_ENDPOINT"].contains(&variable) {
                let is_known = helps.iter().any(|help| help.contains(&format!("[env: {variable}")));
                assert!(is_known, "{name}: `regatta {}` has no {variable}", commands[0].join(" "));
            }
        }
    }
}

#[test]
fn what_runs_in_the_image_can_change_nothing_and_gain_no_right() {
    let compose = compose("compose.yaml");
    for (name, service) in of_the_image(&compose) {
        assert_eq!(service["read_only"], true, "{name}");
        assert_eq!(service["user"], "65532:65532", "{name}");
        assert_eq!(words(&service["cap_drop"]), ["ALL"], "{name}");
    }
    let dockerfile = std::fs::read_to_string(workspace().join("deploy/Dockerfile")).unwrap();
    let stages: Vec<&str> = dockerfile.split("\nFROM ").filter(|stage| stage.contains("ENTRYPOINT")).collect();
    assert!(stages.iter().all(|stage| stage.lines().any(|line| line == "USER 65532:65532")), "{stages:?}");
}

#[test]
fn the_default_image_is_without_a_shell_and_another_has_what_starts_programs() {
    let dockerfile = std::fs::read_to_string(workspace().join("deploy/Dockerfile")).unwrap();
    let stages: Vec<&str> = dockerfile.split("\nFROM ").collect();
    assert!(stages.last().unwrap().starts_with("gcr.io/distroless/"), "what no --target names is the last");
    let agents = stages.iter().find(|stage| stage.lines().next().unwrap().ends_with(" AS agents")).unwrap();
    assert!(agents.starts_with("debian:") && agents.contains("util-linux") && agents.contains("ca-certificates"));
}

#[test]
fn what_the_compose_file_mounts_is_there() {
    let compose = compose("compose.yaml");
    let services = compose["services"].as_mapping().unwrap();
    let mounts = services.values().flat_map(|service| words(&service["volumes"]));
    let files: Vec<String> = mounts.filter_map(|mount| Some(mount.split(':').next()?.to_owned())).collect();
    let files: Vec<&String> = files.iter().filter(|file| file.starts_with('.')).collect();
    assert_eq!(files.len(), 8, "{files:?}");
    for file in files {
        assert!(workspace().join("deploy").join(file).exists(), "{file}");
    }
}

#[test]
fn prometheus_reads_the_compose_files_configuration() {
    if Command::new("promtool").arg("--version").output().is_err() {
        return skipped("deploy", "promtool is missing; install Debian's package prometheus");
    }
    let written = std::fs::read_to_string(workspace().join("deploy/prometheus.yaml")).unwrap();
    let rules = workspace().join("helm/regatta/files/rules.yaml");
    let here = written.replace("/etc/prometheus/rules.yaml", &rules.display().to_string());
    assert_ne!(here, written);
    let folder = tempfile::tempdir().unwrap();
    let path: &Path = &folder.path().join("prometheus.yaml");
    std::fs::write(path, here).unwrap();
    succeeds(Command::new("promtool").args(["check", "config"]).arg(path));
}

#[test]
fn image_and_chart_are_of_the_binarys_version() {
    let version = succeeds(Command::new(binary().unwrap()).arg("--version"));
    let chart = std::fs::read_to_string(workspace().join("helm/regatta/Chart.yaml")).unwrap();
    let chart: Value = serde_yaml_ng::from_str(&chart).unwrap();
    let version: Vec<&str> = version.split_whitespace().take(2).collect();
    assert_eq!(version, ["regatta", chart["appVersion"].as_str().unwrap()]);
    let rust = std::fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
    let rust = rust.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap().trim_matches('"').to_owned();
    let dockerfile = std::fs::read_to_string(workspace().join("deploy/Dockerfile")).unwrap();
    assert!(dockerfile.contains(&format!("FROM rust:{rust}-slim-bookworm")), "{rust}");
}
