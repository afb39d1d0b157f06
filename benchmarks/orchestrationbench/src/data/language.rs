//! The two languages of the data set, which are scored separately.

/// A language. The same scenario number is a different scenario in each language
/// (docs/benchmarks/orchestrationbench.md §1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Language {
    /// English.
    En,
    /// Korean.
    Ko,
}

impl Language {
    /// Both languages, in the order of the items.
    pub(crate) const ALL: [Self; 2] = [Self::En, Self::Ko];

    /// Name in the repository's folders and in item ids.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::En => "EN",
            Self::Ko => "KO",
        }
    }

    /// Finds a language by name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.name() == name)
    }
}
