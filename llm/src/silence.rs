//! Warns of an endpoint that accepts calls and answers none of them.

use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use regatta_proto::EndpointName;
use tokio::time::{Instant, sleep};

/// Time without an answer, while calls wait, after which there is a warning.
const SILENT: Duration = Duration::from_secs(20);
/// Pause between two warnings.
const AGAIN: Duration = Duration::from_secs(300);

/// Calls of this process that the endpoint has not answered yet.
#[derive(Debug)]
pub(crate) struct Silence {
    endpoint: EndpointName,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    waiting: u32,
    /// Time of the last sign of life, or from which calls wait.
    since: Instant,
    warned: Option<Instant>,
}

impl Silence {
    pub(crate) fn new(endpoint: EndpointName) -> Self {
        Self { endpoint, state: Mutex::new(State { waiting: 0, since: Instant::now(), warned: None }) }
    }

    /// Runs `call` to its end, and warns meanwhile if the endpoint answers no call at all.
    pub(crate) async fn watch<T>(&self, call: impl Future<Output = T>) -> T {
        let waiting = Waiting::begin(self);
        let mut call = pin!(call);
        let result = loop {
            tokio::select! {
                biased;
                result = &mut call => break result,
                () = sleep(SILENT) => self.warn(),
            }
        };
        self.heard();
        drop(waiting);
        result
    }

    fn heard(&self) {
        let mut state = self.locked();
        let silent = state.since.elapsed();
        state.since = Instant::now();
        if state.warned.take().is_some() {
            tracing::warn!(endpoint = %self.endpoint, "endpoint {} answers again, after {} s", self.endpoint, silent.as_secs());
        }
    }

    fn warn(&self) {
        let mut state = self.locked();
        let (silent, waiting) = (state.since.elapsed(), state.waiting);
        if silent < SILENT || state.warned.is_some_and(|warned| warned.elapsed() < AGAIN) {
            return;
        }
        state.warned = Some(Instant::now());
        drop(state);
        tracing::warn!(
            endpoint = %self.endpoint,
            waiting,
            "endpoint {} has answered nothing for {} s; {waiting} calls wait for it, each as long as `timeouts` of the endpoint allow",
            self.endpoint,
            silent.as_secs()
        );
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A waiting call, which ends when dropped.
struct Waiting<'s>(&'s Silence);

impl<'s> Waiting<'s> {
    fn begin(silence: &'s Silence) -> Self {
        let mut state = silence.locked();
        if state.waiting == 0 {
            state.since = Instant::now();
        }
        state.waiting += 1;
        drop(state);
        Self(silence)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.locked().waiting -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use futures::future::join;
    use tokio::time::timeout;

    use super::*;

    fn silence() -> Silence {
        Silence::new("here".parse().unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn it_warns_within_half_a_minute_when_nothing_is_answered() {
        let silence = silence();
        let _ = timeout(Duration::from_secs(25), silence.watch(pending::<()>())).await;
        assert!(silence.locked().warned.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_call_among_others_that_are_answered_is_nothing_to_warn_of() {
        let silence = silence();
        let others = async {
            for _ in 0..10 {
                silence.watch(sleep(Duration::from_secs(10))).await;
            }
        };
        join(others, silence.watch(sleep(Duration::from_secs(99)))).await;
        assert!(silence.locked().warned.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_ends_the_silence_and_idle_time_is_none() {
        let silence = silence();
        silence.watch(sleep(Duration::from_secs(30))).await;
        assert!(silence.locked().warned.is_none(), "it answers again");
        sleep(Duration::from_secs(600)).await;
        silence.watch(sleep(Duration::from_secs(10))).await;
        let state = silence.locked();
        assert_eq!((state.warned, state.waiting), (None, 0));
    }
}
