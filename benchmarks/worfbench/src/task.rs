//! The nine tasks and their groups (docs/benchmarks/worfbench.md §2.2).

use serde::{Deserialize, Serialize};

/// A task, in the order of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Task {
    Wikihow,
    Toolbench,
    Toolalpaca,
    Lumos,
    Alfworld,
    Webshop,
    Os,
    SealTools,
    #[serde(rename = "intercodesql")]
    InterCodeSql,
}

/// A column of the published table, or the held-out tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Group {
    FunctionCall,
    ProblemSolving,
    Embodied,
    OpenGrounded,
    HeldOut,
}

impl Task {
    /// All, in the order of reports.
    pub(crate) const ALL: [Self; 9] = [
        Self::Wikihow,
        Self::Toolbench,
        Self::Toolalpaca,
        Self::Lumos,
        Self::Alfworld,
        Self::Webshop,
        Self::Os,
        Self::SealTools,
        Self::InterCodeSql,
    ];

    /// The name of its data folder.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Wikihow => "wikihow",
            Self::Toolbench => "toolbench",
            Self::Toolalpaca => "toolalpaca",
            Self::Lumos => "lumos",
            Self::Alfworld => "alfworld",
            Self::Webshop => "webshop",
            Self::Os => "os",
            Self::SealTools => "seal_tools",
            Self::InterCodeSql => "intercodesql",
        }
    }

    /// The task of a data folder.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|task| task.name() == name)
    }

    /// True if the task has few-shot examples. The held-out tasks have none and always run zero-shot.
    pub(crate) fn has_examples(self) -> bool {
        self.group() != Group::HeldOut
    }

    /// The group a task's mean goes into.
    pub(crate) fn group(self) -> Group {
        match self {
            Self::Toolbench | Self::Toolalpaca => Group::FunctionCall,
            Self::Lumos => Group::ProblemSolving,
            Self::Alfworld | Self::Webshop | Self::Os => Group::Embodied,
            Self::Wikihow => Group::OpenGrounded,
            Self::SealTools | Self::InterCodeSql => Group::HeldOut,
        }
    }
}

impl Group {
    /// Held-out tasks are reported apart from the average.
    pub(crate) fn counts_in_average(self) -> bool {
        self != Self::HeldOut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_data_folders() {
        for task in Task::ALL {
            assert_eq!(serde_json::to_value(task).unwrap(), task.name());
            assert_eq!(serde_json::from_value::<Task>(task.name().into()).unwrap(), task);
        }
        assert_eq!(serde_json::to_value(Group::OpenGrounded).unwrap(), "open_grounded");
    }
}
