//! Private keys in use: a coordinator over TLS that asks for certificates, and a client that shows one.

use std::fs::File;

use regatta_tests::Deployment;
use regatta_tests::regatta::{Process, free_address};

use crate::Marked;
use crate::places::Place;

/// All that a second coordinator logs and a client says of `sweep`, once they have shown each other their certificates.
pub(crate) async fn over_tls(marked: &Marked, sweep: &str) -> Vec<Place> {
    let (api, metrics) = (free_address().await.unwrap(), free_address().await.unwrap());
    let mut command = marked.command("coordinator");
    command.args(["--listen", &api.to_string(), "--metrics-listen", &metrics.to_string()]);
    command.arg("--tls-cert").arg(&marked.server.certificate).arg("--tls-key").arg(&marked.server.key);
    command.arg("--tls-client-ca").arg(marked.authority.certificate());
    let kinds = ["out", "err"].map(|kind| marked.log("coordinator-over-tls", kind));
    let [out, err] = kinds.each_ref().map(|log| File::create(log).unwrap());
    command.stdout(out).stderr(err);
    let coordinator = Process::start_until_ready(command, metrics).await.unwrap();
    let address = format!("https://localhost:{}", api.port());
    let ca = marked.authority.certificate().display().to_string();
    let arguments = ["status", sweep, "--json", "--coordinator", address.as_str(), "--ca", ca.as_str()];
    let (status, said) = marked.say(Deployment::TOKEN, &arguments).await;
    assert!(status.contains("plain-answer"), "{}", said.text);
    coordinator.terminate().await.unwrap();
    let logs = kinds.map(|log| Place::of("log of a coordinator over TLS", &std::fs::read(log).unwrap()));
    assert!(logs.iter().any(|log| log.text.contains("coordinating")), "it logs what it does");
    logs.into_iter().chain([said]).collect()
}
