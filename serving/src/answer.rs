//! An answer, whole or as a stream of events.

use regatta_proto::{Reply, Usage};

use crate::responses::forms::ToolForms;

/// An answer to a chat request.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// Name of the model that answered.
    pub model: &'a str,
    /// The model's reply.
    pub reply: &'a Reply,
    /// Tokens that the reply took.
    pub usage: &'a Usage,
    /// The parts that are specific to this delivery.
    pub stamp: &'a Stamp,
    /// Forms in which the client reads calls of its tools; `None` if all are functions.
    pub forms: Option<&'a ToolForms>,
}

/// Identifiers and cost that the delivery adds to an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Stamp {
    /// Unique for each answer, without the format's prefix.
    pub id: String,
    /// Seconds since 1970.
    pub created: i64,
    /// Dollars, where the cost is known and to be told.
    pub cost: Option<f64>,
    /// `system_fingerprint` of chat completions.
    pub fingerprint: Option<&'static str>,
}
