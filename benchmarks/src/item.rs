//! Items of a data set, and what samples of them are drawn in.

use std::sync::Arc;

use regatta_proto::ItemId;

/// An item, with the fields that the pipeline needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The benchmark's id of the item.
    pub id: ItemId,
    /// The task it belongs to.
    pub task: Arc<str>,
    /// Cluster of items whose scores are not independent, such as the turns of one conversation.
    pub group: Option<Arc<str>>,
}

/// The unit in which samples of a data set are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampledBy {
    /// Single items.
    Item,
    /// Whole groups, because a part of a group would be a different data set.
    Group,
}
