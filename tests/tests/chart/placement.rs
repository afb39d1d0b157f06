//! Pods are spread over places, go before others by their role, and have a service account of their role alone.

use std::collections::{BTreeMap, BTreeSet};

use serde_yaml_ng::Value;

use crate::rendering::{all, field, items, kind, named, objects_of, pod, renderer, word};

/// The part of the deployment that an object's pods are.
fn component(object: &Value) -> &str {
    field(object, "metadata.labels").get("app.kubernetes.io/component").map_or("", word)
}

/// `true` for pods that are there as long as the release is, and that people may ask for several of.
fn is_role(object: &Value) -> bool {
    let component = component(object);
    kind(object) == "Deployment" && (["coordinator", "scorer"].contains(&component) || component.starts_with("worker-"))
}

#[test]
fn pods_of_a_role_are_spread_over_zones_and_machines() {
    let Some(renderer) = renderer("chart") else { return };
    for (set, object) in all(renderer).into_iter().filter(|(_, object)| is_role(object)) {
        let who = format!("{set}: {}", word(field(&object, "metadata.name")));
        let spread = items(field(pod(&object).unwrap(), "topologySpreadConstraints"));
        let by: Vec<&str> = spread.iter().map(|one| word(field(one, "topologyKey"))).collect();
        let keys: &[&str] = match set.as_str() {
            "one-of-each" => &[],
            "restricted" => &["kubernetes.io/hostname"],
            _ => &["topology.kubernetes.io/zone", "kubernetes.io/hostname"],
        };
        let unsatisfiable = if set == "restricted" { "DoNotSchedule" } else { "ScheduleAnyway" };
        assert_eq!(by, keys, "{who}");
        for constraint in spread {
            assert_eq!(word(field(constraint, "whenUnsatisfiable")), unsatisfiable, "{who}");
            assert_eq!(field(constraint, "maxSkew").as_u64(), Some(1), "{who}");
            // Of its own pods: others in a place say nothing of what is lost with it.
            assert_eq!(
                field(constraint, "labelSelector.matchLabels"),
                field(&object, "spec.selector.matchLabels"),
                "{who}"
            );
        }
    }
}

#[test]
fn coordinators_and_scorers_go_before_workers_and_nobody_is_evicted_for_any() {
    let Some(renderer) = renderer("chart") else { return };
    let objects = objects_of(renderer, "everything");
    let value = |class: &str| {
        let class = named(&objects, "PriorityClass", class);
        assert_eq!(word(field(class, "preemptionPolicy")), "Never");
        field(class, "value").as_i64().unwrap()
    };
    assert!(value("nightly-regatta-control") > value("nightly-regatta-work"));
    for object in objects.iter().filter(|object| is_role(object)) {
        let class =
            if component(object).starts_with("worker-") { "nightly-regatta-work" } else { "nightly-regatta-control" };
        assert_eq!(word(field(pod(object).unwrap(), "priorityClassName")), class, "{}", component(object));
    }
    // A class that a pool names is somebody else's.
    let pools = objects_of(renderer, "several-pools");
    let gpu = named(&pools, "Deployment", "nightly-regatta-worker-gpu");
    assert_eq!(word(field(pod(gpu).unwrap(), "priorityClassName")), "batch");
    assert!(!pools.iter().any(|object| kind(object) == "PriorityClass"));
}

#[test]
fn no_two_roles_share_a_service_account() {
    let Some(renderer) = renderer("chart") else { return };
    let mut roles_of: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for (set, object) in all(renderer) {
        let Some(pod) = pod(&object) else { continue };
        let account = word(field(pod, "serviceAccountName")).to_owned();
        assert!(!["", "default"].contains(&account.as_str()), "{set}: {}", component(&object));
        // Pools are one role, and so are the jobs that are clients of the API.
        let role = match component(&object) {
            pool if pool.starts_with("worker-") => "worker",
            role @ ("coordinator" | "scorer" | "migrate" | "simulator") => role,
            _ => "client",
        };
        roles_of.entry((set, account)).or_default().insert(role.to_owned());
    }
    for ((set, account), roles) in &roles_of {
        assert_eq!(roles.len(), 1, "{set}: {account} is of {roles:?}");
    }
    let of_everything = roles_of.keys().filter(|(set, _)| set == "everything").count();
    assert_eq!(of_everything, 6, "{:?}", roles_of.keys());
}
