//! Predictions that other systems made.

use regatta_proto::{ItemIndex, Transcript};

use crate::DataError;
use crate::source_location::SourceLocation;

/// Reading of predictions. Optional: a benchmark that defines no format of predictions refuses every file.
pub trait Predictions: Send + Sync {
    /// Converts predictions of other systems (formats: section on predictions of the benchmark's page in
    /// docs/benchmarks) to transcripts by item.
    ///
    /// # Errors
    /// With the file and line of a prediction that cannot be parsed or names an unknown item; of every file, where the
    /// benchmark has no format of predictions.
    fn read_predictions(&self, file: &str, content: &[u8]) -> Result<Vec<(ItemIndex, Transcript)>, DataError> {
        let _ = content;
        Err(SourceLocation::file("predictions", file).problem("this benchmark reads no predictions of other systems"))
    }
}
