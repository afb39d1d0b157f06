//! The thread that owns the database file, and its channel of calls.

use std::path::{Path, PathBuf};
#[cfg(feature = "faults")]
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use super::migrate::open;
#[cfg(feature = "faults")]
use super::migrate::open_in_memory;
use crate::ledger::LedgerError;

/// Most calls that wait for the thread; further callers wait to queue theirs.
const WAITING_CALLS: usize = 64;

type Call = Box<dyn FnOnce(&mut Connection) + Send>;

/// A failure of a call on the thread.
#[derive(Debug)]
pub(super) enum Fault {
    Sqlite(rusqlite::Error),
    Ledger(LedgerError),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}
impl From<LedgerError> for Fault {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(error)
    }
}
impl Fault {
    fn during(self, action: &'static str) -> LedgerError {
        match self {
            Self::Sqlite(error) => LedgerError::Store { action, source: error.into() },
            Self::Ledger(error) => error,
        }
    }
}

/// A handle to the thread, which ends with the last handle, after the waiting calls.
#[derive(Debug, Clone)]
pub(super) enum Thread {
    /// A thread of its own.
    Own(mpsc::Sender<Call>),
    /// The callers' threads: a database in memory that simulated processes share, whose calls must run in the same order each time.
    #[cfg(feature = "faults")]
    Callers(Arc<Mutex<Connection>>),
}

impl Thread {
    pub(super) async fn start(path: PathBuf) -> Result<Self, LedgerError> {
        let (calls, waiting) = mpsc::channel(WAITING_CALLS);
        let (report, opened) = oneshot::channel();
        let location = path.display().to_string();
        std::thread::Builder::new()
            .name("ledger".to_owned())
            .spawn(move || match open(&path) {
                Ok(connection) => {
                    // If the receiver is gone, so is the channel, and serving ends at once.
                    let _ = report.send(Ok(()));
                    serve(connection, waiting, &path);
                }
                Err(error) => {
                    let _ = report.send(Err(error));
                }
            })
            .map_err(|error| LedgerError::Open { location, source: error.into() })?;
        opened.await.map_err(|_| LedgerError::Closed { action: "open the ledger" })??;
        Ok(Self::Own(calls))
    }

    #[cfg(feature = "faults")]
    pub(super) fn of_callers() -> Result<Self, LedgerError> {
        open_in_memory().map(|connection| Self::Callers(Arc::new(Mutex::new(connection))))
    }

    /// Runs `body` in a transaction that may write. It takes effect as a whole or not at all.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        action: &'static str,
        body: impl FnOnce(&Transaction<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, LedgerError> {
        self.call(action, TransactionBehavior::Immediate, body).await
    }

    /// Runs `body` on a snapshot of the database.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        action: &'static str,
        body: impl FnOnce(&Transaction<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, LedgerError> {
        self.call(action, TransactionBehavior::Deferred, body).await
    }

    /// Copies the write-ahead log into the file and truncates it.
    pub(super) async fn checkpoint(&self) -> Result<(), LedgerError> {
        let action = "empty the ledger's log";
        let truncate = |connection: &mut Connection| -> Result<(), Fault> {
            Ok(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
        };
        let calls = match self {
            Self::Own(calls) => calls,
            #[cfg(feature = "faults")]
            Self::Callers(connection) => {
                let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
                return truncate(&mut connection).map_err(|fault| fault.during(action));
            }
        };
        let (report, result) = oneshot::channel();
        let call: Call = Box::new(move |connection| {
            // The caller may have gone away.
            let _ = report.send(truncate(connection).map_err(|fault| fault.during(action)));
        });
        calls.send(call).await.map_err(|_| LedgerError::Closed { action })?;
        result.await.map_err(|_| LedgerError::Closed { action })?
    }

    async fn call<T: Send + 'static>(
        &self,
        action: &'static str,
        behavior: TransactionBehavior,
        body: impl FnOnce(&Transaction<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, LedgerError> {
        let calls = match self {
            Self::Own(calls) => calls,
            #[cfg(feature = "faults")]
            Self::Callers(connection) => {
                let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
                return transact(&mut connection, behavior, body).map_err(|fault| fault.during(action));
            }
        };
        let (report, result) = oneshot::channel();
        let call: Call = Box::new(move |connection| {
            // The caller may have gone away; a committed transaction stays.
            let _ = report.send(transact(connection, behavior, body).map_err(|fault| fault.during(action)));
        });
        calls.send(call).await.map_err(|_| LedgerError::Closed { action })?;
        result.await.map_err(|_| LedgerError::Closed { action })?
    }
}

fn transact<T>(
    connection: &mut Connection,
    behavior: TransactionBehavior,
    body: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let transaction = connection.transaction_with_behavior(behavior)?;
    let value = body(&transaction)?;
    transaction.commit()?;
    Ok(value)
}

fn serve(mut connection: Connection, mut waiting: mpsc::Receiver<Call>, path: &Path) {
    while let Some(call) = waiting.blocking_recv() {
        call(&mut connection);
    }
    if let Err((_, error)) = connection.close() {
        tracing::warn!(ledger.path = %path.display(), %error, "failed to close the ledger; its file is intact");
    }
}
