//! Numbers that a judge gives as counts: any JSON number, and `true` for 1. The official code does not validate them.

use num_bigint::{BigInt, Sign};
use regatta_pycompat::Json;

/// An integer with this many bits is within a float's range.
const FLOAT_BITS: u64 = 1000;

/// A number that is added as in Python: exactly while all terms are integers.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Count {
    /// A whole one.
    Int(BigInt),
    /// Another.
    Float(f64),
}

impl Count {
    /// A whole number of values.
    pub(super) fn of(count: usize) -> Self {
        Self::Int(BigInt::from(count))
    }

    /// Converts a value; `None` if Python could not add it to a number.
    pub(super) fn read(value: &Json) -> Option<Self> {
        match value {
            Json::Bool(bool) => Some(Self::of(usize::from(*bool))),
            Json::Float(float) => Some(Self::Float(*float)),
            Json::Int(int) => int.decimal().parse().ok().map(Self::Int),
            Json::Null | Json::String(_) | Json::List(_) | Json::Object(_) => None,
        }
    }

    /// Returns the sum; `None` for a float plus an integer that is beyond a float's range.
    pub(super) fn plus(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(Self::Int(a + b)),
            (a, b) => Some(Self::Float(a.to_f64()? + b.to_f64()?)),
        }
    }

    fn to_f64(&self) -> Option<f64> {
        match self {
            Self::Int(int) => int.to_string().parse().ok().filter(|float: &f64| float.is_finite()),
            Self::Float(float) => Some(*float),
        }
    }

    /// Divides by `whole` where that is positive, else returns 0. `None` when the quotient is beyond a float's range.
    pub(super) fn share_of(&self, whole: &Self) -> Option<f64> {
        match (self, whole) {
            (_, Self::Int(whole)) if whole.sign() != Sign::Plus => Some(0.0),
            (Self::Int(part), Self::Int(whole)) => {
                // Python divides integers of any length exactly. Cutting the same number of bits off both does not
                // change the result.
                let excess = part.bits().max(whole.bits()).saturating_sub(FLOAT_BITS);
                let whole = Self::Int(whole >> excess).to_f64()?;
                if whole > 0.0 { Some(Self::Int(part >> excess).to_f64()? / whole) } else { None }
            }
            (part, whole) => {
                let whole = whole.to_f64()?;
                if whole > 0.0 { Some(part.to_f64()? / whole) } else { Some(0.0) }
            }
        }
    }
}
