use super::*;
use crate::{EndpointKind, EndpointSpec};

const MINIMAL: &str = "\
name: demo
benchmarks:
  worfbench: { data: data, judge: sim/lexical }
endpoints:
  sim: { kind: simulated }
models: [sim/oracle]
";

fn parse(text: &str) -> Result<SweepSpec, SpecError> {
    parse_spec(text, &|name| (name == "PORT").then(|| "8080".to_owned()))
}

fn error(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn a_minimal_spec_gets_the_documented_defaults() {
    insta::assert_yaml_snapshot!(parse(MINIMAL).unwrap());
}

#[test]
fn an_unknown_key_is_an_error_that_names_line_and_known_keys() {
    insta::assert_snapshot!(error(&format!("{MINIMAL}trails: 3\n")));
    insta::assert_snapshot!(error(&MINIMAL.replace("{ kind: simulated }", "{ kind: simulated, limts: {} }")));
    insta::assert_snapshot!(error(&MINIMAL.replace("[sim/oracle]", "[{id: sim/oracle, temprature: 1}]")));
}

#[test]
fn wrong_values_are_errors_that_name_the_field() {
    insta::assert_snapshot!(
        [
            ("[sim/oracle]", "[]"),
            ("[sim/oracle]", "[oracle]"),
            ("[sim/oracle]", "[other/oracle]"),
            ("[sim/oracle]", "[sim/oracle, sim/oracle]"),
            ("sim/lexical", "nobody/lexical"),
            ("{ kind: simulated }", "{ kind: openai, base_url: 'localhost:80' }"),
            ("{ kind: simulated }", "{ kind: openai, base_url: 'https://user:key@host/v1' }"),
            ("{ kind: simulated }", "{ kind: simulated, simulation: { faults: { dropped: 1.5 } } }"),
            ("{ kind: simulated }", "{ kind: encoder }"),
            ("name: demo", "name: demo\ntrials: 0"),
            ("name: demo", "name: demo\ncoverage_min: 80"),
            ("name: demo", "name: demo\nlevel: 95"),
            ("name: demo", "name: demo\nbudget_usd: -1"),
            ("name: demo", "name: de/mo"),
        ]
        .map(|(from, to)| error(&MINIMAL.replace(from, to)))
        .join("\n")
    );
}

#[test]
fn listed_items_are_named_once_and_do_not_go_with_a_limit() {
    let with = |items: &str| MINIMAL.replace("data: data", &format!("data: data, items: {items}"));
    let name: crate::BenchmarkName = "worfbench".parse().unwrap();
    let items = |spec: SweepSpec| spec.benchmarks[&name].items.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(items(parse(&with("[lumos-3, \"17\"]")).unwrap()), ["lumos-3", "17"]);
    assert!(items(parse(MINIMAL).unwrap()).is_empty());
    assert_eq!(error(&with("[a, b, a]")), "benchmarks.worfbench.items[2]: \"a\" is listed twice");
    assert_eq!(
        error(&with("[a, b], limit: 2")),
        "benchmarks.worfbench.limit: does not go with `items`, which lists all that are run; leave out one of them"
    );
    let unlisted = serde_json::to_string(&parse(MINIMAL).unwrap()).unwrap();
    assert!(!unlisted.contains("items"), "a spec that lists none keeps its bytes: {unlisted}");
}

#[test]
fn canaries_are_counted_and_do_not_go_with_a_question() {
    let with = |canaries: &str| MINIMAL.replace("data: data", &format!("data: data, canaries: {canaries}"));
    let name: crate::BenchmarkName = "worfbench".parse().unwrap();
    assert_eq!(parse(&with("8")).unwrap().benchmarks[&name].canaries, Some(8));
    assert_eq!(error(&with("0")), "benchmarks.worfbench.canaries: must be 1 to 1000, is 0; leave it out for none");
    let decides = format!("{}decide: {{ question: best, margin: 2pp }}\n", with("8"));
    assert!(
        error(&decides).starts_with("benchmarks.worfbench.canaries: does not go with `decide`"),
        "{}",
        error(&decides)
    );
}

#[test]
fn a_sweep_is_named_after_nothing_that_hides_a_file_or_leads_out_of_a_folder() {
    for name in ["..", ".x", "-rf", "../run", "a/../b"] {
        let said = error(&MINIMAL.replace("name: demo", &format!("name: '{name}'")));
        assert!(said.contains("sweep id ") && said.contains(name), "{name}: {said}");
    }
    assert!(parse(&MINIMAL.replace("name: demo", "name: a..b")).is_ok());
}

#[test]
fn variables_are_substituted_outside_comments() {
    let text = "a: ${PORT} # ${NOT_LOOKED_AT}\n# ${NOR_THIS}\nb: ${HOST:-local}$$\n";
    assert_eq!(
        substitute(text, &|name| (name == "PORT").then(|| "8080".to_owned())).unwrap(),
        "a: 8080 # ${NOT_LOOKED_AT}\n# ${NOR_THIS}\nb: local$\n"
    );
}

#[test]
fn an_unset_variable_is_an_error_that_names_line_and_variable() {
    insta::assert_snapshot!(error("name: x\nseed: ${SEED}\n"));
    insta::assert_snapshot!(error("name: ${\n"));
}

#[test]
fn a_name_that_stands_twice_is_refused() {
    let twice = MINIMAL.replace("endpoints:\n", "endpoints:\n  sim: { kind: anthropic }\n");
    assert_ne!(twice, MINIMAL);
    insta::assert_snapshot!(error(&twice));
}

#[test]
fn openai_models_need_no_endpoint_entry() {
    let spec = parse(&MINIMAL.replace("[sim/oracle]", "[openai/gpt-4o-mini]")).unwrap();
    assert_eq!(spec.endpoints[&"openai".parse().unwrap()].kind, EndpointKind::Openai);
}

#[test]
fn the_kind_of_responses_may_be_written_as_its_provider_is() {
    for kind in ["openai_responses", "openai-responses"] {
        let spec = parse(&MINIMAL.replace("endpoints:\n", &format!("endpoints:\n  r: {{ kind: {kind} }}\n"))).unwrap();
        assert_eq!(spec.endpoints[&"r".parse().unwrap()].kind, EndpointKind::OpenaiResponses, "{kind}");
    }
}

#[test]
fn a_model_name_may_hold_slashes() {
    let spec = parse(&MINIMAL.replace("[sim/oracle]", "[sim/org/model]")).unwrap();
    assert_eq!(spec.models[0].id.model, "org/model");
}

const CAST: &str = "\
name: demo
benchmarks:
  worfbench:
    data: data
    roles: { user: sim/oracle, environment: { id: tools/oracle, temperature: 0.5 } }
    judge: { panel: [sim/oracle, { id: tools/noisy-0.1, max_tokens: 100 }], rule: majority, repeats: 3 }
endpoints:
  sim: { kind: simulated }
  tools: { kind: simulated }
models: [sim/oracle]
";

#[test]
fn roles_and_panels_are_read_with_their_parameters() {
    insta::assert_yaml_snapshot!(parse(CAST).unwrap().benchmarks);
}

#[test]
fn one_judge_that_is_asked_several_times_is_a_panel_of_one_and_may_see_both_orders() {
    let one = "[sim/oracle], rule: majority, repeats: 3, swap: true }";
    let two = "[sim/oracle, { id: tools/noisy-0.1, max_tokens: 100 }], rule: majority, repeats: 3 }";
    let spec = parse(&CAST.replace(two, one)).unwrap();
    let judge = spec.benchmarks.values().next().unwrap().judge.clone().unwrap();
    assert_eq!((judge.members().len(), judge.repeats(), judge.swaps()), (1, 3, true));
}

#[test]
fn every_model_of_a_spec_is_known_with_its_field() {
    let spec = parse(CAST).unwrap();
    let named: Vec<String> = spec.all_models().iter().map(|(field, model)| format!("{field} = {model}")).collect();
    insta::assert_snapshot!(named.join("\n"));
}

#[test]
fn providers_that_only_play_a_role_or_judge_need_no_endpoint_entry_either() {
    let spec =
        parse(&CAST.replace("user: sim/oracle", "user: openai/gpt-4o").replace("[sim/oracle,", "[anthropic/claude,"))
            .unwrap();
    let names: Vec<&str> = spec.endpoints.keys().map(crate::EndpointName::as_str).collect();
    assert_eq!(names, ["anthropic", "openai", "sim", "tools"]);
}

#[test]
fn wrong_roles_and_judges_are_errors_that_name_the_field() {
    insta::assert_snapshot!(
        [
            ("user: sim/oracle", "user: nowhere/oracle"),
            ("user: sim/oracle", "judge: sim/oracle"),
            ("user: sim/oracle", "user: { id: sim/oracle, budget_usd: 1 }"),
            ("user: sim/oracle", "user: { id: sim/oracle, family: f }"),
            ("user: sim/oracle", "user: { id: sim/oracle, temperature: 11 }"),
            ("tools: { kind: simulated }", "tools: { kind: simulated, lane: batch }"),
            ("tools: { kind: simulated }", "tools: { kind: recorded, path: x }"),
            ("[sim/oracle, { id", "[nowhere/oracle, { id"),
            ("[sim/oracle, { id", "[tools/noisy-0.1, { id"),
            ("[sim/oracle, { id: tools/noisy-0.1, max_tokens: 100 }]", "[]"),
            (
                "[sim/oracle, { id: tools/noisy-0.1, max_tokens: 100 }], rule: majority, repeats: 3 }",
                "[sim/oracle], rule: mean }"
            ),
            ("repeats: 3", "swap: true"),
            (
                "{ panel: [sim/oracle, { id: tools/noisy-0.1, max_tokens: 100 }], rule: majority, repeats: 3 }",
                "{ id: sim/oracle, swap: true }"
            ),
            ("repeats: 3", "repeats: 0"),
            (
                "rule: majority, repeats: 3 }",
                "rule: mean }\n    judge_price: { input_per_mtok: 1, output_per_mtok: 1 }"
            ),
            (", temperature: 0.5", ", price: { input_per_mtok: -1, output_per_mtok: 1 }"),
            ("endpoints:", "  other: { data: data, judge: { id: sim/oracle, temperature: 0 } }\nendpoints:"),
        ]
        .map(|(from, to)| error(&CAST.replace(from, to)))
        .join("\n")
    );
}

#[test]
fn wrong_audits_are_errors_that_name_the_field() {
    let audited = CAST.replace("repeats: 3 }", "repeats: 3 }\n    audit: { judge: tools/oracle, share: 0.1 }");
    let spec = parse_spec(&audited, &|_| None).unwrap();
    let benchmark = spec.benchmarks.values().next().unwrap();
    assert_eq!(benchmark.audit.as_ref().unwrap().judge.to_string(), "tools/oracle");
    insta::assert_snapshot!(
        [
            ("share: 0.1", "share: 0"),
            ("share: 0.1", "share: 1"),
            ("share: 0.1", "share: .nan"),
            ("share: 0.1", "portion: 0.1"),
            ("share: 0.1", "share: 0.1, until: 0pp"),
            ("share: 0.1", "share: 0.1, at_most: 0.5"),
            ("share: 0.1", "share: 0.1, until: 2pp, at_most: 0.05"),
            ("share: 0.1", "share: 0.1, until: 2pp, at_most: 1.5"),
            (
                "tools/oracle, share",
                "{ panel: [sim/oracle, { id: tools/noisy-0.1, max_tokens: 100 }], rule: majority, repeats: 3 }, share"
            ),
            ("tools/oracle, share", "nowhere/oracle, share"),
            ("tools/oracle, share", "{ id: tools/oracle, family: f }, share"),
            ("tools/oracle, share", "{ panel: [tools/oracle], rule: mean }, share"),
            ("tools/oracle, share", "{ id: sim/oracle, temperature: 0 }, share"),
            (
                "judge: { panel: [sim/oracle, { id: tools/noisy-0.1, max_tokens: 100 }], rule: majority, repeats: 3 }\n    ",
                ""
            ),
            ("benchmarks:", "decide: { question: ranking, margin: 2pp }\nbenchmarks:"),
        ]
        .map(|(from, to)| error(&audited.replace(from, to)))
        .join("\n")
    );
}

#[test]
fn a_spec_that_is_nested_without_end_is_refused_before_it_is_parsed() {
    for deep in
        ["[".repeat(200_000), "- ".repeat(100_000), "{a: ".repeat(50_000), "? ".repeat(100_000), "[\n".repeat(100_000)]
    {
        // A parser would stumble over the first line.
        for text in [format!("a: b: c\n{deep}"), deep] {
            let error = parse_spec(&text, &|_| None).unwrap_err().to_string();
            assert!(error.contains("nested too deeply"), "{error}");
        }
    }
}

#[test]
fn a_secret_in_a_spec_is_refused_with_the_way_to_do_it() {
    let refused = |fields: &str| {
        let endpoint: EndpointSpec = serde_yaml_ng::from_str(&format!("{{ kind: openai, {fields} }}")).unwrap();
        check_endpoint("endpoints.main", &endpoint).map_err(|error| error.to_string()).unwrap_err()
    };
    for (fields, words) in [
        ("headers: { x-litellm-api-key: sk-1 }", "headers_env: { x-litellm-api-key: VARIABLE }"),
        ("headers_env: { x-litellm-api-key: 'sk-1 234' }", "never the secret itself"),
        ("api_key_env: sk-proj-123", "never the key itself"),
        ("body: { api_key: sk-1 }", "endpoints.main.body.api_key"),
        ("body: { extra: { deep: [{ auth_token: t }] } }", "endpoints.main.body.extra.deep.auth_token"),
        ("base_url: 'http:///user:PW@host/v1'", "holds credentials"),
        ("base_url: 'https://\\user:PW@host/v1'", "holds credentials"),
        ("base_url: 'http:\\\\user:PW@host/v1'", "must begin with http:// or https://"),
        ("base_url: 'https://host/v1?api_key=sk-1'", "goes on after the path"),
        ("base_url: 'https://host/v1#sk-1'", "goes on after the path"),
        ("body: { api_keys: [sk-1] }", "endpoints.main.body.api_keys"),
        ("region: 'x.evil.example/#'", "region"),
    ] {
        let error = refused(fields);
        assert!(error.contains(words), "{fields}: {error}");
        assert!(!error.contains("sk-1") && !error.contains("PW"), "{error}");
    }
    let fine: EndpointSpec = serde_yaml_ng::from_str(
        "{ kind: openai, base_url: 'https://host/v1/a@b', headers: { OpenAI-Organization: o }, headers_env: { x-api-key: OWN_KEY }, \
         body: { max_completion_tokens: 5, reasoning: { effort: low } } }",
    )
    .unwrap();
    check_endpoint("endpoints.main", &fine).unwrap();
}

#[test]
fn a_variable_that_may_hold_a_secret_is_not_written_into_a_spec() {
    let refused = substitute("a: 1\nname: ${MY_API_KEY}\n", &|_| Some("sk-1".to_owned())).unwrap_err().to_string();
    assert!(refused.contains("line 2") && refused.contains("MY_API_KEY may hold a secret"), "{refused}");
    assert!(!refused.contains("sk-1"), "{refused}");
}

#[test]
fn a_secret_within_a_reference_to_a_variable_is_not_repeated() {
    for (reference, problem) in [
        ("${sk-1}", "the text between ${ and } is not a variable name"),
        ("${HOST-sk-1}", "the text between ${ and } is not a variable name"),
        ("${MY_API_KEY:-sk-1}", "MY_API_KEY may hold a secret"),
        ("${HOST:-sk-1", "a ${ without its }"),
    ] {
        let refused = substitute(&format!("name: {reference}\n"), &|_| None).unwrap_err().to_string();
        assert!(refused.contains("line 1") && refused.contains(problem), "{refused}");
        assert!(!refused.contains("sk-1"), "{refused}");
    }
}

#[test]
fn headers_that_say_where_a_request_goes_or_how_it_is_framed_are_refused_with_their_field() {
    let refused = [
        "Host",
        "Connection",
        "Keep-Alive",
        "Proxy-Connection",
        "TE",
        "Trailer",
        "Transfer-Encoding",
        "Upgrade",
        "Content-Length",
        "content-type",
        "X-Forwarded-Host",
        "x_forwarded_for",
        "X-Forwarded",
        "Forwarded",
    ];
    for (name, fields) in refused.iter().flat_map(|name| {
        [(name, format!("headers: {{ {name}: a }}")), (name, format!("headers_env: {{ {name}: VARIABLE }}"))]
    }) {
        let spec = MINIMAL.replace("sim: {", &format!("gate: {{ kind: openai, {fields} }}\n  sim: {{"));
        let error = error(&spec);
        let field = fields.split(':').next().unwrap();
        assert!(error.starts_with(&format!("endpoints.gate.{field}.{name}: ")), "{error}");
        assert!(error.contains("leave it out"), "{error}");
    }
    let fine = "gate: { kind: openai, headers: { X-Title: a, HTTP-Referer: b, Accept-Language: c } }\n  sim: {";
    parse(&MINIMAL.replace("sim: {", fine)).unwrap();
}

#[test]
fn an_encoder_has_a_path_or_a_registered_name_and_others_have_no_name() {
    let with = |endpoint: &str| parse(&MINIMAL.replace("sim: {", &format!("minilm: {endpoint}\n  sim: {{")));
    assert!(with("{ kind: encoder, registered: minilm }").is_ok());
    assert!(with("{ kind: encoder, path: models/minilm }").is_ok());
    for (endpoint, field) in [
        ("{ kind: encoder, registered: minilm, path: x }", "endpoints.minilm.registered: stands in place of path"),
        ("{ kind: recorded, registered: minilm }", "endpoints.minilm.registered: only belongs"),
        ("{ kind: openai, registered: minilm }", "endpoints.minilm.registered: only belongs"),
        ("{ kind: encoder, registered: ../minilm }", "encoder name"),
    ] {
        let error = with(endpoint).unwrap_err().to_string();
        assert!(error.contains(field), "{endpoint}: {error}");
    }
}
