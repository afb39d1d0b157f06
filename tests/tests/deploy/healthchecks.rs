//! Healthchecks of the compose files, run word for word against real servers. Servers of tests have ports of their own, which the programs
//! that ask are told by their usual settings: variables, and curl's `connect-to`.

use std::path::{Path, PathBuf};

use regatta_tests::regatta::{Process, finish, free_address, program, regatta, skipped, workspace};
use regatta_tests::{Deployment, HarnessError, Postgres, RabbitMq, S3Server};
use serde_yaml_ng::Value;
use tokio::net::TcpListener;

use crate::{compose, words};

/// Healthcheck of a service, which a compose file has.
fn check_of(compose: &Value, service: &str) -> Vec<String> {
    words(&compose["services"][service]["healthcheck"]["test"])
}

/// Healthcheck of a store, which is the same in both compose files.
fn check_of_store(service: &str) -> Vec<String> {
    let check = check_of(&compose("compose.yaml"), service);
    assert_eq!(check, check_of(&compose("services.yaml"), service), "{service}");
    check
}

/// Program and arguments of a healthcheck that is run without a shell.
fn command_of(check: &[String]) -> (&str, &[String]) {
    let [kind, program, arguments @ ..] = check else { unreachable!("no command: {check:?}") };
    assert_eq!(kind, "CMD", "{check:?}");
    (program.as_str(), arguments)
}

/// A server of our own; `None`, with a sentence, where its programs are not installed, as where the environment names a server.
pub(crate) fn installed<T>(started: Result<T, HarnessError>) -> Option<T> {
    if let Err(missing @ HarnessError::NotInstalled { .. }) = &started {
        skipped("healthchecks", &missing.to_string());
        return None;
    }
    Some(started.unwrap())
}

/// The first program of this name on the `PATH`.
fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|place| place.is_file())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_is_healthy_until_it_dies() {
    let Some(rabbitmq) = installed(RabbitMq::start().await) else { return };
    let check = check_of_store("rabbitmq");
    let (tool, arguments) = command_of(&check);
    let asked = rabbitmq.run_tool(tool, arguments).await.unwrap();
    assert!(asked.status.success(), "{asked:?}");

    rabbitmq.kill().await.unwrap();
    let asked = rabbitmq.run_tool(tool, arguments).await.unwrap();
    assert!(!asked.status.success(), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_is_healthy_until_it_dies() {
    let Some(postgres) = installed(Postgres::start().await) else { return };
    let check = check_of_store("postgres");
    let (name, arguments) = command_of(&check);
    let ask = async || {
        let mut command = postgres.client(name).unwrap();
        command.args(arguments);
        finish(command).await.unwrap()
    };
    let asked = ask().await;
    assert!(asked.status.success(), "{asked:?}");

    postgres.kill().await.unwrap();
    let asked = ask().await;
    assert!(!asked.status.success(), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_store_is_healthy_where_it_listens_and_nowhere_else() {
    let Some(curl) = on_path("curl") else { return skipped("healthchecks", "curl is missing") };
    let check = check_of_store("s3");
    let [kind, line] = &check[..] else { unreachable!("no line of a shell: {check:?}") };
    assert_eq!(kind, "CMD-SHELL");
    let server = S3Server::start().await.unwrap();
    // The shell finds no other program than curl: `mc` of a developer's machine may be something else.
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(curl, folder.path().join("curl")).unwrap();
    let ask = async |address: &str| {
        let settings = format!("connect-to = \"127.0.0.1:9000:{address}\"\n");
        std::fs::write(folder.path().join(".curlrc"), settings).unwrap();
        let mut shell = program(Path::new("/bin/sh"));
        shell.args(["-c", line.as_str()]).env("PATH", folder.path()).env("CURL_HOME", folder.path());
        finish(shell).await.unwrap()
    };
    let asked = ask(server.config().endpoint_url.trim_start_matches("http://")).await;
    assert!(asked.status.success(), "{asked:?}");

    let nobody = free_address().await.unwrap().to_string();
    let asked = ask(&nobody).await;
    assert!(!asked.status.success(), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_is_healthy_where_it_listens_and_nowhere_else() {
    let compose = compose("compose.yaml");
    let deployment = Deployment::new().await.unwrap();
    for service in ["coordinator", "standby", "worker", "scorer"] {
        let (check, variables) = (check_of(&compose, service), &compose["services"][service]["environment"]);
        let (_, arguments) = command_of(&check);
        let address = free_address().await.unwrap();
        let listen = variables["REGATTA_LISTEN"].as_str().unwrap().replace(":8080", &format!(":{}", address.port()));
        let ask = async || {
            let mut health = regatta().unwrap();
            health.args(arguments).env("REGATTA_LISTEN", &listen);
            finish(health).await.unwrap()
        };
        let asked = ask().await;
        assert!(!asked.status.success(), "{service}: {asked:?}");

        let role = words(&compose["services"][service]["command"]).remove(0);
        let mut command = deployment.role_at(&role, address).unwrap();
        if !variables["REGATTA_METRICS"].is_null() {
            command.env("REGATTA_METRICS", free_address().await.unwrap().to_string());
        }
        let _process = Process::start_until_ready(command, address).await.unwrap();
        let asked = ask().await;
        assert!(asked.status.success(), "{service}: {asked:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_simulator_is_healthy_at_the_port_that_it_is_given() {
    let compose = compose("compose.yaml");
    let check = check_of(&compose, "simulator");
    let (_, arguments) = command_of(&check);
    let address = arguments.iter().find_map(|argument| argument.strip_prefix("--address=")).unwrap();
    // Its address is a word of the command, so it is the one address that will do.
    if TcpListener::bind(address).await.is_err() {
        return skipped(
            "healthchecks",
            &format!("somebody else listens at {address}, the simulator's in the compose file"),
        );
    }
    let ask = async || {
        let mut health = regatta().unwrap();
        health.args(arguments);
        finish(health).await.unwrap()
    };
    let asked = ask().await;
    assert!(!asked.status.success(), "{asked:?}");

    let examples = workspace().join("examples").display().to_string();
    let mut simulator = regatta().unwrap();
    for word in words(&compose["services"]["simulator"]["command"]) {
        simulator.arg(word.replace("/usr/share/regatta/examples", &examples).replace("0.0.0.0", "127.0.0.1"));
    }
    let _process = Process::start_and_probe(simulator, address.parse().unwrap()).await.unwrap();
    let asked = ask().await;
    assert!(asked.status.success(), "{asked:?}");
}
