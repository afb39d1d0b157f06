//! The items that an audit draws.
//!
//! Each item has a ticket of the sweep's seed, the benchmark and its own id, and the lowest tickets are audited. So the same items are
//! audited for all models, trials and settings, and a model that is appended is compared over them.

use std::collections::BTreeSet;

use regatta_benchmarks::Item;
use regatta_proto::{Audit, BenchmarkName, Digest, ItemIndex};

/// The part of the `selected` ones of `items` that `audit` draws.
pub(crate) fn audited_items(
    items: &[Item],
    benchmark: &BenchmarkName,
    selected: &[ItemIndex],
    audit: &Audit,
    seed: u64,
) -> BTreeSet<ItemIndex> {
    let seed = seed.to_le_bytes();
    let ticket = |index: &ItemIndex| {
        let id = &items.get(index.0 as usize)?.id;
        let parts = [b"regatta/audit/1".as_slice(), &seed, benchmark.as_str().as_bytes(), id.as_str().as_bytes()];
        Some((Digest::of_parts(parts), *index))
    };
    let mut tickets: Vec<(Digest, ItemIndex)> = selected.iter().filter_map(ticket).collect();
    tickets.sort_unstable();
    tickets.into_iter().take(audit.items_of(selected.len())).map(|(_, index)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(ids: impl Iterator<Item = u32>) -> Vec<Item> {
        ids.map(|id| Item { id: format!("i{id}").parse().unwrap(), task: "t".into(), group: None }).collect()
    }

    /// Ids of the items that are audited by `seed` of a data set with these.
    fn audited(ids: std::ops::Range<u32>, seed: u64) -> BTreeSet<String> {
        let items = items(ids);
        let audit: Audit = serde_json::from_str(r#"{"judge": "a/b", "share": 0.1}"#).unwrap();
        let all: Vec<ItemIndex> = (0..items.len() as u32).map(ItemIndex).collect();
        let drawn = audited_items(&items, &"made-up".parse().unwrap(), &all, &audit, seed);
        drawn.into_iter().map(|index| items[index.0 as usize].id.to_string()).collect()
    }

    #[test]
    fn the_same_items_are_audited_each_time_and_others_by_another_seed() {
        let one = audited(0..1000, 1);
        assert_eq!(one.len(), 100);
        assert_eq!(one, audited(0..1000, 1));
        let common = one.intersection(&audited(0..1000, 2)).count();
        assert!(common < 30, "{common} of 100 are the same by chance");
    }

    #[test]
    fn an_item_is_drawn_by_its_id_and_not_by_its_place() {
        let (all, half) = (audited(0..1000, 1), audited(500..1000, 1));
        let drawn_of_half = all.iter().filter(|id| half.contains(*id)).count();
        let of_half = all.iter().filter(|id| id[1..].parse::<u32>().unwrap() >= 500).count();
        assert_eq!(drawn_of_half, of_half.min(half.len()));
    }

    #[test]
    fn few_items_are_audited_all() {
        assert_eq!(audited(0..20, 1).len(), 20);
    }
}
