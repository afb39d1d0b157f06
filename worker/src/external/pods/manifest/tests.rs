use std::process::Command;

use regatta_processes::Limits;

use super::*;
use crate::policy::NOBODY;

fn program(limits: Value) -> Program {
    Program {
        command: ["sh", "-c", "echo $HOME $(MODE) $$"].map(str::to_owned).to_vec(),
        directory: None,
        env: BTreeMap::new(),
        pass_env: Vec::new(),
        account: None,
        limits: serde_json::from_value::<Limits>(limits).unwrap(),
        is_isolated: true,
        sessions_max: 1,
        container: None,
    }
}

fn image() -> Image {
    Image { name: format!("example.com/agent@sha256:{}", "0123".repeat(16)), network: None, user: NOBODY }
}

fn rules(further: Value) -> PodRules {
    let mut rules = json!({"program_image": "example.com/regatta:1"});
    rules.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
    serde_json::from_value(rules).unwrap()
}

fn manifest(program: &Program, image: &Image, rules: &PodRules) -> Value {
    let library = |name: &str| (format!("/lib/{name}").into(), name.to_owned());
    let own = LinkedProgram::of("/regatta".into(), ["ld-linux-x86-64.so.2", "libc.so.6"].map(library).to_vec());
    let owner = Owner { pod: "worker-7d9f".to_owned(), process: "w-1".to_owned() };
    let session: SessionKey = serde_json::from_value(json!({"sweep": "nightly", "cell": 3, "item": 14})).unwrap();
    Pod {
        name: "regatta-agent-0123",
        program,
        image,
        rules,
        owner: &owner,
        session: &session,
        variables: vec!["HOME", "OPENAI_API_KEY"],
        own: &own,
        seconds_max: 1500,
    }
    .manifest()
}

fn told<'t>(variables: &'t BTreeMap<String, String>, task: &'t str) -> Told<'t> {
    Told { task, variables, authorities: Some("PEM") }
}

#[test]
fn a_pod_has_no_account_no_rights_and_no_files_to_write() {
    insta::assert_yaml_snapshot!(manifest(&program(json!({})), &image(), &rules(json!({}))));
}

#[test]
fn a_pod_has_what_the_policy_gives_it() {
    let limits = json!({"memory_mb": 128, "file_mb": 64, "files": 256, "cpus": 0.05});
    let program = Program { directory: Some("/app".into()), ..program(limits) };
    let image = Image { network: Some("inner".to_owned()), user: (7, 8), ..image() };
    let rules = rules(json!({
        "labels": {"team": "evaluations"}, "pull_secrets": ["registry"], "node_selector": {"pool": "agents"},
        "tolerations": [{"key": "agents", "operator": "Exists"}], "runtime_class": "gvisor", "priority_class": "batch",
    }));
    insta::assert_yaml_snapshot!(manifest(&program, &image, &rules));
}

#[test]
fn what_is_secret_is_in_the_secret_alone_which_goes_with_the_pod() {
    let variables =
        BTreeMap::from([("HOME", "/tmp"), ("OPENAI_API_KEY", "the-token")].map(|(a, b)| (a.into(), b.into())));
    insta::assert_yaml_snapshot!(secret("regatta-agent-0123", "the-uid", &told(&variables, "{}\n")).unwrap());
    assert!(!manifest(&program(json!({})), &image(), &rules(json!({}))).to_string().contains("the-token"));
}

#[test]
fn a_task_that_no_secret_can_hold_is_refused_with_its_size() {
    let problem = secret("p", "u", &told(&BTreeMap::new(), &"x".repeat(1_000_000))).unwrap_err();
    assert!(problem.starts_with("the task has 1000000 bytes and all that the agent is told 1000027,"), "{problem}");
}

/// Python with Kubernetes' schemas.
fn python() -> Option<String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/kubernetes.sh");
    let found = Command::new(script).output().unwrap();
    found.status.success().then(|| String::from_utf8(found.stdout).unwrap().trim().to_owned())
}

#[test]
fn kubernetes_takes_the_objects_strictly() {
    const STRICTLY: &str = "import sys, yaml, kubernetes_validate as k
for version in ['1.30', '1.33', '1.36']:
    for document in yaml.safe_load_all(sys.argv[1]): k.validate(document, version, strict=True)";
    let Some(python) = python() else {
        println!("skipped: there are no schemas of Kubernetes");
        return;
    };
    let pod = manifest(
        &program(json!({"cpus": 2})),
        &image(),
        &rules(json!({"pull_secrets": ["registry"], "tolerations": [{"operator": "Exists"}]})),
    );
    let secret = secret("p", "u", &told(&BTreeMap::new(), "{}")).unwrap();
    let answer = Command::new(python).args(["-c", STRICTLY]).arg(format!("{pod}\n---\n{secret}")).output().unwrap();
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
}
