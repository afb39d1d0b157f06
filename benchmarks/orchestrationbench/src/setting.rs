//! The settings: the published protocol, the mode that the paper names as future work, and who does the sessions.

use regatta_benchmarks::delegated;
use regatta_proto::{AgentName, Setting};

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
        Self::ALL.into_iter().find(|mode| mode.name() == setting.as_str())
    }
}

/// A mode, and who does its sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionMode {
    pub(crate) mode: Mode,
    /// External agent that does them; `None` if the model under test is asked.
    pub(crate) agent: Option<AgentName>,
}

impl SessionMode {
    /// The one that `setting` names: a mode, or `external/NAME`, whose agent does single steps.
    pub(crate) fn of(setting: &Setting) -> Option<Self> {
        match delegated::named(setting) {
            Some((agent, None)) => Some(Self { mode: Mode::Stepwise, agent: Some(agent) }),
            Some((_, Some(_))) => None,
            None => Some(Self { mode: Mode::of(setting)?, agent: None }),
        }
    }

    /// The names of settings, for people.
    pub(crate) fn known() -> String {
        format!("{}, external/NAME", Mode::ALL.map(Mode::name).join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_does_single_steps() {
        let of = |name: &str| SessionMode::of(&name.parse().unwrap());
        let by = |mode, agent: Option<&str>| Some(SessionMode { mode, agent: agent.map(|name| name.parse().unwrap()) });
        assert_eq!(of("end-to-end"), by(Mode::EndToEnd, None));
        assert_eq!(of("external/mine"), by(Mode::Stepwise, Some("mine")));
        for unknown in ["external", "external/mine/stepwise", "external/mine/end-to-end"] {
            assert_eq!(of(unknown), None, "{unknown}");
        }
    }
}
