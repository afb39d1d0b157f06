//! Resolves the address and the credentials of an HTTP endpoint, from its spec and a table of providers.

use std::sync::Arc;

use regatta_proto::{EndpointKind, EndpointName, EndpointSpec, is_reserved_header, is_secret_name};
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::open_error::OpenError;
use crate::policy::{EgressRules, Origin, OutboundPolicy, Withheld};
use crate::secret::Secret;
use crate::transport::KeyHeader;

/// Address and authentication of the provider of one kind of endpoints.
#[derive(Debug)]
struct Provider {
    /// Variables with the address.
    address_variables: &'static [&'static str],
    /// The provider's own address; `None` if every customer has an address of their own.
    address: Option<&'static str>,
    /// Variables that may hold the key, in order.
    key_variables: &'static [&'static str],
    key_header: KeyHeader,
    /// The key may be left out at another address than the provider's own, because self-hosted servers often need none.
    key_is_optional_elsewhere: bool,
    /// Appended to an address that names no version.
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
/// Gets no key of the environment, because it is on loopback.
const SIMULATED: Provider = Provider {
    address_variables: &[],
    address: None,
    key_variables: &[],
    key_header: BEARER,
    key_is_optional_elsewhere: true,
    version: "",
};

/// Providers, whose own keys belong to their own addresses.
const PROVIDERS: [&Provider; 4] = [&OPENAI, &AZURE, &ANTHROPIC, &GEMINI];

/// Variables of keys, each with the address of the provider that it belongs to, whatever a spec or a policy says.
pub(crate) fn own_keys() -> impl Iterator<Item = (&'static str, &'static str)> {
    let addressed = PROVIDERS.into_iter().filter_map(|provider| Some((provider.key_variables, provider.address?)));
    addressed.flat_map(|(variables, address)| variables.iter().map(move |variable| (*variable, address)))
}

/// The provider of a kind; `None` for kinds that this crate does not reach over HTTP.
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

/// Value of `api_key_env` that sends no key.
const NO_KEY: &str = "none";

/// Address, key and headers of an HTTP endpoint.
#[derive(Debug)]
pub(crate) struct Access {
    /// The base address up to and including the version, without a trailing slash; paths of formats are appended.
    pub(crate) base: String,
    /// The base address, parsed.
    pub(crate) url: Url,
    pub(crate) secret: Secret,
    pub(crate) key_header: KeyHeader,
    /// Headers of the spec.
    pub(crate) headers: HeaderMap,
    /// Addresses that its name may resolve to.
    pub(crate) egress: Arc<EgressRules>,
    /// The address is the provider's own, whose behaviour is known, and not a server or gateway that may differ.
    pub(crate) is_providers_own: bool,
}

