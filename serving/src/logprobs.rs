//! Log-probabilities as OpenAI's formats write them.

use regatta_proto::TokenLogprob;
use serde::Serialize;
use serde_json::{Value, json};

#[derive(Serialize)]
struct Entry<'a> {
    token: &'a str,
    logprob: f64,
    bytes: &'a [u8],
    top_logprobs: Vec<Candidate<'a>>,
}

#[derive(Serialize)]
struct Candidate<'a> {
    token: &'a str,
    logprob: f64,
    bytes: &'a [u8],
}

/// The tokens of an answer, each with its candidates.
pub(crate) fn tokens(logprobs: &[TokenLogprob]) -> Value {
    let entries = logprobs.iter().map(|TokenLogprob { token, logprob, top }| Entry {
        token,
        logprob: *logprob,
        bytes: token.as_bytes(),
        top_logprobs: top
            .iter()
            .map(|(token, logprob)| Candidate { token, logprob: *logprob, bytes: token.as_bytes() })
            .collect(),
    });
    entries.map(|entry| json!(entry)).collect()
}
