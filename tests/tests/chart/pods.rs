//! Pods are restricted, bounded, asked whether they are well, reached by either family of addresses, and given time to end.

use std::path::Path;

use regatta_proto::{Digest, EndpointKind, EndpointSpec};
use regex::Regex;
use serde_yaml_ng::Value;

use crate::rendering::{
    all, containers, documents, field, items, kind, named, objects_of, pod, render, renderer, word,
};

#[test]
fn every_pod_is_restricted_and_bounded() {
    let Some(renderer) = renderer("chart") else { return };
    for (set, object) in all(renderer) {
        let Some(pod) = pod(&object) else { continue };
        let who = format!("{set}: {} {}", kind(&object), word(field(&object, "metadata.name")));
        assert_eq!(field(pod, "automountServiceAccountToken").as_bool(), Some(false), "{who}");
        assert_eq!(field(pod, "securityContext.runAsNonRoot").as_bool(), Some(true), "{who}");
        assert_ne!(field(pod, "securityContext.runAsUser").as_u64(), Some(0), "{who}");
        assert_eq!(word(field(pod, "securityContext.seccompProfile.type")), "RuntimeDefault", "{who}");
        assert!(["hostNetwork", "hostPID", "hostIPC"].iter().all(|key| field(pod, key).is_null()), "{who}");
        let volumes = items(field(pod, "volumes"));
        let allowed = ["configMap", "emptyDir", "persistentVolumeClaim", "projected", "secret"];
        assert!(volumes.iter().all(|volume| allowed.iter().any(|kind| !field(volume, kind).is_null())), "{who}");
        for container in containers(pod) {
            let who = format!("{who}: {}", word(field(container, "name")));
            assert_eq!(field(container, "securityContext.allowPrivilegeEscalation").as_bool(), Some(false), "{who}");
            assert_eq!(field(container, "securityContext.readOnlyRootFilesystem").as_bool(), Some(true), "{who}");
            let dropped = items(field(container, "securityContext.capabilities.drop"));
            assert_eq!(dropped.iter().map(word).collect::<Vec<_>>(), ["ALL"], "{who}");
            for amount in ["requests", "limits"] {
                for resource in ["cpu", "memory"] {
                    let given = field(container, &format!("resources.{amount}.{resource}"));
                    assert!(!given.is_null(), "{who} has no {amount} of {resource}");
                }
            }
        }
    }
}

#[test]
fn every_server_has_probes_that_ask_it_and_every_job_has_a_deadline() {
    let Some(renderer) = renderer("chart") else { return };
    for (set, object) in all(renderer) {
        let Some(pod) = pod(&object) else { continue };
        let who = format!("{set}: {} {}", kind(&object), word(field(&object, "metadata.name")));
        let serves = |container: &&Value| !items(field(container, "ports")).is_empty();
        if kind(&object) == "Deployment" {
            assert!(containers(pod).all(|container| serves(&container)), "{who}");
        } else {
            let deadlines = ["spec.activeDeadlineSeconds", "spec.jobTemplate.spec.activeDeadlineSeconds"];
            assert!(deadlines.iter().any(|path| field(&object, path).as_u64().is_some()), "{who} has no deadline");
        }
        for container in containers(pod).filter(serves) {
            for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
                assert_eq!(word(field(container, &format!("{probe}.httpGet.port"))), "http", "{who}: {probe}");
            }
            // A store that is away must not have the pod killed that waits for it.
            assert_eq!(word(field(container, "livenessProbe.httpGet.path")), "/healthz", "{who}");
        }
    }
}

#[test]
fn a_cluster_may_have_ipv4_or_ipv6_or_both() {
    let Some(renderer) = renderer("chart") else { return };
    for (set, object) in all(renderer) {
        let Some(pod) = pod(&object) else { continue };
        let who = format!("{set}: {} {}", kind(&object), word(field(&object, "metadata.name")));
        for container in containers(pod) {
            let of_variables = items(field(container, "env")).iter().filter(|one| {
                ["REGATTA_LISTEN", "REGATTA_METRICS", "REGATTA_BRIDGE"].contains(&word(field(one, "name")))
            });
            let of_arguments =
                items(field(container, "args")).iter().filter_map(|one| word(one).strip_prefix("--listen="));
            let addresses: Vec<&str> = of_variables.map(|one| word(field(one, "value"))).chain(of_arguments).collect();
            // The one address that stands for all of both families.
            assert!(addresses.iter().all(|address| address.starts_with("[::]:")), "{who}: {addresses:?}");
            let ports = items(field(container, "ports"));
            assert_eq!(addresses.len(), ports.len(), "{who}");
            for port in ports {
                let number = field(port, "containerPort").as_u64().unwrap();
                assert!(addresses.contains(&format!("[::]:{number}").as_str()), "{who}: {number}");
            }
            // Without a host they ask the pod's own address, whichever that is.
            for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
                assert!(field(container, &format!("{probe}.httpGet.host")).is_null(), "{who}: {probe}");
            }
        }
    }
    let of_set = |set: &str| objects_of(renderer, set);
    let written = serde_yaml_ng::to_string(&of_set("restricted")).unwrap();
    assert!(written.contains("kind: NetworkPolicy") && !written.contains("cidr:"), "peers are pods, not addresses");
    // What a simulator's service has for an address in such a cluster.
    let objects = of_set("one-of-each");
    let policy = word(field(named(&objects, "ConfigMap", "small-worker-policy"), "data").get("policy.yaml").unwrap());
    let policy: Value = serde_yaml_ng::from_str(policy).unwrap();
    let private: Vec<&str> = items(field(&policy, "egress.private")).iter().map(word).collect();
    assert!(private.contains(&"10.0.0.0/8") && private.contains(&"fc00::/7"), "{private:?}");
}

