//! Rows of a list of samples.

use serde_json::{Value, json};

/// Length of texts in summaries, in characters.
const TEXT_MAX: usize = 1024;

/// The summary of `sample`.
pub(super) fn summary(sample: &Value) -> Value {
    let mut summary = json!({
        "id": sample["id"],
        "epoch": sample["epoch"],
        "input": input(&sample["input"]),
        "target": thinned(&sample["target"]),
        "metadata": sample["metadata"],
        "model_usage": sample["model_usage"],
        "role_usage": sample["role_usage"],
        "uuid": sample["uuid"],
        "completed": true,
        "message_count": sample["messages"].as_array().map_or(0, Vec::len),
    });
    for name in ["scores", "started_at", "completed_at", "total_time", "working_time"] {
        if let Some(value) = sample.get(name) {
            summary[name] = value.clone();
        }
    }
    if let Some(message) = sample.pointer("/error/message") {
        summary["error"] = message.clone();
    }
    summary
}

/// The last thing that was said to the model; earlier ones are instructions and examples.
fn input(input: &Value) -> Value {
    match input {
        Value::Array(messages) => messages.last().map_or_else(|| "".into(), |last| thinned(&last["content"])),
        other => thinned(other),
    }
}

fn thinned(value: &Value) -> Value {
    value.as_str().map_or_else(|| value.clone(), |text| thin(text).into())
}

fn thin(text: &str) -> String {
    match text.char_indices().nth(TEXT_MAX) {
        Some((at, _)) => format!("{}...", text.split_at(at).0),
        None => text.to_owned(),
    }
}
