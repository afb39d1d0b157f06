//! Ends of external agents, counted.

use std::collections::BTreeMap;

use regatta_backends::AgentEnd;

use super::group::GroupResult;
use crate::failures::{end_in_words, in_one_line};
use crate::summary::LeaderboardRow;

/// Most different ends of one model in one setting that a reader is told of.
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

    /// The commonest ends first.
    fn commonest(&self) -> impl Iterator<Item = (AgentEnd, u64)> {
        let mut ends: Vec<_> = self.0.iter().collect();
        ends.sort_by_key(|(how, (count, _))| (std::cmp::Reverse(*count), *how));
        let end = |(how, (count, errors)): (&String, &(u64, String))| {
            (AgentEnd { how: how.clone(), errors: errors.clone() }, *count)
        };
        ends.into_iter().take(TOLD_MAX).map(end)
    }
}

/// Agents of several models and settings that ended alike.
struct Alike<'g> {
    end: AgentEnd,
    agents: u64,
    total: u64,
    groups: Vec<&'g GroupResult>,
}

/// Notes for a reader: a broken agent must not look like a bad model. A program that cannot run says the same for every model and setting, and
/// is told of once; what `rows` quote of failed sessions already is not quoted again.
pub(super) fn agent_notes(groups: &[GroupResult], rows: &[LeaderboardRow]) -> Vec<String> {
    let mut found: Vec<Alike<'_>> = Vec::new();
    for group in groups {
        for (end, agents) in group.agent_ends.commonest() {
            let total = group.sessions.total;
            match found.iter_mut().find(|alike| alike.end == end) {
                Some(alike) => {
                    alike.agents += agents;
                    alike.total += total;
                    alike.groups.push(group);
                }
                None => found.push(Alike { end, agents, total, groups: vec![group] }),
            }
        }
    }
    found.iter().map(|alike| alike.note(rows)).collect()
}

impl Alike<'_> {
    /// `a/one, a/two in worfbench two-shot: 8 of 8 agents exited 1 and asked nothing. One wrote at its end: …`.
    fn note(&self, rows: &[LeaderboardRow]) -> String {
        let Self { end, agents, total, .. } = self;
        let failures = || rows.iter().flat_map(|row| &row.failures);
        let words = in_one_line(&end_in_words(end));
        let is_quoted = words.is_some() && failures().any(|failure| failure.said == words);
        let said = match end.errors.trim() {
            "" => String::new(),
            _ if is_quoted => String::new(),
            errors => format!(" One wrote at its end: {}", errors.lines().collect::<Vec<_>>().join(" / ")),
        };
        format!("{}: {agents} of {total} agents {}.{said}", self.places(), end.how)
    }

    /// Models by benchmark and setting.
    fn places(&self) -> String {
        let mut settings: Vec<(String, Vec<String>)> = Vec::new();
        for group in &self.groups {
            let (setting, model) =
                (format!("{} {}", group.first.benchmark, group.first.setting), group.first.model.to_string());
            match settings.iter_mut().find(|(of, _)| *of == setting) {
                Some((_, models)) => models.push(model),
                None => settings.push((setting, vec![model])),
            }
        }
        let places = settings.into_iter().map(|(setting, models)| format!("{} in {setting}", models.join(", ")));
        places.collect::<Vec<_>>().join("; ")
    }
}
