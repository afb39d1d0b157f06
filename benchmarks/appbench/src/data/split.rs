//! The four categories of instructions (docs/benchmarks/appbench.md §1).

/// Category of an instruction: one or several apps, with one or several API calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Split {
    /// One app, one API.
    Ss,
    /// One app, several calls.
    Sm,
    /// Several apps, one call each.
    Ms,
    /// Several apps, several calls.
    Mm,
}

impl Split {
    /// All of them, in the order of the paper.
    pub(crate) const ALL: [Self; 4] = [Self::Ss, Self::Sm, Self::Ms, Self::Mm];

    /// As in ids and file names.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Ss => "ss",
            Self::Sm => "sm",
            Self::Ms => "ms",
            Self::Mm => "mm",
        }
    }

    /// The split of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|split| split.as_str() == name)
    }
}
