//! Numbers that a judge gives for counts: any JSON number, and `true` for one. Nobody checks them.

use crate::python::Json;

/// A number as Python adds it: integers exactly, as long as all are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Count {
    /// A whole one.
    Int(i128),
    /// Another, or one too large for counting.
    Float(f64),
}

impl Count {
    /// Of values.
    pub(super) fn of(count: usize) -> Self {
        i128::try_from(count).map_or(Self::Float(f64::INFINITY), Self::Int)
    }

    /// The number that a value is. `None` for what cannot be added to a number, and for numbers that no float can hold, whose sum with one
    /// is an error too.
    pub(super) fn read(value: &Json) -> Option<Self> {
        match value {
            Json::Bool(bool) => Some(Self::Int(i128::from(*bool))),
            Json::Float(float) => Some(Self::Float(*float)),
            Json::Int(int) => match int.decimal().parse() {
                Ok(small) => Some(Self::Int(small)),
                Err(_) => int.decimal().parse().ok().filter(|large: &f64| large.is_finite()).map(Self::Float),
            },
            Json::Null | Json::String(_) | Json::List(_) | Json::Object(_) => None,
        }
    }

    /// The sum.
    pub(super) fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) if a.checked_add(b).is_some() => Self::Int(a.saturating_add(b)),
            (a, b) => Self::Float(a.to_f64() + b.to_f64()),
        }
    }

    /// As a float.
    pub(super) const fn to_f64(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }

    /// This over `other` where `other` is positive, else 0.
    pub(super) fn share_of(self, other: Self) -> f64 {
        let whole = other.to_f64();
        if whole > 0.0 { self.to_f64() / whole } else { 0.0 }
    }
}
