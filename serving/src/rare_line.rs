//! Lines that strangers have a log written: seldom enough that they do not fill it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Shortest time between two of these lines that say the same.
const PAUSE: Duration = Duration::from_secs(10);
/// Most of these lines within that time.
const REASONS_MAX: usize = 16;

/// A line that is written every ten seconds at most for each reason: one flood hides no other trouble.
#[derive(Debug)]
pub struct RareLine(Mutex<State>);

#[derive(Debug)]
struct State {
    /// Reasons for which it was written lately.
    written: Vec<(String, Instant)>,
    left_out: u64,
}

impl RareLine {
    /// A line that was not written yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(State { written: Vec::new(), left_out: 0 }))
    }

    /// The number of times that it was left out since it was written last, if it is to be written now for `reason`; `None` if it is left out
    /// again.
    pub fn admit(&self, reason: &str) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        state.written.retain(|(_, at)| now.duration_since(*at) < PAUSE);
        if state.written.len() >= REASONS_MAX || state.written.iter().any(|(written, _)| written == reason) {
            state.left_out += 1;
            return None;
        }
        state.written.push((reason.to_owned(), now));
        Some(std::mem::take(&mut state.left_out))
    }
}

impl Default for RareLine {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn of_a_flood_one_line_in_ten_seconds_is_written_with_the_number_of_the_others() {
        let line = RareLine::new();
        assert_eq!(line.admit("no certificate"), Some(0));
        assert_eq!((0..1000).filter_map(|_| line.admit("no certificate")).count(), 0);
        tokio::time::advance(PAUSE).await;
        assert_eq!((line.admit("no certificate"), line.admit("no certificate")), (Some(1000), None));
        tokio::time::advance(PAUSE * 2).await;
        assert_eq!(line.admit("no certificate"), Some(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_for_one_reason_hides_no_line_of_another_and_many_reasons_are_no_way_to_fill_a_log() {
        let line = RareLine::new();
        assert_eq!((line.admit("end of file"), line.admit("end of file")), (Some(0), None));
        assert_eq!((line.admit("expired"), line.admit("expired")), (Some(1), None));
        assert_eq!((0..1000).filter_map(|number| line.admit(&number.to_string())).count(), REASONS_MAX - 2);
        tokio::time::advance(PAUSE).await;
        assert!(line.admit("expired").is_some());
    }
}
