//! Items of the tasks that a cell runs.

use std::collections::BTreeMap;

use regatta_proto::ItemIndex;

use crate::SelectError;

/// Checks that every one of `tasks` is among the `known` ones.
///
/// # Errors
/// With the first that is not.
pub fn check_tasks<'k>(tasks: &[String], known: impl IntoIterator<Item = &'k str>) -> Result<(), SelectError> {
    let known: Vec<&str> = known.into_iter().collect();
    match tasks.iter().find(|task| !known.contains(&task.as_str())) {
        Some(unknown) => Err(SelectError::UnknownTask { task: unknown.clone(), known: known.join(", ") }),
        None => Ok(()),
    }
}

/// Selects among `items`, which stand beside their tasks, those of `tasks` (all when empty), at most `limit` of each task.
#[must_use]
pub fn items_of_tasks<'t>(
    items: impl IntoIterator<Item = (ItemIndex, &'t str)>,
    tasks: &[String],
    limit: Option<u32>,
) -> Vec<ItemIndex> {
    let mut taken: BTreeMap<&str, u32> = BTreeMap::new();
    let mut selected = Vec::new();
    for (item, task) in items {
        if !tasks.is_empty() && !tasks.iter().any(|wanted| wanted == task) {
            continue;
        }
        let count = taken.entry(task).or_default();
        if limit.is_none_or(|limit| *count < limit) {
            *count += 1;
            selected.push(item);
        }
    }
    selected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_items_of_each_task_are_selected() {
        let selected = |tasks: &[&str], limit: Option<u32>| {
            let tasks: Vec<String> = tasks.iter().map(|task| (*task).to_owned()).collect();
            let items = (0..).map(ItemIndex).zip(["a", "b", "a", "b", "a"]);
            items_of_tasks(items, &tasks, limit).into_iter().map(|item| item.0).collect::<Vec<_>>()
        };
        assert_eq!(selected(&[], None), [0, 1, 2, 3, 4]);
        assert_eq!(selected(&[], Some(2)), [0, 1, 2, 3]);
        assert_eq!(selected(&["a"], Some(2)), [0, 2]);
        assert_eq!(selected(&["b"], Some(0)), [0_u32; 0]);
    }

    #[test]
    fn the_error_of_an_unknown_task_lists_the_known_ones() {
        let tasks = ["b", "c"].map(str::to_owned);
        let error = check_tasks(&tasks, ["a", "b"]).unwrap_err();
        assert_eq!(error, SelectError::UnknownTask { task: "c".to_owned(), known: "a, b".to_owned() });
        assert_eq!(check_tasks(&tasks, ["a", "b", "c"]), Ok(()));
    }
}
