//! Items, and which of them a setting runs.

use std::collections::BTreeSet;

use regatta_benchmarks::{Item, SelectError, check_tasks, items_of_tasks};
use regatta_proto::{ItemId, ItemIndex, Setting};

use super::data::{Data, Utterance};
use super::setting::Mode;

/// The task of what has no domain.
pub(crate) const NO_DOMAIN: &str = "none";

/// Every row of every file: `test/0` is the first of the test set. Tasks are domains.
pub(crate) fn items(data: &Data) -> Vec<Item> {
    data.all()
        .filter_map(|(dataset, row, utterance)| {
            let id = ItemId::new(format!("{}/{row}", dataset.as_str())).ok()?;
            Some(Item { id, task: task(utterance).into(), group: None })
        })
        .collect()
}

/// The task that an utterance belongs to.
pub(crate) fn task(utterance: &Utterance) -> &str {
    if utterance.domain.is_empty() { NO_DOMAIN } else { &utterance.domain }
}

/// The items that `setting` runs.
///
/// # Errors
/// When the setting or a task is unknown, or the file of the setting is not there.
pub(crate) fn select(
    data: &Data,
    setting: &Setting,
    tasks: &[String],
    limit: Option<u32>,
) -> Result<Vec<ItemIndex>, SelectError> {
    let Some(mode) = Mode::of(setting) else {
        return Err(SelectError::UnknownSetting { setting: setting.to_string(), known: Mode::known() });
    };
    if data.rows(mode.dataset).is_none() {
        return Err(SelectError::UnknownSetting {
            setting: setting.to_string(),
            known: format!("{}; the data has no {}", Mode::known(), mode.dataset.path()),
        });
    }
    let of_file = || (0..).map(ItemIndex).zip(data.all()).filter(|(_, (dataset, ..))| *dataset == mode.dataset);
    let known: BTreeSet<&str> = of_file().map(|(_, (_, _, utterance))| task(utterance)).collect();
    check_tasks(tasks, known)?;
    Ok(items_of_tasks(of_file().map(|(item, (_, _, utterance))| (item, task(utterance))), tasks, limit))
}
