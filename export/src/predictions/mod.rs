//! Predictions that other harnesses have recorded, as lines that every benchmark reads: `{"item", "output"}`.

mod eval;
mod jsonl;

use std::collections::HashMap;
use std::io::Cursor;

use serde::Serialize;

use self::eval::LogLimits;
pub use self::jsonl::FieldPath;

/// Answer of a model to an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Prediction {
    /// Id of the item.
    pub item: String,
    /// The answer; `None` where the model gave none.
    pub output: Option<String>,
}

/// Predictions of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Predictions {
    /// In the order of the file; an item is there once.
    pub predictions: Vec<Prediction>,
    /// Samples that ended with an error: they say nothing about the model, and are left out.
    pub failed: u64,
}

/// Reason why a file holds no predictions that could be read.
#[derive(Debug, thiserror::Error)]
pub enum PredictionsError {
    /// It is no zip, or a damaged one.
    #[error("failed to read the log: {0}; it is damaged, or not one of Inspect")]
    Archive(#[from] zip::result::ZipError),
    /// A part of it cannot be read.
    #[error("{place}: {problem}")]
    Content {
        /// Line, or name in the archive.
        place: String,
        /// Problem, and what to do.
        problem: String,
    },
    /// Several epochs are in the log, and none was chosen.
    #[error("the log has {epochs} epochs; choose one of 1 to {epochs} with --epoch")]
    Epochs {
        /// Count.
        epochs: u64,
    },
    /// There is nothing in it.
    #[error("failed to find predictions: the file has none")]
    Empty,
}

impl Predictions {
    /// `true` if `content` is a log of Inspect, by its first bytes.
    #[must_use]
    pub fn is_log(content: &[u8]) -> bool {
        content.starts_with(b"PK\x03\x04")
    }

    /// Reads a log of Inspect (`.eval`): the samples of `epoch`, or of the only one.
    ///
    /// # Errors
    /// When it is no such log, has several epochs of which none was chosen, or an item twice.
    pub fn of_log(content: &[u8], epoch: Option<u64>) -> Result<Self, PredictionsError> {
        eval::read(Cursor::new(content), epoch, LogLimits::USUAL)?.checked()
    }

    /// Reads lines of JSON, of which `item` names the item and `output` the answer.
    ///
    /// # Errors
    /// When a line is not JSON, lacks a field, or names an item for the second time.
    pub fn of_lines(content: &[u8], item: &FieldPath, output: &FieldPath) -> Result<Self, PredictionsError> {
        jsonl::read(content, item, output)?.checked()
    }

    /// The lines that [`regatta score`] reads.
    #[must_use]
    pub fn to_lines(&self) -> String {
        let line = |prediction: &Prediction| {
            let Prediction { item, output } = prediction;
            format!("{}\n", serde_json::json!({"item": item, "output": output}))
        };
        self.predictions.iter().map(line).collect()
    }

    fn checked(self) -> Result<Self, PredictionsError> {
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for (number, prediction) in (1..).zip(&self.predictions) {
            if let Some(before) = seen.insert(&prediction.item, number) {
                let problem = format!("the item is in prediction {before} too; keep one prediction an item");
                return Err(PredictionsError::Content { place: format!("item {:?}", prediction.item), problem });
            }
        }
        if self.predictions.is_empty() && self.failed == 0 {
            return Err(PredictionsError::Empty);
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests;
