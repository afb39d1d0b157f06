//! Objects are valid for each version of Kubernetes, and names, labels, ports and certificates in them are of things that are there.

use std::collections::BTreeSet;
use std::process::Command;

use regatta_tests::regatta::workspace;
use serde_yaml_ng::Value;

use crate::rendering::{
    KUBERNETES, documents, field, items, kind, named, objects_of, pod, python, render, renderer, text, value_sets, word,
};

#[test]
fn every_object_is_valid_for_three_versions_of_kubernetes() {
    let (Some(renderer), Some(python)) = (renderer("chart"), python("chart")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rendered.yaml");
    for set in value_sets() {
        std::fs::write(&path, render(renderer, &set)).unwrap();
        for version in KUBERNETES {
            let check = workspace().join("tests/fixtures/chart.py");
            let crds = workspace().join("helm/tests/custom-resources.yaml");
            let mut checked = Command::new(&python);
            checked.arg(check).arg("objects").arg(crds).arg(version).arg(&path);
            let output = checked.output().unwrap();
            assert!(output.status.success(), "{} for {version}: {}", set.display(), text(&output));
        }
    }
}

#[test]
fn what_selects_finds_and_what_is_named_is_there() {
    let Some(renderer) = renderer("chart") else { return };
    for set in value_sets() {
        let objects = documents(&render(renderer, &set));
        let named = |kind_: &str| -> BTreeSet<&str> {
            objects.iter().filter(|one| kind(one) == kind_).map(|one| word(field(one, "metadata.name"))).collect()
        };
        let labels: Vec<&Value> = objects
            .iter()
            .filter_map(|object| match kind(object) {
                "Pod" => Some(field(object, "metadata.labels")),
                "Deployment" | "Job" => Some(field(object, "spec.template.metadata.labels")),
                "CronJob" => Some(field(object, "spec.jobTemplate.spec.template.metadata.labels")),
                _ => None,
            })
            .collect();
        let finds = |selector: &Value| {
            let wanted = selector.as_mapping().unwrap();
            labels.iter().any(|labels| wanted.iter().all(|(key, value)| labels.get(key) == Some(value)))
        };
        for object in &objects {
            let who = format!("{}: {} {}", set.display(), kind(object), word(field(object, "metadata.name")));
            match kind(object) {
                "Service" => assert!(finds(field(object, "spec.selector")), "{who}"),
                "PodDisruptionBudget" => assert!(finds(field(object, "spec.selector.matchLabels")), "{who}"),
                // Agents' pods are made by workers, in a namespace of their own.
                "NetworkPolicy" if word(field(object, "metadata.namespace")) == "agents" => {}
                "NetworkPolicy" => assert!(finds(field(object, "spec.podSelector.matchLabels")), "{who}"),
                "ScaledObject" | "HorizontalPodAutoscaler" => {
                    let target = word(field(object, "spec.scaleTargetRef.name"));
                    assert!(named("Deployment").contains(target), "{who}");
                    let scaled = objects
                        .iter()
                        .find(|one| kind(one) == "Deployment" && word(field(one, "metadata.name")) == target);
                    assert!(
                        field(scaled.unwrap(), "spec.replicas").is_null(),
                        "{who}: each upgrade would undo its scale"
                    );
                }
                _ => {}
            }
            if let Some(pod) = pod(object) {
                let account = word(field(pod, "serviceAccountName"));
                assert!(named("ServiceAccount").contains(account) || account == "scorers", "{who}: {account}");
            }
        }
        if set.ends_with("restricted.yaml") {
            let policies = named("NetworkPolicy");
            assert!(labels.iter().all(|labels| {
                let component = word(labels.get("app.kubernetes.io/component").unwrap());
                policies.iter().any(|policy| policy.ends_with(component))
            }));
        }
    }
}

#[test]
fn over_tls_clients_trust_the_api_and_probes_and_scrapes_need_no_certificate() {
    let Some(renderer) = renderer("chart") else { return };
    let objects = objects_of(renderer, "tls");
    let variable = |container: &Value, name: &str| {
        let found = items(field(container, "env")).iter().find(|one| word(field(one, "name")) == name);
        found.map(|one| word(field(one, "value")).to_owned())
    };
    // A file that a variable names lies in a volume that is mounted there.
    let is_mounted = |container: &Value, file: &str| {
        items(field(container, "volumeMounts")).iter().any(|mount| file.starts_with(word(field(mount, "mountPath"))))
    };
    let coordinator = named(&objects, "Deployment", "nightly-regatta-coordinator");
    let container = &items(field(pod(coordinator).unwrap(), "containers"))[0];
    for name in ["REGATTA_TLS_CERT", "REGATTA_TLS_KEY", "REGATTA_TLS_CLIENT_CA"] {
        assert!(is_mounted(container, &variable(container, name).unwrap()), "{name}");
    }
    let port = |name: &str| {
        let found = items(field(container, "ports")).iter().find(|one| word(field(one, "name")) == name);
        found.and_then(|one| field(one, "containerPort").as_u64()).unwrap()
    };
    assert_eq!((port("api"), variable(container, "REGATTA_LISTEN").unwrap().as_str()), (8080, "[::]:8080"));
    // Probes ask the port `http`, which is that of the metrics.
    assert_eq!((port("http"), variable(container, "REGATTA_METRICS").unwrap().as_str()), (8081, "[::]:8081"));
    let service = named(&objects, "Service", "nightly-regatta-coordinator");
    assert_eq!(
        items(field(service, "spec.ports")).iter().map(|one| word(field(one, "targetPort"))).collect::<Vec<_>>(),
        ["api"]
    );
    let scraped = &items(field(named(&objects, "Service", "nightly-regatta-coordinator-metrics"), "spec.ports"))[0];
    let monitor = named(&objects, "ServiceMonitor", "nightly-regatta-coordinator");
    assert_eq!(field(&items(field(monitor, "spec.endpoints"))[0], "port"), field(scraped, "name"));
    assert_eq!(word(field(scraped, "targetPort")), "http");
    for (kind, name) in [("CronJob", "nightly-regatta-sweep-nightly"), ("Pod", "nightly-regatta-smoke")] {
        let client = &items(field(pod(named(&objects, kind, name)).unwrap(), "containers"))[0];
        assert!(variable(client, "REGATTA_COORDINATOR").unwrap().starts_with("https://"), "{name}");
        for file in ["REGATTA_CA", "REGATTA_CLIENT_CERT", "REGATTA_CLIENT_KEY"] {
            assert!(is_mounted(client, &variable(client, file).unwrap()), "{name}: {file}");
        }
    }
    let worker = named(&objects, "Deployment", "nightly-regatta-worker-default");
    let worker = &items(field(pod(worker).unwrap(), "containers"))[0];
    for file in
        ["REGATTA_BRIDGE_TLS_CERT", "REGATTA_BRIDGE_TLS_KEY", "REGATTA_BRIDGE_TLS_CA", "REGATTA_BRIDGE_TLS_CLIENT_CA"]
    {
        assert!(is_mounted(worker, &variable(worker, file).unwrap()), "{file}");
    }
    let ports_in = |name: &str| -> Vec<u64> {
        let rules = items(field(named(&objects, "NetworkPolicy", name), "spec.ingress"));
        rules
            .iter()
            .flat_map(|rule| items(field(rule, "ports")))
            .filter_map(|one| field(one, "port").as_u64())
            .collect()
    };
    assert_eq!(ports_in("nightly-regatta-coordinator"), [8080, 8081]);
    assert_eq!(ports_in("nightly-regatta-worker-default"), [8080, 7070]);
}
