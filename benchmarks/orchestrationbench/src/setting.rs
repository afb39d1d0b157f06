//! The settings: the published protocol, the mode that the paper names as future work, and who does the sessions.

use regatta_benchmarks::delegated::{self, DelegableMode};
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

    /// The mode that `setting` names; `None` for one whose sessions an external agent does.
    pub(crate) fn of(setting: &Setting) -> Option<Self> {
        Self::named(setting.as_str())
    }
}

impl DelegableMode for Mode {
    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Single steps, unless the setting says otherwise.
    fn of_agent(more: Option<&str>) -> Option<Self> {
        more.map_or(Some(Self::Stepwise), |more| Self::named(more).filter(|mode| *mode != Self::Stepwise))
    }

    fn known() -> String {
        let [stepwise, whole] = Self::ALL.map(Self::name);
        format!("{stepwise}, {whole}, external/NAME, external/NAME/{whole}")
    }
}

/// A mode, and who does its sessions.
pub(crate) type SessionMode = delegated::SessionMode<Mode>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_does_single_steps_or_whole_scenarios() {
        assert_eq!(Mode::of_agent(None), Some(Mode::Stepwise));
        assert_eq!(Mode::of_agent(Some("end-to-end")), Some(Mode::EndToEnd));
        for unknown in ["stepwise", "end-to-end/more"] {
            assert_eq!(Mode::of_agent(Some(unknown)), None, "{unknown}");
        }
    }
}
