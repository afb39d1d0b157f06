//! The items as the pipeline knows them, and which of them a cell runs.

use std::sync::Arc;

use regatta_benchmarks::{Item, SelectError};
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
    if let Some(unknown) = tasks.iter().find(|task| Split::named(task).is_none()) {
        let known = Split::ALL.map(Split::as_str).join(", ");
        return Err(SelectError::UnknownTask { task: unknown.clone(), known });
    }
    let mut chosen = Vec::new();
    let mut taken = std::collections::BTreeMap::<Split, u32>::new();
    for (index, entry) in (0..).zip(&data.entries) {
        let is_wanted = tasks.is_empty() || tasks.iter().any(|task| task == entry.split.as_str());
        let count = taken.entry(entry.split).or_default();
        if is_wanted && limit.is_none_or(|limit| *count < limit) {
            *count += 1;
            chosen.push(ItemIndex(index));
        }
    }
    Ok(chosen)
}

/// Parts of the data set that reports show apart: what is sound, and what is known to be odd (docs/benchmarks/appbench.md §2.4).
pub(crate) fn parts(entry: &Entry) -> Vec<Arc<str>> {
    if entry.flags.is_empty() {
        return vec!["unflagged".into()];
    }
    entry.flags.iter().map(|flag: &Flag| flag.as_str().into()).collect()
}
