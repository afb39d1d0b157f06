//! Failures to open an endpoint.

use std::path::PathBuf;

use regatta_proto::{EncoderName, EndpointKind, EndpointName};

use crate::policy::Origin;
use crate::recorded::RecordedError;
use crate::transport::TransportError;

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
    #[error("the address of endpoint {endpoint} is not allowed: {problem}")]
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
    #[error("failed to open endpoint {endpoint}: its kind {kind:?} is not reached over HTTP")]
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
