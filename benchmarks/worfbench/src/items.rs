//! The items as the pipeline knows them, and which of them a cell runs.

use std::collections::BTreeSet;

use regatta_benchmarks::{Item, SelectError, items_of_tasks};
use regatta_proto::{ItemIndex, Setting};

use super::data::{Data, Record, names};
use super::setting::{SessionMode, Shots};
use super::task::Task;

/// The items, in the order of the data. The task of an item is its record's.
pub(crate) fn items(data: &Data) -> Vec<Item> {
    let item = |record: &Record| Item { id: record.id.clone(), task: record.task.name().into(), group: None };
    data.records.iter().map(item).collect()
}

/// Items of `setting`, ascending, of `tasks` (all when empty), at most `limit` of each.
///
/// # Errors
/// When the setting or a task is unknown, or the task cannot be run in the setting.
pub(crate) fn select(
    data: &Data,
    setting: &Setting,
    tasks: &[String],
    limit: Option<u32>,
) -> Result<Vec<ItemIndex>, SelectError> {
    let SessionMode { mode: shots, agent } = SessionMode::known(setting)?;
    let without_examples = agent.map_or_else(|| Shots::Zero.name().to_owned(), |agent| format!("external/{agent}"));
    let present = data.tasks();
    let mut chosen = BTreeSet::new();
    for name in tasks {
        let task = Task::named(name)
            .filter(|task| present.contains(task))
            .ok_or_else(|| SelectError::UnknownTask { task: name.clone(), known: names(present.iter().copied()) })?;
        if shots == Shots::Two && !task.has_examples() {
            let reason = format!(
                "it is held out and has no examples; use {without_examples}, or leave `tasks` empty to have it run \
                 zero-shot beside the others"
            );
            return Err(not_in_setting(task, setting, reason));
        }
        chosen.insert(task);
    }
    if tasks.is_empty() {
        chosen = present;
    }
    let without = |task: &&Task| task.has_examples() && !data.shots.contains_key(task);
    if shots == Shots::Two
        && let Some(task) = chosen.iter().find(without)
    {
        let reason = format!("the data has no few_shot/{}.json; add it, or use {without_examples}", task.name());
        return Err(not_in_setting(*task, setting, reason));
    }
    Ok(items_of_tasks(data.indexed().map(|(item, record)| (item, record.task.name())), tasks, limit))
}

fn not_in_setting(task: Task, setting: &Setting, reason: String) -> SelectError {
    SelectError::NotInSetting { task: task.name().to_owned(), setting: setting.to_string(), reason }
}
