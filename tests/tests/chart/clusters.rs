//! Clusters that lack KEDA, Prometheus's operator or public certificates; and what people are told once a release is there.

use std::path::Path;
use std::process::Command;

use serde_yaml_ng::Value;

use crate::rendering::{
    chart, containers, field, items, kind, named, objects_of, pod, renderer, text, value_sets, word,
};

/// Objects of the value set `name` whose kinds are not Kubernetes' own but of this group.
fn of_group<'o>(objects: &'o [Value], group: &str) -> Vec<&'o str> {
    let is_of_group = |object: &&Value| word(field(object, "apiVersion")).starts_with(&format!("{group}/"));
    objects.iter().filter(is_of_group).map(kind).collect()
}

#[test]
fn a_cluster_without_prometheus_operator_gets_none_of_its_objects_and_no_dashboard() {
    let Some(renderer) = renderer("chart") else { return };
    let objects = objects_of(renderer, "no-monitoring");
    assert!(of_group(&objects, "monitoring.coreos.com").is_empty());
    let dashboards = |objects: &[Value]| {
        let names = objects.iter().filter(|one| kind(one) == "ConfigMap").map(|one| word(field(one, "metadata.name")));
        names.filter(|name| name.contains("-dashboard-")).count()
    };
    assert_eq!(dashboards(&objects), 0);
    let everything = objects_of(renderer, "everything");
    assert_eq!(of_group(&everything, "monitoring.coreos.com").len(), 3);
    assert_eq!(dashboards(&everything), 4);
}

#[test]
fn a_cluster_without_keda_scales_each_pool_by_its_own_sessions_of_this_namespace() {
    let Some(renderer) = renderer("chart") else { return };
    let objects = objects_of(renderer, "hpa");
    assert!(of_group(&objects, "keda.sh").is_empty());
    let metric = |pool: &str| {
        let scaler = named(&objects, "HorizontalPodAutoscaler", &format!("nightly-regatta-worker-{pool}"));
        assert_eq!(field(scaler, "spec.minReplicas").as_u64(), Some(1), "{pool}: it does not know none");
        let metrics = items(field(scaler, "spec.metrics"));
        assert_eq!(metrics.len(), 1, "{pool}");
        let metric = field(&metrics[0], "external.metric");
        assert_eq!(word(field(metric, "name")), "window_sessions_by_endpoint");
        assert_eq!(word(field(metric, "selector.matchLabels.namespace")), "evaluations", "{pool}");
        items(field(metric, "selector.matchExpressions")).to_vec()
    };
    let judges = metric("judges");
    let endpoints: Vec<&str> = items(field(&judges[0], "values")).iter().map(word).collect();
    assert_eq!((word(field(&judges[0], "key")), word(field(&judges[0], "operator"))), ("endpoint", "In"));
    assert_eq!((judges.len(), endpoints), (1, vec!["azure", "minilm"]));
    assert!(metric("default").is_empty(), "it serves all endpoints");
}

#[test]
fn where_certificates_are_of_an_authority_of_ones_own_every_container_has_it() {
    let Some(renderer) = renderer("chart") else { return };
    let objects = objects_of(renderer, "private-ca");
    let pods: Vec<&Value> = objects.iter().filter_map(pod).collect();
    assert!(pods.len() >= 4, "{}", pods.len());
    for pod in pods {
        let bundle = items(field(pod, "volumes"))
            .iter()
            .find(|volume| word(field(volume, "configMap.name")) == "company-authorities");
        let volume = word(field(bundle.unwrap(), "name"));
        for container in containers(pod) {
            let file = items(field(container, "env")).iter().find(|one| word(field(one, "name")) == "SSL_CERT_FILE");
            let file = word(field(file.unwrap(), "value"));
            let mounts = items(field(container, "volumeMounts"));
            let mount = mounts.iter().find(|mount| word(field(mount, "name")) == volume).unwrap();
            assert_eq!(file, format!("{}/bundle.pem", word(field(mount, "mountPath"))));
        }
    }
}

/// The notes that `helm install` ends with.
fn notes(renderer: &Path, set: &Path) -> String {
    let mut command = Command::new(renderer);
    command.args(["--notes", "--release", "nightly", "--namespace", "evaluations", "-f"]).arg(set).arg(chart());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn notes_name_the_service_the_token_and_what_is_still_open() {
    let Some(renderer) = renderer("chart") else { return };
    for path in value_sets() {
        let set = path.file_stem().unwrap().to_str().unwrap();
        let (notes, objects) = (notes(renderer, &path), objects_of(renderer, set));
        let coordinator = objects
            .iter()
            .find(|object| kind(object) == "Service" && word(field(object, "metadata.name")).ends_with("-coordinator"));
        let (service, port) = (
            word(field(coordinator.unwrap(), "metadata.name")),
            field(&items(field(coordinator.unwrap(), "spec.ports"))[0], "port").as_u64().unwrap(),
        );
        let forward = format!("kubectl --namespace evaluations port-forward service/{service} 8080:{port}");
        assert!(notes.contains(&forward), "{set}: {notes}");
        let deployment = named(&objects, "Deployment", service);
        let variables = items(field(&items(field(pod(deployment).unwrap(), "containers"))[0], "env"));
        let token = variables.iter().find(|one| word(field(one, "name")) == "REGATTA_TOKEN").unwrap();
        let secret = word(field(token, "valueFrom.secretKeyRef.name"));
        assert!(notes.contains(&format!("REGATTA_TOKEN, from the secret {secret}.")), "{set}: {notes}");
        let has_smoke = objects.iter().any(|object| kind(object) == "Pod");
        assert_eq!(notes.contains("    helm test nightly --namespace evaluations --logs"), has_smoke, "{set}: {notes}");
        assert_eq!(notes.contains("The API is plain HTTP"), set != "tls", "{set}: {notes}");
        let has_policies = objects.iter().any(|object| {
            kind(object) == "NetworkPolicy" && word(field(object, "metadata.name")).ends_with("-coordinator")
        });
        assert_eq!(notes.contains("Network policies are off"), !has_policies, "{set}: {notes}");
        let replicas = field(deployment, "spec.replicas").as_u64().unwrap();
        let said = if replicas == 1 { "One coordinator: ".to_owned() } else { format!("{replicas} coordinators: ") };
        assert!(notes.contains(&said), "{set}: {notes}");
    }
}
