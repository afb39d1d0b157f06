//! Time that an external agent has used, as far as it counts against its limit.

use std::time::Duration;

use tokio::time::Instant;

/// Counts what an agent itself takes and what its models take to answer. What calls wait for beside that, permits and further tries, is no
/// fault of the agent's: while calls are under way only the answers' own time is counted, each when it is there.
pub(super) struct Clock {
    left: Duration,
    state: State,
}

enum State {
    /// The agent has not asked for anything since then; `left` is what it has for that.
    Starting { since: Instant, deadline: Duration },
    /// The agent is at work since then.
    Working(Instant),
    /// So many calls are under way since then, and others that were took so long to be answered.
    Asking { since: Instant, calls: u32, answered: Duration },
}

impl Clock {
    /// The clock of an agent that has `startup` to its first request, and `deadline` from there.
    pub(super) fn start(startup: Duration, deadline: Duration) -> Self {
        Self { left: startup, state: State::Starting { since: Instant::now(), deadline } }
    }

    /// The agent asks for something; the first time, its deadline begins.
    pub(super) fn begin(&mut self) {
        if let State::Starting { deadline, .. } = self.state {
            *self = Self { left: deadline, state: State::Working(Instant::now()) };
        }
    }

    /// When it runs out, as far as that can be said.
    pub(super) fn runs_out(&self) -> Option<Instant> {
        match self.state {
            State::Starting { since, .. } | State::Working(since) => Some(since + self.left),
            State::Asking { since, answered, .. } => (answered >= self.left).then_some(since + answered),
        }
    }

    /// A call is under way.
    pub(super) fn asked(&mut self) {
        self.begin();
        match &mut self.state {
            State::Starting { .. } => {}
            State::Asking { calls, .. } => *calls += 1,
            State::Working(since) => {
                self.left = self.left.saturating_sub(since.elapsed());
                self.state = State::Asking { since: Instant::now(), calls: 1, answered: Duration::ZERO };
            }
        }
    }

    /// A call is over; the model itself took `served` to answer it. Calls at the same time take no longer together than has gone by.
    pub(super) fn answered(&mut self, served: Duration) {
        let State::Asking { since, calls, answered } = &mut self.state else { return };
        *calls -= 1;
        *answered = (*answered + served).min(since.elapsed());
        if *calls == 0 {
            self.left = self.left.saturating_sub(*answered);
            self.state = State::Working(Instant::now());
        }
    }

    /// A call that an earlier start made was given again, and took `served` then.
    pub(super) fn replayed(&mut self, served: Duration) {
        self.begin();
        self.left = self.left.saturating_sub(served);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock with 100 seconds whose agent has asked for something.
    fn begun() -> Clock {
        let mut clock = Clock::start(Duration::from_secs(10), Duration::from_secs(100));
        clock.begin();
        clock
    }

    fn left(clock: &Clock) -> Option<u64> {
        clock.runs_out().map(|at| at.duration_since(Instant::now()).as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn the_deadline_begins_with_the_first_request() {
        let mut clock = Clock::start(Duration::from_secs(10), Duration::from_secs(100));
        tokio::time::advance(Duration::from_secs(9)).await;
        assert_eq!(left(&clock), Some(1));
        clock.asked();
        clock.answered(Duration::ZERO);
        assert_eq!(left(&clock), Some(100));
        tokio::time::advance(Duration::from_secs(1)).await;
        clock.begin();
        assert_eq!(left(&clock), Some(99), "it begins once");
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_for_a_permit_does_not_count_but_the_models_own_time_does() {
        let mut clock = begun();
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(left(&clock), Some(90));
        clock.asked();
        tokio::time::advance(Duration::from_secs(1000)).await;
        assert_eq!(left(&clock), None);
        clock.answered(Duration::from_secs(5));
        assert_eq!(left(&clock), Some(85));
    }

    #[tokio::test(start_paused = true)]
    async fn calls_at_the_same_time_take_no_longer_together_than_they_did() {
        let mut clock = begun();
        clock.asked();
        clock.asked();
        tokio::time::advance(Duration::from_secs(10)).await;
        clock.answered(Duration::from_secs(10));
        assert_eq!(left(&clock), None);
        clock.answered(Duration::from_secs(10));
        assert_eq!(left(&clock), Some(90));
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_always_has_a_call_under_way_runs_out_too() {
        let mut clock = begun();
        clock.asked();
        for _ in 0..10 {
            assert_eq!(left(&clock), None);
            clock.asked();
            tokio::time::advance(Duration::from_secs(10)).await;
            clock.answered(Duration::from_secs(10));
        }
        assert_eq!(left(&clock), Some(0));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_given_again_takes_what_it_took() {
        let mut clock = begun();
        clock.replayed(Duration::from_secs(30));
        assert_eq!(left(&clock), Some(70));
        clock.asked();
        clock.replayed(Duration::from_secs(80));
        assert_eq!(left(&clock), Some(0));
    }
}
