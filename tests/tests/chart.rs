//! The Helm chart: every value set renders, what comes of it is valid and keeps the rules of a careful cluster, rules fire when they should,
//! and nothing names a command, a variable or a metric that does not exist.
//!
//! Runs where a renderer, a Python and Prometheus's tools can be had; says so where they cannot.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use regatta_tests::regatta::{binary, skipped, workspace};
use serde::Deserialize;
use serde_yaml_ng::Value;

/// Oldest version that the chart takes, one between, and the newest that the schemas are known of.
const KUBERNETES: [&str; 3] = ["1.30", "1.33", "1.36"];

fn chart() -> PathBuf {
    workspace().join("helm/regatta")
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", text(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// A program that renders charts as `helm template` does: `$REGATTA_HELM_RENDER`, or built from its source in `shared` beside the workspace.
fn renderer(test: &str) -> Option<&'static Path> {
    static RENDERER: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let found = RENDERER.get_or_init(|| {
        if let Some(given) = std::env::var_os("REGATTA_HELM_RENDER") {
            return Ok(PathBuf::from(given));
        }
        let source = workspace().join("../shared/tools/helm-render");
        if !source.join("main.go").is_file() {
            return Err("no renderer of Helm charts; set REGATTA_HELM_RENDER to one".to_owned());
        }
        let built = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("helm-render");
        let mut go = Command::new("go");
        go.env("GO111MODULE", "off").env("GOPATH", "/usr/share/gocode").current_dir(&source);
        let built_ok = go.args(["build", "-o"]).arg(&built).arg(".").output();
        match built_ok {
            Ok(output) if output.status.success() => Ok(built),
            Ok(output) => Err(format!("the renderer does not build: {}", text(&output))),
            Err(error) => Err(format!("the renderer is built with go, which is missing: {error}")),
        }
    });
    match found {
        Ok(path) => Some(path),
        Err(why) => {
            skipped(test, why);
            None
        }
    }
}

/// A Python with Kubernetes' schemas.
fn python(test: &str) -> Option<PathBuf> {
    let found = Command::new(workspace().join("tests/fixtures/kubernetes.sh")).output().unwrap();
    if found.status.success() {
        return Some(String::from_utf8(found.stdout).unwrap().trim().into());
    }
    skipped(test, &text(&found));
    None
}

fn promtool(test: &str) -> Option<Command> {
    if Command::new("promtool").arg("--version").output().is_ok() {
        return Some(Command::new("promtool"));
    }
    skipped(test, "promtool is missing; install Debian's package prometheus");
    None
}

fn value_sets() -> Vec<PathBuf> {
    let mut sets: Vec<PathBuf> =
        std::fs::read_dir(workspace().join("helm/tests/values")).unwrap().map(|entry| entry.unwrap().path()).collect();
    sets.sort();
    assert!(sets.len() >= 10, "{sets:?}");
    sets
}

fn render(renderer: &Path, values: &Path) -> String {
    succeeds(
        Command::new(renderer)
            .args(["--release", "nightly", "--namespace", "evaluations", "-f"])
            .arg(values)
            .arg(chart()),
    )
}

fn documents(rendered: &str) -> Vec<Value> {
    serde_yaml_ng::Deserializer::from_str(rendered).map(|document| Value::deserialize(document).unwrap()).collect()
}

/// All objects of all value sets, with the set's name.
fn all(renderer: &Path) -> Vec<(String, Value)> {
    let of = |set: &PathBuf| {
        let name = set.file_stem().unwrap().to_string_lossy().into_owned();
        documents(&render(renderer, set)).into_iter().map(move |object| (name.clone(), object)).collect::<Vec<_>>()
    };
    value_sets().iter().flat_map(of).collect()
}

fn field<'v>(value: &'v Value, path: &str) -> &'v Value {
    path.split('.').fold(value, |value, key| value.get(key).unwrap_or(&Value::Null))
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn items(value: &Value) -> &[Value] {
    value.as_sequence().map_or(&[], Vec::as_slice)
}

/// A help is wrapped to the width of a terminal.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn kind(object: &Value) -> &str {
    word(field(object, "kind"))
}

/// The spec of the pods that an object makes.
fn pod(object: &Value) -> Option<&Value> {
    let path = match kind(object) {
        "Pod" => "spec",
        "Deployment" | "Job" => "spec.template.spec",
        "CronJob" => "spec.jobTemplate.spec.template.spec",
        _ => return None,
    };
    Some(field(object, path))
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    items(field(pod, "containers")).iter().chain(items(field(pod, "initContainers")))
}

