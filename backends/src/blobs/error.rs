//! What can go wrong with blobs.

use std::io;
use std::path::PathBuf;

use regatta_proto::Digest;

/// Why blobs could not be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// A key that is not allowed.
    #[error("failed to use {key:?} as a key: {reason}")]
    BadKey {
        /// The key.
        key: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A bucket name or prefix that is not allowed.
    #[error("failed to use {bucket:?} with prefix {prefix:?}: {reason}")]
    BadPlace {
        /// The bucket.
        bucket: String,
        /// The prefix.
        prefix: String,
        /// What is wrong with them.
        reason: &'static str,
    },
    /// Above the limit.
    #[error("failed to store or read {place}: {bytes} bytes are more than the limit of {limit}")]
    TooLarge {
        /// Path or address of the object.
        place: String,
        /// Its size.
        bytes: u64,
        /// Largest size allowed.
        limit: u64,
    },
    /// More keys than a listing may have.
    #[error("failed to list {place}: more than {limit} keys begin so; list a longer prefix")]
    TooMany {
        /// Path or address that was listed.
        place: String,
        /// Most keys allowed.
        limit: usize,
    },
    /// Content that should be there is not.
    #[error(
        "failed to find the content {digest} at {place}: it was never stored there, or was deleted since; check that all processes use the same store"
    )]
    MissingContent {
        /// What was asked for.
        digest: Digest,
        /// Path or address where it should be.
        place: String,
    },
    /// Content does not have the digest that names it.
    #[error(
        "failed to verify {place}: its content has the digest {found}, not the one it is named by; it was damaged: restore it, or delete it so that it is stored again"
    )]
    Corrupt {
        /// Path or address of the object.
        place: String,
        /// Digest of what is there.
        found: Digest,
    },
    /// The file system refused.
    #[error("failed to {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// With which file or folder.
        path: PathBuf,
        /// Why it did not work.
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
        /// What was tried.
        action: &'static str,
        /// Address of the object: `s3://bucket/key`.
        place: String,
        /// The service's words, with its error code where it gave one.
        reason: String,
    },
}

impl BlobError {
    /// `true` when the store could not be reached or used, so that the same may well succeed later. `false` when it is about this key or
    /// this object, and nothing else suffers from it.
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

    /// `true` when no repetition can succeed.
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
