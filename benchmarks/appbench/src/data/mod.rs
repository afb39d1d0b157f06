//! The data set: instructions with their gold plans, and the phone whose apps they use (docs/benchmarks/appbench.md §2).
//!
//! Official are the test files and the prompt templates. What the descriptions of the apps say is derived from the official classes and
//! must be there as `apps.json` or `derived/apps_raw.json`. Everything else is computed; where it is there besides, it is read.

mod derive;
mod entry;
mod files;
mod load;
mod phone;
mod read_apps;
mod read_derived;
mod read_items;
mod repr;
mod split;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

pub(crate) use self::entry::{Entry, Fixture, Flag, Gold, Inputs, TrueCall};
pub(crate) use self::files::{Template, wants};
pub(crate) use self::load::load;
pub use self::phone::{Api, App, Phone, Slot};
pub(crate) use self::split::Split;

/// A loaded data set.
#[derive(Debug, Clone)]
pub(crate) struct Data {
    /// The apps, in phone order.
    pub(crate) phone: Arc<Phone>,
    /// The test items: ss, sm, ms, mm, each in the order of its file.
    pub(crate) entries: Vec<Entry>,
    /// Training items by split, with ids like `train-ss-000`; only where the user has such files, since none are published.
    pub(crate) training: BTreeMap<Split, Vec<Entry>>,
    /// The official prompt templates that are there.
    pub(crate) templates: BTreeMap<Template, Arc<str>>,
    positions: HashMap<String, usize>,
}

impl Data {
    fn new(
        phone: Phone,
        entries: Vec<Entry>,
        training: BTreeMap<Split, Vec<Entry>>,
        templates: BTreeMap<Template, Arc<str>>,
    ) -> Self {
        let positions = entries.iter().enumerate().map(|(at, entry)| (entry.id.to_string(), at)).collect();
        Self { phone: Arc::new(phone), entries, training, templates, positions }
    }

    /// Position of the item of this id among the entries; `None` if there is none.
    pub(crate) fn position(&self, id: &str) -> Option<usize> {
        self.positions.get(id).copied()
    }

    /// The item of this id.
    pub(crate) fn find(&self, id: &str) -> Option<&Entry> {
        self.position(id).and_then(|at| self.entries.get(at))
    }

    /// The items of a split, in the order of its file.
    pub(crate) fn of_split(&self, split: Split) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.split == split)
    }
}

#[cfg(test)]
mod tests;
