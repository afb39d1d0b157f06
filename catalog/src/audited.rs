//! The items that an audit draws.
//!
//! Each item has a ticket of the sweep's seed, the benchmark and its own id, and the lowest tickets are audited. So the same items are
//! audited for all models, trials and settings, and a model that is appended is compared over them.

use std::collections::BTreeSet;

use regatta_benchmarks::Suite;
use regatta_proto::{Audit, BenchmarkName, Digest, ItemIndex};

/// The part of the `selected` items of `suite` that `audit` draws.
pub(crate) fn audited_items(
    suite: &dyn Suite,
    benchmark: &BenchmarkName,
    selected: &[ItemIndex],
    audit: &Audit,
    seed: u64,
) -> BTreeSet<ItemIndex> {
    let seed = seed.to_le_bytes();
    let ticket = |index: &ItemIndex| {
        let id = &suite.items().get(index.0 as usize)?.id;
        let parts = [b"regatta/audit/1".as_slice(), &seed, benchmark.as_str().as_bytes(), id.as_str().as_bytes()];
        Some((Digest::of_parts(parts), *index))
    };
    let mut tickets: Vec<(Digest, ItemIndex)> = selected.iter().filter_map(ticket).collect();
    tickets.sort_unstable();
    tickets.into_iter().take(audit.items_of(selected.len())).map(|(_, index)| index).collect()
}
