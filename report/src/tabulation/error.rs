//! Errors of making a sweep's reports.

use regatta_proto::ItemId;

/// Reason why a sweep's reports could not be made of its sessions.
#[derive(Debug, thiserror::Error)]
pub enum TabulationError {
    /// The sweep asks what cannot be decided.
    #[error(transparent)]
    Decide(#[from] regatta_catalog::DecideError),
    /// A stored score is not one.
    #[error("failed to read the stored scores of item {item} in cell {cell}: {source}")]
    Scores {
        /// Index of the cell.
        cell: u32,
        /// Id of the item.
        item: ItemId,
        /// Cause, from the JSON reader.
        source: serde_json::Error,
    },
    /// A document could not be written as JSON.
    #[error("failed to write {file}: {source}")]
    Json {
        /// Name of the document.
        file: &'static str,
        /// Cause, from the JSON writer.
        source: serde_json::Error,
    },
    /// The lock could not be written as YAML.
    #[error("failed to write sweep.lock.yaml: {0}")]
    Yaml(#[from] serde_yaml_ng::Error),
    /// A document could not be written as CSV.
    #[error("failed to write a document as CSV: {0}")]
    Csv(#[from] csv::Error),
}
