//! The axes of the experiment grid (docs/benchmarks/flowbench.md §3.1), the names of settings, and who does their sessions.

use regatta_benchmarks::delegated::{self, DelegableMode};
use regatta_proto::Setting;

/// Unit that is scored: one reply, or a whole conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Level {
    /// One agent turn after the gold history.
    Turn,
    /// A conversation with a simulated user and simulated tools.
    Session,
}

/// Share of the role's knowledge that the agent gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Scope {
    /// The knowledge of one scenario.
    Single,
    /// The knowledge of all scenarios of the role.
    Cross,
}

/// Format of the workflows in the agent's prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Format {
    /// Tools only.
    None,
    /// Prose.
    Text,
    /// Pseudo-code.
    Code,
    /// Mermaid.
    Flowchart,
    /// No workflow, and only the names of tools and parameters.
    NoneWithoutTools,
    /// Prose, pseudo-code and Mermaid together.
    Ensemble,
}

/// Policy that stops a conversation which the user does not end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Stop {
    /// The paper's limit on turns of the agent (docs/benchmarks/flowbench.md §3.8).
    Paper,
    /// The released code's limits on messages and calls (docs/benchmarks/flowbench.md §3.5).
    Code,
}

/// Selection of the sessions that are evaluated as sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Lengths {
    /// The longer ones, as in the paper (docs/benchmarks/flowbench.md §1, §2.5).
    Longer,
    /// All sessions.
    All,
}

impl Level {
    /// Name in settings.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Session => "session",
        }
    }
}

impl Scope {
    /// Both scopes in the order of the paper.
    pub(crate) const ALL: [Self; 2] = [Self::Single, Self::Cross];

    /// Name in settings and in records.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Cross => "cross",
        }
    }

    /// Finds a scope by name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

impl Format {
    /// All formats in the order of the paper's tables.
    pub(crate) const ALL: [Self; 6] =
        [Self::None, Self::Text, Self::Code, Self::Flowchart, Self::NoneWithoutTools, Self::Ensemble];

    /// Name in settings.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Text => "text",
            Self::Code => "code",
            Self::Flowchart => "flowchart",
            Self::NoneWithoutTools => "none_wo_tool",
            Self::Ensemble => "ensemble",
        }
    }

    /// Finds a format by name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Returns `true` if the paper runs the format at this level: two formats are run in whole conversations alone.
    pub(crate) const fn is_of(self, level: Level) -> bool {
        matches!((level, self), (Level::Session, _) | (_, Self::None | Self::Text | Self::Code | Self::Flowchart))
    }
}

/// A setting: `turn/single/flowchart`, `session/cross/text/code-limits`, `session/single/none/all-lengths`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Mode {
    /// Unit that is scored.
    pub(crate) level: Level,
    /// Knowledge of the agent.
    pub(crate) scope: Scope,
    /// Format of the workflows.
    pub(crate) format: Format,
    /// Policy that stops a conversation; always the first for turns.
    pub(crate) stop: Stop,
    /// Selection of sessions; always the first for turns, although turns are taken from all sessions.
    pub(crate) lengths: Lengths,
}

/// Suffix of settings whose conversations are stopped by the released code's limits.
const CODE_LIMITS: &str = "/code-limits";
/// Suffix of settings with sessions of all lengths.
const ALL_LENGTHS: &str = "/all-lengths";

impl Mode {
    /// Lists all settings, with `turn/single/flowchart` first because it is the default: four formats at turn level,
    /// six at session level, the latter with either limits and with the longer sessions or all.
    pub(crate) fn all() -> Vec<Self> {
        let mut kinds = vec![(Level::Turn, Stop::Paper, Lengths::Longer)];
        for lengths in [Lengths::Longer, Lengths::All] {
            kinds.extend([Stop::Paper, Stop::Code].map(|stop| (Level::Session, stop, lengths)));
        }
        let mut modes = Vec::new();
        for (level, stop, lengths) in kinds {
            for scope in Scope::ALL {
                let formats = Format::ALL.into_iter().filter(|format| format.is_of(level));
                modes.extend(formats.map(|format| Self { level, scope, format, stop, lengths }));
            }
        }
        modes.sort_by_key(|mode| *mode != Self::DEFAULT);
        modes
    }

