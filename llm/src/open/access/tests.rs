use super::*;

fn resolve(spec: &EndpointSpec, variables: &[(&str, &str)]) -> Result<Access, OpenError> {
    let env = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    Access::resolve(&"main".parse().unwrap(), spec, &env, &OutboundPolicy::trusting())
}

/// Resolves the key as a deployed worker does whose policy holds `rules`.
fn deployed(rules: &str, spec: &EndpointSpec, variables: &[(&str, &str)]) -> Result<Option<String>, String> {
    let env = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    let policy = OutboundPolicy::closed().with(serde_yaml_ng::from_str(rules).unwrap());
    let access = Access::resolve(&"main".parse().unwrap(), spec, &env, &policy).map_err(|error| error.to_string())?;
    Ok(access.secret.expose().map(str::to_owned))
}

#[test]
fn a_deployed_worker_sends_no_key_to_an_address_that_a_stranger_names() {
    let variables = [("OPENAI_API_KEY", "usual"), ("AWS_SECRET_ACCESS_KEY", "aws"), ("GATEWAY_KEY", "gate")];
    let stranger = Some("https://stranger.example.com/v1");
    assert_eq!(deployed("{}", &openai(stranger, None), &variables), Ok(None));
    insta::assert_snapshot!(deployed("{}", &openai(stranger, Some("AWS_SECRET_ACCESS_KEY")), &variables).unwrap_err(), @r#"endpoint main would send the key AWS_SECRET_ACCESS_KEY to https://stranger.example.com, which no policy allows: allow it in the policy file (--policy) as keys: { AWS_SECRET_ACCESS_KEY: { origins: ["https://stranger.example.com"] } }, or write api_key_env: none"#);
    assert!(deployed("{}", &openai(stranger, Some("OPENAI_API_KEY")), &variables).is_err());
    assert_eq!(deployed("{}", &openai(None, None), &variables), Ok(Some("usual".into())));
    let bound = "keys: { GATEWAY_KEY: { origins: ['https://stranger.example.com'] } }";
    assert_eq!(deployed(bound, &openai(stranger, Some("GATEWAY_KEY")), &variables), Ok(Some("gate".into())));
    assert!(deployed(bound, &openai(stranger, Some("OPENAI_API_KEY")), &variables).is_err());
}

#[test]
fn who_sets_the_address_beside_the_key_has_it_sent_there() {
    let variables = [("OPENAI_API_KEY", "usual"), ("OPENAI_BASE_URL", "http://litellm.internal:4000")];
    assert_eq!(deployed("{}", &openai(None, None), &variables), Ok(Some("usual".into())));
    assert_eq!(key(&openai(None, None), &variables).as_deref(), Some("usual"));
    assert!(deployed("{}", &openai(None, Some("GATEWAY_KEY")), &[variables[1], ("GATEWAY_KEY", "gate")]).is_err());
}

#[test]
fn a_deployed_worker_reaches_private_addresses_only_if_they_are_named() {
    let spec = openai(Some("http://10.0.0.5:8000/v1"), Some("none"));
    insta::assert_snapshot!(deployed("{}", &spec, &[]).unwrap_err(), @"the address of endpoint main is not allowed: 10.0.0.5 is a private address that the policy does not name; add it under egress.private of the policy file");
    assert_eq!(deployed("egress: { private: [10.0.0.0/24] }", &spec, &[]), Ok(None));
    let metadata = openai(Some("http://169.254.169.254/latest"), Some("none"));
    assert!(deployed("egress: { private: [169.254.0.0/16] }", &metadata, &[]).is_err());
}

#[test]
fn a_key_that_everybody_on_the_way_could_read_is_not_sent() {
    let variables = [("OWN_KEY", "own")];
    let error = resolve(&openai(Some("http://10.0.0.5:8000/v1"), Some("OWN_KEY")), &variables).unwrap_err();
    insta::assert_snapshot!(error, @r#"endpoint main would send the key OWN_KEY to http://10.0.0.5:8000 without TLS, where everybody on the way can read it: use https, or allow it in the policy file (--policy) as keys: { OWN_KEY: { origins: ["http://10.0.0.5:8000"], plain_http: true } }"#);
    assert_eq!(key(&openai(Some("http://127.0.0.1:8000/v1"), Some("OWN_KEY")), &variables).as_deref(), Some("own"));
    assert_eq!(key(&openai(Some("https://own.example.com"), Some("OWN_KEY")), &variables).as_deref(), Some("own"));
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
    // A self-hosted server is not the provider, so it does not get the provider's key.
    assert_eq!(key(&openai(Some("http://own/v1"), None), &variables), None);
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
        ["localhost:80", "ftp://host/v1", "http://", "https://host/v1?api-version=1"]
            .map(|url| resolve(&openai(Some(url), Some("none")), &[]).unwrap_err().to_string())
            .join("\n"),
        @r#"
    base_url "localhost:80" of endpoint main is not an http or https address: its scheme is "localhost"
    base_url "ftp://host/v1" of endpoint main is not an http or https address: its scheme is "ftp"
    base_url "http://" of endpoint main is not an http or https address: empty host
    base_url "https://host/v1" of endpoint main is not an http or https address: it goes on after the path; api_version is a field of its own
    "#
    );
}

#[test]
fn a_secret_in_an_address_of_the_environment_is_not_told() {
    let spec = openai(None, Some("none"));
    for address in [
        "https://host/v1?key=hunter2",
        "https://host/v1#hunter2",
        "https://user:hunter2@host/v1",
        "https://user:hunter2@host:port/v1",
        "https://user:hunt?hunter2@host:port/v1",
        "ftp://user:hunter2@host/v1",
        "hunter2@host:port",
    ] {
        let error = resolve(&spec, &[("OPENAI_BASE_URL", address)]).unwrap_err().to_string();
        assert!(error.contains("endpoint main") && !error.contains("hunter2"), "{error}");
    }
}

#[test]
fn every_provider_has_its_address_its_variables_and_its_header() {
    let variables = [
        ("OPENAI_API_KEY", "o"),
        ("AZURE_OPENAI_API_KEY", "z"),
        ("AZURE_OPENAI_ENDPOINT", "https://mine.openai.azure.com/"),
        ("ANTHROPIC_API_KEY", "a"),
        ("GOOGLE_API_KEY", "g"),
    ];
    let table: Vec<String> = [
        EndpointKind::Openai,
        EndpointKind::OpenaiResponses,
        EndpointKind::Azure,
        EndpointKind::Anthropic,
        EndpointKind::Gemini,
    ]
    .into_iter()
    .map(|kind| {
        let access = resolve(&EndpointSpec::of_kind(kind), &variables).unwrap();
        let KeyHeader { name, prefix } = access.key_header;
        format!("{kind:?}: {} {name}: {prefix}{}", access.base, access.secret.expose().unwrap())
    })
    .collect();
    insta::assert_snapshot!(table.join("\n"), @r"
    Openai: https://api.openai.com/v1 authorization: Bearer o
    OpenaiResponses: https://api.openai.com/v1 authorization: Bearer o
    Azure: https://mine.openai.azure.com api-key: z
    Anthropic: https://api.anthropic.com/v1 x-api-key: a
    Gemini: https://generativelanguage.googleapis.com/v1beta x-goog-api-key: g
    ");
}

#[test]
fn each_provider_names_the_variable_that_is_missing() {
    let problem = |spec: &EndpointSpec| resolve(spec, &[]).unwrap_err().to_string();
    let azure = EndpointSpec { base_url: Some("https://mine".into()), ..EndpointSpec::of_kind(EndpointKind::Azure) };
    let own = EndpointSpec {
        base_url: Some("https://api.anthropic.com".into()),
        ..EndpointSpec::of_kind(EndpointKind::Anthropic)
    };
    let problems = [
        problem(&EndpointSpec::of_kind(EndpointKind::Azure)),
        problem(&azure),
        problem(&own),
        problem(&EndpointSpec::of_kind(EndpointKind::Gemini)),
    ];
    insta::assert_snapshot!(problems.join("\n"), @r"
    endpoint main has no base_url; set AZURE_OPENAI_ENDPOINT
    endpoint main has a base_url of its own, and to such no key is sent that is not named: write api_key_env: AZURE_OPENAI_API_KEY (or `none`)
    endpoint main needs a key: set ANTHROPIC_API_KEY, or name another variable in api_key_env (`none` sends no key)
    endpoint main needs a key: set GEMINI_API_KEY, or name another variable in api_key_env (`none` sends no key)
    ");
}

#[test]
fn anthropics_address_may_name_the_version_or_not() {
    let base = |url: &str| {
        let spec = EndpointSpec { base_url: Some(url.into()), ..EndpointSpec::of_kind(EndpointKind::Anthropic) };
        resolve(&spec, &[("ANTHROPIC_API_KEY", "a")]).unwrap().base
    };
    for url in ["http://gateway:4000", "http://gateway:4000/", "http://gateway:4000/v1", "http://gateway:4000/v1/"] {
        assert_eq!(base(url), "http://gateway:4000/v1", "{url}");
    }
}

#[test]
fn headers_of_the_spec_are_sent_unless_they_may_hold_a_secret() {
    let with = |name: &str, value: &str| EndpointSpec {
        headers: [(name.to_owned(), value.to_owned())].into(),
        ..openai(Some("http://own/v1"), Some("none"))
    };
    assert_eq!(resolve(&with("OpenAI-Organization", "org"), &[]).unwrap().headers["openai-organization"], "org");
    let problem = |name: &str, value: &str| resolve(&with(name, value), &[]).unwrap_err().to_string();
    insta::assert_snapshot!([problem("Authorization", "Bearer x"), problem("a b", "c"), problem("a", "b\nc")].join("\n"), @r#"
    header "Authorization" of endpoint main cannot be sent: specs are stored, and it may hold a secret; name a variable in headers_env or api_key_env
    header "a b" of endpoint main cannot be sent: that is no name of a header
    header "a" of endpoint main cannot be sent: its value holds characters that no header may hold
    "#);
}

#[test]
fn access_is_checked_for_what_is_behind_http() {
    let check = |kind| {
        check_access(&"main".parse().unwrap(), &EndpointSpec::of_kind(kind), &|_| None, &OutboundPolicy::trusting())
            .map_err(|error| error.to_string())
    };
    assert!(check(EndpointKind::Anthropic).is_err());
    assert!(check(EndpointKind::Azure).is_err());
    for kind in [EndpointKind::Bedrock, EndpointKind::Encoder, EndpointKind::Recorded] {
        assert_eq!(check(kind), Ok(()), "{kind:?}");
    }
}

#[test]
fn headers_with_secrets_come_from_variables_and_go_where_keys_may_go() {
    let with = |base: &str| EndpointSpec {
        headers_env: [("x-litellm-api-key".to_owned(), "LITELLM_KEY".to_owned())].into(),
        ..openai(Some(base), Some("none"))
    };
    let variables = [("LITELLM_KEY", "sk-litellm-1")];
    let access = resolve(&with("https://litellm.example.com"), &variables).unwrap();
    assert!(access.headers["x-litellm-api-key"].is_sensitive());
    assert_eq!(access.headers["x-litellm-api-key"], "sk-litellm-1");
    assert_eq!(access.secret.detail("bad sk-litellm-1"), "bad [key]");
    assert!(deployed("{}", &with("https://litellm.example.com"), &variables).is_err());
    assert!(resolve(&with("http://10.0.0.5:4000"), &variables).is_err());
    assert!(resolve(&with("https://litellm.example.com"), &[]).unwrap_err().to_string().contains("LITELLM_KEY"));
}

#[test]
fn a_spec_names_no_header_that_chooses_the_host() {
    let variables = [("OPENAI_API_KEY", "usual"), ("OWN", "inner.example.com")];
    for name in ["Host", "Transfer-Encoding", "Content-Length", "X-Forwarded-Host", "Forwarded", "Connection"] {
        let named = std::collections::BTreeMap::from([(name.to_owned(), "OWN".to_owned())]);
        let plain = EndpointSpec { headers: named.clone(), ..EndpointSpec::of_kind(EndpointKind::Openai) };
        let secret = EndpointSpec { headers_env: named, ..EndpointSpec::of_kind(EndpointKind::Openai) };
        for spec in [plain, secret] {
            let error = resolve(&spec, &variables).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("leave it out"), "{error}");
        }
    }
}
