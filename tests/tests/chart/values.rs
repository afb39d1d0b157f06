//! Values that the chart takes, refuses, merges and takes away.

use std::collections::BTreeSet;
use std::process::Command;

use regatta_tests::regatta::workspace;
use serde_yaml_ng::Value;

use crate::rendering::{
    chart, documents, field, kind, pod, python, render, renderer, succeeds, text, value_set, value_sets, word,
};

#[test]
fn every_value_set_is_one_that_the_schema_takes() {
    let Some(python) = python("chart") else { return };
    let check = workspace().join("tests/fixtures/chart.py");
    succeeds(Command::new(python).arg(check).arg("values").arg(chart()).args(value_sets()));
}

#[test]
fn a_value_that_does_not_exist_or_cannot_be_is_refused_by_name() {
    let Some(python) = python("chart") else { return };
    let folder = tempfile::tempdir().unwrap();
    for (values, said) in [
        ("worker: { pools: { default: { replica: 1 } } }", "'replica' was unexpected"),
        ("worker: { pools: { A_B: {} } }", "worker.pools"),
        ("queue: { prefx: x }", "'prefx' was unexpected"),
        ("worker: { defaults: { autoscaling: { kind: vpa } } }", "worker.defaults.autoscaling.kind"),
        ("worker: { pools: { a: { keys: { OPENAI_API_KEY: sk-123 } } } }", "OPENAI_API_KEY"),
        ("worker: { pools: { a: { endpoints: { open/ai: { concurrency: 1 } } } } }", "'open/ai' does not match"),
        ("worker: { pools: { a: { endpoints: { LONG: { concurrency: 1 } } } } }", "is too long"),
        ("sweeps: { nightly: { schedule: '0 2 * * *' } }", "'spec' is a required property"),
        ("coordinator: { replicas: 0 }", "coordinator.replicas"),
        ("scorer: { resources: { requests: {} } }", "'limits' is a required property"),
    ] {
        // What the defaults have, a value that is merged cannot take away.
        let values = values.replace("requests: {} }", "requests: {}, limits: null }").replace("LONG", &"e".repeat(171));
        let path = folder.path().join("values.yaml");
        std::fs::write(&path, &values).unwrap();
        let check = workspace().join("tests/fixtures/chart.py");
        let why = succeeds(Command::new(&python).arg(check).arg("refused").arg(chart()).arg(&path));
        assert!(why.contains(said), "{values}: {why}");
    }
}

#[test]
fn a_hook_that_would_run_before_its_secret_is_refused() {
    let Some(renderer) = renderer("chart") else { return };
    let values = value_set("external-secrets");
    let output = Command::new(renderer)
        .arg("-f")
        .arg(values)
        .args(["--set", "migrate.hook=true"])
        .arg(chart())
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert!(text(&output).contains("set migrate.hook to false"), "{}", text(&output));
}

#[test]
fn a_sweep_whose_jobs_could_not_be_named_is_refused() {
    let Some(renderer) = renderer("chart") else { return };
    let values = value_set("sweeps");
    let long = "fullnameOverride=the-deployment-of-all-our-evaluations-of-agents";
    let mut command = Command::new(renderer);
    let output = command.arg("-f").arg(values).args(["--set", long]).arg(chart()).output().unwrap();
    assert!(!output.status.success());
    assert!(text(&output).contains("set fullnameOverride"), "{}", text(&output));
}

#[test]
fn a_sweep_whose_spec_changes_is_another_job_and_one_that_is_scheduled_keeps_its_name() {
    let Some(renderer) = renderer("chart") else { return };
    let names = |more: &[&str]| -> BTreeSet<String> {
        let values = value_set("sweeps");
        let rendered = succeeds(Command::new(renderer).arg("-f").arg(values).args(more).arg(chart()));
        let sweeps = documents(&rendered).into_iter().filter(|one| {
            ["Job", "CronJob"].contains(&kind(one)) && word(field(one, "metadata.name")).contains("-sweep-")
        });
        sweeps.map(|one| word(field(&one, "metadata.name")).to_owned()).collect()
    };
    let (before, after) =
        (names(&[]), names(&["--set", "sweeps.release.spec.trials=5", "--set", "sweeps.nightly.spec.trials=5"]));
    let kept: Vec<&str> = before.intersection(&after).map(String::as_str).collect();
    assert_eq!((before.len(), after.len(), kept), (2, 2, vec!["release-name-regatta-sweep-nightly"]));
}

#[test]
fn a_pools_zero_counts_and_its_null_takes_a_default_away() {
    let Some(renderer) = renderer("chart") else { return };
    let folder = tempfile::tempdir().unwrap();
    let values = folder.path().join("values.yaml");
    let pool = "{ replicas: 0, drainSeconds: 0, podDisruptionBudget: { maxUnavailable: null } }";
    std::fs::write(&values, format!("worker: {{ pools: {{ default: null, gpu: {pool} }} }}")).unwrap();
    let objects = documents(&render(renderer, &values));
    let of_workers: Vec<&Value> =
        objects.iter().filter(|one| word(field(one, "metadata.name")).contains("-worker-gpu")).collect();
    assert_eq!(of_workers.iter().map(|one| kind(one)).collect::<Vec<_>>(), ["Deployment"]);
    assert_eq!(objects.iter().filter(|one| word(field(one, "metadata.name")).contains("-worker-default")).count(), 0);
    assert_eq!(field(of_workers[0], "spec.replicas").as_u64(), Some(0));
    assert_eq!(field(pod(of_workers[0]).unwrap(), "terminationGracePeriodSeconds").as_u64(), Some(65));
}
