//! From an endpoint's spec to what it needs in this process: address, key, files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use regatta_encoder::EncoderError;
use regatta_proto::{Clock, EndpointKind, EndpointName, EndpointSpec};
use reqwest::Url;

use crate::CallMetrics;
use crate::encoding::Encoding;
use crate::recorded::{RecordedError, RecordedVerdicts};
use crate::secret::Secret;
use crate::transport::TransportError;

const OPENAI: &str = "https://api.openai.com/v1";
const BASE_URL_VARIABLE: &str = "OPENAI_BASE_URL";
const KEY_VARIABLE: &str = "OPENAI_API_KEY";
/// Value of `api_key_env` that sends no key.
const NO_KEY: &str = "none";

/// What an endpoint is opened with.
#[derive(Clone)]
pub struct OpenContext<'a> {
    /// The environment; keys come from here and nowhere else.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// Directory that `path` of the spec is relative to.
    pub base_dir: &'a Path,
    /// Content of the recorded verdicts, where the caller has it; otherwise the file is read.
    pub recorded: Option<&'a [u8]>,
    /// Where calls are counted.
    pub metrics: Arc<CallMetrics>,
    /// For a Retry-After that is a date.
    pub clock: Arc<dyn Clock>,
    /// Seed of the jitter between tries, where a call has no session.
    pub seed: u64,
}

/// An endpoint cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The variable with the key is not set.
    #[error(
        "endpoint {endpoint} needs a key: set {variable}, or name another variable in api_key_env (`none` sends no key)"
    )]
    NoKey {
        /// The endpoint.
        endpoint: EndpointName,
        /// The variable.
        variable: String,
    },
    /// There is no address.
    #[error("endpoint {endpoint} has no base_url")]
    NoAddress {
        /// The endpoint.
        endpoint: EndpointName,
    },
    /// The address is none.
    #[error("base_url {url:?} of endpoint {endpoint} is not an http or https address: {problem}")]
    BadAddress {
        /// The endpoint.
        endpoint: EndpointName,
        /// The address as given.
        url: String,
        /// What is wrong with it.
        problem: String,
    },
    /// An encoder or recorded verdicts without a path.
    #[error("endpoint {endpoint} has no path: name the directory of the encoder, or the file of the verdicts")]
    NoPath {
        /// The endpoint.
        endpoint: EndpointName,
    },
    /// The file of the verdicts cannot be read.
    #[error("failed to read {path} of endpoint {endpoint}: {source}")]
    Unreadable {
        /// The endpoint.
        endpoint: EndpointName,
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file of the verdicts is damaged.
    #[error("failed to open endpoint {endpoint}: {source}")]
    Recorded {
        /// The endpoint.
        endpoint: EndpointName,
        /// File and line.
        source: RecordedError,
    },
    /// The encoder cannot be loaded.
    #[error("failed to open endpoint {endpoint}: {source}")]
    Encoder {
        /// The endpoint.
        endpoint: EndpointName,
        /// File and reason.
        source: EncoderError,
    },
    /// The HTTP client cannot be made.
    #[error("failed to open endpoint {endpoint}: {source}")]
    Transport {
        /// The endpoint.
        endpoint: EndpointName,
        /// Why.
        source: TransportError,
    },
}

/// Addresses and key of an endpoint that speaks OpenAI's format.
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) chat: Url,
    pub(crate) embeddings: Url,
    pub(crate) secret: Secret,
}

impl Access {
    /// Resolves the address and the key of `spec`.
    pub(crate) fn resolve(
        endpoint: &EndpointName,
        spec: &EndpointSpec,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, OpenError> {
        let variable = |name: &str| env(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let is_openai = spec.kind == EndpointKind::Openai;
        let base = match &spec.base_url {
            Some(url) => url.clone(),
            None if is_openai => variable(BASE_URL_VARIABLE).unwrap_or_else(|| OPENAI.to_owned()),
            None => return Err(OpenError::NoAddress { endpoint: endpoint.clone() }),
        };
        let bad = |problem: String| OpenError::BadAddress { endpoint: endpoint.clone(), url: base.clone(), problem };
        let parse = |text: &str| Url::parse(text).map_err(|error| bad(error.to_string()));
        let scheme = parse(&base)?.scheme().to_owned();
        if !matches!(scheme.as_str(), "http" | "https") {
            return Err(bad(format!("its scheme is {scheme:?}")));
        }
        let base = base.trim_end_matches('/');
        let no_key = |name: &str| OpenError::NoKey { endpoint: endpoint.clone(), variable: name.to_owned() };
        let secret = match spec.api_key_env.as_deref() {
            Some(NO_KEY) => Secret::default(),
            Some(name) => Secret::new(variable(name).ok_or_else(|| no_key(name))?),
            None if is_openai => match variable(KEY_VARIABLE) {
                Some(key) => Secret::new(key),
                None if base == OPENAI => return Err(no_key(KEY_VARIABLE)),
                None => Secret::default(),
            },
            None => Secret::default(),
        };
        let (chat, embeddings) = (format!("{base}/chat/completions"), format!("{base}/embeddings"));
        Ok(Self { chat: parse(&chat)?, embeddings: parse(&embeddings)?, secret })
    }
}

/// Checks that an endpoint of OpenAI's format has an address and, where it needs one, a key. Nothing is opened or sent.
///
/// # Errors
/// When the key's variable is not set or the address is none; names the endpoint and the variable.
pub fn check_access(
    endpoint: &EndpointName,
    spec: &EndpointSpec,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<(), OpenError> {
    Access::resolve(endpoint, spec, env).map(drop)
}

/// Loads the encoder of `spec`.
pub(crate) fn encoder(endpoint: &EndpointName, spec: &EndpointSpec, base_dir: &Path) -> Result<Encoding, OpenError> {
    let dir = base_dir.join(path(endpoint, spec)?);
    Encoding::open(&dir).map_err(|source| OpenError::Encoder { endpoint: endpoint.clone(), source })
}

/// Reads the verdicts of `spec`.
pub(crate) fn recorded(
    endpoint: &EndpointName,
    spec: &EndpointSpec,
    context: &OpenContext<'_>,
) -> Result<RecordedVerdicts, OpenError> {
    let path = context.base_dir.join(path(endpoint, spec)?);
    let read;
    let bytes = match context.recorded {
        Some(bytes) => bytes,
        None => {
            read = std::fs::read(&path).map_err(|source| OpenError::Unreadable {
                endpoint: endpoint.clone(),
                path: path.clone(),
                source,
            })?;
            &read
        }
    };
    RecordedVerdicts::parse(&path.to_string_lossy(), bytes)
        .map_err(|source| OpenError::Recorded { endpoint: endpoint.clone(), source })
}

fn path<'s>(endpoint: &EndpointName, spec: &'s EndpointSpec) -> Result<&'s Path, OpenError> {
    spec.path.as_deref().ok_or_else(|| OpenError::NoPath { endpoint: endpoint.clone() })
}

#[cfg(test)]
mod tests;
