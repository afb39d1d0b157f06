//! The file of a subset.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context;
use regatta_proto::{BenchmarkName, Digest, ItemId, ModelRef, Setting};
use regatta_report::MetricDefinition;
use serde::{Deserialize, Serialize};

/// A subset of a benchmark's items in a setting. Values are in the metric's own scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SubsetDocument {
    /// Version of this document.
    pub(super) v: u32,
    pub(super) benchmark: BenchmarkName,
    pub(super) setting: Setting,
    /// Digest of the data set that the runs have in common.
    pub(super) dataset: Digest,
    /// Digest of the judge, the other roles and the treatment of filtered sessions, which the runs have in common.
    pub(super) test: Digest,
    pub(super) metric: MetricDefinition,
    /// Trials of an item in the run that has most.
    pub(super) trials: u16,
    pub(super) seed: u64,
    pub(super) runs: Vec<SourceRun>,
    pub(super) whole: Whole,
    pub(super) errors: Errors,
    pub(super) held_out: Vec<HeldOutModel>,
    pub(super) items: Vec<ChosenItem>,
}

/// A run that the subset was chosen from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SourceRun {
    /// As the command line named it.
    pub(super) run: String,
    /// SHA-256 of its `results.jsonl`.
    pub(super) results: Digest,
}

/// Items that the subset stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Whole {
    /// Number of items.
    pub(super) items: usize,
    /// Number of groups of items that are not independent; an item without one is by itself.
    pub(super) groups: usize,
    /// Number of the items that some model has no score of: they count, and are never chosen.
    pub(super) incomplete: usize,
    /// Number of items that no model has a score of. They are not among `items`.
    pub(super) unmeasured: usize,
}

/// Absolute errors over the models that were held out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Errors {
    pub(super) mean: f64,
    pub(super) worst: f64,
    /// Mean error of random subsets of the same size.
    pub(super) random_mean: f64,
    /// Error of the model that a random subset estimates worst, in the mean over random subsets.
    pub(super) random_worst: f64,
    /// Number of models that differ from those before them in some item; the others are held out with one that answers as they do.
    pub(super) different_models: usize,
}

/// A model whose estimate is from a subset that the other models chose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HeldOutModel {
    pub(super) model: ModelRef,
    pub(super) whole: f64,
    pub(super) estimate: f64,
    /// Estimate minus whole.
    pub(super) error: f64,
    /// Mean absolute error of random subsets of the same size.
    pub(super) random_error: f64,
}

/// An item of the subset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChosenItem {
    pub(super) item: ItemId,
    /// Number of items that it stands for; they sum to the number of all items.
    pub(super) weight: f64,
    /// Group of items that are not independent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) group: Option<String>,
}

impl SubsetDocument {
    /// Version that this build writes.
    pub(super) const VERSION: u32 = 1;

    /// Reads the file at `path`.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let failed = || format!("failed to read the subset {}", path.display());
        let text = std::fs::read_to_string(path).with_context(failed)?;
        let subset: Self = serde_json::from_str(&text).with_context(failed)?;
        subset.check().with_context(failed)?;
        Ok(subset)
    }

    /// Refuses a document that somebody has changed so that it estimates something else.
    fn check(&self) -> anyhow::Result<()> {
        anyhow::ensure!(self.v == Self::VERSION, "it has version {}; this build reads {}", self.v, Self::VERSION);
        let different: BTreeSet<&ItemId> = self.items.iter().map(|chosen| &chosen.item).collect();
        anyhow::ensure!(different.len() == self.items.len(), "an item is in it twice");
        anyhow::ensure!(self.items.iter().all(|chosen| chosen.weight > 0.0), "an item has no weight");
        let sum: f64 = self.items.iter().map(|chosen| chosen.weight).sum();
        let all = self.whole.items as f64;
        anyhow::ensure!((sum - all).abs() < 1e-6 * all, "the weights sum to {sum}, and it stands for {all} items");
        Ok(())
    }
}
