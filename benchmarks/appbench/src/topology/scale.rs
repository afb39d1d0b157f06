//! Parallel and sequential scale of a plan.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The parallel scale of a plan is the number of its components; the sequential scale is their mean size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Scale {
    /// Number of components.
    pub(crate) components: usize,
    /// Number of calls in all components.
    pub(crate) calls: usize,
}

impl Scale {
    /// The mean size of a component; 0 for a plan without calls.
    pub(crate) fn mean_size(self) -> f64 {
        if self.components == 0 { 0.0 } else { self.calls as f64 / self.components as f64 }
    }

    /// The bucket of Figure 4 that plans of this scale are in.
    pub(crate) fn bucket(self) -> String {
        format!("{}x{:.2}", self.components, self.mean_size())
    }
}

/// `argument_em_by_topology` of the golden files: of each bucket, how many items it has and how many of these have all arguments right.
pub(crate) fn buckets(items: impl IntoIterator<Item = (Scale, bool)>) -> Value {
    let mut buckets: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for (scale, is_right) in items {
        let (n, right) = buckets.entry(scale.bucket()).or_default();
        *n += 1;
        *right += u64::from(is_right);
    }
    let entry = |(name, (n, right)): (String, (u64, u64))| (name, json!({ "n": n, "em": right as f64 / n as f64 }));
    Value::Object(buckets.into_iter().map(entry).collect::<Map<_, _>>())
}
