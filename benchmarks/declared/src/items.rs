//! Records as items of the pipeline, and which of them a cell runs.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use regatta_benchmarks::{DataError, Item, SelectError, check_tasks, items_of_tasks};
use regatta_proto::{ItemId, ItemIndex, Setting};
use serde_json::Value;

use crate::data::{Record, Split};
use crate::definition::{Definition, Source};

/// The task of items that say none.
pub(crate) const ONLY_TASK: &str = "all";

/// The items, and the parts that each belongs to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Items {
    pub(crate) items: Vec<Item>,
    pub(crate) parts: Vec<Vec<Arc<str>>>,
}

/// The records of `split` as items.
///
/// # Errors
/// When a column is missing, no scalar, or an id occurs twice.
pub(crate) fn items(source: &Source, definition: &Definition, split: &Split) -> Result<Items, DataError> {
    let names = &definition.items;
    let mut found = Items::default();
    let mut lines: HashMap<ItemId, usize> = HashMap::new();
    for (position, record) in split.records.iter().enumerate() {
        let column = |path: &str, column: &Option<String>| -> Result<Option<String>, DataError> {
            column.as_ref().map(|column| scalar(source, path, split, record, column)).transpose()
        };
        let id = column("items.id", &names.id)?.unwrap_or_else(|| (position + 1).to_string());
        let at =
            |problem: String| source.problem("items.id", format!("{} line {}: {problem}", split.path, record.line));
        let id = ItemId::new(id.as_str()).map_err(|error| at(error.to_string()))?;
        if let Some(earlier) = lines.insert(id.clone(), record.line) {
            return Err(at(format!("the id {id} is that of line {earlier} too; give each record its own")));
        }
        let task = column("items.task", &names.task)?.map_or_else(|| ONLY_TASK.into(), Arc::from);
        let group = column("items.group", &names.group)?.map(Arc::from);
        found.items.push(Item { id, task, group });
        let parts = names.parts.iter().enumerate().map(|(at, name)| {
            let value = scalar(source, &format!("items.parts[{at}]"), split, record, name)?;
            Ok(Arc::from(format!("{name}={value}")))
        });
        found.parts.push(parts.collect::<Result<_, DataError>>()?);
    }
    Ok(found)
}

/// The text of a column that holds texts, numbers, or yes and no.
fn scalar(source: &Source, path: &str, split: &Split, record: &Record, column: &str) -> Result<String, DataError> {
    let problem = |problem: String| source.problem(path, format!("{} line {}: {problem}", split.path, record.line));
    match record.fields.get(column) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text.clone()),
        Some(value @ (Value::Number(_) | Value::Bool(_))) => Ok(value.to_string()),
        Some(_) => Err(problem(format!("the column {column:?} must hold a text or a number"))),
        None => {
            let columns: Vec<&str> = record.fields.keys().map(String::as_str).collect();
            Err(problem(format!("there is no column {column:?}; columns: {}", columns.join(", "))))
        }
    }
}

/// Place of an item among the records; beyond all for one that is none.
pub(crate) fn position(item: ItemIndex) -> usize {
    usize::try_from(item.0).unwrap_or(usize::MAX)
}

/// Items of one of `settings`, ascending, of `tasks` (all when empty), at most `limit` of each.
///
/// # Errors
/// When the setting or a task is unknown.
pub(crate) fn select<'s>(
    items: &[Item],
    mut settings: impl Iterator<Item = &'s Setting> + Clone,
    setting: &Setting,
    tasks: &[String],
    limit: Option<u32>,
) -> Result<Vec<ItemIndex>, SelectError> {
    if !settings.clone().any(|known| known == setting) {
        let known: Vec<&str> = settings.by_ref().map(Setting::as_str).collect();
        return Err(SelectError::UnknownSetting { setting: setting.to_string(), known: known.join(", ") });
    }
    let present: BTreeSet<&str> = items.iter().map(|item| &*item.task).collect();
    check_tasks(tasks, present)?;
    Ok(items_of_tasks((0..).map(ItemIndex).zip(items.iter().map(|item| &*item.task)), tasks, limit))
}
