//! The two halves of the data set, which are scored apart.

/// A language. The same scenario number means another scenario in the other language (docs/benchmarks/orchestrationbench.md §1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Language {
    /// English.
    En,
    /// Korean.
    Ko,
}

impl Language {
    /// Both, in the order of items.
    pub(crate) const ALL: [Self; 2] = [Self::En, Self::Ko];

    /// As in folders of the repository and in item ids.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::En => "EN",
            Self::Ko => "KO",
        }
    }

    /// The language of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.name() == name)
    }
}
