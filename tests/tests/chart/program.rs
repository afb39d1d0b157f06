//! Commands, variables and specs in the chart are those of the program.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use regatta_tests::regatta::{binary, workspace};
use serde_yaml_ng::Value;

use crate::rendering::{all, containers, field, items, kind, objects_of, pod, renderer, succeeds, word};

/// A help is wrapped to the width of a terminal.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_command_argument_and_variable_is_one_that_the_binary_knows() {
    let Some(renderer) = renderer("chart") else { return };
    let mut helps: BTreeMap<Vec<String>, String> = BTreeMap::new();
    for (set, object) in all(renderer) {
        let Some(pod) = pod(&object) else { continue };
        for container in containers(pod) {
            let mut arguments: Vec<String> =
                items(field(container, "args")).iter().map(|one| word(one).to_owned()).collect();
            // An argument that it does not know is refused before the help is shown.
            arguments.push("--help".to_owned());
            let help = helps
                .entry(arguments.clone())
                .or_insert_with(|| one_line(&succeeds(Command::new(binary().unwrap()).args(&arguments))));
            for variable in items(field(container, "env")) {
                let name = word(field(variable, "name"));
                // Those that specs name.
                let of_a_spec = ["REGATTA_JOB", "REGATTA_POD_UID"].contains(&name);
                let hidden = name == "REGATTA_TOKEN";
                if (name.starts_with("REGATTA_") && !of_a_spec && !hidden)
                    || ["AMQP_URL", "DATABASE_URL"].contains(&name)
                    // Headers are secrets: they have no option.
                    || (name.starts_with("OTEL_") && name != "OTEL_EXPORTER_OTLP_HEADERS")
                {
                    assert!(
                        help.contains(&format!("[env: {name}")),
                        "{set}: `regatta {}` has no {name}",
                        arguments.join(" ")
                    );
                }
            }
        }
    }
    assert!(helps.len() >= 6, "{:?}", helps.keys());
}

#[test]
fn roles_send_traces_to_the_collector_that_is_named_and_to_none_by_default() {
    let Some(renderer) = renderer("chart") else { return };
    let traced = |set: &str| -> BTreeSet<String> {
        let objects = objects_of(renderer, set);
        let names_it = |object: &&Value| {
            let all = pod(object).into_iter().flat_map(containers);
            all.flat_map(|container| items(field(container, "env")))
                .any(|variable| word(field(variable, "name")) == "OTEL_EXPORTER_OTLP_ENDPOINT")
        };
        objects.iter().filter(names_it).map(|object| word(field(object, "metadata.name")).to_owned()).collect()
    };
    assert_eq!(traced("minimal"), BTreeSet::new());
    let roles = ["coordinator", "scorer", "worker-default", "worker-encoders"];
    assert_eq!(traced("everything"), roles.iter().map(|role| format!("nightly-regatta-{role}")).collect());
}

/// Values of the variable `name` in the containers of a value set.
fn values_of(renderer: &Path, set: &str, name: &str) -> Vec<String> {
    let objects = objects_of(renderer, set);
    let variables = objects
        .iter()
        .filter_map(pod)
        .flat_map(containers)
        .flat_map(|container| items(field(container, "env")))
        .filter(|variable| word(field(variable, "name")) == name);
    variables.map(|variable| word(field(variable, "value")).to_owned()).collect()
}

#[test]
fn coordinators_keep_cached_responses_for_good_unless_the_values_say_for_how_long() {
    let Some(renderer) = renderer("chart") else { return };
    let days = |set| values_of(renderer, set, "REGATTA_CACHED_DAYS");
    assert_eq!(days("minimal"), Vec::<String>::new());
    assert_eq!(days("everything"), ["90"], "of coordinators alone");
}

#[test]
fn transcripts_are_in_the_form_of_every_version_unless_the_values_say_that_all_roles_read_the_compact_one() {
    let Some(renderer) = renderer("chart") else { return };
    let compact = |set| values_of(renderer, set, "REGATTA_COMPACT_TRANSCRIPTS");
    assert_eq!(compact("minimal"), Vec::<String>::new());
    assert_eq!(compact("everything"), ["true"; 4], "of coordinator, scorer and both pools");
}

#[test]
fn the_specs_of_smoke_tests_and_of_the_demonstration_are_specs() {
    let Some(renderer) = renderer("chart") else { return };
    let folder = tempfile::tempdir().unwrap();
    let smoke = all(renderer)
        .into_iter()
        .map(|(_, object)| object)
        .find(|object| kind(object) == "ConfigMap" && word(field(object, "metadata.name")).ends_with("-smoke"));
    let spec = folder.path().join("smoke.yaml");
    let smoke = smoke.unwrap();
    std::fs::write(&spec, word(smoke.get("data").and_then(|data| data.get("spec.yaml")).unwrap())).unwrap();
    let data = format!("worfbench={}", workspace().join("examples/data/worfbench").display());
    for spec in [spec, workspace().join("deploy/demo.yaml")] {
        succeeds(
            Command::new(binary().unwrap())
                .arg("check")
                .arg(spec)
                .args(["--data", &data])
                .env("REGATTA_POD_UID", "7d0c1f5e-3b1a-4c59-9a53-0f2f6f8f9b1e"),
        );
    }
}
