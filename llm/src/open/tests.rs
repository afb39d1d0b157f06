use super::*;

fn resolve(spec: &EndpointSpec, variables: &[(&str, &str)]) -> Result<Access, OpenError> {
    let env = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    Access::resolve(&"main".parse().unwrap(), spec, &env)
}

fn openai(base_url: Option<&str>, api_key_env: Option<&str>) -> EndpointSpec {
    EndpointSpec {
        base_url: base_url.map(str::to_owned),
        api_key_env: api_key_env.map(str::to_owned),
        ..EndpointSpec::of_kind(EndpointKind::Openai)
    }
}

fn key(spec: &EndpointSpec, variables: &[(&str, &str)]) -> Option<String> {
    resolve(spec, variables).unwrap().secret.expose().map(str::to_owned)
}

#[test]
fn the_address_is_the_specs_or_the_variables_or_openais() {
    let key = ("OPENAI_API_KEY", "k");
    let chat =
        |spec: &EndpointSpec, variables: &[(&str, &str)]| resolve(spec, variables).unwrap().base + "/chat/completions";
    assert_eq!(chat(&openai(None, None), &[key]), "https://api.openai.com/v1/chat/completions");
    let variables = [key, ("OPENAI_BASE_URL", "http://gateway:8080/v1/")];
    assert_eq!(chat(&openai(None, None), &variables), "http://gateway:8080/v1/chat/completions");
    assert_eq!(chat(&openai(Some("http://own/v1"), None), &variables), "http://own/v1/chat/completions");
}

#[test]
fn a_missing_key_is_an_error_that_names_variable_and_endpoint() {
    insta::assert_snapshot!(resolve(&openai(None, None), &[]).unwrap_err(), @"endpoint main needs a key: set OPENAI_API_KEY, or name another variable in api_key_env (`none` sends no key)");
    insta::assert_snapshot!(resolve(&openai(Some("http://own/v1"), Some("OWN_KEY")), &[("OWN_KEY", " ")]).unwrap_err(), @"endpoint main needs a key: set OWN_KEY, or name another variable in api_key_env (`none` sends no key)");
}

#[test]
fn keys_come_from_the_named_variable_or_the_usual_one() {
    let variables = [("OPENAI_API_KEY", "usual\n"), ("OWN_KEY", "own")];
    assert_eq!(key(&openai(None, None), &variables).as_deref(), Some("usual"));
    assert_eq!(key(&openai(None, Some("OWN_KEY")), &variables).as_deref(), Some("own"));
    assert_eq!(key(&openai(Some("http://own/v1"), None), &variables).as_deref(), Some("usual"));
    assert_eq!(key(&openai(Some("http://own/v1"), None), &[]), None);
    assert_eq!(key(&openai(None, Some("none")), &variables), None);
}

#[test]
fn a_simulated_endpoint_gets_no_key_and_needs_an_address() {
    let mut spec = EndpointSpec::of_kind(EndpointKind::Simulated);
    insta::assert_snapshot!(resolve(&spec, &[]).unwrap_err(), @"endpoint main has no base_url");
    spec.base_url = Some("http://127.0.0.1:1/v1".into());
    assert_eq!(key(&spec, &[("OPENAI_API_KEY", "usual")]), None);
}

#[test]
fn an_address_that_is_none_is_refused() {
    insta::assert_snapshot!(
        ["localhost:80", "ftp://host/v1", "http://"]
            .map(|url| resolve(&openai(Some(url), Some("none")), &[]).unwrap_err().to_string())
            .join("\n"),
        @r#"
    base_url "localhost:80" of endpoint main is not an http or https address: its scheme is "localhost"
    base_url "ftp://host/v1" of endpoint main is not an http or https address: its scheme is "ftp"
    base_url "http://" of endpoint main is not an http or https address: empty host
    "#
    );
}
