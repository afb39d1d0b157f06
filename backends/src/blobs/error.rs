//! Errors of the blob store.

use std::io;
use std::path::PathBuf;

use regatta_proto::Digest;

/// Blobs that could not be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// The key is not allowed.
    #[error("failed to use {key:?} as a key: {reason}")]
    BadKey {
        /// The key.
        key: String,
        /// The rule that the key violates, as a clause.
        reason: &'static str,
    },
    /// The bucket name or the prefix is not allowed.
    #[error("failed to use {bucket:?} with prefix {prefix:?}: {reason}")]
    BadPlace {
        /// The bucket.
        bucket: String,
        /// The prefix.
        prefix: String,
        /// The rule that is violated, as a clause.
        reason: &'static str,
    },
    /// The object is larger than the limit.
    #[error("failed to store or read {place}: {bytes} bytes are more than the limit of {limit}")]
    TooLarge {
        /// Path or address of the object.
        place: String,
        /// Size of the object in bytes.
        bytes: u64,
        /// Largest size allowed, in bytes.
        limit: u64,
    },
    /// More keys have the prefix than a listing may return.
    #[error("failed to list {place}: more than {limit} keys begin so; list a longer prefix")]
    TooMany {
        /// Path or address that was listed.
        place: String,
        /// Most keys allowed.
        limit: usize,
    },
    /// No content has this digest.
    #[error(
        "failed to find the content {digest} at {place}: it was never stored there, or was deleted since; check that all processes use the same store"
    )]
    MissingContent {
        /// Digest that was asked for.
        digest: Digest,
        /// Path or address where it should be.
        place: String,
    },
    /// The content has another digest than its name.
    #[error(
        "failed to verify {place}: its content has the digest {found}, not the one it is named by; it was damaged: restore it, or delete it so that it is stored again"
    )]
    Corrupt {
        /// Path or address of the object.
        place: String,
        /// Digest of the content.
        found: Digest,
    },
    /// A file operation failed.
    #[error("failed to {action} {}", path.display())]
    Io {
        /// The action, to complete "failed to".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the file system.
        #[source]
        source: io::Error,
    },
    /// Certificates that were named are not usable.
    #[cfg(feature = "cluster")]
    #[error("failed to set up TLS to the bucket: {0}")]
    Tls(#[from] crate::tls::TlsError),
    /// The S3 service refused, or could not be reached.
    #[error("failed to {action} {place}: {reason}")]
    S3 {
        /// The action, to complete "failed to".
        action: &'static str,
        /// Address of the object: `s3://bucket/key`.
        place: String,
        /// The message of the service, with its error code if there is one.
        reason: String,
    },
}

impl BlobError {
    /// `true` if the store could not be reached or used, so that the same call may succeed later. `false` if the error is about this key or
    /// object alone.
    #[must_use]
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Io { source, .. } => {
                !matches!(source.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidFilename)
            }
            Self::S3 { .. } => true,
            #[cfg(feature = "cluster")]
            Self::Tls(_) => false,
            Self::BadKey { .. }
            | Self::BadPlace { .. }
            | Self::TooLarge { .. }
            | Self::TooMany { .. }
            | Self::MissingContent { .. }
            | Self::Corrupt { .. } => false,
        }
    }

    /// `true` if repeating the call cannot succeed.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::BadKey { .. } | Self::BadPlace { .. } | Self::TooLarge { .. } | Self::TooMany { .. } => true,
            Self::Io { .. } => !self.is_outage(),
            #[cfg(feature = "cluster")]
            Self::Tls(_) => false,
            Self::S3 { .. } | Self::MissingContent { .. } | Self::Corrupt { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_trouble_with_the_store_is_an_outage() {
        let io = |kind: io::ErrorKind| BlobError::Io { action: "read", path: "x".into(), source: kind.into() };
        assert!(io(io::ErrorKind::PermissionDenied).is_outage());
        let of_key = [
            BlobError::BadKey { key: ".x".into(), reason: "it is bad" },
            BlobError::TooLarge { place: "x".into(), bytes: 2, limit: 1 },
            io(io::ErrorKind::InvalidFilename),
        ];
        for error in of_key {
            assert!(!error.is_outage() && error.is_refusal(), "{error}");
        }
    }
}
