//! The crash certificate in short: a deployment is killed in parts, and nothing is lost, paid twice or changed.

use regatta_tests::regatta::{finish, regatta};
use serde_json::Value;

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_that_is_killed_in_parts_gets_its_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = regatta().unwrap();
    command.args([
        "certify",
        "--seed",
        "2",
        "--faults",
        "3",
        "--trials",
        "2",
        "--only",
        "kill-worker,kill-leader,kill-broker",
    ]);
    command.arg("--output").arg(folder.path());
    let output = finish(command).await.unwrap();
    let told = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{told}");
    let certificate = std::fs::read(folder.path().join("certificate.json")).unwrap();
    let certificate: Value = serde_json::from_slice(&certificate).unwrap();
    let faults = certificate["seeds"][0]["faults"].as_array().unwrap();
    assert_eq!(faults.len(), 3, "{told}");
    assert!(certificate["sessions"].as_u64().unwrap() > 100, "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_fault_is_refused_with_the_known_ones() {
    let mut command = regatta().unwrap();
    command.args(["certify", "--only", "earthquake"]);
    let output = finish(command).await.unwrap();
    assert_eq!(output.status.code(), Some(78));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("unknown fault \"earthquake\"") && said.contains("kill-worker"), "{said}");
}
