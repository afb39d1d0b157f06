//! Agents in pods of their own: rights of the workers that make them, networks, namespaces, certificates.

use std::process::Command;

use serde_yaml_ng::Value;

use crate::rendering::{chart, field, items, kind, named, objects_of, renderer, text, value_set, word};

#[test]
fn a_worker_whose_agents_run_in_pods_may_make_pods_in_their_namespace_and_nothing_else() {
    let Some(renderer) = renderer("chart") else { return };
    let objects = objects_of(renderer, "agent-pods");
    let roles: Vec<&Value> = objects.iter().filter(|one| kind(one) == "Role").collect();
    assert_eq!(roles.len(), 2);
    for role in roles {
        let name = word(field(role, "metadata.name"));
        let rights = items(field(role, "rules")).iter().map(|rule| {
            let words = |key: &str| items(field(rule, key)).iter().map(word).collect::<Vec<_>>().join(",");
            format!("{}: {}", words("resources"), words("verbs"))
        });
        let rights: Vec<String> = rights.collect();
        assert_eq!(rights, ["pods: create,get,list,delete", "pods/log: get", "secrets: create"]);
        let binding = named(&objects, "RoleBinding", name);
        assert_eq!(
            (field(role, "metadata.namespace"), word(field(binding, "roleRef.name"))),
            (field(binding, "metadata.namespace"), name)
        );
        let subject = &items(field(binding, "subjects"))[0];
        let deployment = named(&objects, "Deployment", name);
        assert_eq!(field(subject, "name"), field(deployment, "spec.template.spec.serviceAccountName"));
        assert_eq!(
            (word(field(subject, "namespace")), word(field(role, "metadata.namespace"))),
            ("evaluations", "agents")
        );
    }
    let plain = serde_yaml_ng::to_string(named(&objects, "Deployment", "nightly-regatta-worker-default")).unwrap();
    assert!(!plain.contains("serviceAccountToken:") && !plain.contains("REGATTA_BRIDGE"), "{plain}");
    let namespaces: Vec<&Value> = objects.iter().filter(|one| kind(one) == "Namespace").collect();
    assert_eq!(namespaces.len(), 1, "pools share it");
    let level = namespaces[0].get("metadata").unwrap()["labels"].get("pod-security.kubernetes.io/enforce");
    assert_eq!(level.map(word), Some("restricted"));
}

#[test]
fn agents_in_pods_reach_the_bridge_of_their_pool_and_nothing_reaches_them() {
    let Some(renderer) = renderer("chart") else { return };
    let objects = objects_of(renderer, "agent-pods");
    for (pool, port, rules) in [("agents", 7070, 1), ("sandboxed", 7171, 2)] {
        let worker = format!("nightly-regatta-worker-{pool}");
        let policy = named(&objects, "NetworkPolicy", &format!("{worker}-agents"));
        assert!(items(field(policy, "spec.ingress")).is_empty());
        assert_eq!(field(policy, "spec.policyTypes").as_sequence().map(Vec::len), Some(2));
        let out = items(field(policy, "spec.egress"));
        assert_eq!(out.len(), rules, "{pool}");
        let (to, ports) = (&items(field(&out[0], "to"))[0], items(field(&out[0], "ports")));
        let deployment = named(&objects, "Deployment", &worker);
        assert_eq!(field(to, "podSelector.matchLabels"), field(deployment, "spec.selector.matchLabels"));
        assert_eq!((ports.len(), field(&ports[0], "port").as_u64()), (1, Some(port)));
        // The worker gives its pods the labels by which this policy selects them, and lets them in.
        let written =
            word(field(named(&objects, "ConfigMap", &format!("{worker}-policy")), "data").get("policy.yaml").unwrap());
        let written: Value = serde_yaml_ng::from_str(written).unwrap();
        let mut labels = field(&written, "containers.pods.labels").as_mapping().unwrap().clone();
        labels.insert("regatta/role".into(), "agent".into());
        assert_eq!(Some(&labels), field(policy, "spec.podSelector.matchLabels").as_mapping());
        assert_eq!(word(field(&written, "containers.engine")), "kubernetes");
        assert!(!field(&written, "agents.boxed").is_null(), "what all workers may do is there too");
        let lets_in = items(field(named(&objects, "NetworkPolicy", &worker), "spec.ingress")).last().unwrap();
        let from = &items(field(lets_in, "from"))[0];
        assert_eq!(field(from, "podSelector.matchLabels").as_mapping(), Some(&labels));
        assert_eq!(field(&items(field(lets_in, "ports"))[0], "port").as_u64(), Some(port));
    }
}

#[test]
fn agents_in_the_namespace_of_the_release_are_refused() {
    let Some(renderer) = renderer("chart") else { return };
    for (namespace, said) in [("evaluations", "is the release's"), ("", "name a namespace for the agents")] {
        let mut command = Command::new(renderer);
        command.args(["--release", "nightly", "--namespace", "evaluations", "-f"]);
        command.arg(value_set("agent-pods"));
        let set = format!("worker.pools.agents.agentPods.namespace={namespace}");
        let output = command.args(["--set", &set]).arg(chart()).output().unwrap();
        assert!(!output.status.success() && text(&output).contains(said), "{namespace}: {}", text(&output));
    }
}

#[test]
fn certificates_of_agents_that_have_none_are_not_asked_for() {
    let Some(renderer) = renderer("chart") else { return };
    let mut command = Command::new(renderer);
    command.arg("-f").arg(value_set("agent-pods"));
    let output =
        command.args(["--set", "worker.defaults.bridge.tls.clientCa.secret=ca"]).arg(chart()).output().unwrap();
    assert!(!output.status.success());
    assert!(text(&output).contains("agents in pods have no certificates to show"), "{}", text(&output));
}
