//! The axes of the experiment grid (docs/benchmarks/flowbench.md §3.1) and the names of settings.

use regatta_proto::Setting;

/// What is scored: one reply, or a whole conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Level {
    /// One agent turn after the gold history.
    Turn,
    /// A conversation with a simulated user and simulated tools.
    Session,
}

/// How much of its role's knowledge the agent gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Scope {
    /// That of one scenario.
    Single,
    /// That of every scenario of the role.
    Cross,
}

/// In which form the agent gets the workflows.
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
    /// No workflow, and of the tools only the names of tools and parameters.
    NoneWithoutTools,
    /// Prose, pseudo-code and Mermaid together.
    Ensemble,
}

/// What stops a conversation that the user does not end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Stop {
    /// So many turns of the agent as the paper grants (docs/benchmarks/flowbench.md §3.8).
    Paper,
    /// The limits on messages and calls of the released code (docs/benchmarks/flowbench.md §3.5).
    Code,
}

/// Which sessions are evaluated as such.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Lengths {
    /// The longer ones, as in the paper (docs/benchmarks/flowbench.md §1, §2.5).
    Longer,
    /// All of them.
    All,
}

impl Level {
    /// As in names of settings.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Session => "session",
        }
    }
}

impl Scope {
    /// All, in the order of the paper.
    pub(crate) const ALL: [Self; 2] = [Self::Single, Self::Cross];

    /// As in names of settings and in records.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Cross => "cross",
        }
    }

    /// The scope of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

impl Format {
    /// All, in the order of the paper's tables.
    pub(crate) const ALL: [Self; 6] =
        [Self::None, Self::Text, Self::Code, Self::Flowchart, Self::NoneWithoutTools, Self::Ensemble];

    /// As in names of settings.
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

    /// The format of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Whether the paper runs it at this level: two formats are of whole conversations only.
    pub(crate) const fn is_of(self, level: Level) -> bool {
        matches!((level, self), (Level::Session, _) | (_, Self::None | Self::Text | Self::Code | Self::Flowchart))
    }
}

/// One setting: `turn/single/flowchart`, `session/cross/text/code-limits`, `session/single/none/all-lengths`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Mode {
    /// What is scored.
    pub(crate) level: Level,
    /// How much the agent knows.
    pub(crate) scope: Scope,
    /// In which form.
    pub(crate) format: Format,
    /// What stops a conversation; of turns always the first.
    pub(crate) stop: Stop,
    /// Which sessions there are; of turns always the first, although all sessions have turns.
    pub(crate) lengths: Lengths,
}

/// Follows in the name of a setting whose conversations the limits of the released code stop.
const CODE_LIMITS: &str = "/code-limits";
/// Ends the name of a setting that has sessions of every length.
const ALL_LENGTHS: &str = "/all-lengths";

impl Mode {
    /// Every setting, `turn/single/flowchart` first because it is the default: four formats at turn level, six at session level, these
    /// under either limits and over the longer sessions or all.
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

    /// The paper's best: what runs when nothing is said.
    pub(crate) const DEFAULT: Self = Self {
        level: Level::Turn,
        scope: Scope::Single,
        format: Format::Flowchart,
        stop: Stop::Paper,
        lengths: Lengths::Longer,
    };

    /// The mode that `setting` names.
    pub(crate) fn of(setting: &Setting) -> Option<Self> {
        Self::all().into_iter().find(|mode| mode.name() == setting.as_str())
    }

    /// The setting's name.
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

#[cfg(test)]
mod tests {
    use super::*;

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
