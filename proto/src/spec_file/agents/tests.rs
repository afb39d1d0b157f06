use crate::{SweepSpec, parse_spec};

const SPEC: &str = "\
name: demo
benchmarks:
  autoslurp:
    data: data
    settings: [autogen/cast=tuned, external/mine]
    casts: { tuned: { intent: { id: small/tuned, temperature: 0.2 } } }
endpoints:
  sim: { kind: simulated }
  small: { kind: openai, base_url: 'http://127.0.0.1:1/v1', api_key_env: SMALL_KEY }
models: [sim/oracle]
agents:
  mine: { command: [python3, agent.py], directory: agents, pass_env: [VIRTUAL_ENV], env: { A: b } }
";

fn parse(text: &str) -> Result<SweepSpec, String> {
    parse_spec(text, &|_| None).map_err(|error| error.to_string())
}

fn error(from: &str, to: &str) -> String {
    let text = SPEC.replace(from, to);
    assert_ne!(text, SPEC, "{from}");
    parse(&text).unwrap_err()
}

#[test]
fn an_agent_gets_the_documented_defaults_and_its_cast_is_among_the_models() {
    let spec = parse(SPEC).unwrap();
    insta::assert_yaml_snapshot!(spec.agents);
    let models: Vec<String> = spec.all_models().iter().map(|(place, model)| format!("{place}: {model}")).collect();
    assert_eq!(models, ["models[0]: sim/oracle", "benchmarks.autoslurp.casts.tuned.intent: small/tuned"]);
}

#[test]
fn an_agent_that_cannot_be_run_is_an_error_that_names_the_field() {
    let command = "command: [python3, agent.py], directory: agents, pass_env: [VIRTUAL_ENV], env: { A: b }";
    let cases = [
        (command, ""),
        ("command:", "url: 'http://127.0.0.1:1/', command:"),
        ("command: [python3, agent.py]", "command: ['', agent.py]"),
        ("command: [python3, agent.py]", "url: 'ftp://host/'"),
        ("command: [python3, agent.py]", "url: 'http://me:secret@host/'"),
        ("command: [python3, agent.py]", "url: 'http://host/run'"),
        ("[VIRTUAL_ENV]", "['A B']"),
        ("[VIRTUAL_ENV]", "[SMALL_KEY]"),
        ("[VIRTUAL_ENV]", "[GEMINI_API_KEY]"),
        ("[VIRTUAL_ENV]", "[OPENAI_API_KEY]"),
        ("[VIRTUAL_ENV]", "[DEEPSEEK_API_KEY]"),
        ("[VIRTUAL_ENV]", "[AWS_SECRET_ACCESS_KEY]"),
        ("[VIRTUAL_ENV]", "[DATABASE_URL]"),
        ("[VIRTUAL_ENV]", "[AMQP_URL]"),
        ("[VIRTUAL_ENV]", "[REGATTA_BROKER]"),
        ("{ A: b }", "{ OPENAI_BASE_URL: x }"),
        ("{ A: b }", "{ A: b }, deadline_s: 0"),
        ("{ A: b }", "{ A: b }, deadline_s: 901"),
        ("{ A: b }", "{ A: b }, startup_s: 901"),
        ("{ A: b }", "{ A: b }, output_bytes_max: 10"),
        ("{ A: b }", "{ A: b }, output_bytes_max: 100000000"),
        ("{ A: b }", "{ A: b }, calls_max: 0"),
        ("{ A: b }", "{ A: b }, starts_max: 0"),
        ("{ A: b }", "{ A: b }, sessions_max: 0"),
        (command, "url: 'http://host/run', sessions_max: 2"),
        (command, "container: busybox, command: [sh], sessions_max: 2"),
        ("{ A: b }", "{ A: b }, concurrency: 0"),
        ("{ A: b }", "{ A: b }, timeout: 3"),
    ];
    insta::assert_snapshot!(cases.map(|(from, to)| error(from, to)).join("\n"));
}

