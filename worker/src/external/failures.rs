//! Agents that fail in the same way each time are not started for every session of their cell.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use regatta_proto::{CellIndex, Ended, HowEnded, SweepId};
use tokio::time::Instant;

/// Failures in a row, all alike, after which a cell is held. One may be an accident, and so may be two on a busy machine.
const ALIKE_MAX: u32 = 5;
/// A held cell has one agent started this long after the last failure: what was missing may be there by then, also after a `resume`.
const HELD_FOR: Duration = Duration::from_secs(60);
/// Characters of the last line of standard error by which failures are told apart.
const LINE_CHARS: usize = 200;

/// The failures of each cell since the last agent that worked, and the last one that the log has in full.
#[derive(Default)]
pub(super) struct Failures {
    cells: Mutex<HashMap<(SweepId, CellIndex), Streak>>,
    logged: Mutex<Option<(SweepId, HowEnded, String)>>,
}

struct Streak {
    how: HowEnded,
    last_line: String,
    count: u32,
    held_until: Instant,
}

impl Failures {
    /// Reason why no agent of the cell is started now; `None` when one is.
    pub(super) fn held(&self, sweep: &SweepId, cell: CellIndex) -> Option<String> {
        let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        let streak = cells.get_mut(&(sweep.clone(), cell)).filter(|streak| streak.count >= ALIKE_MAX)?;
        let now = Instant::now();
        if now >= streak.held_until {
            // This session's agent is the one that finds out.
            streak.held_until = now + HELD_FOR;
            return None;
        }
        let Streak { how, last_line, count, .. } = streak;
        Some(format!("not started: each of the last {count} agents of this cell {how}: {last_line}"))
    }

    /// An agent failed before it had asked its model.
    pub(super) fn failed(&self, sweep: &SweepId, cell: CellIndex, ended: &Ended) {
        let last_line = last_line(ended);
        let held_until = Instant::now() + HELD_FOR;
        let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        let is_alike = |streak: &&mut Streak| streak.how == ended.how && streak.last_line == last_line;
        match cells.get_mut(&(sweep.clone(), cell)).filter(is_alike) {
            Some(streak) => (streak.count, streak.held_until) = (streak.count + 1, held_until),
            None => {
                let streak = Streak { how: ended.how, last_line, count: 1, held_until };
                cells.insert((sweep.clone(), cell), streak);
            }
        }
    }

    /// An agent did its work.
    pub(super) fn worked(&self, sweep: &SweepId, cell: CellIndex) {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner).remove(&(sweep.clone(), cell));
    }

    /// `true` unless the last end of the sweep that this was asked of is like this one: an agent that cannot run fails in every session, and
    /// the log needs its words once.
    pub(super) fn is_news(&self, sweep: &SweepId, ended: &Ended) -> bool {
        let now = Some((sweep.clone(), ended.how, last_line(ended)));
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *logged, now.clone()) != now
    }
}

/// The last line of standard error, which tells failures apart.
fn last_line(ended: &Ended) -> String {
    let last_line = ended.errors.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("");
    last_line.chars().take(LINE_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: CellIndex = CellIndex(0);

    fn sweep() -> SweepId {
        "s".parse().unwrap()
    }

    fn ended(errors: &str) -> Ended {
        Ended { how: HowEnded::Exited(1), output: "".into(), is_cut: false, errors: errors.into() }
    }

    fn failing(times: u32) -> Failures {
        let failures = Failures::default();
        (0..times).for_each(|time| failures.failed(&sweep(), CELL, &ended(&format!("line {time}\nno module x\n"))));
        failures
    }

    #[tokio::test(start_paused = true)]
    async fn a_cell_whose_agents_fail_alike_is_held_and_tried_again_after_a_minute() {
        assert_eq!(failing(ALIKE_MAX - 1).held(&sweep(), CELL), None);
        let failures = failing(ALIKE_MAX);
        insta::assert_snapshot!(failures.held(&sweep(), CELL).unwrap(), @"not started: each of the last 5 agents of this cell ended by itself with 1: no module x");
        assert_eq!(failures.held(&sweep(), CellIndex(1)), None, "another cell has another agent or model");
        tokio::time::advance(HELD_FOR).await;
        assert_eq!(failures.held(&sweep(), CELL), None);
        assert!(failures.held(&sweep(), CELL).is_some(), "one session finds out for all");
    }

    #[test]
    fn equal_failures_of_a_sweep_are_news_once() {
        let failures = Failures::default();
        let news = |sweep: &str, errors: &str| failures.is_news(&sweep.parse().unwrap(), &ended(errors));
        assert_eq!(
            [news("s", "line 1\nno module x\n"), news("s", "line 2\nno module x\n"), news("s", "no module y")],
            [true, false, true]
        );
        assert!(news("t", "no module y"), "another sweep is another one's");
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_works_or_fails_otherwise_ends_the_streak() {
        let failures = failing(ALIKE_MAX);
        failures.worked(&sweep(), CELL);
        assert_eq!(failures.held(&sweep(), CELL), None);
        let failures = failing(ALIKE_MAX);
        failures.failed(&sweep(), CELL, &ended("another reason"));
        assert_eq!(failures.held(&sweep(), CELL), None);
    }
}