impl Access {
    /// Resolves the address, the key and the headers of `spec`.
    ///
    /// # Errors
    /// When one of them is missing or unusable; names the endpoint, never the key.
    pub(crate) fn resolve(
        endpoint: &EndpointName,
        spec: &EndpointSpec,
        env: &dyn Fn(&str) -> Option<String>,
        policy: &OutboundPolicy,
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
        let bad = |problem: String| OpenError::BadAddress { endpoint: endpoint.clone(), url: shown(&given), problem };
        let base = given.trim_end_matches('/');
        let base = format!("{}{}", base.strip_suffix(provider.version).unwrap_or(base), provider.version);
        let is_providers_own = provider.address == Some(&*base);
        let url = Url::parse(&base).map_err(|error| bad(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad(format!("its scheme is {:?}", url.scheme())));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(OpenError::Credentials { endpoint: endpoint.clone() });
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(bad("it goes on after the path; api_version is a field of its own".to_owned()));
        }
        let origin = Origin::of(&url).ok_or_else(|| bad("it names no host".to_owned()))?;
        let origin_of = |address: &str| Origin::of(&Url::parse(address).ok()?);
        // The person who set the variable with the address also set the one with the key, so an equal address in the spec changes nothing.
        let of_environment =
            first(provider.address_variables).and_then(|address| origin_of(&address)) == Some(origin.clone());
        let egress = if of_environment { Arc::new(EgressRules::open()) } else { policy.egress.clone() };
        egress.check_url(&url).map_err(|problem| OpenError::Unreachable { endpoint: endpoint.clone(), problem })?;
        let no_key = |name: &str| OpenError::NoKey { endpoint: endpoint.clone(), variable: name.to_owned() };
        let needs_key = is_providers_own || !provider.key_is_optional_elsewhere;
        let is_known = of_environment || provider.address.and_then(origin_of).as_ref() == Some(&origin);
        let usual = || provider.key_variables.iter().find_map(|name| Some((*name, variable(name)?)));
        let key = match (spec.api_key_env.as_deref(), provider.key_variables) {
            (Some(NO_KEY), _) => None,
            (Some(name), _) => Some((name, variable(name).ok_or_else(|| no_key(name))?)),
            (None, [name, ..]) if !is_known && needs_key => {
                return Err(OpenError::KeyNotNamed { endpoint: endpoint.clone(), variable: (*name).to_owned() });
            }
            (None, _) if !is_known => None,
            (None, names) => match (usual(), names) {
                (None, [name, ..]) if needs_key => return Err(no_key(name)),
                (found, _) => found,
            },
        };
        let refused = |withheld, variable: &str| {
            let (endpoint, variable, origin) = (endpoint.clone(), variable.to_owned(), origin.clone());
            match withheld {
                Withheld::Unbound => OpenError::KeyWithheld { endpoint, variable, origin },
                Withheld::InTheClear => OpenError::KeyInTheClear { endpoint, variable, origin },
            }
        };
        if let Some((name, _)) = &key {
            let is_of_environment = of_environment && provider.key_variables.contains(name);
            policy.check_key(name, &origin, is_of_environment).map_err(|withheld| refused(withheld, name))?;
        }
        let (mut headers, mut others) = (headers(endpoint, spec)?, Vec::with_capacity(spec.headers_env.len()));
        for (header, name) in &spec.headers_env {
            let value = variable(name).ok_or_else(|| no_key(name))?;
            policy.check_key(name, &origin, false).map_err(|withheld| refused(withheld, name))?;
            let bad = |problem| OpenError::BadHeader { endpoint: endpoint.clone(), header: header.clone(), problem };
            let header = header_name(header).map_err(bad)?;
            let mut sent = HeaderValue::try_from(&value)
                .map_err(|_| bad("its variable holds characters that no header may hold"))?;
            sent.set_sensitive(true);
            headers.insert(header, sent);
            others.push(value);
        }
        let secret = key.map(|(_, key)| Secret::new(key)).unwrap_or_default();
        let secret = secret.beside(others.iter().map(String::as_str));
        Ok(Self { base, url, secret, key_header: provider.key_header, headers, egress, is_providers_own })
    }
}

/// The address of an HTTP endpoint from the spec or the environment; `None` for the provider's own.
pub(crate) fn address(spec: &EndpointSpec, env: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let variables = provider(spec.kind).map_or(&[][..], |provider| provider.address_variables);
    spec.base_url.clone().or_else(|| variables.iter().find_map(|name| variable(env, name)))
}

/// Reads a variable; `None` if it is unset or blank.
fn variable(env: &dyn Fn(&str) -> Option<String>, name: &str) -> Option<String> {
    env(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// An address without what may be secret in it, whether it can be parsed or not: user, password, query, fragment.
pub(crate) fn shown(address: &str) -> String {
    match (address.split_once("://"), address.contains('@')) {
        (Some((scheme, _)), true) => format!("{scheme}://…"),
        (None, true) => "…".to_owned(),
        (_, false) => address.split(['?', '#']).next().unwrap_or(address).to_owned(),
    }
}

/// The name of an additional header.
fn header_name(name: &str) -> Result<HeaderName, &'static str> {
    if is_reserved_header(name) {
        return Err("it says where a request goes or how it is framed, which a spec does not decide; leave it out");
    }
    HeaderName::try_from(name).map_err(|_| "that is no name of a header")
}

/// The additional headers of `spec`.
pub(crate) fn headers(endpoint: &EndpointName, spec: &EndpointSpec) -> Result<HeaderMap, OpenError> {
    let mut headers = HeaderMap::with_capacity(spec.headers.len());
    for (name, value) in &spec.headers {
        let bad = |problem| OpenError::BadHeader { endpoint: endpoint.clone(), header: name.clone(), problem };
        let name = header_name(name).map_err(bad)?;
        if is_secret_name(name.as_str()) {
            return Err(bad(
                "specs are stored, and it may hold a secret; name a variable in headers_env or api_key_env",
            ));
        }
        let value =
            HeaderValue::try_from(value).map_err(|_| bad("its value holds characters that no header may hold"))?;
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Checks that an HTTP endpoint has an address and, if it needs one, a key, and that its headers can be sent. Opens and sends nothing.
/// Other kinds pass.
///
/// # Errors
/// When the key's variable is not set or the policy withholds it, the address is invalid, or a header cannot be sent; names the endpoint
/// and the variable.
pub fn check_access(
    endpoint: &EndpointName,
    spec: &EndpointSpec,
    env: &dyn Fn(&str) -> Option<String>,
    policy: &OutboundPolicy,
) -> Result<(), OpenError> {
    provider(spec.kind).map_or(Ok(()), |_| Access::resolve(endpoint, spec, env, policy).map(drop))
}

#[cfg(test)]
mod tests;
