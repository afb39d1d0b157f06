//! Ends of a cell's external agents, counted.

use std::collections::BTreeMap;

use regatta_backends::AgentEnd;

use super::group::GroupResult;

/// Most different ends that a reader is told of.
const TOLD_MAX: usize = 3;

/// Sessions by how their agents ended, where that was not well, with what one of each wrote to standard error.
#[derive(Debug, Clone, Default)]
pub(crate) struct AgentEnds(BTreeMap<String, (u64, String)>);

impl AgentEnds {
    pub(crate) fn add(&mut self, end: &AgentEnd) {
        let (count, errors) = self.0.entry(end.how.clone()).or_default();
        *count += 1;
        if errors.is_empty() {
            errors.clone_from(&end.errors);
        }
    }

    /// Notes for a reader, the commonest end first: a broken agent must not look like a bad model.
    pub(crate) fn notes(&self, group: &GroupResult) -> Vec<String> {
        let mut ends: Vec<_> = self.0.iter().collect();
        ends.sort_by_key(|(how, (count, _))| (std::cmp::Reverse(*count), *how));
        let (cell, total) = (&group.first, group.sessions.total);
        let note = |(how, (count, errors)): (&String, &(u64, String))| {
            let said = match errors.trim() {
                "" => String::new(),
                errors => format!(" One wrote at its end: {}", errors.lines().collect::<Vec<_>>().join(" / ")),
            };
            format!("{} in {} {}: {count} of {total} agents {how}.{said}", cell.model, cell.benchmark, cell.setting)
        };
        ends.into_iter().take(TOLD_MAX).map(note).collect()
    }
}
