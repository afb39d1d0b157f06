//! A row for each question that an evaluator asked about a session, and each time that it was put to a judge.

use regatta_proto::{ModelRef, Question, Verdict};

use super::{Column, Kind, Value, columns as named, session_fields};
use crate::run::Session;

/// A question about a session, as it was put to one judge, with the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct VerdictRow {
    /// Number of the question within its session, from 0.
    pub number: u32,
    /// The question.
    pub question: Question,
    /// The judge.
    pub judge: ModelRef,
    /// `true` if the two compared texts were shown in the other order.
    pub is_swapped: bool,
    /// Answer; `None` while there is none.
    pub verdict: Option<Verdict>,
}

pub(super) fn columns() -> Vec<Column> {
    named(&[
        ("cell", Kind::Integer),
        ("benchmark", Kind::Text),
        ("setting", Kind::Text),
        ("model", Kind::Text),
        ("trial", Kind::Integer),
        ("item", Kind::Text),
        ("question", Kind::Integer),
        ("kind", Kind::Text),
        ("about", Kind::Text),
        ("prompt", Kind::Text),
        ("judge", Kind::Text),
        ("swapped", Kind::Boolean),
        ("reply", Kind::Text),
        ("replies", Kind::Integer),
        ("verdict_json", Kind::Text),
    ])
}

pub(super) fn row(session: &Session, row: &VerdictRow) -> Vec<Value> {
    let (kind, about, prompt) = match &row.question {
        Question::Similarity { left, right } => {
            ("similarity".to_owned(), serde_json::json!([left, right]).to_string(), Value::Null)
        }
        Question::Judgement { kind, about, prompt, .. } => {
            (kind.to_string(), serde_json::json!(about).to_string(), Value::text(prompt))
        }
    };
    let replies = match &row.verdict {
        Some(Verdict::Replies { replies }) => Some(replies),
        Some(Verdict::Similarity { .. } | Verdict::Panel { .. }) | None => None,
    };
    let mut fields = Vec::from(session_fields(&session.result));
    fields.extend([
        row.number.into(),
        kind.into(),
        about.into(),
        prompt,
        Value::text(&row.judge),
        row.is_swapped.into(),
        Value::of(replies.and_then(|replies| replies.last()).map(ToString::to_string)),
        Value::of(replies.map(|replies| replies.len() as u64)),
        Value::of(row.verdict.as_ref().map(|verdict| serde_json::json!(verdict).to_string())),
    ]);
    fields
}
