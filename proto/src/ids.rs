//! Newtypes for ids: parsed once at the edge, trusted afterwards.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Digest;

/// Longest id accepted anywhere, in bytes; keeps keys, queue names and log lines bounded.
pub const MAX_ID_LENGTH: usize = 200;

/// A text that is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The text is empty.
    #[error("{kind} is empty")]
    Empty {
        /// Kind of the expected id.
        kind: &'static str,
    },
    /// A model without its endpoint.
    #[error("the model {text:?} names no endpoint; write endpoint/model, as openai/{text}")]
    NoEndpoint {
        /// The text.
        text: String,
    },
    /// The text is longer than [`MAX_ID_LENGTH`].
    #[error("{kind} is {length} bytes long, at most {MAX_ID_LENGTH} are allowed")]
    TooLong {
        /// Kind of the expected id.
        kind: &'static str,
        /// Length of the text in bytes.
        length: usize,
    },
    /// The text, or a part of it between slashes, begins with a character that could hide a file or lead out of a folder.
    #[error("{kind} {text:?} must begin with a letter or a digit{parts}")]
    BadBeginning {
        /// Kind of the expected id.
        kind: &'static str,
        /// The text.
        text: String,
        /// A suffix of the message which says that the rule holds for each part, if the id has parts.
        parts: &'static str,
    },
    /// The text has a character with a meaning in paths, queue names or SQL keys.
    #[error("{kind} {text:?} contains {found:?}; allowed are {allowed}")]
    BadCharacter {
        /// Kind of the expected id.
        kind: &'static str,
        /// The text.
        text: String,
        /// The first character that is not allowed.
        found: char,
        /// Description of the allowed characters.
        allowed: &'static str,
    },
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $allowed:literal, $ok:expr, $begins:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(JsonSchema))]
        #[serde(try_from = "String", into = "String")]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks `text` and wraps it.
            ///
            /// # Errors
            /// When it is empty, too long, or has a character that is not allowed.
            pub fn new(text: impl AsRef<str>) -> Result<Self, IdError> {
                let text = text.as_ref();
                if text.is_empty() {
                    return Err(IdError::Empty { kind: $kind });
                }
                if text.len() > MAX_ID_LENGTH {
                    return Err(IdError::TooLong { kind: $kind, length: text.len() });
                }
                let allowed: fn(char) -> bool = $ok;
                if let Some(found) = text.chars().find(|c| !allowed(*c)) {
                    return Err(IdError::BadCharacter { kind: $kind, text: text.to_owned(), found, allowed: $allowed });
                }
                $begins.check($kind, text)?;
                Ok(Self(Arc::from(text)))
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                Self::new(text)
            }
        }
        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::new(text)
            }
        }
        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0.as_ref().to_owned()
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({:?})", stringify!($name), &*self.0)
            }
        }
    };
}

/// Rule for the first character of an id. Ids become names of folders, keys and queues, where `..` leads elsewhere, and a leading dot or
/// dash hides a name, is refused, or makes it an option.
#[derive(Clone, Copy)]
enum Beginning {
    /// A letter or a digit.
    Alphanumeric,
    /// A letter or a digit, in each part between slashes.
    AlphanumericParts,
    /// Any character: a benchmark's own ids never become names of files or queues.
    Free,
}

impl Beginning {
    fn check(self, kind: &'static str, text: &str) -> Result<(), IdError> {
        let begins_well = |part: &str| part.starts_with(|c: char| c.is_ascii_alphanumeric());
        let (is_good, parts) = match self {
            Self::Alphanumeric => (begins_well(text), ""),
            Self::AlphanumericParts => (text.split('/').all(begins_well), ", and so must what follows a slash"),
            Self::Free => (true, ""),
        };
        if is_good { Ok(()) } else { Err(IdError::BadBeginning { kind, text: text.to_owned(), parts }) }
    }
}

