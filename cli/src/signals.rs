//! SIGINT and SIGTERM: once drains, twice stops.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The two steps of leaving.
#[derive(Debug, Clone, Default)]
pub(crate) struct Leaving {
    pub(crate) drain: CancellationToken,
    pub(crate) stop: CancellationToken,
}

impl Leaving {
    /// Follows the process's signals.
    pub(crate) fn on_signals() -> anyhow::Result<Self> {
        let leaving = Self::default();
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let tokens = leaving.clone();
        tokio::spawn(async move {
            for token in [&tokens.drain, &tokens.stop] {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                token.cancel();
            }
        });
        Ok(leaving)
    }
}
