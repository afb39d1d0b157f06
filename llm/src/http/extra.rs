//! Further fields of request bodies: those of an endpoint's spec, and those that a client wrote.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Map, Value};

/// Merges `extra` into the body, whose own values win. Objects are merged recursively, so that one setting in the body does not drop the
/// others.
///
/// # Errors
/// When the body is no JSON object; no format writes anything else.
pub(crate) fn merged(extra: &Map<String, Value>, body: Bytes) -> Result<Bytes, String> {
    if extra.is_empty() {
        return Ok(body);
    }
    let problem =
        |error: serde_json::Error| format!("the endpoint's `body` cannot be merged into the request: {error}");
    let mut own: Map<String, Value> = serde_json::from_slice(&body).map_err(problem)?;
    add(extra, &mut own);
    serde_json::to_vec(&own).map(Bytes::from).map_err(problem)
}

fn add(extra: &Map<String, Value>, own: &mut Map<String, Value>) {
    for (name, value) in extra {
        match (own.get_mut(name), value) {
            (None, value) => drop(own.insert(name.clone(), value.clone())),
            (Some(Value::Object(own)), Value::Object(extra)) => add(extra, own),
            (Some(_), _) => {}
        }
    }
}

/// Puts the fields that a client wrote in the place of the body's own; a `null` takes a field out.
///
/// # Errors
/// When the body is no JSON object; no format writes anything else.
pub(crate) fn replaced(fields: &BTreeMap<String, Value>, body: &[u8]) -> Result<Bytes, String> {
    let problem = |error: serde_json::Error| format!("the client's fields cannot be put into the request: {error}");
    let mut own: Map<String, Value> = serde_json::from_slice(body).map_err(problem)?;
    for (name, value) in fields {
        if value.is_null() {
            own.remove(name);
        } else {
            own.insert(name.clone(), value.clone());
        }
    }
    serde_json::to_vec(&own).map(Bytes::from).map_err(problem)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merge(extra: Value, body: &'static str) -> String {
        let Value::Object(extra) = extra else { panic!("no object") };
        String::from_utf8(merged(&extra, Bytes::from_static(body.as_bytes())).unwrap().to_vec()).unwrap()
    }

    #[test]
    fn regattas_own_fields_win_and_the_others_are_added() {
        let body = r#"{"model":"m","temperature":0.0}"#;
        let merged = merge(json!({"model": "x", "service_tier": "flex", "provider": {"order": ["a"]}}), body);
        assert_eq!(merged, r#"{"model":"m","temperature":0.0,"service_tier":"flex","provider":{"order":["a"]}}"#);
    }

    #[test]
    fn an_object_that_both_hold_gets_the_fields_of_both() {
        let body = r#"{"generationConfig":{"temperature":1.0,"stopSequences":["x"]}}"#;
        let merged = merge(json!({"generationConfig": {"topK": 5, "temperature": 9}}), body);
        assert_eq!(merged, r#"{"generationConfig":{"temperature":1.0,"stopSequences":["x"],"topK":5}}"#);
    }

    #[test]
    fn what_a_client_wrote_takes_the_place_of_what_was_read_of_it() {
        let body = br#"{"model":"m","instructions":"a","input":[1],"thinking":{"type":"enabled","budget_tokens":9}}"#;
        let fields = json!({"instructions": null, "input": [2, 3], "thinking": {"type": "adaptive"}, "top_k": 5});
        let fields: BTreeMap<String, Value> = serde_json::from_value(fields).unwrap();
        let sent: Value = serde_json::from_slice(&replaced(&fields, body).unwrap()).unwrap();
        assert_eq!(sent, json!({"model": "m", "input": [2, 3], "thinking": {"type": "adaptive"}, "top_k": 5}));
    }

    #[test]
    fn a_body_is_left_as_it_is_when_nothing_is_to_be_added() {
        let body = "{\"seed\": 18446744073709551615, \"n\": 1.10}";
        assert_eq!(merge(json!({}), body), body);
    }
}
