//! The settings: whether a request carries examples, and who does a session.

use regatta_proto::{AgentName, Setting};

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

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|shots| shots.name() == name)
    }
}

/// The way in which the sessions of a setting are done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mode {
    pub(crate) shots: Shots,
    /// External agent that does them; `None` if the model is asked once.
    pub(crate) agent: Option<AgentName>,
}

impl Mode {
    /// The names of settings, for people.
    pub(crate) fn known() -> String {
        format!("{}, external/NAME, external/NAME/two-shot", Shots::ALL.map(Shots::name).join(", "))
    }

    /// The one that `setting` names: shots, or `external/NAME` and perhaps shots (none if it does not say).
    pub(crate) fn of(setting: &Setting) -> Option<Self> {
        let Some(rest) = setting.as_str().strip_prefix("external/") else {
            return Some(Self { shots: Shots::named(setting.as_str())?, agent: None });
        };
        let (name, shots) = match rest.split_once('/') {
            // One name each, so that no two cells are the same.
            Some((name, shots)) => (name, Shots::named(shots).filter(|shots| *shots != Shots::Zero)?),
            None => (rest, Shots::Zero),
        };
        Some(Self { shots, agent: Some(name.parse().ok()?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Option<Mode> {
        Mode::of(&name.parse().unwrap())
    }

    #[test]
    fn an_agent_may_be_named_with_shots_behind_it() {
        let mode = |shots, agent: Option<&str>| Mode { shots, agent: agent.map(|name| name.parse().unwrap()) };
        assert_eq!(of("two-shot"), Some(mode(Shots::Two, None)));
        assert_eq!(of("external/mine"), Some(mode(Shots::Zero, Some("mine"))));
        assert_eq!(of("external/mine/two-shot"), Some(mode(Shots::Two, Some("mine"))));
        for unknown in ["external", "three-shot", "external/mine/zero-shot", "external/mine/two-shot/more"] {
            assert_eq!(of(unknown), None, "{unknown}");
        }
    }
}
