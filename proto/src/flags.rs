//! Flags of a session, which tell readers of a low score how the model's answers ended.

use std::fmt;
use std::str::FromStr;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A property of at least one answer of the model under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    /// The token limit cut an answer off.
    Truncated,
    /// The model refused in its provider's field for refusals.
    Refused,
    /// The provider's filter withheld an answer or a part of it.
    Filtered,
    /// An answer had neither text nor tool calls nor reasoning.
    Empty,
    /// An answer had reasoning and nothing else.
    ReasoningOnly,
    /// The benchmark's own parser found no answer in the text, or a tool was called with arguments that are no JSON object.
    InvalidFormat,
}

impl Flag {
    /// All flags, in the order in which they are written.
    pub const ALL: [Self; 6] =
        [Self::Truncated, Self::Refused, Self::Filtered, Self::Empty, Self::ReasoningOnly, Self::InvalidFormat];

    /// Name in files, SQL and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::Refused => "refused",
            Self::Filtered => "filtered",
            Self::Empty => "empty",
            Self::ReasoningOnly => "reasoning_only",
            Self::InvalidFormat => "invalid_format",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// The flags of one session: a small set.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(from = "Vec<Flag>", into = "Vec<Flag>")]
pub struct Flags(u8);

impl Flags {
    /// No flag.
    pub const NONE: Self = Self(0);

    /// Sets `flag` where `is_set`.
    pub const fn set(&mut self, flag: Flag, is_set: bool) {
        if is_set {
            self.0 |= flag.bit();
        }
    }

    /// `true` if `flag` is set.
    #[must_use]
    pub const fn has(self, flag: Flag) -> bool {
        self.0 & flag.bit() != 0
    }

    /// The flags that are set, in the order of [`Flag::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Flag> {
        Flag::ALL.into_iter().filter(move |flag| self.has(*flag))
    }
}

impl FromIterator<Flag> for Flags {
    fn from_iter<I: IntoIterator<Item = Flag>>(flags: I) -> Self {
        flags.into_iter().fold(Self::NONE, |all, flag| Self(all.0 | flag.bit()))
    }
}

impl From<Vec<Flag>> for Flags {
    fn from(flags: Vec<Flag>) -> Self {
        flags.into_iter().collect()
    }
}

impl From<Flags> for Vec<Flag> {
    fn from(flags: Flags) -> Self {
        flags.iter().collect()
    }
}

/// The names, separated by commas; empty for none.
impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, flag) in self.iter().enumerate() {
            write!(f, "{}{}", if at == 0 { "" } else { "," }, flag.as_str())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// A name that is no flag.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown flag {0:?}")]
pub struct UnknownFlag(pub String);

impl FromStr for Flags {
    type Err = UnknownFlag;
    fn from_str(text: &str) -> Result<Self, UnknownFlag> {
        let words = text.split(',').filter(|_| !text.is_empty());
        let flag = |word: &str| Flag::ALL.into_iter().find(|flag| flag.as_str() == word);
        words.map(|word| flag(word).ok_or_else(|| UnknownFlag(word.to_owned()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn flags_are_the_same_after_text_and_json(bits in 0_u8..64) {
            let flags = Flags(bits);
            prop_assert_eq!(flags.to_string().parse(), Ok(flags));
            let json = serde_json::to_string(&flags).unwrap();
            prop_assert_eq!(serde_json::from_str::<Flags>(&json).unwrap(), flags);
        }
    }

    #[test]
    fn words_are_written_in_one_order_and_unknown_ones_are_refused() {
        let flags: Flags = [Flag::Empty, Flag::Truncated].into_iter().collect();
        assert_eq!(flags.to_string(), "truncated,empty");
        assert_eq!("truncated,odd".parse::<Flags>(), Err(UnknownFlag("odd".to_owned())));
    }
}
