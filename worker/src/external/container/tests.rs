use super::*;
use crate::policy::NOBODY;

fn program(fields: serde_json::Value) -> Program {
    Program {
        command: ["python3", "agent.py"].map(str::to_owned).to_vec(),
        directory: None,
        env: BTreeMap::from([("MODE".to_owned(), "fast".to_owned())]),
        pass_env: vec!["WANTED".to_owned()],
        account: None,
        limits: serde_json::from_value(fields).unwrap(),
        is_isolated: true,
        sessions_max: 1,
        container: None,
    }
}

fn image() -> Image {
    Image { name: "example.com/agent@sha256:0123".to_owned(), network: None, user: NOBODY }
}

fn words(program: &Program, image: &Image) -> String {
    let (socket, variables) = (Path::new("/run/1/bridge.sock"), Path::new("/run/1/variables.env"));
    let relay = Relay::sample();
    Run { name: "regatta-container-1", owner: "boot/1/2/3", program, image, relay: &relay, socket, variables }
        .words()
        .join("\n")
}

#[test]
fn a_container_has_no_network_no_rights_and_no_files_to_write() {
    insta::assert_snapshot!(words(&program(serde_json::json!({})), &image()));
}

#[test]
fn a_container_has_what_the_policy_gives_it() {
    let limits = serde_json::json!({"memory_mb": 512, "file_mb": 64, "files": 256, "processes": 32, "cpus": 0.5});
    let program = Program { directory: Some("/app".into()), ..program(limits) };
    let image = Image { network: Some("inner".to_owned()), user: (7, 8), ..image() };
    insta::assert_snapshot!(words(&program, &image));
}

#[test]
fn no_secret_is_on_the_command_line_and_only_this_user_reads_them() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("variables.env");
    let briefing = Briefing { line: String::new(), variables: vec![("OPENAI_API_KEY", "the-token".to_owned())] };
    let known =
        [("WANTED", "w"), ("SECRET", "s"), ("PATH", "/bin")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let seen = variables_of(&program(serde_json::json!({})), &briefing, &known.into());
    write_variables(&file, &seen).unwrap();
    insta::assert_snapshot!(std::fs::read_to_string(&file).unwrap());
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!words(&program(serde_json::json!({})), &image()).contains("the-token"));
}

#[test]
fn a_variable_of_several_lines_cannot_add_another() {
    let variables = BTreeMap::from([("A".to_owned(), "b\nLD_PRELOAD=c".to_owned())]);
    let problem = write_variables(Path::new("/no/such/file"), &variables).unwrap_err();
    assert_eq!(problem, "the variable A has several lines, which no container can be given");
}

/// The engine's service is not there: that is the first thing that docker finds wrong.
#[test]
fn docker_knows_all_of_the_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("variables.env");
    write_variables(&file, &BTreeMap::from([("A".to_owned(), "b".to_owned())])).unwrap();
    let limits = serde_json::json!({"cpus": 0.5});
    let (program, relay) = (Program { directory: Some("/app".into()), ..program(limits) }, Relay::sample());
    let image = Image { name: format!("example.com/agent@sha256:{}", "a".repeat(64)), ..image() };
    let run = Run {
        name: "regatta-container-1",
        owner: "boot/1/2/3",
        program: &program,
        image: &image,
        relay: &relay,
        socket: Path::new("/run/1/bridge.sock"),
        variables: &file,
    };
    let mut docker = std::process::Command::new("docker");
    let Ok(answer) = docker.args(["--host=unix:///no/such/socket"]).args(run.words()).output() else {
        println!("skipped: there is no docker");
        return;
    };
    let said = String::from_utf8_lossy(&answer.stderr);
    assert!(said.contains("unix:///no/such/socket") && !said.contains("flag"), "{said}");
}