#[test]
fn a_pod_has_the_time_to_drain_and_to_hand_over() {
    let Some(renderer) = renderer("chart") else { return };
    // After the drain: calls in flight, money, reports; each up to 20 s.
    const AFTER_THE_DRAIN: u64 = 60;
    for (set, object) in all(renderer).into_iter().filter(|(_, object)| kind(object) == "Deployment") {
        let pod = pod(&object).unwrap();
        let container = &items(field(pod, "containers"))[0];
        let pre_stop = field(container, "lifecycle.preStop.sleep.seconds").as_u64().unwrap_or(0);
        let drain = items(field(container, "env")).iter().find(|one| word(field(one, "name")) == "REGATTA_DRAIN_S");
        let drain = drain.map_or(0, |one| word(field(one, "value")).parse::<u64>().unwrap() + AFTER_THE_DRAIN);
        let grace = field(pod, "terminationGracePeriodSeconds").as_u64().unwrap();
        assert!(grace >= pre_stop + drain, "{set}: {}: {grace}", word(field(&object, "metadata.name")));
    }
}

/// The object by which KEDA scales a pool.
fn scaled(renderer: &Path, set: &str, pool: &str) -> Value {
    named(&objects_of(renderer, set), "ScaledObject", &format!("nightly-regatta-worker-{pool}")).clone()
}

#[test]
fn a_pool_wakes_for_every_queue_of_its_endpoints_however_long_its_name_and_for_no_other() {
    let Some(renderer) = renderer("chart") else { return };
    let endpoint = EndpointSpec::of_kind(EndpointKind::Openai);
    let queue = |sweep: &str, name: &str| {
        // As a lock makes the id of its sweep.
        let sweep = format!("{sweep}-{}", Digest::of(sweep.as_bytes()).short());
        format!("regatta.jobs.{}", endpoint.queue(&name.parse().unwrap(), &sweep.parse().unwrap()))
    };
    let pattern = |object: &Value| {
        let names = field(&items(field(object, "spec.triggers"))[0], "metadata.queueName");
        Regex::new(word(names)).unwrap()
    };
    let of_two = pattern(&scaled(renderer, "several-pools", "openai"));
    let of_all = pattern(&scaled(renderer, "scale-to-zero", "default"));
    // The longest name that the values' schema takes, and one with a character that means more in a pattern.
    let longest = "e".repeat(170);
    let folder = tempfile::tempdir().unwrap();
    let values = folder.path().join("values.yaml");
    let endpoints = format!("{{ gpt-4.1: {{ concurrency: 8 }}, {longest}: {{ concurrency: 8 }} }}");
    let pool = format!("{{ endpoints: {endpoints}, autoscaling: {{ kind: keda }} }}");
    let broker = "keda: { rabbitmq: { host: 'http://rabbitmq:15672' } }";
    std::fs::write(&values, format!("worker: {{ pools: {{ dots: {pool} }} }}\n{broker}\n")).unwrap();
    let objects = documents(&render(renderer, &values));
    let of_dots = pattern(named(&objects, "ScaledObject", "nightly-regatta-worker-dots"));
    let long = "nightly-".repeat(23);
    for sweep in ["s", "nightly-2026.11.29", "as.openai", long.as_str()] {
        for name in ["openai", "azure"] {
            assert!(of_two.is_match(&queue(sweep, name)), "{sweep} {name}");
        }
        for name in ["openai-eu", "myopenai", "eu.openai", "openai.eu", "minilm"] {
            assert!(!of_two.is_match(&queue(sweep, name)), "{sweep} {name}");
            assert!(of_all.is_match(&queue(sweep, name)), "{sweep} {name}: it serves all endpoints");
        }
        for name in ["gpt-4.1", longest.as_str()] {
            assert!(of_dots.is_match(&queue(sweep, name)), "{sweep} {name}");
        }
        assert!(!of_dots.is_match(&queue(sweep, "gpt-401")), "{sweep}: a dot is a dot");
    }
    for other in ["regatta.reports.0", "regatta.aside", "regatta.dead", "other.jobs.s.openai"] {
        assert!(!of_two.is_match(other) && !of_all.is_match(other), "{other}");
    }
}

#[test]
fn a_pool_never_has_more_pods_than_its_endpoints_keep_busy() {
    let Some(renderer) = renderer("chart") else { return };
    // 130 calls at once over 50 sessions a pod, of at most 40 pods.
    let openai = scaled(renderer, "several-pools", "openai");
    assert_eq!(field(&openai, "spec.maxReplicaCount").as_u64(), Some(3));
    let queue = &items(field(&openai, "spec.triggers"))[0];
    assert_eq!(word(field(queue, "metadata.queueName")), "^regatta[.]jobs[.].*-[0-9a-f]{8}[.](azure|openai)$");
    // All endpoints: as many as were allowed, from none.
    let all = scaled(renderer, "scale-to-zero", "default");
    assert_eq!(
        (field(&all, "spec.minReplicaCount").as_u64(), field(&all, "spec.maxReplicaCount").as_u64()),
        (Some(0), Some(200))
    );
    // With a Prometheus, what the limits allow at present counts too.
    let followed = scaled(renderer, "everything", "default");
    assert_eq!(word(field(&followed, "spec.advanced.scalingModifiers.formula")), "min(queue, capacity)");
    let query = word(field(&items(field(&followed, "spec.triggers"))[1], "metadata.query")).trim().to_owned();
    assert_eq!(
        query,
        r#"256 * (min(regatta_llm_pool_factor{namespace="evaluations",endpoint="openai"}) or vector(1))"#
    );
}
