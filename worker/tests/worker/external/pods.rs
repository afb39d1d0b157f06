//! Agents in pods, by a cluster of our own: no real one is asked here.

use std::path::PathBuf;
use std::time::Duration;

use regatta_bridge::BridgePlace;
use regatta_proto::{Cause, Event, ExternalAgent, HowEnded, Outcome, Report, SessionOutcome};
use regatta_tests::regatta::skipped;
use regatta_tests::{Authority, ServerTls};
use regatta_worker::{AgentAuthorities, Policy, PolicyFile, WorkerConfig};
use serde_json::{Value, json};

use super::cluster::{Cluster, Fate, NAMESPACE};
use super::office::{Office, output, python, replies, story};

const LOST: Outcome = Outcome::NotMeasured { cause: Cause::AgentLost };
const IMAGE: &str = "example.com/agent@sha256:0123456789012345678901234567890123456789012345678901234567890123";

/// The office, with a worker in a cluster.
struct Deployment {
    office: Office,
    cluster: Cluster,
    /// Authority of the bridge.
    authority: Authority,
}

/// The program that pods install; `None`, and a sentence, where it is not built.
fn relay() -> Option<PathBuf> {
    let tests = std::env::current_exe().unwrap();
    let relay = tests.parent().unwrap().parent().unwrap().join("examples/relay");
    if !relay.is_file() {
        skipped("pods", "the example `relay` of this crate is not built");
        return None;
    }
    Some(relay)
}

fn podded(script: &str) -> ExternalAgent {
    ExternalAgent { container: Some(IMAGE.to_owned()), ..python(script) }
}

impl Deployment {
    async fn of(agent: ExternalAgent, fate: Fate) -> Option<Self> {
        let cluster = Cluster::start(&relay()?, fate).await;
        let mut office = Office::of(agent).await;
        office.stage.variables.extend(cluster.variables());
        let rules = "containers: { engine: kubernetes, pods: { program_image: 'example.com/regatta:1' } }";
        office.stage.policy = Policy::trusting().with(PolicyFile::from_yaml(rules).unwrap());
        let authority = Authority::new(office.folder.path(), "bridge").unwrap();
        Some(Self { office, cluster, authority })
    }

    /// Settings of a worker whose bridge pods reach, over TLS.
    fn adjust(&self, config: &mut WorkerConfig) {
        config.service_account = self.cluster.account();
        let tls = ServerTls { identity: self.authority.issue("127.0.0.1").unwrap(), client_authority: None };
        config.bridge = BridgePlace {
            advertised: Some("127.0.0.1".to_owned()),
            tls: Some(tls.acceptor().unwrap()),
            ..config.bridge.clone()
        };
        let certificate = self.authority.certificate();
        let own = std::fs::read_to_string(&certificate).unwrap();
        config.bridge_authorities = Some(AgentAuthorities { own, with_systems: certificate });
    }

    /// The outcome of the only session.
    async fn outcome(&self) -> SessionOutcome {
        let stage = &self.office.stage;
        stage.publish([stage.job(0, 0)]).await;
        let mut reports = stage.reports().await;
        let worker = stage.start("w", |config| self.adjust(config)).await;
        let outcome = reports.outcome().await;
        worker.leave().await;
        outcome
    }
}

fn ended(outcome: &SessionOutcome) -> (HowEnded, &str) {
    match outcome.transcript.events.last() {
        Some(Event::Ended(ended)) => (ended.how, &ended.errors),
        other => panic!("{other:?}"),
    }
}

/// The end of an agent whose pods are `fate`.
async fn end_of(fate: Fate, script: &str) -> Option<(Outcome, HowEnded, String)> {
    let deployment = Deployment::of(podded(script), fate).await?;
    let outcome = deployment.outcome().await;
    let (how, errors) = ended(&outcome);
    assert_eq!(deployment.cluster.pods(), Vec::<String>::new(), "{errors}");
    Some((outcome.outcome.clone(), how, errors.to_owned()))
}

