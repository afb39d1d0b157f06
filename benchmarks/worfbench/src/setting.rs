//! The settings: whether a request carries examples.

use regatta_proto::Setting;

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

    /// The one that `setting` names.
    pub(crate) fn of(setting: &Setting) -> Option<Self> {
        Self::ALL.into_iter().find(|shots| shots.name() == setting.as_str())
    }
}
