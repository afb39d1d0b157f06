//! Keys of sweeps in other tables.

use deadpool_postgres::GenericClient;
use regatta_proto::SweepId;

use crate::ledger::LedgerError;
use crate::ledger::postgres::pool::Fault;

pub(in crate::ledger::postgres) async fn number(client: &impl GenericClient, sweep: &SweepId) -> Result<i64, Fault> {
    let select = client.prepare_cached("SELECT number FROM sweeps WHERE id = $1").await?;
    let row = client.query_opt(&select, &[&sweep.as_str()]).await?;
    let row = row.ok_or_else(|| LedgerError::UnknownSweep { sweep: sweep.clone() })?;
    Ok(row.try_get(0)?)
}
