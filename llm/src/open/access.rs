//! Where an endpoint behind HTTP is, and with what credentials: a table of providers, and the way from a spec through it.

use regatta_proto::{EndpointKind, EndpointName, EndpointSpec};
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::OpenError;
use crate::secret::Secret;
use crate::transport::KeyHeader;

/// Where the provider of one kind of endpoints is, and how it is told who asks.
#[derive(Debug)]
struct Provider {
    /// Variables with the address.
    address_variables: &'static [&'static str],
    /// The provider's own address; `None` where everybody has one of their own.
    address: Option<&'static str>,
    /// Variables with the key.
    key_variables: &'static [&'static str],
    key_header: KeyHeader,
    /// Whether the key may be left out at another address than the provider's own: servers of one's own often want none.
    key_is_optional_elsewhere: bool,
    /// What an address ends in when it names none itself.
    version: &'static str,
}

const BEARER: KeyHeader = KeyHeader { name: "authorization", prefix: "Bearer " };

const OPENAI: Provider = Provider {
    address_variables: &["OPENAI_BASE_URL"],
    address: Some("https://api.openai.com/v1"),
    key_variables: &["OPENAI_API_KEY"],
    key_header: BEARER,
    key_is_optional_elsewhere: true,
    version: "",
};
const AZURE: Provider = Provider {
    address_variables: &["AZURE_OPENAI_ENDPOINT"],
    address: None,
    key_variables: &["AZURE_OPENAI_API_KEY"],
    key_header: KeyHeader { name: "api-key", prefix: "" },
    key_is_optional_elsewhere: false,
    version: "",
};
const ANTHROPIC: Provider = Provider {
    address_variables: &["ANTHROPIC_BASE_URL"],
    address: Some("https://api.anthropic.com/v1"),
    key_variables: &["ANTHROPIC_API_KEY"],
    key_header: KeyHeader { name: "x-api-key", prefix: "" },
    key_is_optional_elsewhere: true,
    version: "/v1",
};
const GEMINI: Provider = Provider {
    address_variables: &["GEMINI_BASE_URL"],
    address: Some("https://generativelanguage.googleapis.com/v1beta"),
    key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    key_header: KeyHeader { name: "x-goog-api-key", prefix: "" },
    key_is_optional_elsewhere: true,
    version: "",
};
/// Never told a key of the environment: it is on loopback.
const SIMULATED: Provider = Provider {
    address_variables: &[],
    address: None,
    key_variables: &[],
    key_header: BEARER,
    key_is_optional_elsewhere: true,
    version: "",
};

/// The provider of a kind; `None` for kinds that are not spoken to over HTTP by this crate.
const fn provider(kind: EndpointKind) -> Option<&'static Provider> {
    match kind {
        EndpointKind::Openai | EndpointKind::OpenaiResponses => Some(&OPENAI),
        EndpointKind::Azure => Some(&AZURE),
        EndpointKind::Anthropic => Some(&ANTHROPIC),
        EndpointKind::Gemini => Some(&GEMINI),
        EndpointKind::Simulated => Some(&SIMULATED),
        EndpointKind::Bedrock | EndpointKind::Encoder | EndpointKind::Recorded => None,
    }
}

/// Headers that carry secrets, which specs must not hold.
const SECRET_HEADERS: [&str; 6] =
    ["authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie"];
/// Value of `api_key_env` that sends no key.
const NO_KEY: &str = "none";

/// Address, key and headers of an endpoint behind HTTP.
#[derive(Debug)]
pub(crate) struct Access {
    /// Up to and including the version, without a slash at the end; paths of formats are appended.
    pub(crate) base: String,
    /// The same, parsed.
    pub(crate) url: Url,
    pub(crate) secret: Secret,
    pub(crate) key_header: KeyHeader,
    /// Those of the spec.
    pub(crate) headers: HeaderMap,
    /// The address is the provider's own, whose ways are known, and no server or gateway that may have others.
    pub(crate) is_providers_own: bool,
}

