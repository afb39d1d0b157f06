//! Pools, one row each.

use deadpool_postgres::{Object, Transaction};
use regatta_proto::{PoolReply, PoolRequest};

use super::super::PoolHolder;
use super::super::pool::{Change, Pool};
use super::{CLOCK_MS, clock};
use crate::ledger::LedgerError;
use crate::ledger::columns::stored_json;
use crate::ledger::postgres::pool::Fault;

/// The history that the server is in. It goes on in another where a replica took over, or where it was brought back to a moment by its log:
/// the last transactions of the one before may be missing there.
const TIMELINE: &str = "left(pg_walfile_name(pg_current_wal_lsn()), 8)";

pub(super) async fn lease(tx: &Transaction<'_>, request: &PoolRequest) -> Result<PoolReply, Fault> {
    let (mut pool, now) = match locked(tx, &request.pool).await? {
        Some((state, now)) => (parsed(&state, &request.pool, now), now),
        None => enter(tx, &request.pool).await?,
    };
    let reply = pool.lease(now, request);
    let is_due = pool.save_due(now, request);
    let state = stored_json(&pool, "permit_pool_states.state")?;
    if is_due {
        save(tx, &request.pool, &state).await?;
    }
    let update = tx
        .prepare_cached("UPDATE permit_pool_states SET state = $2, leased_at = clock_timestamp(), lease = lease + 1 WHERE pool = $1")
        .await?;
    tx.execute(&update, &[&request.pool, &state]).await?;
    Ok(reply)
}

/// Makes a state durable with this transaction, also where transactions are not by default.
async fn save(tx: &Transaction<'_>, pool: &str, state: &str) -> Result<(), Fault> {
    let wait =
        "SELECT set_config('synchronous_commit', 'local', true) WHERE current_setting('synchronous_commit') = 'off'";
    let wait = tx.prepare_cached(wait).await?;
    tx.query(&wait, &[]).await?;
    let save = format!(
        "INSERT INTO permit_pools (pool, state, timeline, saved_at) VALUES ($1, $2, {TIMELINE}, clock_timestamp())
         ON CONFLICT (pool) DO UPDATE SET state = excluded.state, timeline = excluded.timeline, saved_at = excluded.saved_at"
    );
    let save = tx.prepare_cached(&save).await?;
    tx.execute(&save, &[&pool, &state]).await?;
    Ok(())
}

pub(super) async fn changes(client: &Object, pool: &str) -> Result<Vec<Change>, Fault> {
    let select = client.prepare_cached("SELECT state FROM permit_pool_states WHERE pool = $1").await?;
    let Some(row) = client.query_opt(&select, &[&pool]).await? else { return Ok(Vec::new()) };
    let state: String = row.try_get(0)?;
    Ok(serde_json::from_str::<Pool>(&state).map_or_else(|_| Vec::new(), |pool| pool.changes().cloned().collect()))
}

pub(super) async fn holders(client: &Object, pool: &str) -> Result<Vec<PoolHolder>, Fault> {
    let select = format!("SELECT state, {CLOCK_MS} FROM permit_pool_states WHERE pool = $1");
    let select = client.prepare_cached(&select).await?;
    let Some(row) = client.query_opt(&select, &[&pool]).await? else { return Ok(Vec::new()) };
    let (state, now): (String, u64) = (row.try_get(0)?, clock(row.try_get(1)?));
    // What cannot be read is a pool without memory: nobody is known to hold anything.
    Ok(serde_json::from_str::<Pool>(&state).map_or_else(|_| Vec::new(), |mut pool| pool.holders(now)))
}

/// The state of a pool, which nobody else changes until the transaction ends, and the time since when.
async fn locked(tx: &Transaction<'_>, pool: &str) -> Result<Option<(String, u64)>, Fault> {
    // The clock is read above the lock: a statement of one level would have read it before it began to wait.
    let select = format!(
        "WITH locked AS MATERIALIZED (SELECT state FROM permit_pool_states WHERE pool = $1 FOR UPDATE)
         SELECT state, {CLOCK_MS} FROM locked"
    );
    let select = tx.prepare_cached(&select).await?;
    let Some(row) = tx.query_opt(&select, &[&pool]).await? else { return Ok(None) };
    Ok(Some((row.try_get(0)?, clock(row.try_get(1)?))))
}

/// Enters a pool that is not there, or waits for somebody else who does.
async fn enter(tx: &Transaction<'_>, name: &str) -> Result<(Pool, u64), Fault> {
    forget_unused(tx).await?;
    let insert = "INSERT INTO permit_pools (pool) VALUES ($1) ON CONFLICT DO NOTHING";
    let is_new = tx.execute(insert, &[&name]).await? > 0;
    let insert = "INSERT INTO permit_pool_states (pool, state) VALUES ($1, '') ON CONFLICT DO NOTHING";
    tx.execute(insert, &[&name]).await?;
    // Another transaction may have forgotten it in between. At the time 0, a pool would grant anything.
    let vanished = LedgerError::RowsAffected { action: "enter a pool of permits", expected: 1, found: 0 };
    let (state, now) = locked(tx, name).await?.ok_or(vanished)?;
    let pool = match is_new {
        true => Pool::default(),
        false if state.is_empty() => recovered(tx, name, now).await?,
        false => parsed(&state, name, now),
    };
    Ok((pool, now))
}

/// The pool whose state was lost in a crash, by its last durable state.
async fn recovered(tx: &Transaction<'_>, name: &str, now: u64) -> Result<Pool, Fault> {
    let select = format!("SELECT state FROM permit_pools WHERE pool = $1 AND timeline = {TIMELINE}");
    let row = tx.query_opt(&select, &[&name]).await?;
    let state: Option<String> = row.map(|row| row.try_get(0)).transpose()?.flatten();
    let Some(state) = state else { return Ok(parsed("", name, now)) };
    let pool = match serde_json::from_str::<Pool>(&state) {
        Ok(pool) => pool,
        Err(_) => return Ok(parsed(&state, name, now)),
    };
    tracing::warn!(
        pool = name,
        "the database has crashed; no more slots are granted than are filled until all who fill some have told"
    );
    Ok(pool.recovered(now))
}

/// Pools that nobody has used for a day. Both rows go, so that their return is not taken for a loss.
async fn forget_unused(tx: &Transaction<'_>) -> Result<(), Fault> {
    let delete = "WITH unused AS (
            SELECT pool FROM permit_pool_states WHERE leased_at < clock_timestamp() - interval '1 day' FOR UPDATE SKIP LOCKED
        ), states AS (
            DELETE FROM permit_pool_states WHERE pool IN (SELECT pool FROM unused)
        )
        DELETE FROM permit_pools WHERE pool IN (SELECT pool FROM unused)";
    tx.execute(delete, &[]).await?;
    let lost = "DELETE FROM permit_pools WHERE saved_at < clock_timestamp() - interval '1 day'
        AND NOT EXISTS (SELECT FROM permit_pool_states states WHERE states.pool = permit_pools.pool)";
    tx.execute(lost, &[]).await?;
    Ok(())
}

/// The pool of a state. One that is lost, or that another version wrote, is a pool without memory.
fn parsed(state: &str, pool: &str, now: u64) -> Pool {
    serde_json::from_str(state).unwrap_or_else(|error| {
        let lost =
            "what was granted in the last minute is not known: the database was replaced, or another version used it";
        tracing::warn!(pool, %error, "{lost}; nothing is granted until it has passed");
        Pool::without_memory(now)
    })
}
