//! What really answered, as the answer's headers and body say.

use regatta_proto::Served;
use reqwest::header::HeaderMap;

use crate::secret::Secret;

/// Set by simulated endpoints on every answer.
const SIMULATED: &str = "x-regatta-simulated";
/// The id providers ask for in support requests; the body's `id` where it is absent.
const REQUEST_ID: &str = "x-request-id";

/// Collects the provenance of an answer.
pub(crate) fn served(
    headers: &HeaderMap,
    model: Option<&str>,
    fingerprint: Option<&str>,
    id: Option<&str>,
    secret: &Secret,
) -> Served {
    let request_id = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok()).or(id);
    let name = |text: &str| Some(secret.name(text)).filter(|name| !name.is_empty());
    Served {
        model: model.and_then(name),
        fingerprint: fingerprint.and_then(name),
        request_id: request_id.and_then(name),
        provider: None,
        tier: None,
        simulated: headers.contains_key(SIMULATED),
    }
}
