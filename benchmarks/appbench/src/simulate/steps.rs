//! Models that call tools: the true calls one after the other, with mistakes.

use std::sync::Arc;

use rand::Rng;
use regatta_benchmarks::Persona;
use regatta_proto::{ChatRequest, ChatRole, Reply, SessionSeed, ToolCall, rng};
use serde_json::{Map, Value, json};

use crate::data::{Entry, TrueCall};
use crate::stepwise::tool_name;

/// Next reply of the model: its next true call, or a closing text when all were made.
pub(crate) fn step(entry: &Entry, persona: Persona, seed: SessionSeed, request: &ChatRequest) -> Reply {
    let probability = persona.error_probability();
    let made = request.messages.iter().filter(|message| message.role == ChatRole::Assistant).count();
    let gold = &entry.gold;
    let Some((app, call)) = gold.used_app.iter().zip(&gold.used_api).nth(made) else {
        return Reply::said("Everything is done.");
    };
    let mut rng = rng(seed.0, &format!("appbench/step/{made}"));
    if rng.random::<f64>() < probability * 0.1 {
        return Reply::said("I am not able to go on.");
    }
    let arguments = Value::Object(arguments(call, probability, &mut rng)).to_string();
    let id = format!("call_{made}");
    Reply::calling(
        None,
        vec![ToolCall { id: id.into(), name: tool_name(app, &call.api).into(), arguments: arguments.into() }],
    )
}

fn arguments(call: &TrueCall, probability: f64, rng: &mut impl Rng) -> Map<String, Value> {
    let mut arguments = Map::new();
    for (key, value) in &call.inputs {
        let value: Arc<str> =
            if rng.random::<f64>() < probability * 0.2 { "something".into() } else { Arc::clone(value) };
        if rng.random::<f64>() >= probability * 0.1 {
            arguments.insert(key.to_string(), json!(*value));
        }
    }
    arguments
}
