//! SIGINT and SIGTERM: once drains, twice stops.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A file would grow beyond the process's limit. The number is the same on every Linux and on macOS.
const SIGXFSZ: i32 = 25;

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
        // Without a handler, a file that reaches the limit of the process (`ulimit -f`) kills it; with one, writing it fails.
        let _handled = signal(SignalKind::from_raw(SIGXFSZ))?;
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
