//! The settings: whether a request carries examples, and who does a session.

use regatta_benchmarks::delegated::{self, DelegableMode};

/// Number of examples in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shots {
    /// None.
    Zero,
    /// The two of the task.
    Two,
}

impl Shots {
    /// All, the default first.
    pub(crate) const ALL: [Self; 2] = [Self::Zero, Self::Two];

    /// The name as specs write it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Zero => "zero-shot",
            Self::Two => "two-shot",
        }
    }
}

impl DelegableMode for Shots {
    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|shots| shots.name() == name)
    }

    /// None, if the setting does not say.
    fn of_agent(shots: Option<&str>) -> Option<Self> {
        shots.map_or(Some(Self::Zero), |shots| Self::named(shots).filter(|shots| *shots != Self::Zero))
    }

    fn known() -> String {
        format!("{}, external/NAME, external/NAME/two-shot", Self::ALL.map(Self::name).join(", "))
    }
}

/// Shots, and who does the sessions with them.
pub(crate) type SessionMode = delegated::SessionMode<Shots>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_may_be_named_with_shots_behind_it() {
        assert_eq!(Shots::of_agent(None), Some(Shots::Zero));
        assert_eq!(Shots::of_agent(Some("two-shot")), Some(Shots::Two));
        for unknown in ["three-shot", "zero-shot", "two-shot/more"] {
            assert_eq!(Shots::of_agent(Some(unknown)), None, "{unknown}");
        }
    }
}
