//! Checks of the items that a benchmark of a spec lists.

use std::collections::BTreeSet;

use super::SpecError;
use crate::{BenchmarkSpec, ItemId};

/// Checks that each item is listed once, and that nothing else says which items are run.
pub(super) fn check_items(place: &str, benchmark: &BenchmarkSpec) -> Result<(), SpecError> {
    if benchmark.items.is_empty() {
        return Ok(());
    }
    let field = |field: String, problem: String| Err(SpecError::Field { field, problem });
    if benchmark.limit.is_some() {
        let problem = "does not go with `items`, which lists all that are run; leave out one of them";
        return field(format!("{place}.limit"), problem.into());
    }
    let mut seen: BTreeSet<&ItemId> = BTreeSet::new();
    match benchmark.items.iter().enumerate().find(|(_, item)| !seen.insert(*item)) {
        None => Ok(()),
        Some((position, item)) => {
            field(format!("{place}.items[{position}]"), format!("{:?} is listed twice", item.as_str()))
        }
    }
}
