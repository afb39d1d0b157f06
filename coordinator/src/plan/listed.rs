//! Checks of the items that a spec lists, against the data.

use std::collections::BTreeSet;

use regatta_benchmarks::Dataset;
use regatta_proto::{ItemId, ItemIndex, did_you_mean};

use super::{PlanError, field};

/// Each listed item is in the data.
pub(super) fn check_known(place: &str, suite: &dyn Dataset, listed: &[ItemId]) -> Result<(), PlanError> {
    if listed.is_empty() {
        return Ok(());
    }
    let known: BTreeSet<&ItemId> = suite.items().iter().map(|item| &item.id).collect();
    match listed.iter().enumerate().find(|(_, item)| !known.contains(item)) {
        None => Ok(()),
        Some((position, item)) => field(
            format!("{place}.items[{position}]"),
            format!(
                "the data has no item {:?}{}",
                item.as_str(),
                did_you_mean(item.as_str(), known.iter().map(|id| id.as_str()))
            ),
        ),
    }
}

/// Each listed item is among those that some setting `run`s; otherwise the list would promise more than is run.
pub(super) fn check_run(
    place: &str,
    suite: &dyn Dataset,
    listed: &[ItemId],
    run: &BTreeSet<ItemIndex>,
) -> Result<(), PlanError> {
    let known = run.iter().filter_map(|index| suite.items().get(index.0 as usize));
    let run: BTreeSet<&ItemId> = known.map(|item| &item.id).collect();
    match listed.iter().enumerate().find(|(_, item)| !run.contains(item)) {
        None => Ok(()),
        Some((position, item)) => field(
            format!("{place}.items[{position}]"),
            format!(
                "{:?} is in none of the settings and tasks that are run; leave it out, or run its own",
                item.as_str()
            ),
        ),
    }
}
