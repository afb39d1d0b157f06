//! Opens an endpoint: finds what its spec needs in this process (address, key, files).

mod access;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use regatta_files::read_within;
use regatta_memory::ByteBudget;
use regatta_proto::{Clock, EncoderName, EndpointKind, EndpointName, EndpointSpec, WorkerId};

use crate::encoders::Encoders;
use crate::encoding::Encoding;
use crate::policy::Origin;
use crate::recorded::{RecordedError, RecordedVerdicts};
use crate::transport::TransportError;
use crate::{BudgetLeases, CallMetrics, Network, OutboundPolicy, PermitStore, ResponseStore, Standstill};

pub use access::check_access;
pub(crate) use access::{Access, address};
#[cfg(feature = "bedrock")]
pub(crate) use access::{headers, shown};

/// Largest file of recorded verdicts, in bytes: it is in memory while it is parsed.
pub const VERDICTS_BYTES_MAX: u64 = 256 << 20;

/// The context in which an endpoint is opened.
#[derive(Clone)]
pub struct OpenContext<'a> {
    /// Reads a variable of the environment; the only source of keys.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// Directory that `path` of the spec is relative to.
    pub base_dir: &'a Path,
    /// The recorded verdicts, where the spec names their content; `None` reads the file that it names, if the policy trusts specs.
    pub recorded: Option<Arc<RecordedVerdicts>>,
    /// Encoders of this process.
    pub encoders: Encoders,
    /// Metrics of calls.
    pub metrics: Arc<CallMetrics>,
    /// For a Retry-After that is a date, and for prices that depend on the time of day.
    pub clock: Arc<dyn Clock>,
    /// Seed of the jitter between tries of calls without a session.
    pub seed: u64,
    /// The store of permits that the whole fleet shares.
    pub permits: Arc<dyn PermitStore>,
    /// Name under which this process holds permits.
    pub holder: WorkerId,
    /// The pool of permits that calls draw on: [`EndpointSpec::pool`].
    pub pool: String,
    /// The budget leases of this process.
    pub budget_leases: Arc<BudgetLeases>,
    /// Bytes that this process may hold; answers are read within them.
    pub bytes: ByteBudget,
    /// The response cache, shared by the fleet.
    pub answers: Arc<dyn ResponseStore>,
    /// Rules about keys and about addresses that may be reached.
    pub policy: Arc<OutboundPolicy>,
    /// The HTTP network of calls; `None` is the machine's.
    pub network: Option<Arc<dyn Network>>,
    /// Standstills of this process, after which no call is sent for a moment.
    pub standstill: Standstill,
}