#[tokio::test]
async fn it_asks_its_model_over_tls_and_its_output_is_its_answer() {
    let script = "print(ask('a')); print('$(HOME)', '$$', file=sys.stderr); print(errand['authorities'][:27])";
    let Some(deployment) = Deployment::of(podded(script), Fate::Runs).await else { return };
    let outcome = deployment.outcome().await;
    let (_, errors) = ended(&outcome);
    assert_eq!(
        story(&outcome.transcript),
        ["attempt 1 starts mine", "attempt 1 asks a", "ends: Exited(0)"],
        "{errors}"
    );
    assert_eq!(outcome.outcome, Outcome::Measured);
    let answer = format!("{}\n-----BEGIN CERTIFICATE-----\n", replies(&outcome.transcript)[0]);
    assert_eq!((output(&outcome.transcript), errors), (answer.as_str(), "$(HOME) $$\n"));
    assert_eq!(deployment.cluster.pods(), Vec::<String>::new());
}

#[tokio::test]
async fn the_session_is_in_a_secret_of_the_pods_own_and_nowhere_else() {
    let Some(deployment) = Deployment::of(podded("print(os.environ['OPENAI_API_KEY'])"), Fate::Runs).await else {
        return;
    };
    let outcome = deployment.outcome().await;
    let token = output(&outcome.transcript).trim();
    assert!(token.len() > 20, "{token}");
    let cluster = &deployment.cluster;
    let (pods, secrets) = (cluster.made("Pod"), cluster.made("Secret"));
    assert!(!pods[0].to_string().contains(token) && secrets[0].to_string().contains(token));
    let name = &pods[0]["metadata"]["name"];
    let owner =
        json!([{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": format!("uid-of-{}", name.as_str().unwrap())}]);
    assert_eq!(secrets[0]["metadata"]["ownerReferences"], owner);
    let verbs: Vec<String> =
        cluster.asked().into_iter().map(|(asked, _)| asked.replace(name.as_str().unwrap(), "POD")).collect();
    let path = format!("/api/v1/namespaces/{NAMESPACE}");
    assert!(
        verbs.contains(&format!("POST {path}/pods")) && verbs.contains(&format!("POST {path}/secrets")),
        "{verbs:?}"
    );
    assert_eq!(verbs.last().unwrap(), &format!("DELETE {path}/pods/POD?gracePeriodSeconds=0"));
    assert!(!verbs.iter().any(|asked| asked.starts_with("GET") && asked.contains("secrets")), "{verbs:?}");
}

#[tokio::test]
async fn its_exit_code_and_the_end_of_its_errors_are_its_own() {
    let Some((outcome, how, errors)) = end_of(Fate::Runs, "ask('a'); sys.exit('no such thing')").await else { return };
    assert_eq!((outcome, how, errors.as_str()), (Outcome::Measured, HowEnded::Exited(1), "no such thing\n"));
}

#[tokio::test]
async fn a_program_that_is_not_in_the_image_is_never_started() {
    let agent = ExternalAgent { command: vec!["/no/such/program".to_owned()], ..podded("") };
    let Some(deployment) = Deployment::of(agent, Fate::Runs).await else { return };
    let outcome = deployment.outcome().await;
    let (how, errors) = ended(&outcome);
    assert_eq!((outcome.outcome.clone(), how), (LOST, HowEnded::NotStarted));
    assert!(errors.contains("failed to start /no/such/program"), "{errors}");
}

#[tokio::test]
async fn one_that_used_more_memory_than_its_limit_is_lost_and_not_started_again() {
    let killed = json!({"exitCode": 137, "reason": "OOMKilled"});
    let fate = Fate::RunsAndIs(json!({
        "phase": "Failed", "containerStatuses": [{"name": "agent", "state": {"terminated": killed}}],
    }));
    let Some((outcome, how, errors)) = end_of(fate, "ask('a')").await else { return };
    assert_eq!((outcome, how), (LOST, HowEnded::OutOfMemory));
    assert_eq!(errors, "it was killed by the system for using more memory than its limit");
}

#[tokio::test]
async fn one_that_its_node_evicts_is_started_again_until_it_is_lost() {
    let fate =
        Fate::RunsAndIs(json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource"}));
    let Some(deployment) = Deployment::of(podded("ask('a')"), fate).await else { return };
    let outcome = deployment.outcome().await;
    let (how, errors) = ended(&outcome);
    assert_eq!((outcome.outcome.clone(), how), (LOST, HowEnded::Killed(15)));
    assert_eq!(errors, "its pod was ended by others: Evicted: The node was low on resource");
    assert_eq!(deployment.cluster.made("Pod").len(), 3);
    assert_eq!(deployment.office.server.counters().total_answered(), 1, "what it asks again is not paid again");
}

fn waiting(reason: &str, message: &str) -> Value {
    let state = json!({"waiting": {"reason": reason, "message": message}});
    json!({"phase": "Pending", "containerStatuses": [{"name": "agent", "state": state}]})
}

#[tokio::test]
async fn an_image_that_cannot_be_pulled_is_said() {
    let fate = Fate::Is(waiting("ImagePullBackOff", "Back-off pulling image"));
    let Some((outcome, how, errors)) = end_of(fate, "").await else { return };
    assert_eq!((outcome, how), (LOST, HowEnded::NotStarted));
    assert_eq!(errors, "its pod cannot begin: ImagePullBackOff: Back-off pulling image");
}

#[tokio::test]
async fn one_for_which_no_node_has_room_is_lost_when_its_start_takes_too_long() {
    let condition =
        json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"});
    let agent = ExternalAgent { startup_s: 1, ..podded("") };
    let Some(deployment) =
        Deployment::of(agent, Fate::Is(json!({"phase": "Pending", "conditions": [condition]}))).await
    else {
        return;
    };
    let outcome = deployment.outcome().await;
    assert_eq!(outcome.outcome, LOST);
    assert_eq!(ended(&outcome), (HowEnded::Deadline, "its pod had not begun: Unschedulable: 0/3 nodes"));
    assert_eq!(deployment.cluster.pods(), Vec::<String>::new());
}

#[tokio::test]
async fn one_that_never_ends_is_removed_at_its_deadline_and_what_it_did_counts() {
    let agent = ExternalAgent { deadline_s: 1, ..podded("print(ask('a')[:6]); time.sleep(1000)") };
    let Some(deployment) = Deployment::of(agent, Fate::Runs).await else { return };
    let outcome = deployment.outcome().await;
    assert_eq!(story(&outcome.transcript), ["attempt 1 starts mine", "attempt 1 asks a", "ends: Deadline"]);
    assert_eq!((outcome.outcome.clone(), output(&outcome.transcript)), (Outcome::Measured, "item-0\n"));
    assert_eq!(deployment.cluster.pods(), Vec::<String>::new());
}

#[tokio::test]
async fn it_is_removed_when_its_worker_leaves_and_another_starts_it_again() {
    let script = "print(ask('a'))\nif first_time('x'): time.sleep(1000)\nprint(ask('b'))";
    let Some(deployment) = Deployment::of(podded(script), Fate::Runs).await else { return };
    let stage = &deployment.office.stage;
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    let adjust = |config: &mut WorkerConfig| {
        deployment.adjust(config);
        config.drain = Duration::ZERO;
    };
    let first = stage.start("first", adjust).await;
    reports.progress(|open| open.totals.usage.output > 0).await;
    first.leave().await;
    assert_eq!(deployment.cluster.pods(), Vec::<String>::new());
    let Report::HandedOver { .. } = reports.result().await else { panic!("not handed over") };
    std::fs::write(deployment.office.folder.path().join("x"), "").unwrap();
    let second = stage.start("second", adjust).await;
    let outcome = reports.outcome().await;
    second.leave().await;
    assert_eq!((outcome.outcome.clone(), ended(&outcome).0), (Outcome::Measured, HowEnded::Exited(0)));
    assert_eq!(deployment.office.server.counters().total_answered(), 2, "what it had asked is known");
}

#[tokio::test]
async fn one_that_writes_too_much_is_stopped() {
    let agent = ExternalAgent { output_bytes_max: 10, ..podded("ask('a'); print('x' * 100); time.sleep(1000)") };
    let Some(deployment) = Deployment::of(agent, Fate::Runs).await else { return };
    let outcome = deployment.outcome().await;
    assert_eq!((ended(&outcome).0, output(&outcome.transcript)), (HowEnded::TooMuchOutput, "xxxxxxxxxx"));
    let asked = deployment.cluster.asked();
    assert!(
        asked.iter().any(|(asked, _)| asked.ends_with("/log?container=agent&limitBytes=16394&follow=true")),
        "{asked:?}"
    );
}

#[tokio::test]
async fn a_refusal_says_which_right_is_missing_and_what_to_do() {
    let Some(deployment) = Deployment::of(podded(""), Fate::Runs).await else { return };
    let user = "system:serviceaccount:regatta:worker";
    let message = format!(
        "pods is forbidden: User \"{user}\" cannot create resource \"pods\" in API group \"\" in the namespace \"agents\""
    );
    deployment.cluster.refuse("POST /api/v1/namespaces/agents/pods", 403, &message);
    let outcome = deployment.outcome().await;
    let (how, errors) = ended(&outcome);
    assert_eq!((outcome.outcome.clone(), how), (LOST, HowEnded::NotStarted));
    insta::assert_snapshot!(errors, @r#"the API server of Kubernetes refused to create pods in the namespace agents (403): pods is forbidden: User "system:serviceaccount:regatta:worker" cannot create resource "pods" in API group "" in the namespace "agents"; grant the worker's service account `create` on `pods` in agents, as the chart does for pools with `agentPods`"#);
}

#[tokio::test]
async fn a_quota_that_is_used_up_is_no_missing_right() {
    let Some(deployment) = Deployment::of(podded(""), Fate::Runs).await else { return };
    deployment.cluster.refuse(
        "POST /api/v1/namespaces/agents/pods",
        403,
        "pods \"x\" is forbidden: exceeded quota: agents",
    );
    let outcome = deployment.outcome().await;
    let (_, errors) = ended(&outcome);
    assert!(errors.ends_with("(403): pods \"x\" is forbidden: exceeded quota: agents"), "{errors}");
}

#[tokio::test]
async fn a_server_that_is_busy_is_asked_again_and_a_pod_whose_secret_is_refused_is_removed() {
    let Some(deployment) = Deployment::of(podded(""), Fate::Runs).await else { return };
    deployment.cluster.refuse("POST /api/v1/namespaces/agents/pods", 503, "the server is currently unable");
    deployment.cluster.refuse("POST /api/v1/namespaces/agents/secrets", 403, "no");
    let outcome = deployment.outcome().await;
    assert_eq!(ended(&outcome).0, HowEnded::NotStarted);
    assert_eq!((deployment.cluster.made("Pod").len(), deployment.cluster.pods().len()), (2, 0));
}

#[tokio::test]
async fn a_token_that_was_replaced_is_read_again() {
    let Some(deployment) = Deployment::of(podded("ask('a')"), Fate::Runs).await else { return };
    deployment.cluster.rotate_after("/log");
    let outcome = deployment.outcome().await;
    assert_eq!((outcome.outcome.clone(), ended(&outcome).0), (Outcome::Measured, HowEnded::Exited(0)));
}

#[tokio::test]
async fn what_workers_that_are_gone_have_left_is_removed_and_what_others_run_is_not() {
    let Some(deployment) = Deployment::of(podded("ask('a')"), Fate::Runs).await else { return };
    let pod = |name: &str, worker: &str, created: &str| {
        let labels = json!({"regatta/role": "agent", "regatta/worker": worker, "regatta/process": "earlier"});
        json!({
            "metadata": {"name": name, "labels": labels, "creationTimestamp": created},
            "spec": {"activeDeadlineSeconds": 1500},
        })
    };
    deployment.cluster.put(pod("own", "worker-1", "2100-01-01T00:00:00Z"));
    deployment.cluster.put(pod("over", "worker-2", "2020-01-01T00:00:00Z"));
    deployment.cluster.put(pod("running", "worker-2", "2100-01-01T00:00:00Z"));
    deployment.outcome().await;
    deployment.cluster.until_there_are(&["running"]).await;
    let listed = format!("GET /api/v1/namespaces/{NAMESPACE}/pods?labelSelector=regatta%2Frole%3Dagent");
    assert!(deployment.cluster.asked().iter().any(|(asked, _)| *asked == listed));
}

#[tokio::test]
async fn a_worker_outside_of_a_cluster_or_with_a_bridge_of_its_own_machine_says_what_is_missing() {
    let Some(mut deployment) = Deployment::of(podded(""), Fate::Runs).await else { return };
    let stage = &deployment.office.stage;
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |config| config.service_account = deployment.cluster.account()).await;
    let outcome = reports.outcome().await;
    worker.leave().await;
    drop(reports);
    let (_, errors) = ended(&outcome);
    assert!(errors.contains("no pod reaches the worker's bridge") && errors.contains("--bridge-advertise"), "{errors}");
    deployment.office.stage.variables.remove("KUBERNETES_SERVICE_HOST");
    let outcome = deployment.outcome().await;
    let (_, errors) = ended(&outcome);
    assert!(errors.contains("KUBERNETES_SERVICE_HOST is not set"), "{errors}");
}
