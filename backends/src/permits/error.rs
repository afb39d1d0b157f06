//! Errors of the store of permits.

use std::io;
use std::path::PathBuf;

use regatta_proto::AccountId;

use crate::ledger::LedgerError;

/// Reason why a call of the store of permits failed; nothing of the call has been kept.
#[derive(Debug, thiserror::Error)]
pub enum PermitsError {
    /// Nobody opened that account.
    #[error("failed to find the account of {}; was it opened in another store?", named(account))]
    UnknownAccount {
        /// The account as asked.
        account: AccountId,
    },
    /// The stored state of an account cannot be read.
    #[error(
        "failed to read the account of {}: {reason}; it is damaged or was written by another version",
        named(account)
    )]
    UnreadableAccount {
        /// The account as asked.
        account: AccountId,
        /// The reason, as a clause.
        reason: String,
    },
    /// The file of what was granted cannot be read or written.
    #[error(
        "failed to keep what budgets have granted in {}: {source}; a file that is damaged may be removed, after which only what \
         the ledger knows of is counted as spent", path.display()
    )]
    Grants {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The file of what endpoints were sent cannot be written.
    #[error("failed to write the last minute's use of endpoints to {}: {source}", path.display())]
    Pools {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The database, which is the ledger's, refused or could not be reached.
    #[error(transparent)]
    Store(#[from] LedgerError),
}

fn named(account: &AccountId) -> String {
    match &account.model {
        Some(model) => format!("the sweep {} for the model {model}", account.sweep),
        None => format!("the sweep {}", account.sweep),
    }
}
