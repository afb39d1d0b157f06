use regatta_simulator::lexical_embedding;
use serde_json::{Value, json};

use crate::harness::{Harness, config, read};

fn numbers(entry: &Value) -> Vec<f32> {
    serde_json::from_value(entry["embedding"].clone()).unwrap()
}

#[tokio::test]
async fn each_text_gets_its_vector_in_order() {
    let harness = Harness::start(config()).await;
    let body = json!({"model": "lexical", "input": ["open the drawer", "close the drawer", "open the drawer"]});
    let answer = read(harness.post("/embeddings", &body)).await.json();
    let data = answer["data"].as_array().unwrap();
    assert_eq!(data.iter().map(|entry| entry["index"].as_u64().unwrap()).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(numbers(&data[0]), lexical_embedding("open the drawer"));
    assert_eq!(numbers(&data[1]), lexical_embedding("close the drawer"));
    assert_eq!(data[0]["embedding"], data[2]["embedding"]);
    assert_eq!(answer["usage"], json!({"prompt_tokens": 12, "total_tokens": 12}));
    assert_eq!((&answer["model"], &answer["object"]), (&json!("lexical"), &json!("list")));
}

#[tokio::test]
async fn vectors_are_as_long_as_they_are_asked_for_and_of_length_one() {
    let harness = Harness::start(config()).await;
    let body = json!({"model": "lexical", "input": "open the drawer", "dimensions": 64});
    let vector = numbers(&read(harness.post("/embeddings", &body)).await.json()["data"][0]);
    assert_eq!(vector.len(), 64);
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    assert!((norm - 1.0).abs() < 1e-4, "{norm}");
    let whole = lexical_embedding("open the drawer");
    let ratio = vector.iter().zip(whole).find(|(_, x)| *x != 0.0).map(|(kept, x)| kept / x).unwrap();
    assert!(vector.iter().zip(whole).all(|(kept, x)| (kept - x * ratio).abs() < 1e-5), "only scaled");
}

#[tokio::test]
async fn a_single_text_and_base64_are_understood() {
    let harness = Harness::start(config()).await;
    let body = json!({"model": "lexical", "input": "open", "encoding_format": "base64"});
    let answer = read(harness.post("/embeddings", &body)).await.json();
    // 256 numbers of four bytes: 1024 bytes, 342 groups of which the last holds a single byte.
    let encoded = answer["data"][0]["embedding"].as_str().unwrap();
    assert_eq!(encoded.len(), 342 * 4);
    assert!(encoded.ends_with("=="));
}

#[tokio::test]
async fn inputs_that_cannot_be_embedded_are_refused() {
    let harness = Harness::start(config()).await;
    let mut messages = Vec::new();
    for (field, value) in [
        ("input", json!([])),
        ("input", json!(["a", ""])),
        ("input", json!([1, 2])),
        ("dimensions", json!(512)),
        ("dimensions", json!(0)),
        ("model", json!("oracle")),
    ] {
        let mut body = json!({"model": "lexical", "input": "x"});
        body[field] = value;
        let answer = read(harness.post("/embeddings", &body)).await;
        messages.push(format!("{} {}", answer.status.as_u16(), answer.json()["error"]["message"].as_str().unwrap()));
    }
    insta::assert_snapshot!(messages.join("\n"));
}