/// An endpoint that cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The variable with the key is not set.
    #[error(
        "endpoint {endpoint} needs a key: set {variable}, or name another variable in api_key_env (`none` sends no key)"
    )]
    NoKey {
        /// The endpoint.
        endpoint: EndpointName,
        /// Name of the variable.
        variable: String,
    },
    /// The address is the spec's own, and the spec names no key for it.
    #[error(
        "endpoint {endpoint} has a base_url of its own, and to such no key is sent that is not named: write \
         api_key_env: {variable} (or `none`)"
    )]
    KeyNotNamed {
        /// The endpoint.
        endpoint: EndpointName,
        /// The variable that holds such a key by default.
        variable: String,
    },
    /// The address holds a user or a password.
    #[error(
        "base_url of endpoint {endpoint} holds credentials; put the key into a variable and name it in api_key_env"
    )]
    Credentials {
        /// The endpoint.
        endpoint: EndpointName,
    },
    /// No rule of the policy allows the key at this origin.
    #[error(
        "endpoint {endpoint} would send the key {variable} to {origin}, which no policy allows: allow it in the policy file (--policy) \
         as keys: {{ {variable}: {{ origins: [\"{origin}\"] }} }}, or write api_key_env: none"
    )]
    KeyWithheld {
        /// The endpoint.
        endpoint: EndpointName,
        /// The variable of the key.
        variable: String,
        /// Origin that the key would be sent to.
        origin: Origin,
    },
    /// The key would be sent without TLS.
    #[error(
        "endpoint {endpoint} would send the key {variable} to {origin} without TLS, where everybody on the way can read it: use https, \
         or allow it in the policy file (--policy) as keys: {{ {variable}: {{ origins: [\"{origin}\"], plain_http: true }} }}"
    )]
    KeyInTheClear {
        /// The endpoint.
        endpoint: EndpointName,
        /// The variable of the key.
        variable: String,
        /// Origin that the key would be sent to.
        origin: Origin,
    },
    /// The policy does not allow the address.
    #[error("endpoint {endpoint} is not reached from here: {problem}")]
    Unreachable {
        /// The endpoint.
        endpoint: EndpointName,
        /// The rule that the address violates.
        problem: String,
    },
    /// Neither the spec nor the environment has an address.
    #[error("endpoint {endpoint} has no base_url{}", .variable.map(|name| format!("; set {name}")).unwrap_or_default())]
    NoAddress {
        /// The endpoint.
        endpoint: EndpointName,
        /// The variable that may hold it.
        variable: Option<&'static str>,
    },
    /// A header of the spec cannot be sent.
    #[error("header {header:?} of endpoint {endpoint} cannot be sent: {problem}")]
    BadHeader {
        /// The endpoint.
        endpoint: EndpointName,
        /// Name of the header.
        header: String,
        /// The reason, as a clause.
        problem: &'static str,
    },
    /// Endpoints of this kind are not reached over HTTP.
    #[error("endpoint {endpoint} is of the kind {kind:?}, which is not spoken to here")]
    NotSpoken {
        /// The endpoint.
        endpoint: EndpointName,
        /// Kind of the endpoint.
        kind: EndpointKind,
    },
    /// The address cannot be parsed as an http or https address.
    #[error("base_url {url:?} of endpoint {endpoint} is not an http or https address: {problem}")]
    BadAddress {
        /// The endpoint.
        endpoint: EndpointName,
        /// The address as given, without what may be secret in it.
        url: String,
        /// The reason, as a clause.
        problem: String,
    },
    /// An encoder or a source of recorded verdicts has no path.
    #[error("endpoint {endpoint} has no path: name the directory of the encoder, or the file of the verdicts")]
    NoPath {
        /// The endpoint.
        endpoint: EndpointName,
    },
    /// The file of a spec is not read here, because the spec may be another's.
    #[error(
        "endpoint {endpoint} names {path}, a file of this machine, which is not read for specs of others: hand the sweep in with `regatta \
         submit`, which stores the file and names it by its digest; of a run that was not begun here: give --trust to read it"
    )]
    FileOfSpec {
        /// The endpoint.
        endpoint: EndpointName,
        /// Path of the file.
        path: PathBuf,
    },
    /// The directory of a spec is not read here, because the spec may be another's.
    #[error(
        "endpoint {endpoint} names {path}, a directory of this machine, which is not read for specs of others: name it in the policy file \
         (--policy) as encoders: {{ {endpoint}: {path} }}, and write registered: {endpoint} in place of path; of a run that was not begun \
         here: give --trust to read it"
    )]
    DirectoryOfSpec {
        /// The endpoint.
        endpoint: EndpointName,
        /// Path of the directory.
        path: PathBuf,
    },
    /// The policy has no encoder of this name.
    #[error(
        "endpoint {endpoint} chooses the encoder {encoder}, which the policy file (--policy) of this process does not have under \
         encoders; it has: {known}"
    )]
    UnknownEncoder {
        /// The endpoint.
        endpoint: EndpointName,
        /// The name that the spec chooses.
        encoder: EncoderName,
        /// Names of the policy, separated by commas.
        known: String,
    },
    /// The file of recorded verdicts cannot be read.
    #[error("failed to read {path} of endpoint {endpoint}: {source}")]
    Unreadable {
        /// The endpoint.
        endpoint: EndpointName,
        /// Path of the file.
        path: PathBuf,
        /// The error of the file system.
        source: std::io::Error,
    },
    /// The file of recorded verdicts is malformed.
    #[error("failed to open endpoint {endpoint}: {source}")]
    Recorded {
        /// The endpoint.
        endpoint: EndpointName,
        /// The error, with file and line.
        source: RecordedError,
    },
    /// The encoder cannot be loaded.
    #[error("failed to open endpoint {endpoint}: {source}")]
    Encoder {
        /// The endpoint.
        endpoint: EndpointName,
        /// The error, with the file.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// This build does not support the kind of endpoint.
    #[error(
        "endpoint {endpoint} is of the kind {kind}, which this build does not have; build with \
         `cargo build --release --features {feature}` (`full` has every kind)"
    )]
    NotBuilt {
        /// The endpoint.
        endpoint: EndpointName,
        /// Kind of the endpoint, as specs write it.
        kind: &'static str,
        /// The feature that adds it.
        feature: &'static str,
    },
    /// The HTTP client cannot be made.
    #[error("failed to open endpoint {endpoint}: {source}")]
    Transport {
        /// The endpoint.
        endpoint: EndpointName,
        /// The error of the transport.
        source: TransportError,
    },
}

