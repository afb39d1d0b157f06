//! The form that a request asks of its answer, where no benchmark and no script has one.

use serde_json::{Value, json};

use crate::harness::{Format, Harness, Read, config, read, scripted};
use crate::three_items::{PLAIN, gold};

fn plan() -> Value {
    json!({"type": "object", "properties": {
        "steps": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "count": {"type": "integer", "minimum": 2},
    }, "required": ["steps", "count"], "additionalProperties": false})
}

/// The fields by which `format` asks for JSON by `schema`.
fn by_schema(format: Format, schema: &Value) -> Value {
    match format {
        Format::Chat => {
            json!({"response_format": {"type": "json_schema", "json_schema": {"name": "Plan", "schema": schema, "strict": true}}})
        }
        Format::Messages => json!({"output_config": {"format": {"type": "json_schema", "schema": schema}}}),
        Format::Responses => {
            json!({"text": {"format": {"type": "json_schema", "name": "Plan", "schema": schema, "strict": true}}})
        }
    }
}

/// A tool `make`, with the choice that names it or, without a name, that has any called.
fn by_tool(format: Format, named: bool) -> Value {
    match format {
        Format::Chat => json!({
            "tools": [{"type": "function", "function": {"name": "make", "parameters": plan()}}],
            "tool_choice": if named { json!({"type": "function", "function": {"name": "make"}}) } else { json!("required") },
        }),
        Format::Messages => json!({
            "tools": [{"name": "make", "input_schema": plan()}],
            "tool_choice": if named { json!({"type": "tool", "name": "make"}) } else { json!({"type": "any"}) },
        }),
        Format::Responses => json!({
            "tools": [{"type": "function", "name": "make", "parameters": plan()}],
            "tool_choice": if named { json!({"type": "function", "name": "make"}) } else { json!("required") },
        }),
    }
}

fn text_of(format: Format, answer: &Value) -> &str {
    let place = match format {
        Format::Chat => "/choices/0/message/content",
        Format::Messages => "/content/0/text",
        Format::Responses => "/output/0/content/0/text",
    };
    answer.pointer(place).and_then(Value::as_str).unwrap_or_else(|| panic!("{answer}"))
}

async fn ask(harness: &Harness, format: Format, about: &str, fields: &Value) -> Read {
    read(harness.ask_as(format, "oracle", about, fields)).await
}

