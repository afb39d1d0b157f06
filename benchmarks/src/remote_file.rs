//! Files of data sets that are fetched.

use regatta_proto::Digest;

/// A file of a data set that lies at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteFile {
    /// Path in the data set, relative.
    pub path: String,
    /// Address, of https.
    pub url: String,
    /// SHA-256 of its content.
    pub sha256: Digest,
}
