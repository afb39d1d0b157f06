//! Requests in any sliding minute.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

const WINDOW: Duration = Duration::from_secs(60);

/// Admits at most `limit` requests in any 60 seconds. Refused requests do not count.
#[derive(Debug)]
pub(crate) struct RateWindow {
    limit: usize,
    admitted: VecDeque<Instant>,
}

impl RateWindow {
    pub(crate) const fn new(limit: u32) -> Self {
        Self { limit: limit as usize, admitted: VecDeque::new() }
    }

    /// Admits a request at `now`.
    ///
    /// # Errors
    /// With the time until the next request would be admitted, when the window is full.
    pub(crate) fn admit(&mut self, now: Instant) -> Result<(), Duration> {
        while self.admitted.front().is_some_and(|first| now.duration_since(*first) >= WINDOW) {
            self.admitted.pop_front();
        }
        if self.admitted.len() < self.limit {
            self.admitted.push_back(now);
            return Ok(());
        }
        Err(self.admitted.front().map_or(WINDOW, |first| WINDOW.saturating_sub(now.duration_since(*first))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_becomes_free_a_minute_after_it_was_taken() {
        let start = Instant::now();
        let at = |s| start + Duration::from_secs(s);
        let mut window = RateWindow::new(2);
        assert_eq!(window.admit(at(0)), Ok(()));
        assert_eq!(window.admit(at(20)), Ok(()));
        assert_eq!(window.admit(at(30)), Err(Duration::from_secs(30)));
        assert_eq!(window.admit(at(60)), Ok(()));
        assert_eq!(window.admit(at(61)), Err(Duration::from_secs(19)));
    }

    #[test]
    fn a_limit_of_zero_admits_nothing() {
        assert_eq!(RateWindow::new(0).admit(Instant::now()), Err(WINDOW));
    }

    proptest::proptest! {
        #[test]
        fn no_minute_holds_more_than_the_limit(limit in 1u32..5, steps in proptest::collection::vec(0u64..40, 1..60)) {
            let start = Instant::now();
            let (mut window, mut now, mut admitted) = (RateWindow::new(limit), start, Vec::new());
            for step in steps {
                now += Duration::from_secs(step);
                if window.admit(now).is_ok() {
                    admitted.push(now);
                }
                let recent = admitted.iter().filter(|at| now.duration_since(**at) < WINDOW).count();
                proptest::prop_assert!(recent <= limit as usize);
            }
        }
    }
}
