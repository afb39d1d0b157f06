//! The command by which the Python helper has a world in a pod of Kubernetes.

use super::*;

const SHOWN: &str = r#"
import json
from regatta.benchmark import pod
words = pod(
    "registry.example.com/world@sha256:0a1b", ["serve", "--price", "$(HOME)"], namespace="worlds", kubeconfig="/etc/regatta/worlds.kubeconfig",
    env={"SEED": 7, "TEXT": "a $b"}, labels={"regatta/pool": "mine"}, name="regatta-world-1",
)
*words, overrides = words
print(*words, json.dumps(json.loads(overrides), indent=2), sep="\n")
assert pod("image")[1:2] == ["run"] and pod("image")[2] != pod("image")[2]
"#;

#[test]
fn a_world_in_a_pod_has_no_account_no_rights_and_no_files_to_write() {
    if !has("python3") {
        return;
    }
    let package = examples().join("../python");
    let output = Command::new("python3").args(["-B", "-c", SHOWN]).env("PYTHONPATH", package).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    insta::assert_snapshot!(String::from_utf8(output.stdout).unwrap());
}

#[test]
fn kubernetes_takes_the_pod_of_a_world_strictly() {
    const STRICTLY: &str = r#"
import json, sys, kubernetes_validate
from regatta.benchmark import pod
described = json.loads(pod("image", ["serve"], env={"SEED": 7}, labels={"regatta/pool": "mine"})[-1])
for version in ["1.30", "1.33", "1.36"]:
    kubernetes_validate.validate({**described, "kind": "Pod"}, version, strict=True)
"#;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/kubernetes.sh");
    let found = Command::new(script).output().unwrap();
    if !found.status.success() {
        println!("skipped: there are no schemas of Kubernetes");
        return;
    }
    let python = String::from_utf8(found.stdout).unwrap();
    let package = examples().join("../python");
    let mut strictly = Command::new(python.trim());
    let output = strictly.args(["-B", "-c", STRICTLY]).env("PYTHONPATH", package).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