#[test]
fn what_is_written_by_scripts_is_up_to_date() {
    let Some(python) = python("chart") else { return };
    for script in ["helm/tools/readme.py", "helm/tools/schema.py", "helm/tools/dashboards.py"] {
        succeeds(Command::new(&python).arg(workspace().join(script)).arg("--check"));
    }
}

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
        ("sweeps: { nightly: { schedule: '0 2 * * *' } }", "'spec' is a required property"),
        ("coordinator: { replicas: 0 }", "coordinator.replicas"),
        ("scorer: { resources: { requests: {} } }", "'limits' is a required property"),
    ] {
        // What the defaults have, a value that is merged cannot take away.
        let values = values.replace("requests: {} }", "requests: {}, limits: null }");
        let path = folder.path().join("values.yaml");
        std::fs::write(&path, &values).unwrap();
        let check = workspace().join("tests/fixtures/chart.py");
        let why = succeeds(Command::new(&python).arg(check).arg("refused").arg(chart()).arg(&path));
        assert!(why.contains(said), "{values}: {why}");
    }
}

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
    let of_set = |set: &str| documents(&render(renderer, &workspace().join(format!("helm/tests/values/{set}.yaml"))));
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

/// Objects of the pools whose agents run in pods.
fn with_agents(renderer: &Path) -> Vec<Value> {
    documents(&render(renderer, &workspace().join("helm/tests/values/agent-pods.yaml")))
}

fn named<'o>(objects: &'o [Value], kind_: &str, name: &str) -> &'o Value {
    objects.iter().find(|one| kind(one) == kind_ && word(field(one, "metadata.name")) == name).unwrap()
}

#[test]
fn a_worker_whose_agents_run_in_pods_may_make_pods_in_their_namespace_and_nothing_else() {
    let Some(renderer) = renderer("chart") else { return };
    let objects = with_agents(renderer);
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
    let objects = with_agents(renderer);
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
        command.arg(workspace().join("helm/tests/values/agent-pods.yaml"));
        let set = format!("worker.pools.agents.agentPods.namespace={namespace}");
        let output = command.args(["--set", &set]).arg(chart()).output().unwrap();
        assert!(!output.status.success() && text(&output).contains(said), "{namespace}: {}", text(&output));
    }
}

#[test]
fn certificates_of_agents_that_have_none_are_not_asked_for() {
    let Some(renderer) = renderer("chart") else { return };
    let mut command = Command::new(renderer);
    command.arg("-f").arg(workspace().join("helm/tests/values/agent-pods.yaml"));
    let output =
        command.args(["--set", "worker.defaults.bridge.tls.clientCa.secret=ca"]).arg(chart()).output().unwrap();
    assert!(!output.status.success());
    assert!(text(&output).contains("agents in pods have no certificates to show"), "{}", text(&output));
}

