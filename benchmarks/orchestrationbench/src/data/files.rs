//! Files of the data set and their kinds (docs/benchmarks/orchestrationbench.md §2).

use super::language::Language;

/// Kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind<'p> {
    /// `{EN,KO}/scenario_data/<id>.yaml`.
    Scenario(Language, &'p str),
    /// `{EN,KO}/multiagent_cards/<agent>.json`.
    Card(Language),
    /// `base_config/multiagent_config.yaml`: prompts of the agents.
    AgentPrompts,
    /// `base_config/eval_config.yaml`: prompts of the judge.
    JudgePrompts,
}

impl<'p> Kind<'p> {
    /// Returns the kind of the file at `path`, in whatever folder the repository is; `None` when the file does not
    /// belong to the data set.
    pub(super) fn of(path: &'p str) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').collect();
        if parts.iter().any(|part| part.starts_with('.') || *part == "__MACOSX") {
            return None;
        }
        let (name, folders) = parts.split_last()?;
        let folder = *folders.last()?;
        let language = || Language::named(folders.iter().rev().nth(1)?);
        match (folder, *name) {
            ("base_config", "multiagent_config.yaml") => Some(Self::AgentPrompts),
            ("base_config", "eval_config.yaml") => Some(Self::JudgePrompts),
            ("scenario_data", name) => Some(Self::Scenario(language()?, name.strip_suffix(".yaml")?)),
            ("multiagent_cards", name) if name.ends_with(".json") => Some(Self::Card(language()?)),
            _ => None,
        }
    }
}

/// Returns `true` if the file at `path` belongs to the data set.
pub(crate) fn wants(path: &str) -> bool {
    Kind::of(path).is_some()
}

/// Sort key of scenario ids: numbers first in numeric order, then other ids by name.
pub(super) fn number_first(id: &str) -> (bool, usize, &str) {
    // Without leading zeros, a number with more digits is greater, whatever the length.
    let digits = id.trim_start_matches('0');
    if !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()) {
        (false, digits.len(), digits)
    } else {
        (true, 0, id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_found_in_whatever_folder_it_is() {
        for root in ["", "data/", "some/where/data/"] {
            let scenario = format!("{root}KO/scenario_data/12.yaml");
            assert_eq!(Kind::of(&scenario), Some(Kind::Scenario(Language::Ko, "12")));
            assert_eq!(Kind::of(&format!("{root}EN/multiagent_cards/a.json")), Some(Kind::Card(Language::En)));
        }
        assert_eq!(Kind::of("config/base_config/multiagent_config.yaml"), Some(Kind::AgentPrompts));
        assert_eq!(Kind::of("data/config/base_config/eval_config.yaml"), Some(Kind::JudgePrompts));
    }

    #[test]
    fn everything_else_is_left_alone() {
        let others = [
            "README.md",
            "config/openai.yaml",
            "config/base_config/other.yaml",
            "EN/scenario_data/notes.txt",
            "EN/scenario_data/.1.yaml",
            "EN/results/1.yaml",
            "FR/scenario_data/1.yaml",
            "scenario_data/1.yaml",
            "__MACOSX/EN/scenario_data/1.yaml",
        ];
        assert!(!others.into_iter().any(wants));
    }

    #[test]
    fn scenarios_are_ordered_as_numbers() {
        let mut ids = ["b", "10", "2", "100", "a", "1", "99999999999999999999999", "007"];
        ids.sort_by_key(|id| number_first(id));
        assert_eq!(ids, ["1", "2", "007", "10", "100", "99999999999999999999999", "a", "b"]);
    }
}
