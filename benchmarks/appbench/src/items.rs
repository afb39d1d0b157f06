//! The items as the pipeline knows them, and which of them a cell runs.

use std::sync::Arc;

use regatta_benchmarks::{Item, SelectError, check_tasks, items_of_tasks};
use regatta_proto::{ItemIndex, Setting};

use super::data::{Data, Entry, Flag, Split};
use super::setting::SessionMode;

/// The items, in the order of the data. The task of an item is its split; items with the same instruction are no independent samples.
pub(crate) fn items(data: &Data) -> Vec<Item> {
    let first_of = |entry: &Entry| entry.duplicate_of.as_ref().unwrap_or(&entry.id).as_str().into();
    data.entries
        .iter()
        .map(|entry| Item { id: entry.id.clone(), task: entry.split.as_str().into(), group: Some(first_of(entry)) })
        .collect()
}

/// Items of `tasks` (all when empty), ascending, at most `limit` of each.
///
/// # Errors
/// When the setting or a task is unknown.
pub(crate) fn select(
    data: &Data,
    setting: &Setting,
    tasks: &[String],
    limit: Option<u32>,
) -> Result<Vec<ItemIndex>, SelectError> {
    SessionMode::known(setting)?;
    check_tasks(tasks, Split::ALL.map(Split::as_str))?;
    let tasks_of_items = data.entries.iter().map(|entry| entry.split.as_str());
    Ok(items_of_tasks((0..).map(ItemIndex).zip(tasks_of_items), tasks, limit))
}

/// Parts of the data set that reports show apart: what is sound, and what is known to be odd (docs/benchmarks/appbench.md §2.4).
pub(crate) fn parts(entry: &Entry) -> Vec<Arc<str>> {
    if entry.flags.is_empty() {
        return vec!["unflagged".into()];
    }
    entry.flags.iter().map(|flag: &Flag| flag.as_str().into()).collect()
}
