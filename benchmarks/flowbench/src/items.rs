//! Items of the pipeline, and the selection for a cell.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use regatta_benchmarks::{Item, SelectError, check_tasks};
use regatta_proto::{ItemIndex, Setting};

use super::data::{Data, Entry, Origin};
use super::setting::{Lengths, SessionMode};

/// Task of the published real turns; they run only when it is named.
const REAL_SAMPLES: &str = "real_sample";
/// Task of the session printed in the paper; it runs only when it is named.
const PAPER_SESSION: &str = "paper_session";
/// Task of records whose tools match no known role.
const UNKNOWN_ROLE: &str = "unknown";
/// Separator of a session's id and the number of the turn in a turn's id.
const TURN_MARK: &str = "_agent_turn";

/// Lists the items in the order of the data.
pub(crate) fn items(data: &Data) -> Vec<Item> {
    data.entries
        .iter()
        .map(|entry| Item { id: entry.id.clone(), task: task(entry).into(), group: Some(shared(entry)) })
        .collect()
}

/// Returns the task of an item: its role, or the kind of sample.
pub(crate) fn task(entry: &Entry) -> &str {
    match entry.origin {
        Origin::RealSample => REAL_SAMPLES,
        Origin::Paper => PAPER_SESSION,
        Origin::Main if entry.group.role.is_empty() => UNKNOWN_ROLE,
        Origin::Main => &entry.group.role,
    }
}

/// Returns the group of a session or turn: its scenario, or the role where sessions cross scenarios. Items of a group
/// share workflow, tools and kind of user, so they are not independent. Outside the main set, items share no more
/// than a conversation.
fn shared(entry: &Entry) -> Arc<str> {
    match entry.origin {
        Origin::Main => Arc::clone(&entry.group.file),
        Origin::RealSample | Origin::Paper => {
            entry.id.as_str().split(TURN_MARK).next().unwrap_or_default().trim().into()
        }
    }
}

/// Selects the items of `setting` and `tasks` (all of the main set when empty) in ascending order, at most `limit` of
/// each task.
///
/// # Errors
/// When the setting or a task is unknown, or an item has no prompt in the setting's format.
pub(crate) fn select(
    data: &Data,
    setting: &Setting,
    tasks: &[String],
    limit: Option<u32>,
) -> Result<Vec<ItemIndex>, SelectError> {
    let SessionMode { mode, .. } = SessionMode::known(setting)?;
    let known: BTreeSet<&str> = data.entries.iter().map(task).collect();
    check_tasks(tasks, known)?;
    let is_wanted = |entry: &Entry| match tasks {
        [] => entry.origin == Origin::Main,
        named => named.iter().any(|wanted| wanted == task(entry)),
    };
    let is_long_enough =
        |entry: &Entry| mode.lengths == Lengths::All || entry.origin != Origin::Main || data.lengths.admit(entry);
    let mut taken: BTreeMap<&str, u32> = BTreeMap::new();
    let mut chosen = Vec::new();
    for (item, entry) in data.indexed() {
        let is_of_mode = entry.level() == mode.level && entry.group.scope == mode.scope;
        if !is_of_mode || !is_wanted(entry) || (entry.gold().is_none() && !is_long_enough(entry)) {
            continue;
        }
        let count = taken.entry(task(entry)).or_default();
        if limit.is_some_and(|limit| *count >= limit) {
            continue;
        }
        *count += 1;
        if entry.system(mode.format).is_none() {
            return Err(without_prompt(entry, setting));
        }
        chosen.push(item);
    }
    Ok(chosen)
}

fn without_prompt(entry: &Entry, setting: &Setting) -> SelectError {
    SelectError::NotInSetting {
        task: task(entry).to_owned(),
        setting: setting.to_string(),
        reason: format!(
            "{} brings no prompt in this format, and its scenario is not known; add the folder of that format, or \
             data/workflow_final.jsonl",
            entry.id
        ),
    }
}
