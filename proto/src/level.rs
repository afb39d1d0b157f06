//! The confidence level of a sweep's intervals and tests.

use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// Probability with which an interval covers its true value; above 0.5 and at most 0.999. At this level, a test finds a difference if its
/// p-value is at most [`Level::alpha`].
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
#[serde(into = "f64")]
pub struct Level(f64);

impl Level {
    /// Level of a spec that sets none.
    pub const USUAL: Self = Self(0.95);
    /// Largest level. Sign-flips are drawn 9,999 times, and at a higher level too few of them would lie outside of an interval.
    const MAX: f64 = 0.999;

    /// The level `probability`.
    ///
    /// # Errors
    /// When `probability` is not above 0.5 and at most 0.999; a sentence for people.
    pub fn new(probability: f64) -> Result<Self, String> {
        if probability > 0.5 && probability <= Self::MAX {
            Ok(Self(probability))
        } else {
            Err(format!("{probability} must be above 0.5 and at most {}, such as 0.95", Self::MAX))
        }
    }

    /// The probability, 0.5 to 1.
    #[must_use]
    pub const fn probability(self) -> f64 {
        self.0
    }

    /// Probability of an error: the largest p-value of a difference, such as 0.05 at the level 0.95.
    #[must_use]
    pub fn alpha(self) -> f64 {
        // In binary fractions 1 − 0.9 is less than 0.1, and a p-value of exactly 0.1 would be rejected.
        ((1.0 - self.0) * 1e12).round() / 1e12
    }

    /// Probability below the upper end of an interval with equal tails.
    #[must_use]
    pub fn upper(self) -> f64 {
        f64::midpoint(1.0, self.0)
    }

    /// `true` for the level of a spec that sets none.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        *self == Self::USUAL
    }
}

impl Default for Level {
    fn default() -> Self {
        Self::USUAL
    }
}

// Refused where the number is read: a parser tells key and line only of what is refused there, not of what is converted afterwards.
impl<'de> Deserialize<'de> for Level {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Probability;
        impl Visitor<'_> for Probability {
            type Value = Level;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number above 0.5, as 0.95")
            }
            fn visit_f64<E: de::Error>(self, probability: f64) -> Result<Level, E> {
                Level::new(probability).map_err(E::custom)
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Level, E> {
                self.visit_f64(number as f64)
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Level, E> {
                self.visit_f64(number as f64)
            }
        }
        deserializer.deserialize_f64(Probability)
    }
}

impl From<Level> for f64 {
    fn from(level: Level) -> Self {
        level.0
    }
}

impl fmt::Display for Level {
    /// Formats the level for people, as in `95 %`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without rounding, 0.57 would be written 56.99999999999999 %.
        write!(f, "{} %", (self.0 * 1e6).round() / 1e4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_reads_as_a_percentage_and_leaves_the_rest_as_its_error() {
        let read = |probability: f64| {
            let level = Level::new(probability).unwrap();
            (level.to_string(), level.alpha(), level.upper())
        };
        assert_eq!(read(0.95), ("95 %".to_owned(), 0.05, 0.975));
        assert_eq!(read(0.9), ("90 %".to_owned(), 0.1, 0.95));
        assert_eq!(read(0.995), ("99.5 %".to_owned(), 0.005, 0.9975));
        assert_eq!((read(0.57).0, read(0.999).1), ("57 %".to_owned(), 0.001));
        assert_eq!(Level::default().probability(), 0.95);
    }

    #[test]
    fn what_is_no_level_is_refused_with_the_value_and_the_bounds() {
        for wrong in [0.0, 0.05, 0.5, 0.9991, 1.0, 95.0, -0.95, f64::NAN] {
            let said = Level::new(wrong).unwrap_err();
            assert!(said.contains(&wrong.to_string()) && said.contains("above 0.5 and at most 0.999"), "{said}");
        }
        assert!(serde_json::from_str::<Level>("95").unwrap_err().to_string().contains("95 must be above 0.5"));
        assert_eq!(serde_json::to_string(&Level::USUAL).unwrap(), "0.95");
    }
}