#[test]
fn a_setting_names_agents_and_casts_that_there_are_and_a_cast_models_that_chat() {
    let cases = [
        ("external/mine", "external/yours"),
        ("external/mine", "external"),
        ("cast=tuned", "cast=tune"),
        ("[autogen/cast=tuned, external/mine]", "[autogen]"),
        ("{ intent: { id: small/tuned, temperature: 0.2 } }", "{}"),
        ("small/tuned", "nowhere/tuned"),
        ("temperature: 0.2", "budget_usd: 3"),
        ("casts: { tuned", "casts: { 'a b': { intent: sim/oracle }, tuned"),
        ("api_key_env: SMALL_KEY }", "api_key_env: SMALL_KEY, lane: batch }"),
    ];
    insta::assert_snapshot!(cases.map(|(from, to)| error(from, to)).join("\n"));
}

#[test]
fn a_registered_agent_says_nothing_that_the_workers_policy_says() {
    let command = "command: [python3, agent.py], directory: agents, pass_env: [VIRTUAL_ENV], env: { A: b }";
    let spec = parse(&SPEC.replace(command, "registered: tidy, deadline_s: 60")).unwrap();
    assert_eq!(spec.agents.values().next().unwrap().registered.as_ref().unwrap().as_str(), "tidy");
    for also in [
        "command: [sh]",
        "url: 'http://127.0.0.1:1/'",
        "directory: x",
        "pass_env: [A]",
        "env: { A: b }",
        "sessions_max: 2",
    ] {
        let problem = error(command, &format!("registered: tidy, {also}"));
        assert!(problem.contains("does not go with `registered`"), "{problem}");
    }
    assert!(error(command, "registered: ../tidy").contains("agent name"));
}

#[test]
fn variables_that_are_likely_to_hold_secrets_are_not_passed_on() {
    for secret in
        ["HF_TOKEN", "PGPASSWORD", "AWS_ACCESS_KEY_ID", "DATABASE_URL", "OTEL_EXPORTER_OTLP_HEADERS", "MY_SECRET"]
    {
        assert!(error("[VIRTUAL_ENV]", &format!("[{secret}]")).contains("may hold secrets"), "{secret}");
    }
}

#[test]
fn values_of_variables_and_addresses_in_a_spec_are_no_secrets() {
    let command = "command: [python3, agent.py], directory: agents, pass_env: [VIRTUAL_ENV], env: { A: b }";
    let cases = [
        ("env: { A: b }", "env: { HF_TOKEN: sk-1 }", "env.HF_TOKEN: may hold a secret"),
        ("env: { A: b }", "env: { sk-1: b }", "mine.env: must hold names of environment variables"),
        ("[VIRTUAL_ENV]", "[sk-1]", "mine.pass_env: must hold names of environment variables"),
        (command, "url: 'http://127.0.0.1:1/?a=b&token=sk-1'", "holds token, which may be a secret"),
        (command, "url: 'https://agents.example/api/run?code=sk-1'", "holds code, which may be a secret"),
        (command, "url: 'https://agents.example/run?sv=1&Sig=sk-1'", "holds Sig, which may be a secret"),
        (command, "url: 'http:sk-1@127.0.0.1:1/'", "must begin with http:// or https://"),
    ];
    for (from, to, expected) in cases {
        let problem = error(from, to);
        assert!(problem.contains(expected) && !problem.contains("sk-1"), "{problem}");
    }
}

#[test]
fn a_container_has_a_command_and_no_way_around_its_walls() {
    let before = "directory: agents";
    let image = "container: 'example.com:5000/agent:3'";
    let spec = parse(&SPEC.replace(before, &format!("{image}, directory: /app, network: inner"))).unwrap();
    assert_eq!(spec.agents.values().next().unwrap().container.as_deref(), Some("example.com:5000/agent:3"));
    let cases = [
        ("network: inner".to_owned(), "only belongs to agents with a `container`"),
        (format!("{image}, directory: app"), "must be an absolute path"),
        (format!("{image}, network: host"), "must not be the machine's own"),
        (format!("{image}, network: 'container:db'"), "is not the name of a network"),
        ("container: --privileged".to_owned(), "is not the name of an image"),
        ("container: 'a b'".to_owned(), "is not the name of an image"),
        (format!("{image}, registered: tidy"), "does not go with `registered`"),
    ];
    for (to, expected) in cases {
        let problem = error(before, &to);
        assert!(problem.contains(expected), "{problem}");
    }
    let command = "command: [python3, agent.py], directory: agents, pass_env: [VIRTUAL_ENV], env: { A: b }";
    let of_a_service = error(command, &format!("url: 'http://127.0.0.1:1/', {image}"));
    assert!(of_a_service.contains("only belongs to agents with a `command`"), "{of_a_service}");
}
