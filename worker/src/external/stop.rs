//! Tells a running agent to stop, and remembers why.

use std::sync::OnceLock;

use regatta_proto::HowEnded;
use tokio_util::sync::CancellationToken;

/// Set once.
#[derive(Default)]
pub(super) struct Stop {
    why: OnceLock<HowEnded>,
    told: CancellationToken,
}

impl Stop {
    /// From now on the agent is being stopped. The first reason is the one that counts.
    pub(super) fn now(&self, why: HowEnded) {
        // That there is a reason already is no error.
        let _ = self.why.set(why);
        self.told.cancel();
    }

    /// Reason of the stop; `None` unless it was told to stop.
    pub(super) fn why(&self) -> Option<HowEnded> {
        self.why.get().copied()
    }

    pub(super) async fn told(&self) {
        self.told.cancelled().await;
    }
}
