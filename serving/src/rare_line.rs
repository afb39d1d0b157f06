//! Lines that strangers have a log written: seldom enough that they do not fill it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Shortest time between two of these lines.
const PAUSE: Duration = Duration::from_secs(10);

/// A line that is written every ten seconds at most.
#[derive(Debug)]
pub struct RareLine(Mutex<State>);

#[derive(Debug)]
struct State {
    written_at: Option<Instant>,
    left_out: u64,
}

impl RareLine {
    /// A line that was not written yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(State { written_at: None, left_out: 0 }))
    }

    /// The number of times that it was left out since it was written last, if it is to be written now; `None` if it is left out again.
    pub fn admit(&self) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if state.written_at.is_some_and(|at| now.duration_since(at) < PAUSE) {
            state.left_out += 1;
            return None;
        }
        state.written_at = Some(now);
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
        assert_eq!(line.admit(), Some(0));
        assert_eq!((0..1000).filter_map(|_| line.admit()).count(), 0);
        tokio::time::advance(PAUSE).await;
        assert_eq!((line.admit(), line.admit()), (Some(1000), None));
        tokio::time::advance(PAUSE * 2).await;
        assert_eq!(line.admit(), Some(1));
    }
}
