//! Lists of names against each other, as both official evaluators compare them (docs/benchmarks/appbench.md §5.1, §5.2). A plan without any
//! name matches nothing.

use std::collections::{BTreeSet, HashSet};

use regatta_pycompat::lower;

/// Names in lower case.
pub(super) struct Names(Vec<String>);

impl Names {
    pub(super) fn of<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Self {
        Self(names.into_iter().map(|name| lower(name.as_ref())).collect())
    }

    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    /// True if both lists have the same names, each as often.
    pub(super) fn equals(&self, gold: &Self) -> bool {
        let sorted = |names: &Self| {
            let mut sorted = names.0.clone();
            sorted.sort_unstable();
            sorted
        };
        !self.0.is_empty() && self.0.len() == gold.0.len() && sorted(self) == sorted(gold)
    }

    /// True if the lists share a name. The code of evaluator A means to count the shared names, but loses both lists after the first.
    pub(super) fn meets(&self, gold: &Self) -> bool {
        let gold: HashSet<&String> = gold.0.iter().collect();
        self.0.iter().any(|name| gold.contains(name))
    }

    /// F1 of evaluator B: the different names that the lists share, over the lengths of the lists.
    pub(super) fn f1(&self, gold: &Self) -> f64 {
        if self.0.is_empty() || gold.0.is_empty() {
            return 0.0;
        }
        let (predicted, wanted): (BTreeSet<&String>, BTreeSet<&String>) =
            (self.0.iter().collect(), gold.0.iter().collect());
        let hit = predicted.intersection(&wanted).count() as f64;
        super::ratio::f1(hit / self.0.len() as f64, hit / gold.0.len() as f64)
    }
}
