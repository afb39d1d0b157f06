//! Reasons why an item could not be scored. None is the model's fault: each of its texts has a score.

/// Trouble with the gold workflow or with the similarities.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ScoreError {
    /// The gold text holds no workflow.
    #[error("failed to parse the gold workflow: it has no nodes or no edges; check the item's assistant message")]
    GoldUnparsable,
    /// The gold edges form a cycle, so there is no order to compare with.
    #[error("failed to order the gold workflow: its edges form a cycle")]
    GoldCyclic,
    /// The gold has more nodes than the exact graph search supports.
    #[error("failed to score: the gold workflow has {nodes} nodes, at most {limit} are supported")]
    GoldTooLarge { nodes: usize, limit: usize },
    /// Two different texts whose similarity was not given.
    #[error("failed to find the similarity of {predicted:?} and {gold:?}: embed or record both texts")]
    MissingSimilarity { predicted: String, gold: String },
    /// A matrix of similarities that does not fit its texts.
    #[error("failed to read similarities: {rows} rows and {columns} columns expected, row {row} does not fit")]
    SimilarityShape { rows: usize, columns: usize, row: usize },
}
