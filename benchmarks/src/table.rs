//! The aggregate of a cell, as the official code has it.

use serde::{Deserialize, Serialize};

/// The aggregate of one cell, or of all trials of a setting and model, under one evaluator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The aggregate (`aggregate`) in the shape and with the names of the golden files.
    pub aggregate: serde_json::Value,
    /// Columns of the paper's main table in order: label and value in 0..=1 (`None` when there are no items).
    pub columns: Vec<(String, Option<f64>)>,
}
