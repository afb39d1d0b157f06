//! The chart rendered, and fields of the objects that come of it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use regatta_tests::regatta::{skipped, workspace};
use serde::Deserialize;
use serde_yaml_ng::Value;

/// Oldest version that the chart takes, one between, and the newest that the schemas are known of.
pub(crate) const KUBERNETES: [&str; 3] = ["1.30", "1.33", "1.36"];

pub(crate) fn chart() -> PathBuf {
    workspace().join("helm/regatta")
}

pub(crate) fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

pub(crate) fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", text(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// A program that renders charts as `helm template` does: `$REGATTA_HELM_RENDER`, or built from its source in `shared` beside the workspace.
pub(crate) fn renderer(test: &str) -> Option<&'static Path> {
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
pub(crate) fn python(test: &str) -> Option<PathBuf> {
    let found = Command::new(workspace().join("tests/fixtures/kubernetes.sh")).output().unwrap();
    if found.status.success() {
        return Some(String::from_utf8(found.stdout).unwrap().trim().into());
    }
    skipped(test, &text(&found));
    None
}

pub(crate) fn promtool(test: &str) -> Option<Command> {
    if Command::new("promtool").arg("--version").output().is_ok() {
        return Some(Command::new("promtool"));
    }
    skipped(test, "promtool is missing; install Debian's package prometheus");
    None
}

pub(crate) fn value_sets() -> Vec<PathBuf> {
    let mut sets: Vec<PathBuf> =
        std::fs::read_dir(workspace().join("helm/tests/values")).unwrap().map(|entry| entry.unwrap().path()).collect();
    sets.sort();
    assert!(sets.len() >= 10, "{sets:?}");
    sets
}

pub(crate) fn render(renderer: &Path, values: &Path) -> String {
    succeeds(
        Command::new(renderer)
            .args(["--release", "nightly", "--namespace", "evaluations", "-f"])
            .arg(values)
            .arg(chart()),
    )
}

pub(crate) fn documents(rendered: &str) -> Vec<Value> {
    serde_yaml_ng::Deserializer::from_str(rendered).map(|document| Value::deserialize(document).unwrap()).collect()
}

/// File of the value set `name`.
pub(crate) fn value_set(name: &str) -> PathBuf {
    workspace().join("helm/tests/values").join(name).with_extension("yaml")
}

/// Objects that the chart makes of the value set `name`.
pub(crate) fn objects_of(renderer: &Path, name: &str) -> Vec<Value> {
    documents(&render(renderer, &value_set(name)))
}

/// All objects of all value sets, with the set's name.
pub(crate) fn all(renderer: &Path) -> Vec<(String, Value)> {
    let of = |set: &PathBuf| {
        let name = set.file_stem().unwrap().to_string_lossy().into_owned();
        documents(&render(renderer, set)).into_iter().map(move |object| (name.clone(), object)).collect::<Vec<_>>()
    };
    value_sets().iter().flat_map(of).collect()
}

pub(crate) fn field<'v>(value: &'v Value, path: &str) -> &'v Value {
    path.split('.').fold(value, |value, key| value.get(key).unwrap_or(&Value::Null))
}

pub(crate) fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_sequence().map_or(&[], Vec::as_slice)
}

pub(crate) fn kind(object: &Value) -> &str {
    word(field(object, "kind"))
}

/// The spec of the pods that an object makes.
pub(crate) fn pod(object: &Value) -> Option<&Value> {
    let path = match kind(object) {
        "Pod" => "spec",
        "Deployment" | "Job" => "spec.template.spec",
        "CronJob" => "spec.jobTemplate.spec.template.spec",
        _ => return None,
    };
    Some(field(object, path))
}

pub(crate) fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    items(field(pod, "containers")).iter().chain(items(field(pod, "initContainers")))
}

pub(crate) fn named<'o>(objects: &'o [Value], kind_: &str, name: &str) -> &'o Value {
    objects.iter().find(|one| kind(one) == kind_ && word(field(one, "metadata.name")) == name).unwrap()
}
