//! Providers that a spec uses without an entry.

use std::collections::BTreeSet;

use crate::{EndpointKind, EndpointSpec, SweepSpec};

/// Address of a provider, and the variable of its key.
type Access = (&'static str, &'static str);

/// Providers that need no `endpoints` entry: name, kind, and address and key variable if they differ from the kind's own.
pub(super) const IMPLIED: &[(&str, EndpointKind, Option<Access>)] = &[
    ("openai", EndpointKind::Openai, None),
    ("openai-responses", EndpointKind::OpenaiResponses, None),
    ("anthropic", EndpointKind::Anthropic, None),
    ("gemini", EndpointKind::Gemini, None),
    ("bedrock", EndpointKind::Bedrock, None),
    ("openrouter", EndpointKind::Openai, Some(("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"))),
    ("together", EndpointKind::Openai, Some(("https://api.together.xyz/v1", "TOGETHER_API_KEY"))),
    ("deepseek", EndpointKind::Openai, Some(("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"))),
];

/// Names of the providers that need no `endpoints` entry.
pub fn implied_endpoints() -> impl Iterator<Item = &'static str> {
    IMPLIED.iter().map(|(name, ..)| *name)
}

/// Addresses of the providers that need no `endpoints` entry and differ from their kind's own, each with the variable of its key.
pub fn implied_access() -> impl Iterator<Item = (&'static str, &'static str)> {
    IMPLIED.iter().filter_map(|(_, _, elsewhere)| *elsewhere)
}

/// The endpoint of a provider that needs no `endpoints` entry; `None` for another name.
#[must_use]
pub fn implied_endpoint(name: &str) -> Option<EndpointSpec> {
    let (_, kind, elsewhere) = IMPLIED.iter().find(|(known, ..)| *known == name)?;
    let (base_url, api_key_env) = elsewhere.map(|(url, key)| (url.to_owned(), key.to_owned())).unzip();
    Some(EndpointSpec { base_url, api_key_env, ..EndpointSpec::of_kind(*kind) })
}

/// Adds the providers that `spec` uses without an `endpoints` entry, so that `openai/…`, `anthropic/…` and others work without one.
/// [`parse_spec`](crate::parse_spec) does this too.
pub fn add_implied_endpoints(spec: &mut SweepSpec) {
    let used: BTreeSet<String> = spec.all_models().iter().map(|(_, model)| model.endpoint.to_string()).collect();
    for name in implied_endpoints().filter(|name| used.contains(*name)) {
        if let (Ok(key), Some(endpoint)) = (name.parse(), implied_endpoint(name)) {
            spec.endpoints.entry(key).or_insert(endpoint);
        }
    }
    for endpoint in spec.endpoints.values_mut().filter(|endpoint| endpoint.kind == EndpointKind::Simulated) {
        endpoint.identify_sessions = true;
    }
}
