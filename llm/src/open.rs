//! Opens an endpoint: finds what its spec needs in this process (address, key, files).

mod access;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use regatta_files::read_within;
use regatta_memory::ByteBudget;
use regatta_proto::{Clock, EncoderName, EndpointKind, EndpointName, EndpointSpec, WorkerId};

use crate::encoders::Encoders;
use crate::encoding::Encoding;
use crate::open_error::OpenError;
use crate::recorded::RecordedVerdicts;
use crate::{BudgetLeases, CallMetrics, Network, OutboundPolicy, PermitStore, ResponseStore, Standstill};

pub use access::check_access;
pub(crate) use access::{Access, address, own_keys};
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
    let directory = directory_of_encoder(endpoint, spec, context.base_dir, &context.policy)?;
    context.encoders.open(endpoint, &directory)
}

/// Checks that the encoder of `spec` can be loaded, by loading it, which blocks the thread. Nothing of it is kept.
///
/// # Errors
/// When its directory is not known or not allowed, or lacks a file or has one that cannot be used; names the endpoint and the file.
pub fn check_encoder(
    endpoint: &EndpointName,
    spec: &EndpointSpec,
    base_dir: &Path,
    policy: &OutboundPolicy,
) -> Result<(), OpenError> {
    Encoding::open(endpoint, &directory_of_encoder(endpoint, spec, base_dir, policy)?).map(drop)
}

/// Directory of the encoder of `spec`.
fn directory_of_encoder(
    endpoint: &EndpointName,
    spec: &EndpointSpec,
    base_dir: &Path,
    policy: &OutboundPolicy,
) -> Result<PathBuf, OpenError> {
    let encoders = &policy.encoders;
    if let Some(name) = &spec.registered {
        return encoders.get(name).cloned().ok_or_else(|| OpenError::UnknownEncoder {
            endpoint: endpoint.clone(),
            encoder: name.clone(),
            known: encoders.keys().map(EncoderName::as_str).collect::<Vec<_>>().join(", "),
        });
    }
    let path = path(endpoint, spec)?;
    if !policy.trusts_specs {
        return Err(OpenError::DirectoryOfSpec { endpoint: endpoint.clone(), path: path.to_owned() });
    }
    Ok(base_dir.join(path))
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
