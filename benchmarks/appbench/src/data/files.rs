//! Files of the data set, known by their names alone. Folders do not count, so that a copy of the official repository will do
//! (docs/benchmarks/appbench.md §2.1).

use super::split::Split;

/// Kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// `test_SPLIT.json`: official test items.
    Test(Split),
    /// `train_SPLIT.json`: items of the same form for demonstrations; not published.
    Training(Split),
    /// `api_….txt`: an official prompt template.
    Template(Template),
    /// `apps.json`: the apps as data.
    Apps,
    /// `apps_raw.json`: the apps as the official classes hold them.
    AppsRaw,
    /// `rendered.json`: the exact texts of the apps in prompts.
    Rendered,
    /// `plans.jsonl`: structured gold plans with flags.
    Plans,
    /// `fixtures.json`: values that earlier calls must return.
    Fixtures,
}

/// An official prompt template (docs/benchmarks/appbench.md §3.1, §3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Template {
    /// The plan prompt, with one field `{app_api_list}`.
    Plan,
    /// The first round with several agents, with one field `{app_api_list}`.
    SingleAgent,
    /// Later rounds with several agents, with `{app_api_list}` and `{returned_arguments}`.
    DependentAgent,
}

impl Template {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Plan, Self::SingleAgent, Self::DependentAgent];

    /// The name of its file.
    pub(crate) const fn file(self) -> &'static str {
        match self {
            Self::Plan => "api_for_all_agent.txt",
            Self::SingleAgent => "api_for_single_agent.txt",
            Self::DependentAgent => "dependency_api_for_single_agent.txt",
        }
    }
}

impl Kind {
    /// Kind of the file at `path`; `None` if it does not belong to the data set.
    pub(super) fn of(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').collect();
        if parts.iter().any(|part| part.starts_with('.') || *part == "__MACOSX") {
            return None;
        }
        let name = *parts.last()?;
        let split = |start: &str| name.strip_prefix(start)?.strip_suffix(".json").and_then(Split::named);
        match name {
            "apps.json" => Some(Self::Apps),
            "apps_raw.json" => Some(Self::AppsRaw),
            "rendered.json" => Some(Self::Rendered),
            "plans.jsonl" => Some(Self::Plans),
            "fixtures.json" => Some(Self::Fixtures),
            _ => None,
        }
        .or_else(|| split("test_").map(Self::Test))
        .or_else(|| split("train_").map(Self::Training))
        .or_else(|| Template::ALL.into_iter().find(|template| template.file() == name).map(Self::Template))
    }
}

/// True if the file at `path` belongs to the data set.
pub(crate) fn wants(path: &str) -> bool {
    Kind::of(path).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_belongs_to_the_data_set_by_its_name_in_any_folder() {
        let kinds = [
            ("test/test_ss.json", Some(Kind::Test(Split::Ss))),
            ("data/test/test_mm.json", Some(Kind::Test(Split::Mm))),
            ("data/train/train_sm.json", Some(Kind::Training(Split::Sm))),
            ("code/prompts/appbench/api_for_all_agent.txt", Some(Kind::Template(Template::Plan))),
            ("apps.json", Some(Kind::Apps)),
            ("derived/plans.jsonl", Some(Kind::Plans)),
            ("test/test_xx.json", None),
            ("prompts/quality.txt", None),
            (".git/test_ss.json", None),
        ];
        for (path, kind) in kinds {
            assert_eq!(Kind::of(path), kind, "{path}");
            assert_eq!(wants(path), kind.is_some());
        }
    }
}
