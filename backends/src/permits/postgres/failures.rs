//! Requests that failed, one row for each way in which one did.

use deadpool_postgres::{Object, Transaction};
use regatta_proto::{Digest, Failing};

use super::super::{FAILURES_KEPT_MS, FAILURES_MAX};
use crate::ledger::postgres::pool::Fault;

pub(super) async fn count(tx: &Transaction<'_>, failing: &Failing) -> Result<u32, Fault> {
    let upsert = tx
        .prepare_cached(
            "INSERT INTO permit_failures AS known (fingerprint, class, count, last_at, number)
             VALUES ($1, $2, 1, clock_timestamp(), nextval('permit_failure_numbers'))
             ON CONFLICT (fingerprint, class) DO UPDATE SET
                 count = CASE WHEN known.last_at > clock_timestamp() - $3 * interval '1 millisecond' THEN known.count + 1 ELSE 1 END,
                 last_at = excluded.last_at,
                 number = excluded.number
             RETURNING count, number",
        )
        .await?;
    let row = tx
        .query_one(&upsert, &[&fingerprint(&failing.fingerprint), &failing.class.as_str(), &(FAILURES_KEPT_MS as f64)])
        .await?;
    let (count, number): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    let delete = tx.prepare_cached("DELETE FROM permit_failures WHERE number <= $1").await?;
    tx.execute(&delete, &[&(number - FAILURES_MAX as i64)]).await?;
    Ok(u32::try_from(count).unwrap_or(u32::MAX))
}

pub(super) async fn most(client: &Object, digest: &Digest) -> Result<u32, Fault> {
    let select = client
        .prepare_cached(
            "SELECT coalesce(max(count), 0) FROM permit_failures
             WHERE fingerprint = $1 AND last_at > clock_timestamp() - $2 * interval '1 millisecond'",
        )
        .await?;
    let count: i64 =
        client.query_one(&select, &[&fingerprint(digest), &(FAILURES_KEPT_MS as f64)]).await?.try_get(0)?;
    Ok(u32::try_from(count).unwrap_or(u32::MAX))
}

fn fingerprint(digest: &Digest) -> &[u8] {
    digest.bytes()
}
