//! Duration of each test. The test harness of stable Rust does not report it; but it starts tests in the order of their names, as many at once
//! as it has threads, and says when each ends. So the n-th end is the moment at which the next test began.

use std::collections::HashMap;
use std::time::Duration;

/// Times of the tests of one executable.
#[derive(Debug)]
pub(crate) struct Starts {
    /// Names that have not begun, the next one last.
    waiting: Vec<String>,
    begun: HashMap<String, Duration>,
}

impl Starts {
    /// `names` in the order of the harness, of which the first `threads` begin at 0.
    pub(crate) fn new(names: Vec<String>, threads: usize) -> Self {
        let mut waiting = names;
        waiting.reverse();
        let first = waiting.split_off(waiting.len().saturating_sub(threads));
        Self { waiting, begun: first.into_iter().map(|name| (name, Duration::ZERO)).collect() }
    }

    /// Duration of the test that ended `at` after the start of the executable; the next one begins then.
    pub(crate) fn ended(&mut self, name: &str, at: Duration) -> Duration {
        if let Some(next) = self.waiting.pop() {
            self.begun.insert(next, at);
        }
        at.saturating_sub(self.begun.remove(name).unwrap_or(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_begins_when_an_earlier_one_ends() {
        let seconds = Duration::from_secs;
        let names = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        let mut starts = Starts::new(names, 2);
        assert_eq!(starts.ended("b", seconds(1)), seconds(1)); // c begins
        assert_eq!(starts.ended("c", seconds(4)), seconds(3)); // d begins
        assert_eq!(starts.ended("a", seconds(5)), seconds(5));
        assert_eq!(starts.ended("d", seconds(6)), seconds(2));
    }
}
