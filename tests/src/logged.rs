//! Lines that a test logs.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tracing::Dispatch;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::fmt::MakeWriter;

/// A subscriber that is there for as long as the process. With a single one, `tracing` asks that of the thread which comes to a line of the code
/// first, and a thread that does not listen has the line count as one that nobody hears.
static SECOND: OnceLock<Dispatch> = OnceLock::new();

/// Lines that were logged on the thread of a test since it began to listen.
#[derive(Debug, Clone, Default)]
pub struct Logged(Arc<Mutex<Vec<u8>>>);

impl Logged {
    /// Listens to this thread until the guard is dropped; lines are without a time and a target.
    #[must_use]
    pub fn listen() -> (Self, DefaultGuard) {
        SECOND.get_or_init(|| Dispatch::new(tracing_subscriber::registry()));
        let logged = Self::default();
        let lines = tracing_subscriber::fmt().with_writer(logged.clone());
        let subscriber = lines.with_ansi(false).without_time().with_target(false).finish();
        (logged, tracing::subscriber::set_default(subscriber))
    }

    /// The lines so far.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        String::from_utf8_lossy(&self.locked()).lines().map(str::to_owned).collect()
    }

    fn locked(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.locked().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Logged {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
