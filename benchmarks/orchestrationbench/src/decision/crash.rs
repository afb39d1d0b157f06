//! Exceptions of the official code, as values: they decide scores (docs/benchmarks/orchestrationbench.md §5.2, §5.4).

use std::fmt;

/// The classes that occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Exception {
    /// A method that the value's type lacks.
    Attribute,
    /// An operation that the value's type does not support.
    Type,
    /// A key that is not there.
    Key,
    /// A value that cannot be converted.
    Value,
    /// Nested too deep.
    Recursion,
    /// A place beyond the end.
    Index,
    /// A number beyond what a type holds.
    Overflow,
    /// More than is read here, whether or not Python would have mastered it.
    Memory,
    /// Any other.
    Other,
}

impl Exception {
    const ALL: [Self; 9] = [
        Self::Attribute,
        Self::Type,
        Self::Key,
        Self::Value,
        Self::Recursion,
        Self::Index,
        Self::Overflow,
        Self::Memory,
        Self::Other,
    ];

    /// Python's name of the class.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Attribute => "AttributeError",
            Self::Type => "TypeError",
            Self::Key => "KeyError",
            Self::Value => "ValueError",
            Self::Recursion => "RecursionError",
            Self::Index => "IndexError",
            Self::Overflow => "OverflowError",
            Self::Memory => "MemoryError",
            Self::Other => "Exception",
        }
    }

    /// The class of this name.
    pub(crate) fn named(name: &str) -> Self {
        Self::ALL.into_iter().find(|exception| exception.name() == name).unwrap_or(Self::Other)
    }

    /// A number for it, from 1: values of sessions are numbers.
    pub(crate) const fn code(self) -> f64 {
        match self {
            Self::Attribute => 1.0,
            Self::Type => 2.0,
            Self::Key => 3.0,
            Self::Value => 4.0,
            Self::Recursion => 5.0,
            Self::Overflow => 6.0,
            Self::Memory => 7.0,
            Self::Index => 8.0,
            Self::Other => 9.0,
        }
    }

    /// The class with this number.
    pub(crate) fn from_code(code: f64) -> Option<Self> {
        Self::ALL.into_iter().find(|exception| exception.code() == code)
    }
}

/// An exception that was raised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Crash {
    /// Its class.
    pub(crate) exception: Exception,
    /// What `str` says of it.
    pub(crate) message: String,
}

impl Crash {
    /// An exception of a class, with what it says.
    pub(crate) fn new(exception: Exception, message: impl Into<String>) -> Self {
        Self { exception, message: message.into() }
    }
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.exception.name(), self.message)
    }
}