    /// The paper's best setting, which is used when a spec names none.
    pub(crate) const DEFAULT: Self = Self {
        level: Level::Turn,
        scope: Scope::Single,
        format: Format::Flowchart,
        stop: Stop::Paper,
        lengths: Lengths::Longer,
    };

    /// Finds the mode that `setting` names; `None` for one whose sessions an external agent does.
    pub(crate) fn of(setting: &Setting) -> Option<Self> {
        Self::named(setting.as_str())
    }

    /// Returns the name of the setting.
    pub(crate) fn name(self) -> String {
        let stop = match self.stop {
            Stop::Paper => "",
            Stop::Code => CODE_LIMITS,
        };
        let lengths = match self.lengths {
            Lengths::Longer => "",
            Lengths::All => ALL_LENGTHS,
        };
        format!("{}/{}/{}{stop}{lengths}", self.level.name(), self.scope.name(), self.format.name())
    }
}

impl DelegableMode for Mode {
    fn named(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|mode| mode.name() == name)
    }

    /// Any mode; [`Mode::DEFAULT`] if the setting does not say.
    fn of_agent(more: Option<&str>) -> Option<Self> {
        more.map_or(Some(Self::DEFAULT), |more| Self::named(more).filter(|mode| *mode != Self::DEFAULT))
    }

    fn known() -> String {
        let names: Vec<String> = Self::all().into_iter().map(Self::name).collect();
        format!("{}, external/NAME, external/NAME/ and any of these", names.join(", "))
    }
}

/// A mode, and who does its sessions.
pub(crate) type SessionMode = delegated::SessionMode<Mode>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_does_turns_or_sessions_and_may_be_named_with_their_mode_behind_it() {
        let of_agent = |more| Mode::of_agent(more).map(Mode::name);
        assert_eq!(of_agent(None).as_deref(), Some("turn/single/flowchart"));
        assert_eq!(of_agent(Some("turn/cross/text")).as_deref(), Some("turn/cross/text"));
        assert_eq!(
            of_agent(Some("session/single/text/code-limits")).as_deref(),
            Some("session/single/text/code-limits")
        );
        for unknown in ["turn/single/flowchart", "turn/single/ensemble", "session", "turn/cross/text/more"] {
            assert_eq!(of_agent(Some(unknown)), None, "{unknown}");
        }
    }

    #[test]
    fn a_setting_names_level_scope_and_format() {
        let names: Vec<String> = Mode::all().into_iter().map(Mode::name).collect();
        assert_eq!(names.len(), 8 + 4 * 12);
        assert_eq!(names[0], "turn/single/flowchart");
        for name in ["session/cross/text/code-limits", "session/single/none/all-lengths"] {
            assert!(names.contains(&name.to_owned()), "{name}");
        }
        assert!(names.contains(&"session/cross/ensemble/code-limits/all-lengths".to_owned()));
        for name in &names {
            let setting: Setting = name.parse().unwrap_or_else(|error| unreachable!("{name}: {error}"));
            assert_eq!(Mode::of(&setting).map(Mode::name).as_ref(), Some(name));
        }
    }

    #[test]
    fn knowledge_without_tools_and_all_formats_at_once_exist_for_whole_sessions_only() {
        let names: Vec<String> = Mode::all().into_iter().map(Mode::name).collect();
        for format in ["none_wo_tool", "ensemble"] {
            assert!(names.contains(&format!("session/cross/{format}")));
            assert!(!names.contains(&format!("turn/cross/{format}")));
        }
    }
}
