use super::*;

const FILE: &str = "
agents:
  tidy: { command: [python3, agent.py], directory: /opt/tidy, env: { MODE: fast }, pass_env: [HF_HOME], user: '1234', limits: { memory_mb: 512 } }
keys:
  GATEWAY_KEY: { origins: ['https://gateway.example.com'] }
egress: { private: [10.1.0.0/16] }
";

fn agent(fields: &str) -> ExternalAgent {
    serde_json::from_str(fields).unwrap()
}

fn policy(base: Policy) -> Policy {
    base.with(PolicyFile::from_yaml(FILE).unwrap())
}

#[test]
fn a_deployed_worker_runs_the_commands_of_its_policy_and_no_others() {
    let policy = policy(Policy::closed());
    let refused = policy.program(&agent(r#"{"command":["sh","-c","id"]}"#), false).unwrap_err();
    assert!(refused.contains("registered: NAME"), "{refused}");
    let program = policy.program(&agent(r#"{"registered":"tidy"}"#), true).unwrap();
    assert_eq!(program.command, ["python3", "agent.py"]);
    assert_eq!(program.directory.as_deref(), Some(std::path::Path::new("/opt/tidy")));
    assert_eq!(program.env, BTreeMap::from([("MODE".to_owned(), "fast".to_owned())]));
    assert_eq!(program.pass_env, ["HF_HOME"]);
    assert_eq!((program.limits.memory_mb, program.limits.files), (512, 4096));
    assert_eq!(program.account.map(|account| (account.uid, account.gid)), Some((1234, 1234)));
    let unknown = policy.program(&agent(r#"{"registered":"other"}"#), false).unwrap_err();
    assert_eq!(unknown, "the policy file (--policy) of this worker has no agent other; it has: tidy");
}

#[test]
fn agents_of_a_deployed_worker_do_not_run_as_root() {
    let file = PolicyFile::from_yaml("agents: { tidy: { command: [tidy] } }").unwrap();
    let policy = Policy::closed().with(file);
    let agent = agent(r#"{"registered":"tidy"}"#);
    assert!(policy.program(&agent, true).unwrap_err().contains("--agent-user"));
    assert!(policy.program(&agent, false).is_ok());
    assert!(policy.clone().with_agent_user(Some("0".to_owned())).program(&agent, true).is_err());
    assert!(policy.with_agent_user(Some("1000".to_owned())).program(&agent, true).is_ok());
}

#[test]
fn a_persons_own_machine_runs_what_the_spec_says() {
    let program = policy(Policy::trusting()).program(&agent(r#"{"command":["sh"]}"#), true).unwrap();
    assert_eq!((program.command, program.account), (vec!["sh".to_owned()], None));
}

#[test]
fn agents_have_processes_of_their_own_unless_the_policy_file_shares_them() {
    let file =
        |text: &str| PolicyFile::from_yaml(&format!("agents: {{ tidy: {{ command: [tidy] }} }}\n{text}")).unwrap();
    let (of_spec, registered) = (agent(r#"{"command":["sh"]}"#), agent(r#"{"registered":"tidy"}"#));
    for (text, is_isolated) in [("", true), ("shared_processes: false", true), ("shared_processes: true", false)] {
        let (own, deployed) = (Policy::trusting().with(file(text)), Policy::closed().with(file(text)));
        assert_eq!(own.program(&of_spec, false).unwrap().is_isolated, is_isolated, "{text}");
        assert_eq!(deployed.program(&registered, false).unwrap().is_isolated, is_isolated, "{text}");
    }
    assert!(Policy::trusting().program(&of_spec, true).unwrap().is_isolated, "without a policy file, also of root");
}

#[test]
fn a_policy_says_of_its_agents_how_many_sessions_a_process_does() {
    let sessions_max = |field: &str| {
        let file = PolicyFile::from_yaml(&format!("agents: {{ tidy: {{ command: [tidy]{field} }} }}"))?;
        let registered = agent(r#"{"registered":"tidy"}"#);
        Policy::closed().with(file).program(&registered, false).map(|program| program.sessions_max)
    };
    assert_eq!([sessions_max(""), sessions_max(", sessions_max: 50")], [Ok(1), Ok(50)]);
    assert_eq!(sessions_max(", sessions_max: 0"), Err("agents.tidy.sessions_max: must be at least 1".to_owned()));
    let boxed = format!(", sessions_max: 2, container: 'b@sha256:{}'", "a".repeat(64));
    assert!(sessions_max(&boxed).unwrap_err().contains("does not go with `container`"));
    let own = agent(r#"{"command":["sh"],"sessions_max":7}"#);
    assert_eq!(Policy::trusting().program(&own, false).unwrap().sessions_max, 7);
}

#[test]
fn a_deployed_worker_runs_the_images_of_its_policy_by_their_digests() {
    let digest = "a".repeat(64);
    let text = format!(
        "agents: {{ boxed: {{ container: 'example.com/tidy@sha256:{digest}', command: [tidy], user: '7:8', network: inner }} }}\n\
         containers: {{ engine: podman }}"
    );
    let policy = Policy::closed().with(PolicyFile::from_yaml(&text).unwrap());
    let refused = policy.program(&agent(r#"{"container":"busybox","command":["sh"]}"#), false).unwrap_err();
    assert!(refused.contains("registered: NAME"), "{refused}");
    let program = policy.program(&agent(r#"{"registered":"boxed"}"#), true).unwrap();
    assert_eq!((program.account, program.command), (None, vec!["tidy".to_owned()]));
    let (image, engine) = program.container.unwrap();
    assert_eq!(image.name, format!("example.com/tidy@sha256:{digest}"));
    assert_eq!(
        (image.user, image.network.as_deref(), engine),
        ((7, 8), Some("inner"), ContainerEngine::Program(Some("podman".to_owned())))
    );
}

#[test]
fn a_policy_that_would_let_a_container_out_is_refused() {
    let problem =
        |fields: &str| PolicyFile::from_yaml(&format!("agents: {{ a: {{ command: [x], {fields} }} }}")).unwrap_err();
    let digest = "a".repeat(64);
    let problems = [
        problem("container: busybox"),
        problem("container: 'busybox:latest'"),
        problem(&format!("container: '--privileged@sha256:{digest}'")),
        problem(&format!("container: 'b@sha256:{digest}', network: host")),
        problem(&format!("container: 'b@sha256:{digest}', network: 'container:other'")),
        problem(&format!("container: 'b@sha256:{digest}', user: '0'")),
        problem(&format!("container: 'b@sha256:{digest}', user: root")),
        problem(&format!("container: 'b@sha256:{digest}', directory: app")),
        problem("network: inner"),
    ];
    insta::assert_snapshot!(problems.join("\n").replace(&digest, "DIGEST"));
}

#[test]
fn pods_are_made_by_their_rules_and_those_of_another_engine_are_refused() {
    // As the chart writes them.
    let text = "
containers:
  engine: kubernetes
  pods:
    labels: { regatta/pool: nightly-regatta-worker-agents }
    namespace: agents
    node_selector: { pool: agents }
    priority_class: batch
    program_image: registry.example.com/regatta:0.1.0
    pull_secrets: [registry]
    requests: { cpu_millis: 100, memory_mb: 512 }
    runtime_class: gvisor
    tolerations: [{ key: agents, operator: Exists }]
";
    let ContainerEngine::Kubernetes(rules) = PolicyFile::from_yaml(text).unwrap().containers.engine() else {
        panic!("it is a program");
    };
    assert_eq!((rules.requests.cpu_millis, rules.requests.memory_mb), (100, 512));
    let problem = |containers: &str| PolicyFile::from_yaml(&format!("containers: {containers}")).unwrap_err();
    let problems = [
        problem("{ engine: kubernetes }"),
        problem("{ engine: podman, pods: { program_image: r } }"),
        problem("{ engine: kubernetes, pods: { program_image: '--privileged' } }"),
        problem("{ engine: kubernetes, pods: { program_image: r, labels: { regatta/role: worker } } }"),
    ];
    insta::assert_snapshot!(problems.join("\n"), @r#"
    containers.pods: the engine kubernetes needs `program_image`, an image of Regatta
    containers.pods: only belong to `engine: kubernetes`
    containers.pods.program_image: "--privileged" is not the name of an image
    containers.pods.labels: regatta/role is Regatta's own; name another
    "#);
}

#[test]
fn a_persons_own_machine_runs_the_container_that_the_spec_names_as_nobody() {
    let chosen = agent(r#"{"container":"busybox","command":["sh"]}"#);
    let (image, _) = Policy::trusting().program(&chosen, true).unwrap().container.unwrap();
    assert_eq!((image.name.as_str(), image.user, image.network), ("busybox", NOBODY, None));
}

#[test]
fn a_policy_with_a_typo_is_refused() {
    for bad in [
        "agent: {}",
        "agents: { a: { command: [] } }",
        "keys: { K: { origins: [nowhere] } }",
        "egress: { private: [x] }",
        "encoders: { minilm: models/minilm }",
        "encoders: { ../minilm: /models/minilm }",
    ] {
        assert!(PolicyFile::from_yaml(bad).is_err(), "{bad}");
    }
}