#[tokio::test]
async fn json_by_a_schema_is_made_up_in_every_format() {
    let harness = Harness::start(config()).await;
    for format in Format::ALL {
        let answer = ask(&harness, format, "a plan", &by_schema(format, &plan())).await.json();
        assert_eq!(text_of(format, &answer), r#"{"steps":["text"],"count":2}"#, "{format:?}");
    }
    for (format, fields) in [
        (Format::Chat, json!({"response_format": {"type": "json_object"}})),
        (Format::Responses, json!({"text": {"format": {"type": "json_object"}}})),
    ] {
        assert_eq!(text_of(format, &ask(&harness, format, "anything", &fields).await.json()), "{}");
    }
    let older = json!({"output_format": {"type": "json_schema", "schema": {"type": "null"}}});
    assert_eq!(text_of(Format::Messages, &ask(&harness, Format::Messages, "x", &older).await.json()), "null");
}

#[tokio::test]
async fn a_tool_that_has_to_be_called_is_called_with_arguments_by_its_schema() {
    let harness = Harness::start(config()).await;
    for (format, named) in Format::ALL.into_iter().flat_map(|format| [(format, true), (format, false)]) {
        let answer = ask(&harness, format, "a plan", &by_tool(format, named)).await.json();
        let (name, arguments) = match format {
            Format::Chat => {
                let function = &answer["choices"][0]["message"]["tool_calls"][0]["function"];
                (&function["name"], serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap())
            }
            Format::Messages => (&answer["content"][0]["name"], answer["content"][0]["input"].clone()),
            Format::Responses => {
                let call = &answer["output"][0];
                (&call["name"], serde_json::from_str(call["arguments"].as_str().unwrap()).unwrap())
            }
        };
        assert_eq!((name, arguments), (&json!("make"), json!({"steps": ["text"], "count": 2})), "{format:?} {named}");
    }
}

#[tokio::test]
async fn a_model_that_must_not_call_says_something() {
    let harness = Harness::start(config()).await;
    for (format, none) in
        [(Format::Chat, json!("none")), (Format::Responses, json!("none")), (Format::Messages, json!({"type": "none"}))]
    {
        let mut fields = by_tool(format, true);
        fields["tool_choice"] = none;
        assert_eq!(
            text_of(format, &ask(&harness, format, "a plan", &fields).await.json()),
            "No benchmark and no script has an answer to this."
        );
    }
}

#[tokio::test]
async fn what_a_benchmark_or_a_script_answers_is_not_touched() {
    let harness = Harness::start(config()).await;
    for format in Format::ALL {
        let plain = ask(&harness, format, PLAIN, &json!({})).await.json();
        let asked = ask(&harness, format, PLAIN, &by_schema(format, &plan())).await.json();
        assert_eq!(text_of(format, &asked), text_of(format, &plain));
        assert_eq!(text_of(format, &asked), gold(PLAIN));
    }
    let harness = Harness::start(scripted(r#"{"match": {"contains": "plan"}, "reply": "by rule"}"#)).await;
    let fields = by_schema(Format::Chat, &plan());
    assert_eq!(read(harness.ask_as(Format::Chat, "scripted", "plan", &fields)).await.content(), "by rule");
    let without_rule = read(harness.ask_as(Format::Chat, "scripted", "else", &fields)).await.content();
    assert_eq!(without_rule, r#"{"steps":["text"],"count":2}"#);
}

#[tokio::test]
async fn log_probabilities_are_told_where_they_are_asked_for() {
    let harness = Harness::start(config()).await;
    let fields = json!({"logprobs": true, "top_logprobs": 2});
    let chat = ask(&harness, Format::Chat, PLAIN, &fields).await.json();
    let tokens = chat["choices"][0]["logprobs"]["content"].as_array().unwrap().clone();
    let said: String = tokens.iter().map(|token| token["token"].as_str().unwrap()).collect();
    assert_eq!(said, gold(PLAIN));
    assert_eq!(tokens[0]["top_logprobs"].as_array().unwrap().len(), 2);
    assert_eq!(tokens[0]["top_logprobs"][0]["token"], tokens[0]["token"]);
    assert!(tokens[0]["top_logprobs"][1]["logprob"].as_f64() < tokens[0]["logprob"].as_f64());
    let fields = json!({"include": ["message.output_text.logprobs"]});
    let responses = ask(&harness, Format::Responses, PLAIN, &fields).await.json();
    let tokens = responses["output"][0]["content"][0]["logprobs"].as_array().unwrap().clone();
    assert_eq!((tokens.len(), &tokens[0]["top_logprobs"]), (3, &json!([])));
    assert_eq!(ask(&harness, Format::Chat, PLAIN, &json!({})).await.json()["choices"][0].get("logprobs"), None);
}

#[tokio::test]
async fn what_cannot_be_obeyed_is_refused_in_the_shape_of_the_format() {
    let harness = Harness::start(config()).await;
    let patterned = json!({"type": "string", "pattern": "^a$"});
    for format in Format::ALL {
        let answer = ask(&harness, format, "a plan", &by_schema(format, &patterned)).await;
        assert_eq!(answer.status, 400, "{}", answer.text);
        let error = answer.json()["error"].clone();
        assert_eq!(error["type"], "invalid_request_error");
        assert!(error["message"].as_str().unwrap().contains("cannot make up an answer"), "{error}");
    }
    for (fields, param) in [
        (json!({"n": 2}), "n"),
        (json!({"top_logprobs": 2}), "top_logprobs"),
        (json!({"logprobs": true, "top_logprobs": 21}), "top_logprobs"),
    ] {
        let answer = ask(&harness, Format::Chat, PLAIN, &fields).await;
        assert_eq!((answer.status.as_u16(), &answer.json()["error"]["param"]), (400, &json!(param)));
    }
    for fields in [
        json!({"tool_choice": "required"}),
        json!({"tool_choice": {"type": "function", "function": {"name": "unknown"}}}),
        json!({"tool_choice": {"type": "function"}}),
    ] {
        let answer = ask(&harness, Format::Chat, "a plan", &fields).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.json()["error"]["param"]),
            (400, &json!("tool_choice")),
            "{fields}"
        );
    }
    let answer = ask(&harness, Format::Responses, "a plan", &json!({"text": "no object"})).await;
    assert_eq!(answer.status, 400);
}

#[tokio::test]
async fn a_streamed_answer_is_made_up_as_well() {
    let harness = Harness::start(config()).await;
    let mut fields = by_schema(Format::Chat, &plan());
    fields["stream"] = json!(true);
    let answer = ask(&harness, Format::Chat, "a plan", &fields).await;
    let pieces = answer.events().into_iter().filter_map(|(_, data)| {
        let data: Value = serde_json::from_str(&data).ok()?;
        Some(data["choices"][0]["delta"]["content"].as_str()?.to_owned())
    });
    assert_eq!(pieces.collect::<String>(), r#"{"steps":["text"],"count":2}"#);
}