impl Access {
    /// Resolves the address, the key and the headers of `spec`.
    ///
    /// # Errors
    /// When one of them is missing or cannot be used; names the endpoint, never the key.
    pub(crate) fn resolve(
        endpoint: &EndpointName,
        spec: &EndpointSpec,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, OpenError> {
        let not_spoken = || OpenError::NotSpoken { endpoint: endpoint.clone(), kind: spec.kind };
        let provider = provider(spec.kind).ok_or_else(not_spoken)?;
        let variable = |name: &str| variable(env, name);
        let first = |names: &[&str]| names.iter().find_map(|name| variable(name));
        let no_address = || OpenError::NoAddress {
            endpoint: endpoint.clone(),
            variable: provider.address_variables.first().copied(),
        };
        let given = address(spec, env).or_else(|| provider.address.map(str::to_owned)).ok_or_else(no_address)?;
        let bad = |problem: String| OpenError::BadAddress { endpoint: endpoint.clone(), url: given.clone(), problem };
        let base = given.trim_end_matches('/');
        let base = format!("{}{}", base.strip_suffix(provider.version).unwrap_or(base), provider.version);
        let is_providers_own = provider.address == Some(&*base);
        let url = Url::parse(&base).map_err(|error| bad(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad(format!("its scheme is {:?}", url.scheme())));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(bad("it goes on after the path; api_version is a field of its own".to_owned()));
        }
        let no_key = |name: &str| OpenError::NoKey { endpoint: endpoint.clone(), variable: name.to_owned() };
        let needs_key = is_providers_own || !provider.key_is_optional_elsewhere;
        let secret = match (spec.api_key_env.as_deref(), provider.key_variables) {
            (Some(NO_KEY), _) => Secret::default(),
            (Some(name), _) => Secret::new(variable(name).ok_or_else(|| no_key(name))?),
            (None, names) => match (first(names), names) {
                (Some(key), _) => Secret::new(key),
                (None, [name, ..]) if needs_key => return Err(no_key(name)),
                (None, _) => Secret::default(),
            },
        };
        Ok(Self {
            base,
            url,
            secret,
            key_header: provider.key_header,
            headers: headers(endpoint, spec)?,
            is_providers_own,
        })
    }
}

/// The address that the spec or the environment names for an endpoint behind HTTP; `None` where the provider's own is meant.
pub(crate) fn address(spec: &EndpointSpec, env: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let variables = provider(spec.kind).map_or(&[][..], |provider| provider.address_variables);
    spec.base_url.clone().or_else(|| variables.iter().find_map(|name| variable(env, name)))
}

/// A variable that is set to more than blanks.
fn variable(env: &dyn Fn(&str) -> Option<String>, name: &str) -> Option<String> {
    env(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// The further headers of `spec`.
pub(crate) fn headers(endpoint: &EndpointName, spec: &EndpointSpec) -> Result<HeaderMap, OpenError> {
    let mut headers = HeaderMap::with_capacity(spec.headers.len());
    for (name, value) in &spec.headers {
        let bad = |problem| OpenError::BadHeader { endpoint: endpoint.clone(), header: name.clone(), problem };
        let name = HeaderName::try_from(name).map_err(|_| bad("that is no name of a header"))?;
        if SECRET_HEADERS.contains(&name.as_str()) {
            return Err(bad("specs are stored, and it may hold a secret; name a variable in api_key_env"));
        }
        let value =
            HeaderValue::try_from(value).map_err(|_| bad("its value holds characters that no header may hold"))?;
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Checks that an endpoint behind HTTP has an address and, where it needs one, a key, and that its headers can be sent. Nothing is opened
/// or sent. Kinds that are not behind HTTP have neither.
///
/// # Errors
/// When the key's variable is not set, the address is none, or a header cannot be sent; names the endpoint and the variable.
pub fn check_access(
    endpoint: &EndpointName,
    spec: &EndpointSpec,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<(), OpenError> {
    provider(spec.kind).map_or(Ok(()), |_| Access::resolve(endpoint, spec, env).map(drop))
}

#[cfg(test)]
mod tests;
