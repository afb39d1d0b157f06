//! Log-probabilities of an answer's tokens.

use regatta_proto::TokenLogprob;
use serde_json::Value;

/// Reads `logprobs` of a choice: OpenAI's list of tokens under `content`, or the older columns `tokens` and `token_logprobs` (Together).
pub(crate) fn read(logprobs: &Value) -> Option<Vec<TokenLogprob>> {
    if let Some(list) = logprobs.get("content").and_then(Value::as_array) {
        return Some(tokens(list));
    }
    let column = |name: &str| logprobs.get(name).and_then(Value::as_array);
    let (tokens, figures) = (column("tokens")?, column("token_logprobs")?);
    let pair = |(token, figure): (&Value, &Value)| {
        Some(TokenLogprob { token: token.as_str()?.to_owned(), logprob: figure.as_f64()?, top: Vec::new() })
    };
    Some(tokens.iter().zip(figures).filter_map(pair).collect())
}

/// Reads OpenAI's list of tokens.
pub(crate) fn tokens(list: &[Value]) -> Vec<TokenLogprob> {
    list.iter().filter_map(token).collect()
}

fn token(entry: &Value) -> Option<TokenLogprob> {
    let (token, logprob) = candidate(entry)?;
    let top = entry.get("top_logprobs").and_then(Value::as_array);
    Some(TokenLogprob { token, logprob, top: top.into_iter().flatten().filter_map(candidate).collect() })
}

fn candidate(entry: &Value) -> Option<(String, f64)> {
    Some((entry.get("token")?.as_str()?.to_owned(), entry.get("logprob")?.as_f64()?))
}
