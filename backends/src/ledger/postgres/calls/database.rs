//! The store itself.

use crate::ledger::LedgerError;
use crate::ledger::postgres::pool::{Fault, read};
use crate::ledger::postgres::{PostgresLedger, database, rights};

impl PostgresLedger {
    pub(crate) async fn database_name(&self) -> Result<Option<String>, LedgerError> {
        read!(self.0, "read which database this is", client => database::name(client)).map(Some)
    }

    pub(crate) async fn check_rights(&self) -> Result<(), LedgerError> {
        read!(self.0, "look at the login's rights", client => rights::check(client))
    }
}
