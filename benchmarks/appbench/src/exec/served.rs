//! Simulated apps for a server that calls them step by step: items, descriptions, worlds, scores.

use std::collections::BTreeMap;
use std::sync::Arc;

use regatta_benchmarks::DataError;
use regatta_proto::FileSet;
use regatta_pycompat::{lower, strip};
use serde_json::{Map, Value};

use super::counts::Counts;
use super::world::{Executed, World};
use crate::data::{Data, Phone, load, wants};

/// Bytes that one session may move and hash.
const BUDGET: usize = 1 << 20;

/// The apps of a data set, to be called step by step.
#[derive(Debug, Clone)]
pub struct ServedApps {
    data: Arc<Data>,
}

/// Comparison of a session's calls with the true ones of its item (docs/benchmarks/appbench.md §7, step 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct SessionScore {
    /// Executed calls that are true ones, each counted as often as it is true.
    pub hit: usize,
    /// Executed calls.
    pub pred: usize,
    /// True calls.
    pub gold: usize,
    /// True if no call was refused, and the executed calls are the true ones.
    pub success: bool,
}

impl ServedApps {
    /// True if the file at `path` (relative to the data directory) belongs to the data set.
    #[must_use]
    pub fn wants(path: &str) -> bool {
        wants(path)
    }

    /// Reads the data set.
    ///
    /// # Errors
    /// With file, record and field of whatever is malformed; with what is missing.
    pub fn load(files: &FileSet) -> Result<Self, DataError> {
        Ok(Self { data: Arc::new(load(files)?) })
    }

    /// The phone, the same for all items.
    #[must_use]
    pub fn phone(&self) -> &Phone {
        &self.data.phone
    }

    /// Ids and instructions of the items.
    pub fn items(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.data.entries.iter().map(|entry| (entry.id.as_str(), &*entry.input))
    }

    /// A new world of an item; nothing if there is no such item.
    #[must_use]
    pub fn open(&self, item: &str) -> Option<World> {
        self.data.find(item).map(|entry| World::new(&self.data.phone, &entry.fixtures, BUDGET))
    }

    /// Scores what was executed in the world of an item; nothing if there is no such item.
    pub fn score<'a>(
        &self,
        item: &str,
        executed: impl Iterator<Item = &'a Executed>,
        refused: bool,
    ) -> Option<SessionScore> {
        let counts = Counts::of(executed, &self.data.find(item)?.gold);
        let Counts { hit, pred, gold } = counts;
        Some(SessionScore { hit, pred, gold, success: !refused && counts.all_hit() })
    }

    /// The arguments of a call as a program gives them: an object with texts, numbers, `true` and `false`, by name in any case. What is
    /// `null` is left out.
    ///
    /// # Errors
    /// Names the argument that is of another kind.
    pub fn arguments(given: &Map<String, Value>) -> Result<BTreeMap<Arc<str>, Arc<str>>, String> {
        let mut arguments = BTreeMap::new();
        for (name, value) in given {
            let text: Arc<str> = match value {
                Value::Null => continue,
                Value::Bool(true) => "True".into(),
                Value::Bool(false) => "False".into(),
                Value::Number(number) => number.to_string().into(),
                Value::String(text) => text.as_str().into(),
                Value::Array(_) | Value::Object(_) => {
                    return Err(format!("the argument {name} must be a text, a number, true or false"));
                }
            };
            arguments.insert(lower(strip(name)).into(), text);
        }
        Ok(arguments)
    }
}
