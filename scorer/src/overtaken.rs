//! Reports that could not be recorded and were handed back alone. Each comes again behind what this scorer has been given already.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Time in which a report that was handed back has come again.
const COMES_AGAIN_WITHIN: Duration = Duration::from_secs(60);

/// When a report was handed back last.
#[derive(Debug, Default)]
pub(crate) struct Overtaken(Mutex<Option<Instant>>);

impl Overtaken {
    /// A report is handed back now.
    pub(crate) fn note(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// `true` if what comes next may have been reported after something that is not recorded.
    pub(crate) fn is_possible(&self) -> bool {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_some_and(|at| at.elapsed() < COMES_AGAIN_WITHIN)
    }
}
