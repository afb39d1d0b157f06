//! Roles say whether they are ready, and wait for what is away.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::net::SocketAddr;

use regatta_tests::deployment_roles::connect;
use regatta_tests::regatta::{Process, finish, free_address, get_text, ready};
use regatta_tests::waiting::until;
use regatta_tests::{Deployment, Proxy, Traffic};

/// Starts a role that may lack something, and waits until it says anything.
async fn start(deployment: &Deployment, role: &str, variables: &[(&str, &str)]) -> (Process, SocketAddr) {
    let address = free_address().await.unwrap();
    let mut command = deployment.command(role).unwrap();
    command.args(["--listen", &address.to_string()]).envs(variables.iter().copied());
    (Process::start_and_probe(command, address).await.unwrap(), address)
}

/// Waits until the role at `address` says something about its readiness that has `words` in it.
async fn wait_until_it_says(address: SocketAddr, words: &str) -> bool {
    let says = until(format!("{words} at /readyz"), async || {
        let (is_ready, said) = ready(address).await.unwrap();
        if said.contains(words) { Ok(is_ready) } else { Err(said) }
    });
    says.await.unwrap()
}

async fn wait_until_it_is_ready(address: SocketAddr) {
    let is_ready = until("a role that is ready", async || {
        let (is_ready, said) = ready(address).await.unwrap();
        if is_ready { Ok(()) } else { Err(said) }
    });
    is_ready.await.unwrap();
}

async fn health(deployment: &Deployment, address: SocketAddr, more: &[&str]) -> (Option<i32>, String) {
    let mut command = deployment.command("health").unwrap();
    command.args(["--address", &address.to_string()]).args(more);
    let output = finish(command).await.unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_wait_until_the_owner_has_migrated_the_database_and_granted_them_their_rights() {
    let deployment = Deployment::unmigrated().await.unwrap();
    let mut roles = Vec::new();
    for role in ["coordinator", "worker", "scorer"] {
        roles.push(start(&deployment, role, &[]).await);
    }
    for (_, address) in &roles {
        assert!(!wait_until_it_says(*address, "run `regatta migrate`").await);
        let (code, said) = health(&deployment, *address, &[]).await;
        assert_eq!(code, Some(1));
        assert!(said.contains("503") && said.contains("waiting for PostgreSQL"), "{said}");
        assert_eq!(health(&deployment, *address, &["--alive"]).await.0, Some(0));
    }
    for _ in 0..2 {
        assert_eq!(deployment.run(&["migrate"]).await.unwrap().status.code(), Some(0));
    }
    for (_, address) in &roles {
        assert!(!wait_until_it_says(*address, "_version); run `deploy/postgres-roles.sql`").await);
    }
    assert!(deployment.grant_by_psql().await.unwrap().status.success());
    for (_, address) in &roles {
        wait_until_it_is_ready(*address).await;
        assert_eq!(health(&deployment, *address, &[]).await.0, Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coordinator_that_lacks_a_right_in_the_database_is_not_ready_until_it_is_granted() {
    let deployment = Deployment::new().await.unwrap();
    let owner = connect(deployment.database_url()).await.unwrap();
    let (_process, address) = start(&deployment, "coordinator", &[]).await;
    wait_until_it_is_ready(address).await;
    owner.batch_execute("REVOKE INSERT, DELETE ON stored_uses FROM regatta_coordinator").await.unwrap();
    assert!(!wait_until_it_says(address, "(INSERT on stored_uses, DELETE on stored_uses); run `deploy/").await);
    owner.batch_execute("GRANT INSERT, DELETE ON stored_uses TO regatta_coordinator").await.unwrap();
    wait_until_it_is_ready(address).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_away_is_waited_for_and_a_role_that_waits_can_be_stopped() {
    let deployment = Deployment::new().await.unwrap();
    let nobody = format!("amqp://{}/%2f", free_address().await.unwrap());
    for role in ["coordinator", "worker", "scorer"] {
        let (process, address) = start(&deployment, role, &[("AMQP_URL", nobody.as_str())]).await;
        assert!(!wait_until_it_says(address, "RabbitMQ").await);
        assert_eq!(process.terminate().await.unwrap(), Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_where_nobody_listens_is_waited_for_and_a_role_that_waits_can_be_stopped() {
    let deployment = Deployment::new().await.unwrap();
    let nobody = format!("postgres://regatta@{}/regatta?sslmode=disable", free_address().await.unwrap());
    for role in ["coordinator", "worker", "scorer"] {
        let (process, address) = start(&deployment, role, &[("DATABASE_URL", nobody.as_str())]).await;
        assert!(!wait_until_it_says(address, "waiting for PostgreSQL").await);
        assert_eq!(process.terminate().await.unwrap(), Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_is_missing_is_waited_for_with_the_stores_words() {
    let deployment = Deployment::new().await.unwrap();
    let (_scorer, address) = start(&deployment, "scorer", &[("REGATTA_BUCKET", "nobody-made-this")]).await;
    assert!(!wait_until_it_says(address, "waiting for the bucket").await);
    assert!(ready(address).await.unwrap().1.contains("NoSuchBucket"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_and_a_scorer_whose_bucket_goes_away_are_not_ready_until_it_is_back() {
    let deployment = Deployment::new().await.unwrap();
    let (bucket, url) = Proxy::before(&deployment.s3().endpoint_url).await.unwrap();
    let mut roles = Vec::new();
    for role in ["worker", "scorer"] {
        roles.push(start(&deployment, role, &[("S3_ENDPOINT", url.as_str())]).await);
    }
    for (_, address) in &roles {
        wait_until_it_is_ready(*address).await;
    }
    bucket.set(Traffic::IsCut);
    for (_, address) in &roles {
        assert!(!wait_until_it_says(*address, "the bucket does not answer").await);
    }
    bucket.set(Traffic::Passes);
    for (_, address) in &roles {
        wait_until_it_is_ready(*address).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_served_before_a_role_is_ready() {
    let deployment = Deployment::new().await.unwrap();
    let nobody = format!("amqp://{}/%2f", free_address().await.unwrap());
    let (_worker, address) = start(&deployment, "worker", &[("AMQP_URL", nobody.as_str())]).await;
    assert_eq!(get_text(&format!("http://{address}/healthz")).await.unwrap(), "ok");
    get_text(&format!("http://{address}/metrics")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_asks_the_stores_where_no_coordinator_answers() {
    let deployment = Deployment::new().await.unwrap();
    let said = |output: &std::process::Output| {
        let (shown, notes) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        format!("{shown}{notes}")
    };
    let coordinator = deployment.start("coordinator").await.unwrap();
    let asked = deployment.run(&["doctor"]).await.unwrap();
    assert_eq!(asked.status.code(), Some(0), "{}", said(&asked));
    assert!(said(&asked).contains("nothing is wrong"), "{}", said(&asked));

    assert_eq!(coordinator.terminate().await.unwrap(), Some(0));
    let fallen_back = deployment.run(&["doctor"]).await.unwrap();
    assert_eq!(fallen_back.status.code(), Some(1), "{}", said(&fallen_back));
    let shown = said(&fallen_back);
    assert!(shown.contains("asking the stores themselves"), "{shown}");
    assert!(shown.contains("1. coordinator: it does not answer: nothing is dispatched, and no sweep ends"), "{shown}");
    assert!(shown.contains("dead letters: 0"), "{shown}");
}
