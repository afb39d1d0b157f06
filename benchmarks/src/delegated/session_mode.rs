//! The mode of a session, and who does it: the model under test, or an external agent as a whole.

use regatta_proto::{AgentName, Setting};

use super::named;
use crate::SelectError;

/// Modes of a benchmark's sessions, some of which an agent can do.
pub trait DelegableMode: Sized {
    /// Returns the mode that the setting `name` stands for.
    fn named(name: &str) -> Option<Self>;

    /// Returns the mode in which an agent does sessions, from what stands behind its name in the setting. Each mode has one name, so that no
    /// two cells are the same.
    fn of_agent(more: Option<&str>) -> Option<Self>;

    /// Lists the known settings, for messages.
    fn known() -> String;
}

/// A mode, and who does its sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionMode<M> {
    /// The benchmark's own mode.
    pub mode: M,
    /// External agent that does the sessions; `None` if the model under test is asked.
    pub agent: Option<AgentName>,
}

impl<M: DelegableMode> SessionMode<M> {
    /// Returns the mode that `setting` names, alone or behind `external/NAME`; `None` for a setting that the benchmark does not know.
    #[must_use]
    pub fn of(setting: &Setting) -> Option<Self> {
        Some(match named(setting) {
            Some((agent, more)) => Self { mode: M::of_agent(more)?, agent: Some(agent) },
            None => Self { mode: M::named(setting.as_str())?, agent: None },
        })
    }

    /// Returns the mode that `setting` names, as [`of`](Self::of) does.
    ///
    /// # Errors
    /// When the benchmark does not know the setting.
    pub fn known(setting: &Setting) -> Result<Self, SelectError> {
        Self::of(setting).ok_or_else(|| SelectError::UnknownSetting { setting: setting.to_string(), known: M::known() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Size {
        Small,
        Large,
    }

    impl DelegableMode for Size {
        fn named(name: &str) -> Option<Self> {
            match name {
                "small" => Some(Self::Small),
                "large" => Some(Self::Large),
                _ => None,
            }
        }

        fn of_agent(more: Option<&str>) -> Option<Self> {
            more.map_or(Some(Self::Small), |more| Self::named(more).filter(|size| *size != Self::Small))
        }

        fn known() -> String {
            "small, large, external/NAME, external/NAME/large".to_owned()
        }
    }

    fn of(name: &str) -> Option<SessionMode<Size>> {
        SessionMode::of(&name.parse().unwrap())
    }

    #[test]
    fn an_agent_may_be_named_with_a_mode_behind_it() {
        let by = |mode, agent: Option<&str>| Some(SessionMode { mode, agent: agent.map(|name| name.parse().unwrap()) });
        assert_eq!(of("large"), by(Size::Large, None));
        assert_eq!(of("external/mine"), by(Size::Small, Some("mine")));
        assert_eq!(of("external/mine/large"), by(Size::Large, Some("mine")));
        for unknown in ["external", "huge", "external/mine/small", "external/mine/large/more"] {
            assert_eq!(of(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn the_error_of_an_unknown_setting_lists_the_known_ones() {
        let error = SessionMode::<Size>::known(&"huge".parse().unwrap()).unwrap_err();
        let expected = "unknown setting \"huge\"; known: small, large, external/NAME, external/NAME/large";
        assert_eq!(error.to_string(), expected);
    }
}
