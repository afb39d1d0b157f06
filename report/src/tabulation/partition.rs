//! Partitions of a cell's items: clusters that are dependent, and named parts.

use std::collections::HashMap;
use std::sync::Arc;

use regatta_benchmarks::{Dataset, Item};
use regatta_proto::ItemIndex;

/// The cluster of each item, numbered by first appearance: items of one group are one cluster, every other item is one by itself.
pub(crate) fn clusters<'a>(items: impl Iterator<Item = Option<&'a Item>>) -> Vec<u32> {
    let mut of_group: HashMap<&Arc<str>, u32> = HashMap::new();
    let mut next = 0;
    let mut fresh = || {
        next += 1;
        next - 1
    };
    let cluster = |item: Option<&'a Item>| match item.and_then(|item| item.group.as_ref()) {
        Some(group) => *of_group.entry(group).or_insert_with(&mut fresh),
        None => fresh(),
    };
    items.map(cluster).collect()
}

/// Tasks in the order of the data set, with the positions of their items.
pub(crate) fn tasks<'a>(items: impl Iterator<Item = Option<&'a Item>>) -> Vec<(String, Vec<usize>)> {
    let mut tasks = Parts::default();
    for (position, item) in items.enumerate() {
        item.into_iter().for_each(|item| tasks.add(&item.task, position));
    }
    tasks.found
}

/// The other parts of the data set that `selected` items belong to, in its order, with the positions of their items.
pub(crate) fn parts(suite: &dyn Dataset, selected: &[ItemIndex]) -> Vec<(String, Vec<usize>)> {
    let mut parts = Parts::default();
    for (position, index) in selected.iter().enumerate() {
        suite.parts(*index).iter().for_each(|part| parts.add(part, position));
    }
    parts.found
}

#[derive(Default)]
struct Parts {
    found: Vec<(String, Vec<usize>)>,
    places: HashMap<Arc<str>, usize>,
}

impl Parts {
    fn add(&mut self, name: &Arc<str>, position: usize) {
        let place = *self.places.entry(name.clone()).or_insert_with(|| {
            self.found.push((name.to_string(), Vec::new()));
            self.found.len() - 1
        });
        self.found[place].1.push(position);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: &str, group: Option<&str>) -> Item {
        Item { id: id.parse().unwrap(), task: "t".into(), group: group.map(Arc::from) }
    }

    #[test]
    fn items_of_one_group_are_one_cluster_and_others_are_alone() {
        let items =
            [item("1", Some("a")), item("2", None), item("3", Some("a")), item("4", Some("b")), item("5", None)];
        assert_eq!(clusters(items.iter().map(Some)), [0, 1, 0, 2, 3]);
    }

    #[test]
    fn tasks_keep_the_order_of_the_data_set() {
        let mut items = [item("1", None), item("2", None), item("3", None)];
        items[1].task = "first of another".into();
        let found = tasks(items.iter().map(Some));
        assert_eq!(found, [("t".to_owned(), vec![0, 2]), ("first of another".to_owned(), vec![1])]);
    }
}
