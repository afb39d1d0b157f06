//! Content addresses.

use std::fmt;
use std::str::FromStr;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// SHA-256 of some content, by which it is addressed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub struct Digest([u8; 32]);

/// A text that is not 64 hexadecimal digits in lower case.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a digest is 64 hexadecimal digits in lower case, found {0:?}")]
pub struct ParseDigestError(String);

/// Writes plain data as the JSON that keys and digests are computed from.
///
/// # Panics
/// When `data` cannot be written as JSON, such as a map whose keys are no strings; a digest of nothing would equal every other one.
#[must_use]
#[expect(clippy::expect_used, reason = "the types that keys are made of have JSON; a default would be a wrong key")]
pub fn json_bytes(data: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(data).expect("plain data has JSON")
}

impl Digest {
    /// Digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// A hasher for content in pieces.
    #[must_use]
    pub fn hasher() -> Hasher {
        Hasher(Sha256::new())
    }

    /// Digest of several parts, each prefixed by its length, so that no two lists of parts collide by concatenation.
    #[must_use]
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    /// The raw 32 bytes.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first eight hexadecimal digits, for names that people read.
    #[must_use]
    pub fn short(&self) -> String {
        hex::encode(&self.0[..4])
    }
}

/// Computes a [`Digest`] of content in pieces.
#[derive(Debug, Clone)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Adds the next piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// Digest of all pieces, concatenated.
    #[must_use]
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}
impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}
impl FromStr for Digest {
    type Err = ParseDigestError;
    fn from_str(text: &str) -> Result<Self, ParseDigestError> {
        let problem = || ParseDigestError(text.to_owned());
        // Two texts of one digest would be two names of one file.
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err(problem());
        }
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| problem())?;
        Ok(Self(bytes))
    }
}
impl TryFrom<String> for Digest {
    type Error = ParseDigestError;
    fn try_from(text: String) -> Result<Self, ParseDigestError> {
        text.parse()
    }
}
impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_read_from_the_text_that_it_is_written_as_and_from_no_other() {
        let text = "0a".repeat(32);
        assert_eq!(text.parse::<Digest>().unwrap().to_string(), text);
        for other in [text.to_uppercase(), text.replacen('a', "A", 1), text[1..].to_owned(), format!("{text}0")] {
            let error = other.parse::<Digest>().unwrap_err().to_string();
            assert_eq!(error, format!("a digest is 64 hexadecimal digits in lower case, found {other:?}"));
        }
    }

    /// A digest of nothing would equal every other one.
    #[test]
    #[should_panic(expected = "plain data has JSON")]
    fn data_without_json_stops_the_program_and_is_no_empty_text() {
        let written = json_bytes(&std::collections::BTreeMap::from([((1, 2), "a key that is no text")]));
        assert!(written.is_empty(), "nothing is all that can come of it");
    }
}
