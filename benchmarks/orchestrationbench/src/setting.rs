//! The settings: the published protocol, and the mode that the paper names as future work.

use regatta_proto::Setting;

/// Source of the history: the gold, or the models' own answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Mode {
    /// Every call sees a history rebuilt from the gold: the published protocol.
    Stepwise,
    /// Every call sees the models' own earlier replies: the future work that the paper names.
    EndToEnd,
}

impl Mode {
    /// Both, the default first.
    pub(crate) const ALL: [Self; 2] = [Self::Stepwise, Self::EndToEnd];

    /// The name as specs write it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Stepwise => "stepwise",
            Self::EndToEnd => "end-to-end",
        }
    }

    /// The mode that `setting` names.
    pub(crate) fn of(setting: &Setting) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == setting.as_str())
    }
}
