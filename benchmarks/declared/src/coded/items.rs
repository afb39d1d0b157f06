//! Items that a program has loaded.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use regatta_benchmarks::{DataError, Item};
use regatta_coded::ItemOf;
use regatta_proto::ItemId;

use crate::definition::{Named, Source, ValueSpec};
use crate::items::ONLY_TASK;

/// Most items of a benchmark.
const ITEMS_MAX: usize = 1_000_000;
/// Longest name of a task, group or part, in bytes.
const NAME_BYTES_MAX: usize = 256;

/// Items by position.
pub(super) struct CodedItems {
    pub(super) items: Vec<Item>,
    pub(super) parts: Vec<Vec<Arc<str>>>,
    /// Values of a session that the model made impossible, each with all values.
    pub(super) worst: Vec<BTreeMap<String, f64>>,
}

/// Holds what a program has loaded against its definition.
///
/// # Errors
/// When there are none or too many, an id is none or there twice, or a value is not declared.
pub(super) fn items(source: &Source, values: &Named<ValueSpec>, loaded: Vec<ItemOf>) -> Result<CodedItems, DataError> {
    let problem = |problem: String| source.problem("program", format!("load: {problem}"));
    if loaded.is_empty() || loaded.len() > ITEMS_MAX {
        return Err(problem(format!("gave {} items; a benchmark has 1 to {ITEMS_MAX}", loaded.len())));
    }
    let usual: BTreeMap<String, f64> = values.iter().map(|(name, spec)| (name.to_string(), spec.worst())).collect();
    let mut found = CodedItems { items: Vec::new(), parts: Vec::new(), worst: Vec::new() };
    let mut positions: HashMap<ItemId, usize> = HashMap::new();
    for (position, ItemOf { id, task, group, parts, worst }) in loaded.into_iter().enumerate() {
        let id = ItemId::new(id.as_str())
            .map_err(|error| problem(format!("the id of item {} is none: {error}", position + 1)))?;
        if let Some(earlier) = positions.insert(id.clone(), position) {
            return Err(problem(format!("items {} and {} have the same id {id}", earlier + 1, position + 1)));
        }
        let named = |text: String| match text.len() {
            1..=NAME_BYTES_MAX => Ok(Arc::<str>::from(text)),
            bytes => Err(problem(format!(
                "a task, group or part of item {id} has {bytes} bytes; it has 1 to {NAME_BYTES_MAX}"
            ))),
        };
        let task = task.map(named).transpose()?.unwrap_or_else(|| ONLY_TASK.into());
        let group = group.map(named).transpose()?;
        found.parts.push(parts.into_iter().map(named).collect::<Result<_, _>>()?);
        let mut all = usual.clone();
        for (name, value) in worst {
            match all.get_mut(&name).filter(|_| value.is_finite()) {
                Some(known) => *known = value,
                None => {
                    return Err(problem(format!("`worst` of item {id} has {name}, which `values` does not declare")));
                }
            }
        }
        found.worst.push(all);
        found.items.push(Item { id, task, group });
    }
    Ok(found)
}
