//! Files of the data set and their kinds (docs/benchmarks/flowbench.md §2.1 to §2.5).

use crate::setting::{Format, Scope};

/// Kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `workflow_final.jsonl`: the scenarios, one a line.
    Scenarios,
    /// `knowledge.json`: the scenarios by role and name.
    Knowledge,
    /// `role_datetime.json`: time of each role's prompts.
    Datetimes,
    /// `pools/role_desc.json`: a paragraph on each role.
    RoleDescriptions,
    /// `sessions_single.jsonl`, `sessions_cross.jsonl`: sessions in canonical form, one a line.
    Sessions,
    /// `sample_input.jsonl`: published turns, one a line.
    Samples,
    /// `paper/….json`: one session in canonical form.
    PaperSession,
    /// `….jsonl` in or below `turn_data…`: turn records, one a line.
    TurnRecords,
    /// `….jsonl` in or below `session_data…`: session records, one a line.
    SessionRecords,
    /// `turn_data….zip`, `session_data….zip`.
    Archive,
    /// `utils/eval_utils.py` of the official repository: prompts of simulators and judges.
    OfficialPrompts,
}

impl Kind {
    /// Returns the kind of the file at `path`; `None` when the file does not belong to the data set.
    pub(super) fn of(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').collect();
        let (name, folders) = parts.split_last()?;
        if parts.iter().any(|part| part.starts_with('.') || *part == "__MACOSX") {
            return None;
        }
        let within = |start: &str| folders.iter().any(|folder| folder.starts_with(start));
        match *name {
            "workflow_final.jsonl" => Some(Self::Scenarios),
            "knowledge.json" => Some(Self::Knowledge),
            "role_datetime.json" => Some(Self::Datetimes),
            "role_desc.json" => Some(Self::RoleDescriptions),
            "eval_utils.py" if folders.last() == Some(&"utils") => Some(Self::OfficialPrompts),
            "sample_input.jsonl" => Some(Self::Samples),
            "sessions_single.jsonl" | "sessions_cross.jsonl" => Some(Self::Sessions),
            _ if within("turn_data") && name.ends_with(".jsonl") => Some(Self::TurnRecords),
            _ if within("session_data") && name.ends_with(".jsonl") => Some(Self::SessionRecords),
            _ if folders.last() == Some(&"paper") && name.ends_with(".json") => Some(Self::PaperSession),
            _ if name.ends_with(".zip")
                && ["turn_data", "session_data"].iter().any(|start| name.starts_with(start)) =>
            {
                Some(Self::Archive)
            }
            _ => None,
        }
    }
}

/// Returns `true` if the file at `path` belongs to the data set.
pub(crate) fn wants(path: &str) -> bool {
    Kind::of(path).is_some()
}

/// Takes the scope from a folder's name, as in `turn_data/single/…` or `turn_data_cross.zip/…`.
pub(super) fn scope_of(path: &str) -> Option<Scope> {
    words_of_folders(path).find_map(|word| Scope::named(&word))
}

/// Takes the format from a folder's name, as in `turn_data/single/flowchart/…`.
pub(super) fn format_of(path: &str) -> Option<Format> {
    let folders = folders(path);
    folders
        .iter()
        .find_map(|folder| Format::named(folder))
        .or_else(|| words_of_folders(path).find_map(|word| Format::named(&word)))
}

/// Returns the file's name without its extension.
pub(super) fn base_name(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(base, _)| base)
}

fn folders(path: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    parts
}

fn words_of_folders(path: &str) -> impl Iterator<Item = String> {
    folders(path)
        .into_iter()
        .flat_map(|folder| folder.split(|c: char| !c.is_alphanumeric()))
        .map(str::to_lowercase)
        .collect::<Vec<_>>()
        .into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_belongs_to_the_data_set_by_its_name_and_its_folders() {
        let kinds = [
            ("data/workflow_final.jsonl", Some(Kind::Scenarios)),
            ("synthetic/sessions_cross.jsonl", Some(Kind::Sessions)),
            ("paper/listing9_session.json", Some(Kind::PaperSession)),
            ("synthetic/turn_data.zip", Some(Kind::Archive)),
            ("turn_data.zip/turn_data/single/a.jsonl", Some(Kind::TurnRecords)),
            ("session_data/cross/text/a.jsonl", Some(Kind::SessionRecords)),
            ("turn_data/knowledge.json", Some(Kind::Knowledge)),
            ("FlowBench/utils/eval_utils.py", Some(Kind::OfficialPrompts)),
            ("FlowBench/utils/llm.py", None),
            ("eval_utils.py", None),
            ("turn_data/single/a.json", None),
            ("turn_data/__MACOSX/a.jsonl", None),
            ("turn_data/.cache/a.jsonl", None),
            ("pools/workflow_text.json", None),
            ("README.md", None),
        ];
        for (path, kind) in kinds {
            assert_eq!(Kind::of(path), kind, "{path}");
            assert_eq!(wants(path), kind.is_some());
        }
    }

    #[test]
    fn folders_say_scope_and_format_but_the_file_does_not() {
        assert_eq!(scope_of("turn_data/Single-Scenario/x.jsonl"), Some(Scope::Single));
        assert_eq!(scope_of("turn_data_cross.zip/x.jsonl"), Some(Scope::Cross));
        assert_eq!(scope_of("turn_data/cross.jsonl"), None);
        assert_eq!(format_of("turn_data/single/none_wo_tool/x.jsonl"), Some(Format::NoneWithoutTools));
        assert_eq!(format_of("turn_data/single_flowchart/x.jsonl"), Some(Format::Flowchart));
        assert_eq!(format_of("turn_data/single/code.jsonl"), None);
    }
}
