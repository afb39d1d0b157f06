//! Exceptions of the official code as values, because they affect scores (docs/benchmarks/orchestrationbench.md §5.2,
//! §5.4).

use std::fmt;

/// Classes of exceptions that occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Exception {
    /// A method that the value's type lacks.
    Attribute,
    /// An operation that the value's type does not support.
    Type,
    /// A missing key.
    Key,
    /// A value that cannot be converted.
    Value,
    /// Nesting beyond the recursion limit.
    Recursion,
    /// An index beyond the end.
    Index,
    /// A number beyond the range of a type.
    Overflow,
    /// Input beyond our parser's limits, which Python may or may not have handled.
    Memory,
    /// Any other class.
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

    /// Returns Python's name of the class.
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

    /// Finds a class by name; unknown names are [`Self::Other`].
    pub(crate) fn named(name: &str) -> Self {
        Self::ALL.into_iter().find(|exception| exception.name() == name).unwrap_or(Self::Other)
    }

    /// Returns the class as a number from 1, because values of sessions are numbers.
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

    /// Finds a class by its number.
    pub(crate) fn from_code(code: f64) -> Option<Self> {
        Self::ALL.into_iter().find(|exception| exception.code() == code)
    }
}

/// An exception that was raised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Crash {
    /// Class of the exception.
    pub(crate) exception: Exception,
    /// Python's `str()` of the exception.
    pub(crate) message: String,
}

impl Crash {
    /// Makes an exception with its message.
    pub(crate) fn new(exception: Exception, message: impl Into<String>) -> Self {
        Self { exception, message: message.into() }
    }
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.exception.name(), self.message)
    }
}
