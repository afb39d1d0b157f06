//! The list of models, and one of them, in the shape of OpenAI or Anthropic.

use hyper::Response;
use regatta_serving::Dialect;
use serde_json::{Value, json};

use crate::answer_body::AnswerBody;
use crate::answers;

pub(crate) fn list(models: &[String], created: i64, dialect: Dialect) -> Response<AnswerBody> {
    let entries: Vec<Value> = models.iter().map(|model| entry(model, created, dialect)).collect();
    answers::json(&match dialect {
        Dialect::Openai => json!({"object": "list", "data": entries}),
        Dialect::Anthropic => {
            json!({"data": entries, "has_more": false, "first_id": models.first(), "last_id": models.last()})
        }
    })
}

/// One model of the list. Whatever an agent calls its model, there is one.
pub(crate) fn one(model: &str, created: i64, dialect: Dialect) -> Response<AnswerBody> {
    answers::json(&entry(model, created, dialect))
}

fn entry(model: &str, created: i64, dialect: Dialect) -> Value {
    match dialect {
        Dialect::Openai => json!({"id": model, "object": "model", "created": created, "owned_by": "regatta"}),
        Dialect::Anthropic => {
            json!({"type": "model", "id": model, "display_name": model, "created_at": "1970-01-01T00:00:00Z"})
        }
    }
}