const fn slug(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

text_id!(
    /// Id of a submitted sweep: its name and the first digits of its lock's digest.
    SweepId, "sweep id", "letters, digits, '.', '_' and '-'", slug, Beginning::Alphanumeric
);
text_id!(
    /// Short name of a benchmark, such as `worfbench`.
    BenchmarkName, "benchmark name", "letters, digits, '.', '_' and '-'", slug, Beginning::Alphanumeric
);
text_id!(
    /// A named choice of a benchmark's own axes, such as `two-shot` or `turn/single/flowchart`.
    Setting, "setting", "letters, digits, '.', '_', '-', '=' and '/'", |c| slug(c) || matches!(c, '/' | '='),
    Beginning::AlphanumericParts
);
text_id!(
    /// Name of an endpoint within a spec; the part of `endpoint/model` before the first slash.
    EndpointName, "endpoint name", "letters, digits, '.', '_' and '-'", slug, Beginning::Alphanumeric
);
text_id!(
    /// A benchmark's own id of an item.
    ItemId, "item id", "any printable characters", |c| !c.is_control(), Beginning::Free
);
text_id!(
    /// Id of a worker process, drawn anew at each start.
    WorkerId, "worker id", "letters, digits, '.', '_' and '-'", slug, Beginning::Alphanumeric
);
text_id!(
    /// Id of one try at a session by one worker: the worker's id and a number that it never reuses.
    AttemptId, "attempt id", "letters, digits, '.', '_' and '-'", slug, Beginning::Alphanumeric
);

text_id!(
    /// The benchmark's name of a member in a team of agents under test, such as `intent`.
    MemberName, "member", "letters, digits, '.', '_' and '-'", slug, Beginning::Alphanumeric
);
text_id!(
    /// Name of an external agent in a spec, such as `my-langgraph`.
    AgentName, "agent name", "letters, digits, '.', '_' and '-'", slug, Beginning::Alphanumeric
);

text_id!(
    /// Name under which the policy file of a worker lists the directory of a sentence encoder, such as `minilm`.
    EncoderName, "encoder name", "letters, digits, '.', '_' and '-'", slug, Beginning::Alphanumeric
);
text_id!(
    /// Name of a schedule, such as `nightly`; the names of its sweeps begin with it.
    ScheduleName, "schedule name", "letters, digits, '.', '_' and '-'", slug, Beginning::Alphanumeric
);

text_id!(
    /// A person or program that owns sweeps, such as `alice`, `ci-nightly` or `alice@example.com`.
    OwnerName, "owner", "letters, digits, '.', '_', '-', '@', '+', ':' and '|'",
    |c| slug(c) || matches!(c, '@' | '+' | ':' | '|'), Beginning::Alphanumeric
);
text_id!(
    /// The public part of an API token.
    TokenId, "token id", "letters, digits, '.', '_' and '-'", slug, Beginning::Alphanumeric
);

impl AttemptId {
    /// Digits of a batch's id. With the position of a line they are its custom id, for which Anthropic leaves 64 characters.
    pub const BATCH_DIGITS: usize = 20;

    /// The attempt that a line of a batch is: `BATCH-POSITION`, which is also the custom id of the line.
    ///
    /// # Errors
    /// When the batch has an id that no attempt's can begin with.
    pub fn of_line(batch: &str, position: usize) -> Result<Self, IdError> {
        Self::new(format!("{batch}-{position}"))
    }

    /// Id of the batch of which the attempt is a line, if it is one of a batch: attempts at live sessions have ids of the same form.
    #[must_use]
    pub fn batch(&self) -> Option<&str> {
        self.as_str().rsplit_once('-').map(|(batch, _)| batch)
    }

    /// True if the attempt is a line of a batch whose id has [`Self::BATCH_DIGITS`] hexadecimal digits. No worker has such a name by chance.
    #[must_use]
    pub fn is_line(&self) -> bool {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        self.batch().is_some_and(|batch| batch.len() == Self::BATCH_DIGITS && batch.bytes().all(is_digit))
    }
}

impl OwnerName {
    /// The owner of everything that is submitted with the coordinator's own token, or without any tokens. No other credential has this
    /// owner.
    #[must_use]
    pub fn operator() -> Self {
        Self(Arc::from("operator"))
    }

    /// The owner that stands for a client certificate without a usable name, by half of its fingerprint.
    #[must_use]
    pub fn of_certificate(fingerprint: &Digest) -> Self {
        Self(format!("certificate-{}", &fingerprint.to_string()[..32]).into())
    }

    /// `true` for names with a special meaning in policies and in the audit log, which no credential may have.
    #[must_use]
    pub fn is_reserved(&self) -> bool {
        matches!(self.as_str(), "operator" | "nobody" | "others")
    }
}

impl EndpointName {
    /// The endpoint in names of panels of judges. It has no queue; the endpoints of the members have.
    pub(crate) fn of_panels() -> Self {
        Self(Arc::from("panel"))
    }
}

impl Setting {
    /// Name of the cast in the setting, such as `tuned` in `autogen/cast=tuned`; `None` if it has none.
    #[must_use]
    pub fn cast(&self) -> Option<&str> {
        self.as_str().split('/').find_map(|part| part.strip_prefix("cast="))
    }

    /// Name of the external agent in the setting, such as `my-agent` in `external/my-agent`; `None` if it has none.
    #[must_use]
    pub fn external(&self) -> Option<&str> {
        let mut parts = self.as_str().split('/');
        (parts.next() == Some("external")).then(|| parts.next().unwrap_or_default())
    }
}

macro_rules! index {
    ($(#[$doc:meta])* $name:ident, $inner:ty) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, )]
        #[cfg_attr(feature = "schema", derive(JsonSchema))]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

index!(
    /// Position of a cell in its sweep's grid.
    CellIndex, u32
);
index!(
    /// Position of an item in its benchmark's loaded data set (before any selection).
    ItemIndex, u32
);
index!(
    /// Position of a shard in its sweep.
    ShardIndex, u32
);
index!(
    /// Number of a repetition of a cell with another seed, from 0.
    Trial, u16
);

/// Identifies a session: one item executed in one cell of one sweep. At most one result per key is ever recorded.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SessionKey {
    /// The sweep.
    pub sweep: SweepId,
    /// The cell within the sweep.
    pub cell: CellIndex,
    /// The item within the cell's data set.
    pub item: ItemIndex,
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/c{}/i{}", self.sweep, self.cell, self.item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_with_a_path_separator_is_refused_and_the_character_named() {
        let error = SweepId::new("a/b").unwrap_err();
        assert_eq!(error.to_string(), "sweep id \"a/b\" contains '/'; allowed are letters, digits, '.', '_' and '-'");
    }

    #[test]
    fn the_id_of_an_attempt_names_the_batch_that_it_is_a_line_of() {
        let line = AttemptId::of_line("0a1b2c", 17).unwrap();
        assert_eq!((line.as_str(), line.batch()), ("0a1b2c-17", Some("0a1b2c")));
        assert_eq!(AttemptId::new("alone").unwrap().batch(), None);
    }

    #[test]
    fn a_line_is_told_from_attempts_at_live_sessions_by_the_id_of_its_batch() {
        assert!(AttemptId::of_line("0123456789abcdef0123", 17).unwrap().is_line());
        for other in ["worker-17", "0123456789ABCDEF0123-1", "0123456789abcdef012-1", "0123456789abcdef0123"] {
            assert!(!AttemptId::new(other).unwrap().is_line(), "{other}");
        }
    }

    #[test]
    fn no_id_that_becomes_a_name_hides_a_file_or_leads_out_of_a_folder() {
        for bad in [".", "..", ".x", "-rf", "_x", "...a"] {
            assert!(SweepId::new(bad).is_err(), "{bad}");
            assert!(BenchmarkName::new(bad).is_err(), "{bad}");
            assert!(EndpointName::new(bad).is_err(), "{bad}");
            assert!(AgentName::new(bad).is_err(), "{bad}");
            assert!(Setting::new(bad).is_err(), "{bad}");
            assert!(ScheduleName::new(bad).is_err(), "{bad}");
            assert!(OwnerName::new(bad).is_err(), "{bad}");
            assert!(TokenId::new(bad).is_err(), "{bad}");
            assert!(format!("{bad}/model").parse::<crate::ModelRef>().is_err(), "{bad}");
        }
        for bad in ["", "a\u{1b}]0;b", "a\nb", "a\u{9b}b"] {
            assert!(ItemId::new(bad).is_err(), "{bad:?}");
        }
        for bad in ["sim/", "sim/a\u{1b}b", "sim/a\nb", "/m", "sim"] {
            assert!(bad.parse::<crate::ModelRef>().is_err(), "{bad:?}");
        }
        for bad in ["turn/../x", "turn//x", "turn/.x", "/turn", "turn/"] {
            assert!(Setting::new(bad).is_err(), "{bad}");
        }
        assert!(Setting::new("autogen/today=2025-06-01").is_ok());
        assert!(SweepId::new("a..b").is_ok());
        assert_eq!(SweepId::new(".x").unwrap_err().to_string(), "sweep id \".x\" must begin with a letter or a digit");
    }

    #[test]
    fn an_id_is_checked_when_a_message_is_read() {
        assert!(serde_json::from_str::<WorkerId>("\"w 1\"").is_err());
        assert!(serde_json::from_str::<WorkerId>("\"w-1\"").is_ok());
    }

    #[test]
    fn an_id_has_a_longest_length() {
        assert!(ItemId::new("x".repeat(MAX_ID_LENGTH)).is_ok());
        assert!(matches!(ItemId::new("x".repeat(MAX_ID_LENGTH + 1)), Err(IdError::TooLong { .. })));
    }
}
