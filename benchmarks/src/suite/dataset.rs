//! The items of a data set, and how they are selected and sampled.

use std::num::NonZeroUsize;
use std::sync::Arc;

use regatta_proto::{Digest, Image, ItemIndex, Setting};

use crate::{Item, SampledBy, SelectError};

/// The items of a loaded data set.
pub trait Dataset: Send + Sync {
    /// Returns the items in the order of the data set; the position of an item is its [`ItemIndex`].
    fn items(&self) -> &[Item];

    /// Returns the items of `setting` in ascending order, restricted to `tasks` (all when empty) and to the first
    /// `limit` of each task.
    ///
    /// # Errors
    /// When a task or the setting is unknown, or a task cannot be run in that setting.
    fn select(&self, setting: &Setting, tasks: &[String], limit: Option<u32>) -> Result<Vec<ItemIndex>, SelectError>;

    /// Returns the bytes that the data set has beyond those of its files, as those of unpacked archives do. Processes
    /// keep as many data sets as fit.
    fn unpacked_bytes(&self) -> u64 {
        0
    }

    /// Returns the settings that the data set itself declares, the default first; empty where the benchmark defines
    /// them ([`Benchmark::settings`](crate::Benchmark::settings)).
    fn declared_settings(&self) -> Vec<Setting> {
        Vec::new()
    }

    /// The unit that samples of the items are drawn in.
    fn sampled_by(&self) -> SampledBy {
        SampledBy::Item
    }

    /// Returns the parts of the data set, besides its task, that `item` belongs to and that tables need metrics of.
    fn parts(&self, item: ItemIndex) -> Vec<Arc<str>> {
        let _ = item;
        Vec::new()
    }

    /// Returns the image of the data set with this digest, with its bytes: what is written down of a question to a judge has none.
    fn image(&self, digest: &Digest) -> Option<Image> {
        let _ = digest;
        None
    }

    /// Returns the number of calls of [`next`](crate::Sessions::next), [`score`](crate::Evaluation::score) and similar
    /// functions that can run at once, where these wait for something, such as a process of a pool; `None` where they
    /// only compute.
    fn calls_at_once(&self) -> Option<NonZeroUsize> {
        None
    }
}
