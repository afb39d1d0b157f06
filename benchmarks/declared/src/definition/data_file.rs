//! Files of splits: in the benchmark's folder, or at an address.

use std::fmt;

use regatta_proto::Digest;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A file of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DataFile {
    /// Path in the folder.
    Inside(String),
    /// A file that is fetched.
    Fetched(Fetched),
}

/// A file at an address. Without a digest nobody would know that it is the same tomorrow, or on another machine.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fetched {
    /// Address, of https.
    pub(crate) url: String,
    /// SHA-256 of the file.
    pub(crate) sha256: Digest,
}

impl Fetched {
    /// Path that the file has in the folder once it was fetched. The address is not repeated in errors: it may hold a password.
    pub(crate) fn path(&self) -> Result<String, String> {
        let rest = self.url.strip_prefix("https://").ok_or("must begin with https://")?;
        let place = rest.split(['?', '#']).next().unwrap_or(rest);
        let (host, path) =
            place.split_once('/').ok_or("must end in the name of a file, as https://example.org/test.jsonl")?;
        if host.is_empty() || host.contains('@') {
            return Err(
                "must name a host, and neither user nor password: the address is part of the data set".to_owned()
            );
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_name = name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
        if !is_name {
            return Err("must end in the name of a file, of letters, digits, '.', '_' and '-'".to_owned());
        }
        Ok(format!("fetched/{}/{name}", self.sha256.short()))
    }
}

impl<'de> Deserialize<'de> for DataFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PathOrAddress;

        impl<'de> Visitor<'de> for PathOrAddress {
            type Value = DataFile;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the path of a file, or `url` and `sha256` of one")
            }

            fn visit_str<E: de::Error>(self, path: &str) -> Result<DataFile, E> {
                Ok(DataFile::Inside(path.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<DataFile, A::Error> {
                Fetched::deserialize(MapAccessDeserializer::new(map)).map(DataFile::Fetched)
            }
        }

        deserializer.deserialize_any(PathOrAddress)
    }
}
