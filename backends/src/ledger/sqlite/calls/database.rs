//! The store itself.

use crate::ledger::LedgerError;
use crate::ledger::sqlite::SqliteLedger;

impl SqliteLedger {
    /// A file has none: it lies beside the blobs that it refers to.
    pub(crate) async fn database_name(&self) -> Result<Option<String>, LedgerError> {
        Ok(None)
    }

    /// Nothing is missing: all rights to the tables of a file are those to open it.
    pub(crate) async fn check_rights(&self) -> Result<(), LedgerError> {
        Ok(())
    }
}
