//! The provenance of an answer, from its headers and body; the same for every format.

use regatta_proto::Served;
use reqwest::header::HeaderMap;

use crate::secret::Secret;

/// Header that simulated endpoints add to every answer.
const SIMULATED: &str = "x-regatta-simulated";
/// The same header as LiteLLM's proxy passes it on.
const SIMULATED_BEHIND: &str = "llm_provider-x-regatta-simulated";
/// Fingerprint of chat completions of simulated endpoints, for gateways that pass on no headers.
const SIMULATED_PRINT: &str = "regatta-simulated";
/// Headers with the ids that providers ask for in support requests, the provider's own before a gateway's. Without any, the body's `id` is
/// used.
const REQUEST_IDS: [&str; 7] = [
    "x-request-id",
    "request-id",
    "apim-request-id",
    "x-amzn-requestid",
    "x-goog-request-id",
    "x-generation-id",
    "x-litellm-call-id",
];
/// Headers in which gateways name the deployment that answered.
const PROVIDERS: [&str; 4] = ["llm_provider", "x-litellm-model-api-base", "x-litellm-model-id", "x-inference-provider"];

/// Fields of an answer's body about its origin.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Told<'a> {
    pub(crate) model: Option<&'a str>,
    pub(crate) fingerprint: Option<&'a str>,
    /// Id of the answer, if there is none of the request.
    pub(crate) id: Option<&'a str>,
    pub(crate) provider: Option<&'a str>,
    pub(crate) tier: Option<&'a str>,
}

/// Collects the provenance of an answer.
pub(crate) fn served(headers: &HeaderMap, told: Told<'_>, secret: &Secret) -> Served {
    let header = |names: &[&str]| names.iter().find_map(|name| headers.get(*name)?.to_str().ok());
    let name = |text: &str| Some(secret.name(text)).filter(|name| !name.is_empty());
    Served {
        model: told.model.and_then(name),
        fingerprint: told.fingerprint.and_then(name),
        request_id: header(&REQUEST_IDS).or(told.id).and_then(name),
        provider: told.provider.or_else(|| header(&PROVIDERS)).and_then(name),
        tier: told.tier.and_then(name),
        simulated: [SIMULATED, SIMULATED_BEHIND].iter().any(|name| headers.contains_key(*name))
            || told.fingerprint == Some(SIMULATED_PRINT),
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn is_simulated(header: Option<&'static str>, fingerprint: Option<&str>) -> bool {
        let headers = header.map(|name| (HeaderName::from_static(name), HeaderValue::from_static("true")));
        let headers: HeaderMap = headers.into_iter().collect();
        served(&headers, Told { fingerprint, ..Told::default() }, &Secret::default()).simulated
    }

    #[test]
    fn a_simulated_endpoint_is_known_behind_a_gateway_too() {
        assert!(is_simulated(Some("x-regatta-simulated"), None));
        assert!(is_simulated(Some("llm_provider-x-regatta-simulated"), None));
        assert!(is_simulated(None, Some("regatta-simulated")));
        assert!(!is_simulated(Some("llm_provider-x-request-id"), Some("fp_1")));
    }
}