#[test]
fn over_tls_clients_trust_the_api_and_probes_and_scrapes_need_no_certificate() {
    let Some(renderer) = renderer("chart") else { return };
    let objects = documents(&render(renderer, &workspace().join("helm/tests/values/tls.yaml")));
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
    assert_eq!((port("https"), variable(container, "REGATTA_LISTEN").unwrap().as_str()), (8080, "[::]:8080"));
    // Probes ask the port `http`, which is that of the metrics.
    assert_eq!((port("http"), variable(container, "REGATTA_METRICS").unwrap().as_str()), (8081, "[::]:8081"));
    let service = named(&objects, "Service", "nightly-regatta-coordinator");
    assert_eq!(
        items(field(service, "spec.ports")).iter().map(|one| word(field(one, "targetPort"))).collect::<Vec<_>>(),
        ["https"]
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

#[test]
fn a_pool_never_has_more_pods_than_its_endpoints_keep_busy() {
    let Some(renderer) = renderer("chart") else { return };
    let scaled = |set: &str, pool: &str| {
        let objects = documents(&render(renderer, &workspace().join(format!("helm/tests/values/{set}.yaml"))));
        let name = format!("nightly-regatta-worker-{pool}");
        let is_it = |one: &Value| kind(one) == "ScaledObject" && word(field(one, "metadata.name")) == name;
        objects.into_iter().find(is_it).unwrap()
    };
    // 130 calls at once over 50 sessions a pod, of at most 40 pods.
    let openai = scaled("several-pools", "openai");
    assert_eq!(field(&openai, "spec.maxReplicaCount").as_u64(), Some(3));
    let queue = &items(field(&openai, "spec.triggers"))[0];
    assert_eq!(word(field(queue, "metadata.queueName")), "^regatta[.]jobs[.].*[.](azure|openai)$");
    // All endpoints: as many as were allowed, from none.
    let all = scaled("scale-to-zero", "default");
    assert_eq!(
        (field(&all, "spec.minReplicaCount").as_u64(), field(&all, "spec.maxReplicaCount").as_u64()),
        (Some(0), Some(200))
    );
    // With a Prometheus, what the limits allow at present counts too.
    let followed = scaled("everything", "default");
    assert_eq!(word(field(&followed, "spec.advanced.scalingModifiers.formula")), "min(queue, capacity)");
    let query = word(field(&items(field(&followed, "spec.triggers"))[1], "metadata.query")).trim().to_owned();
    assert_eq!(
        query,
        r#"256 * (min(regatta_llm_pool_factor{namespace="evaluations",endpoint="openai"}) or vector(1))"#
    );
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
        let objects = documents(&render(renderer, &workspace().join(format!("helm/tests/values/{set}.yaml"))));
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

/// Names of metrics in a text, without what a histogram's series end in.
fn metrics(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let names = text.split(|c: char| !is_part(c)).filter(|name| name.starts_with("regatta_"));
    names
        .map(|name| {
            ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name).to_owned()
        })
        .collect()
}

#[test]
fn every_metric_in_rules_and_dashboards_is_documented() {
    let documented = metrics(&std::fs::read_to_string(workspace().join("docs/metrics.md")).unwrap());
    assert!(documented.len() > 30);
    let mut places =
        vec![chart().join("files/rules.yaml"), chart().join("values.yaml"), chart().join("templates/autoscaling.yaml")];
    places.extend(std::fs::read_dir(chart().join("dashboards")).unwrap().map(|entry| entry.unwrap().path()));
    assert_eq!(places.len(), 7);
    for place in places {
        let used = metrics(&std::fs::read_to_string(&place).unwrap());
        let unknown: Vec<_> = used.difference(&documented).collect();
        assert!(!used.is_empty() && unknown.is_empty(), "{}: {unknown:?}", place.display());
    }
}

/// Alerts of a file of rules.
fn alerts(rules: &Value) -> BTreeSet<String> {
    let groups = items(field(rules, "groups"));
    let rules = groups.iter().flat_map(|group| items(field(group, "rules")));
    rules.map(|rule| word(field(rule, "alert")).to_owned()).filter(|name| !name.is_empty()).collect()
}

fn rules() -> Value {
    serde_yaml_ng::from_str(&std::fs::read_to_string(chart().join("files/rules.yaml")).unwrap()).unwrap()
}

#[test]
fn every_alert_has_a_runbook_and_every_runbook_an_alert() {
    let pages = std::fs::read_dir(workspace().join("docs/runbooks")).unwrap();
    let pages: BTreeSet<String> =
        pages.map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(alerts(&rules()), pages);
    let groups = rules();
    for rule in items(field(&groups, "groups")).iter().flat_map(|group| items(field(group, "rules"))) {
        let alert = word(field(rule, "alert"));
        assert!(alert.is_empty() || word(field(rule, "annotations.runbook")) == format!("{alert}.md"), "{alert}");
    }
}

#[test]
fn rules_are_right_and_every_alert_is_tested_both_ways() {
    let Some(mut check) = promtool("chart") else { return };
    succeeds(check.args(["check", "rules"]).arg(chart().join("files/rules.yaml")));
    let cases = workspace().join("helm/tests/rules.yaml");
    succeeds(Command::new("promtool").args(["test", "rules"]).arg(&cases));
    let cases: Value = serde_yaml_ng::from_str(&std::fs::read_to_string(cases).unwrap()).unwrap();
    let fired = serde_yaml_ng::to_string(&cases).unwrap();
    for alert in alerts(&rules()) {
        assert!(fired.contains(&format!("alertname=\"{alert}\"")), "no test has {alert} fire");
    }
    let silent = items(field(&cases, "tests")).iter().filter(|case| {
        items(field(case, "promql_expr_test")).iter().all(|test| items(field(test, "exp_samples")).is_empty())
    });
    // A case in which nothing fires follows those in which an alert does.
    assert!(silent.count() >= alerts(&rules()).len());
}

#[test]
fn the_rules_that_the_chart_makes_are_right_too() {
    let (Some(renderer), Some(mut promtool)) = (renderer("chart"), promtool("chart")) else { return };
    let objects = documents(&render(renderer, &workspace().join("helm/tests/values/everything.yaml")));
    let made = objects.iter().find(|object| kind(object) == "PrometheusRule").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rules.yaml");
    std::fs::write(&path, serde_yaml_ng::to_string(field(made, "spec")).unwrap()).unwrap();
    succeeds(promtool.args(["check", "rules"]).arg(&path));
    let (made, written) = (field(made, "spec"), rules());
    let left_out: Vec<String> = alerts(&written).difference(&alerts(made)).cloned().collect();
    assert_eq!(left_out, ["RegattaUnpriced"]);
    let text = serde_yaml_ng::to_string(made).unwrap();
    assert!(text.contains("label_replace(vector(12.5), \"namespace\", \"evaluations\""), "{text}");
    assert!(text.contains("/docs/runbooks/RegattaBudget.md"), "{text}");
}

#[test]
fn a_hook_that_would_run_before_its_secret_is_refused() {
    let Some(renderer) = renderer("chart") else { return };
    let values = workspace().join("helm/tests/values/external-secrets.yaml");
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
    let values = workspace().join("helm/tests/values/sweeps.yaml");
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
        let values = workspace().join("helm/tests/values/sweeps.yaml");
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
