//! The store itself.

use super::{LedgerFuture, each};
use crate::ledger::Ledger;

/// The store itself: what a coordinator asks of it when it starts.
impl Ledger {
    /// A name of the database that neither others of its server have nor those of other servers, nor a copy that was restored from a dump. Letters,
    /// digits and `-`. `None` of a file.
    ///
    /// # Errors
    /// When the store fails.
    pub fn database_name(&self) -> LedgerFuture<'_, Option<String>> {
        each!(self.database_name())
    }

    /// Fails if the login to a server lacks a right that a coordinator needs.
    ///
    /// # Errors
    /// [`LedgerError::MissingRights`](super::LedgerError::MissingRights), or when the store fails.
    pub fn check_rights(&self) -> LedgerFuture<'_, ()> {
        each!(self.check_rights())
    }
}