/// Kinds of endpoints that only some builds have.
#[derive(Debug, Clone, Copy)]
pub struct Build {
    /// Amazon Bedrock.
    pub bedrock: bool,
    /// Sentence encoders in-process.
    pub encoder: bool,
}

impl Build {
    /// The kinds of this build.
    pub const THIS: Self = Self { bedrock: cfg!(feature = "bedrock"), encoder: cfg!(feature = "encoder") };

    /// Checks that the build supports the kind of `spec`.
    ///
    /// # Errors
    /// When it does not; names the endpoint and the feature.
    pub fn check(self, endpoint: &EndpointName, spec: &EndpointSpec) -> Result<(), OpenError> {
        let (kind, feature, is_there) = match spec.kind {
            EndpointKind::Bedrock => ("bedrock", "bedrock", self.bedrock),
            EndpointKind::Encoder => ("encoder", "encoder", self.encoder),
            EndpointKind::Openai
            | EndpointKind::OpenaiResponses
            | EndpointKind::Azure
            | EndpointKind::Anthropic
            | EndpointKind::Gemini
            | EndpointKind::Simulated
            | EndpointKind::Recorded => return Ok(()),
        };
        if is_there { Ok(()) } else { Err(OpenError::NotBuilt { endpoint: endpoint.clone(), kind, feature }) }
    }
}

/// Loads the encoder of `spec`.
pub(crate) fn encoder(
    endpoint: &EndpointName,
    spec: &EndpointSpec,
    context: &OpenContext<'_>,
) -> Result<Arc<Encoding>, OpenError> {
    let encoders = &context.policy.encoders;
    let dir = match &spec.registered {
        Some(name) => encoders.get(name).cloned().ok_or_else(|| OpenError::UnknownEncoder {
            endpoint: endpoint.clone(),
            encoder: name.clone(),
            known: encoders.keys().map(EncoderName::as_str).collect::<Vec<_>>().join(", "),
        })?,
        None => {
            let path = path(endpoint, spec)?;
            if !context.policy.trusts_specs {
                return Err(OpenError::DirectoryOfSpec { endpoint: endpoint.clone(), path: path.to_owned() });
            }
            context.base_dir.join(path)
        }
    };
    context.encoders.open(endpoint, &dir)
}

/// The verdicts of `spec`, with the name of their file.
pub(crate) fn recorded(
    endpoint: &EndpointName,
    spec: &EndpointSpec,
    context: &OpenContext<'_>,
) -> Result<(Arc<RecordedVerdicts>, String), OpenError> {
    let named = path(endpoint, spec)?;
    let path = context.base_dir.join(named);
    let file = path.to_string_lossy();
    let verdicts = match &context.recorded {
        Some(verdicts) => verdicts.clone(),
        None if !context.policy.trusts_specs => {
            return Err(OpenError::FileOfSpec { endpoint: endpoint.clone(), path: named.to_owned() });
        }
        None => {
            let unreadable = |source| OpenError::Unreadable { endpoint: endpoint.clone(), path: path.clone(), source };
            let bytes = read_within(&path, VERDICTS_BYTES_MAX).map_err(unreadable)?;
            let parsed = RecordedVerdicts::parse(&file, &bytes);
            Arc::new(parsed.map_err(|source| OpenError::Recorded { endpoint: endpoint.clone(), source })?)
        }
    };
    Ok((verdicts, file.into_owned()))
}

fn path<'s>(endpoint: &EndpointName, spec: &'s EndpointSpec) -> Result<&'s Path, OpenError> {
    spec.path.as_deref().ok_or_else(|| OpenError::NoPath { endpoint: endpoint.clone() })
}
