//! Requests as they are sent.

use regatta_proto::{ClientFormat, Image, OutputSchema, Passed, Reasoning, Thinking, Tool, ToolCall, ToolChoice};
use serde_json::{Value, json};

use super::*;

fn sent(model: &str, request: &ChatRequest) -> Value {
    serde_json::from_slice(&request::body(model, request).unwrap()).unwrap()
}

fn weather() -> Tool {
    let parameters = json!({"type": "object", "properties": {"zone": {"type": "string"}, "city": {"type": "string"}}});
    Tool { name: "get_weather".into(), description: Some("Weather of a city".into()), parameters: Arc::new(parameters) }
}

fn result(id: &str, content: &str) -> ChatMessage {
    ChatMessage { tool_call_id: Some(id.into()), ..message(ChatRole::Tool, content) }
}

#[tokio::test]
async fn a_request_is_signed_and_holds_the_body_to_the_letter() {
    let server = Server::scripted(vec![Step::ok(answers::HELLO)]).await;
    let spec = EndpointSpec {
        headers: [("x-gateway".to_owned(), "g1".to_owned())].into(),
        body: [("performanceConfig".to_owned(), json!({"latency": "optimized"}))].into(),
        ..spec(&server)
    };
    let client = open(&spec);
    let request = ChatRequest { tools: vec![weather()], ..hi() };
    ask(&client, &request).await.unwrap();
    let seen = &server.seen()[0];
    assert_eq!(seen.body.as_bytes(), client.prepare(MODEL, &request).unwrap().body);
    insta::assert_snapshot!(seen.body, @r#"{"messages":[{"role":"user","content":[{"text":"hi"}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"get_weather","description":"Weather of a city","inputSchema":{"json":{"type":"object","properties":{"zone":{"type":"string"},"city":{"type":"string"}}}}}}]},"performanceConfig":{"latency":"optimized"}}"#);
    let head = &seen.head;
    assert!(
        head.starts_with("post /v1/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3a0/converse http/1.1"),
        "{head}"
    );
    assert!(head.contains("authorization: aws4-hmac-sha256 credential=akidexample/"), "{head}");
    assert!(head.contains("/eu-central-2/bedrock/aws4_request"), "{head}");
    assert!(head.contains("x-amz-security-token: session-token"), "{head}");
    assert!(head.contains("x-gateway: g1"), "{head}");
    assert!(head.contains("x-gateway;") || head.contains(";x-gateway"), "signed too: {head}");
    assert!(!head.contains("wjalrxutnfemi"), "the key itself is never sent");
}

#[tokio::test]
async fn the_region_of_the_spec_goes_first() {
    let server = Server::scripted(vec![Step::ok(answers::HELLO)]).await;
    ask(&open(&EndpointSpec { region: Some("us-west-2".to_owned()), ..spec(&server) }), &hi()).await.unwrap();
    assert!(server.seen()[0].head.contains("/us-west-2/bedrock/aws4_request"));
}

#[test]
fn an_address_that_is_none_is_refused_by_name() {
    for url in ["bedrock.example", "ftp://bedrock.example"] {
        let spec = EndpointSpec { base_url: Some(url.to_owned()), ..EndpointSpec::of_kind(EndpointKind::Bedrock) };
        let error = Settings::new(&"aws".parse().unwrap(), &spec, &env, &crate::OutboundPolicy::trusting())
            .unwrap_err()
            .to_string();
        assert!(error.contains("aws") && error.contains(url), "{error}");
    }
}

#[test]
fn sampling_stops_and_a_schema_have_their_places() {
    let request = ChatRequest {
        sampling: Sampling { temperature: Some(0.0), top_p: Some(0.9), max_tokens: Some(77), seed: Some(1) },
        stop: vec!["\nObservation:".into()],
        output: Some(OutputSchema { name: "verdict".into(), schema: Arc::new(json!({"type": "object"})) }),
        ..hi()
    };
    insta::assert_snapshot!(sent("amazon.nova-pro-v1:0", &request), @r#"{"messages":[{"role":"user","content":[{"text":"hi"}]}],"inferenceConfig":{"maxTokens":77,"temperature":0.0,"topP":0.9,"stopSequences":["\nObservation:"]},"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"name":"verdict","schema":"{\"type\":\"object\"}"}}}}}"#);
}

#[test]
fn a_conversation_with_tools_and_thoughts_has_all_its_blocks() {
    let opaque = r#"[{"type":"thinking","thinking":"two","signature":"Eq=="},{"type":"redacted_thinking","data":"AAEC"},{"type":"thinking","thinking":"unsigned"}]"#;
    let calls = [("t1", r#"{"zone":"z","city":"Bern"}"#), ("t2", "")];
    let asks = ChatMessage {
        tool_calls: calls
            .map(|(id, arguments)| ToolCall { id: id.into(), name: "get_weather".into(), arguments: arguments.into() })
            .to_vec(),
        reasoning: Some(Reasoning { text: "two".into(), opaque: Some(opaque.into()) }),
        ..message(ChatRole::Assistant, "Let me look.")
    };
    let request = ChatRequest {
        messages: vec![
            ChatMessage { cache_until_here: true, ..message(ChatRole::System, "Be brief.") },
            message(ChatRole::User, "Weather in Bern?"),
            asks,
            result("t1", "sun"),
            ChatMessage { cache_until_here: true, ..result("t2", " ") },
            message(ChatRole::Assistant, ""),
            message(ChatRole::User, "Well?"),
        ],
        tools: vec![weather()],
        tool_choice: ToolChoice::Required,
        ..ChatRequest::default()
    };
    insta::assert_json_snapshot!(sent(MODEL, &request), @r#"
    {
      "system": [
        {
          "text": "Be brief."
        },
        {
          "cachePoint": {
            "type": "default"
          }
        }
      ],
      "messages": [
        {
          "role": "user",
          "content": [
            {
              "text": "Weather in Bern?"
            }
          ]
        },
        {
          "role": "assistant",
          "content": [
            {
              "reasoningContent": {
                "reasoningText": {
                  "text": "two",
                  "signature": "Eq=="
                }
              }
            },
            {
              "reasoningContent": {
                "redactedContent": "AAEC"
              }
            },
            {
              "text": "Let me look."
            },
            {
              "toolUse": {
                "toolUseId": "t1",
                "name": "get_weather",
                "input": {
                  "zone": "z",
                  "city": "Bern"
                }
              }
            },
            {
              "toolUse": {
                "toolUseId": "t2",
                "name": "get_weather",
                "input": {}
              }
            }
          ]
        },
        {
          "role": "user",
          "content": [
            {
              "toolResult": {
                "toolUseId": "t1",
                "content": [
                  {
                    "text": "sun"
                  }
                ]
              }
            },
            {
              "toolResult": {
                "toolUseId": "t2",
                "content": []
              }
            },
            {
              "cachePoint": {
                "type": "default"
              }
            },
            {
              "text": "Well?"
            }
          ]
        }
      ],
      "toolConfig": {
        "tools": [
          {
            "toolSpec": {
              "name": "get_weather",
              "description": "Weather of a city",
              "inputSchema": {
                "json": {
                  "type": "object",
                  "properties": {
                    "zone": {
                      "type": "string"
                    },
                    "city": {
                      "type": "string"
                    }
                  }
                }
              }
            }
          }
        ],
        "toolChoice": {
          "any": {}
        }
      }
    }
    "#);
}

#[test]
fn marks_for_the_cache_go_to_families_that_know_them_and_never_more_than_four() {
    let marked = |role, text: &str| ChatMessage { cache_until_here: true, ..message(role, text) };
    let turns = (0..6).map(|number| {
        let role = if number % 2 == 0 { ChatRole::User } else { ChatRole::Assistant };
        marked(role, &number.to_string())
    });
    let request = ChatRequest { messages: turns.collect(), ..ChatRequest::default() };
    let marks = |model: &str| {
        let messages = sent(model, &request)["messages"].take();
        let count = |message: &Value| message.to_string().matches("cachePoint").count();
        messages.as_array().unwrap().iter().map(count).collect::<Vec<_>>()
    };
    assert_eq!(marks(MODEL), [0, 0, 1, 1, 1, 1]);
    assert_eq!(marks("amazon.nova-pro-v1:0"), [0, 0, 1, 1, 1, 1]);
    assert_eq!(marks("anthropic.claude-3-haiku-20240307-v1:0"), [0; 6]);
    assert_eq!(marks("meta.llama3-3-70b-instruct-v1:0"), [0; 6]);
}

#[test]
fn each_family_is_told_to_think_in_its_own_words() {
    let fields = |model: &str, thinking| {
        let body = sent(model, &ChatRequest { thinking: Some(thinking), ..hi() });
        let max_tokens = body["inferenceConfig"]["maxTokens"].as_u64();
        (body.get("additionalModelRequestFields").cloned().unwrap_or_default(), max_tokens)
    };
    let enabled = json!({"thinking": {"type": "enabled", "budget_tokens": 2000}});
    assert_eq!(fields(MODEL, Thinking::Tokens(2000)), (enabled, Some(6096)));
    let adaptive = json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "medium"}});
    assert_eq!(fields("anthropic.claude-opus-4-6-v1", Thinking::Medium), (adaptive, Some(12_288)));
    assert_eq!(fields(MODEL, Thinking::Off), (json!(null), None));
    let nova = json!({"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}});
    assert_eq!(fields("us.amazon.nova-2-lite-v1:0", Thinking::Low), (nova, None));
    assert_eq!(fields("openai.gpt-oss-120b-1:0", Thinking::High), (json!({"reasoning_effort": "high"}), None));
    assert_eq!(fields("meta.llama3-3-70b-instruct-v1:0", Thinking::Off), (json!(null), None));
}

#[test]
fn the_wish_for_one_call_at_a_time_is_left_out() {
    let one = ChatRequest { tools: vec![weather()], parallel_tool_calls: Some(false), ..hi() };
    let any = ChatRequest { parallel_tool_calls: None, ..one.clone() };
    assert_eq!(sent(MODEL, &one), sent(MODEL, &any));
}

#[test]
fn what_cannot_be_said_is_refused_by_name() {
    let refusal = |model: &str, request: ChatRequest| request::body(model, &request).unwrap_err();
    let with_tool = || ChatRequest { tools: vec![weather()], ..hi() };
    assert!(refusal(MODEL, ChatRequest { logprobs: Some(1), ..hi() }).contains("log-probabilities"));
    let passed = Passed { format: ClientFormat::Messages, fields: [("top_k".to_owned(), json!(5))].into() };
    assert!(refusal(MODEL, ChatRequest { passed: Some(passed.into()), ..hi() }).contains("`top_k`"));
    assert!(refusal(MODEL, ChatRequest { tool_choice: ToolChoice::None, ..with_tool() }).contains("forbid"));
    let llama = "meta.llama3-3-70b-instruct-v1:0";
    assert!(refusal(llama, ChatRequest { thinking: Some(Thinking::Low), ..hi() }).contains(llama));
    let oss = "openai.gpt-oss-120b-1:0";
    assert!(refusal(oss, ChatRequest { thinking: Some(Thinking::Tokens(9)), ..hi() }).contains("tokens"));
    let orphan = ChatRequest { messages: vec![message(ChatRole::Tool, "x")], ..ChatRequest::default() };
    assert!(refusal(MODEL, orphan).contains("does not name its call"));
}

#[tokio::test]
async fn an_address_of_a_spec_leads_nowhere_inside_whatever_its_name_is() {
    let settings = |url: &str| {
        let rules = format!("keys: {{ AWS_SECRET_ACCESS_KEY: {{ origins: ['{url}'], plain_http: true }} }}");
        let policy = crate::OutboundPolicy::closed().with(serde_yaml_ng::from_str(&rules).unwrap());
        let spec = EndpointSpec { base_url: Some(url.to_owned()), ..EndpointSpec::of_kind(EndpointKind::Bedrock) };
        Settings::new(&"aws".parse().unwrap(), &spec, &env, &policy)
    };
    let refused = settings("http://169.254.169.254").map(drop).unwrap_err().to_string();
    assert!(refused.contains("a link-local or metadata address, which is never reached"), "{refused}");
    let server = Server::scripted(vec![Step::ok(answers::HELLO)]).await;
    let port = reqwest::Url::parse(&server.base_url).unwrap().port().unwrap();
    // No address, so that only resolving it tells where it leads.
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
    let found = tokio::net::lookup_host((host.as_str(), 0)).await;
    let found: Vec<_> = found.map(|found| found.map(|at| at.ip()).collect()).unwrap_or_default();
    if !found.iter().any(|address| crate::EgressRules::default().refusal(*address).is_some()) {
        eprintln!("skipped: this machine's own name does not resolve to a private address");
        return;
    }
    let clock = Arc::new(ManualClock::at("2026-01-01T00:00:00Z".parse().unwrap()));
    let named = settings(&format!("http://{host}:{port}")).unwrap();
    let client = BedrockClient::new(named, &spec(&server), clock);
    let failure = ask(&client, &hi()).await.unwrap_err();
    assert!(failure.reach.is_unreached() && failure.detail.contains("that the policy does not name"), "{failure:?}");
    assert_eq!(server.seen().len(), 0);
}

#[test]
fn an_address_of_a_spec_needs_a_rule_for_the_key_that_signs() {
    let spec = EndpointSpec {
        base_url: Some("https://stranger.example.com".to_owned()),
        ..EndpointSpec::of_kind(EndpointKind::Bedrock)
    };
    let deployed = |rules: &str| {
        let policy = crate::OutboundPolicy::closed().with(serde_yaml_ng::from_str(rules).unwrap());
        Settings::new(&"aws".parse().unwrap(), &spec, &env, &policy).map(drop).map_err(|error| error.to_string())
    };
    let withheld = deployed("{}").unwrap_err();
    assert!(
        withheld.contains("would send the key AWS_SECRET_ACCESS_KEY to https://stranger.example.com"),
        "{withheld}"
    );
    assert_eq!(deployed("keys: { AWS_SECRET_ACCESS_KEY: { origins: ['https://stranger.example.com'] } }"), Ok(()));
    assert!(deployed("keys: { AWS_SECRET_ACCESS_KEY: { origins: ['https://other.example.com'] } }").is_err());
}

#[test]
fn a_key_of_bedrocks_own_goes_to_an_address_of_a_spec_only_if_it_is_named_bound_and_encrypted() {
    const BEARER: &str = "AWS_BEARER_TOKEN_BEDROCK";
    const KEY: &str = "bedrock-api-key-0123456789";
    let variables = |name: &str| if name == BEARER { Some(KEY.to_owned()) } else { env(name) };
    let opened = |url: Option<&str>, named: Option<&str>, policy: &crate::OutboundPolicy| {
        let spec = EndpointSpec {
            base_url: url.map(str::to_owned),
            api_key_env: named.map(str::to_owned),
            ..EndpointSpec::of_kind(EndpointKind::Bedrock)
        };
        Settings::new(&"aws".parse().unwrap(), &spec, &variables, policy).map_err(|error| error.to_string())
    };
    let own = crate::OutboundPolicy::trusting();
    let (gateway, bare) = (Some("https://gateway.example.com"), Some("http://10.0.0.5:4000"));
    assert!(!opened(None, None, &own).unwrap().signs, "to AWS itself it goes unasked");
    assert!(opened(gateway, None, &own).unwrap().signs);
    assert!(!opened(gateway, Some(BEARER), &own).unwrap().signs);
    let clear = opened(bare, Some(BEARER), &own).map(drop).unwrap_err();
    assert!(clear.contains(&format!("would send the key {BEARER} to http://10.0.0.5:4000 without TLS")), "{clear}");
    let bound = |variable: &str| {
        let rules = format!("keys: {{ {variable}: {{ origins: ['https://gateway.example.com'] }} }}");
        crate::OutboundPolicy::closed().with(serde_yaml_ng::from_str(&rules).unwrap())
    };
    let withheld = opened(gateway, Some(BEARER), &bound("AWS_SECRET_ACCESS_KEY")).map(drop).unwrap_err();
    assert!(withheld.contains(&format!("would send the key {BEARER} to https://gateway.example.com")), "{withheld}");
    let said = opened(gateway, Some(BEARER), &bound(BEARER)).unwrap().secret.detail(&format!("not {KEY}"));
    assert_eq!(said, "not [key]");
}

#[test]
fn a_key_of_bedrocks_own_that_is_named_and_not_set_is_missed() {
    let spec = EndpointSpec {
        api_key_env: Some("AWS_BEARER_TOKEN_BEDROCK".to_owned()),
        ..EndpointSpec::of_kind(EndpointKind::Bedrock)
    };
    let error = Settings::new(&"aws".parse().unwrap(), &spec, &env, &crate::OutboundPolicy::trusting());
    let error = error.map(drop).unwrap_err().to_string();
    assert!(error.starts_with("endpoint aws needs a key: set AWS_BEARER_TOKEN_BEDROCK"), "{error}");
}

#[test]
fn an_image_stands_before_the_text_and_one_whose_bytes_are_not_here_is_refused() {
    let image = Image::of_base64("iVBORw0KGgo=").unwrap();
    let asked = ChatMessage { images: vec![image], ..message(ChatRole::User, "what?") };
    let request = ChatRequest::new(vec![asked], Sampling::default());
    let content = &sent(MODEL, &request)["messages"][0]["content"];
    let image = json!({"image": {"format": "png", "source": {"bytes": "iVBORw0KGgo="}}});
    assert_eq!(*content, json!([image, {"text": "what?"}]));
    let recorded: ChatRequest = serde_json::from_value(serde_json::to_value(&request).unwrap()).unwrap();
    let refused = request::body(MODEL, &recorded).unwrap_err();
    assert!(refused.ends_with("is not at hand: only its digest is recorded"), "{refused}");
}
