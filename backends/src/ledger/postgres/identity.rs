//! Tokens, owners and their quotas.

use deadpool_postgres::{GenericClient, Object, Transaction};
use jiff::Timestamp;
use regatta_proto::{Digest, Money, OwnerName, SweepId, TokenId};
use tokio_postgres::Row;

use super::PostgresLedger;
use super::pool::{Fault, read, write};
use crate::ledger::columns::{large, money, parsed, stored, stored_money, stored_time, time, unreadable};
use crate::ledger::identity::{OWNER_TOKENS_MAX, TOKENS_MAX};
use crate::ledger::{LedgerError, NewToken, OwnerRow, PageMark, Quota, StorageQuota, TokenRow};

impl PostgresLedger {
    pub(in crate::ledger) async fn create_token(&self, token: NewToken) -> Result<bool, LedgerError> {
        write!(self.0, "keep a token", tx => create(tx, &token))
    }

    pub(in crate::ledger) async fn tokens(&self, digest: Option<&Digest>) -> Result<Vec<TokenRow>, LedgerError> {
        read!(self.0, "read the tokens", client => tokens(client, digest))
    }

    pub(in crate::ledger) async fn tokens_after(
        &self,
        after: Option<&PageMark>,
        limit: u32,
    ) -> Result<Vec<TokenRow>, LedgerError> {
        read!(self.0, "read the tokens", client => tokens_after(client, after, limit))
    }

    pub(in crate::ledger) async fn revoke_token(&self, id: &TokenId, at: Timestamp) -> Result<bool, LedgerError> {
        write!(self.0, "revoke a token", tx => revoke(tx, id, at))
    }

    pub(in crate::ledger) async fn set_quota(
        &self,
        owner: &OwnerName,
        quota: Option<Quota>,
        storage: Option<StorageQuota>,
    ) -> Result<(), LedgerError> {
        write!(self.0, "set a quota", tx => set_quota(tx, owner, quota, storage))
    }

    pub(in crate::ledger) async fn owners(&self) -> Result<Vec<OwnerRow>, LedgerError> {
        self.owners_after(None, u32::MAX).await
    }

    pub(in crate::ledger) async fn owners_after(
        &self,
        after: Option<&OwnerName>,
        limit: u32,
    ) -> Result<Vec<OwnerRow>, LedgerError> {
        read!(self.0, "read the owners", client => owners(client, after, limit))
    }

    pub(in crate::ledger) async fn grant(
        &self,
        sweep: &SweepId,
        wanted: Money,
        quota: Quota,
    ) -> Result<(), LedgerError> {
        write!(self.0, "grant a sweep money", tx => grant(tx, sweep, wanted, quota))
    }
}

async fn create(tx: &Transaction<'_>, token: &NewToken) -> Result<bool, Fault> {
    let count: i64 = tx.query_one("SELECT count(*) FROM tokens", &[]).await?.try_get(0)?;
    if count >= TOKENS_MAX {
        return Err(LedgerError::TooManyTokens { limit: TOKENS_MAX }.into());
    }
    let of_owner = "SELECT count(*) FROM tokens
        WHERE owner = $1 AND revoked_at_ns IS NULL AND (expires_at_ns IS NULL OR expires_at_ns > $2)";
    let now = stored_time(token.created_at, "created_at")?;
    let count: i64 = tx.query_one(of_owner, &[&token.owner.as_str(), &now]).await?.try_get(0)?;
    if count >= OWNER_TOKENS_MAX {
        return Err(LedgerError::TooManyTokensOf { owner: token.owner.clone(), limit: OWNER_TOKENS_MAX }.into());
    }
    let created = tx
        .execute(
            "INSERT INTO tokens (id, digest, owner, scopes, created_at_ns, created_by, expires_at_ns)
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
            &[
                &token.id.as_str(),
                &token.digest.bytes().as_slice(),
                &token.owner.as_str(),
                &token.scopes.to_string(),
                &now,
                &token.created_by.as_str(),
                &token.expires_at.map(|at| stored_time(at, "expires_at")).transpose()?,
            ],
        )
        .await?;
    if created == 1 {
        set_quota(tx, &token.owner, token.quota, token.storage).await?;
    }
    Ok(created == 1)
}

/// Selects the columns that [`token`] reads.
const SELECT_TOKENS: &str =
    "SELECT id, owner, scopes, created_at_ns, created_by, expires_at_ns, revoked_at_ns FROM tokens";

async fn tokens(client: &Object, digest: Option<&Digest>) -> Result<Vec<TokenRow>, Fault> {
    let select = client
        .prepare_cached(&format!(
            "{SELECT_TOKENS} WHERE $1::bytea IS NULL OR digest = $1 ORDER BY created_at_ns, id COLLATE \"C\""
        ))
        .await?;
    let digest = digest.map(|digest| digest.bytes().as_slice());
    client.query(&select, &[&digest]).await?.iter().map(token).collect()
}

async fn tokens_after(client: &Object, after: Option<&PageMark>, limit: u32) -> Result<Vec<TokenRow>, Fault> {
    let select = client
        .prepare_cached(&format!(
            "{SELECT_TOKENS} WHERE $1::bigint IS NULL OR (created_at_ns, id COLLATE \"C\") > ($1, $2::text)
             ORDER BY created_at_ns, id COLLATE \"C\" LIMIT $3"
        ))
        .await?;
    let created_at = after.map(|mark| stored_time(mark.created_at, "created_at")).transpose()?;
    let id = after.map(|mark| mark.id.as_str());
    client.query(&select, &[&created_at, &id, &i64::from(limit)]).await?.iter().map(token).collect()
}

fn token(row: &Row) -> Result<TokenRow, Fault> {
    let scopes: &str = row.try_get(2)?;
    let moment = |column: usize, field| -> Result<Option<Timestamp>, Fault> {
        Ok(row.try_get::<_, Option<i64>>(column)?.map(|nanos| time(nanos, field)).transpose()?)
    };
    Ok(TokenRow {
        id: parsed(row.try_get(0)?, "tokens.id")?,
        owner: parsed(row.try_get(1)?, "tokens.owner")?,
        scopes: scopes.parse().map_err(|_| unreadable("tokens.scopes", scopes))?,
        created_at: time(row.try_get(3)?, "created_at")?,
        created_by: parsed(row.try_get(4)?, "tokens.created_by")?,
        expires_at: moment(5, "expires_at")?,
        revoked_at: moment(6, "revoked_at")?,
    })
}

async fn revoke(tx: &Transaction<'_>, id: &TokenId, at: Timestamp) -> Result<bool, Fault> {
    let update = "UPDATE tokens SET revoked_at_ns = coalesce(revoked_at_ns, $2) WHERE id = $1";
    Ok(tx.execute(update, &[&id.as_str(), &stored_time(at, "revoked_at")?]).await? == 1)
}

async fn set_quota(
    tx: &Transaction<'_>,
    owner: &OwnerName,
    quota: Option<Quota>,
    storage: Option<StorageQuota>,
) -> Result<(), Fault> {
    if let Some(quota) = quota {
        let insert = "INSERT INTO owners (owner, budget, sessions) VALUES ($1, $2, $3)
             ON CONFLICT (owner) DO UPDATE SET budget = excluded.budget, sessions = excluded.sessions";
        let budget = stored_money(quota.budget, "budget")?;
        let sessions = quota.sessions.map(|count| stored(count, "sessions")).transpose()?;
        tx.execute(insert, &[&owner.as_str(), &budget, &sessions]).await?;
    }
    if let Some(StorageQuota { bytes }) = storage {
        let insert = "INSERT INTO owners (owner, stored_bytes_max) VALUES ($1, $2)
             ON CONFLICT (owner) DO UPDATE SET stored_bytes_max = excluded.stored_bytes_max";
        let bytes = bytes.map(|bytes| stored(bytes, "stored_bytes_max")).transpose()?;
        tx.execute(insert, &[&owner.as_str(), &bytes]).await?;
    }
    Ok(())
}

async fn owners(client: &Object, after: Option<&OwnerName>, limit: u32) -> Result<Vec<OwnerRow>, Fault> {
    let select = client
        .prepare_cached(
            "SELECT owner, budget, sessions, granted, granted_sessions, stored_bytes, stored_bytes_max FROM owners
             WHERE $1::text IS NULL OR owner COLLATE \"C\" > $1 ORDER BY owner COLLATE \"C\" LIMIT $2",
        )
        .await?;
    let rows = client.query(&select, &[&after.map(OwnerName::as_str), &i64::from(limit)]).await?;
    rows.iter()
        .map(|row| {
            Ok(OwnerRow {
                owner: parsed(row.try_get(0)?, "owners.owner")?,
                quota: quota(row, 1)?,
                granted: Money(large(row.try_get(3)?, "granted")?),
                granted_sessions: large(row.try_get(4)?, "granted_sessions")?,
                stored_bytes: large(row.try_get(5)?, "stored_bytes")?,
                storage: storage_quota(row.try_get(6)?)?,
            })
        })
        .collect()
}

/// Reads a quota from two columns, money and sessions, beginning at `first`.
fn quota(row: &Row, first: usize) -> Result<Quota, Fault> {
    let sessions: Option<i64> = row.try_get(first + 1)?;
    Ok(Quota {
        budget: money(row.try_get(first)?, "budget")?,
        sessions: sessions.map(|count| large(count, "sessions")).transpose()?,
    })
}

/// Reads a quota of stored bytes from its column.
pub(super) fn storage_quota(bytes: Option<i64>) -> Result<StorageQuota, LedgerError> {
    Ok(StorageQuota { bytes: bytes.map(|bytes| large(bytes, "stored_bytes_max")).transpose()? })
}

/// Charges a sweep's grant to its owner's quota, or fails. The owner's row stays locked until the end of the transaction.
pub(super) async fn charge(
    tx: &Transaction<'_>,
    owner: &OwnerName,
    wanted: (Option<Money>, u64),
    given: Quota,
) -> Result<(), Fault> {
    tx.execute("INSERT INTO owners (owner) VALUES ($1) ON CONFLICT DO NOTHING", &[&owner.as_str()]).await?;
    let update = tx
        .prepare_cached(
            // The sum saturates at the largest number that can be stored, so that an owner who has reached it is granted no less than
            // before.
            "UPDATE owners SET granted = granted + least($2, 9223372036854775807 - granted),
                granted_sessions = granted_sessions + least($3, 9223372036854775807 - granted_sessions) WHERE owner = $1
             RETURNING granted, granted_sessions, budget, sessions",
        )
        .await?;
    let more = stored(wanted.0.unwrap_or(Money::ZERO).0, "granted")?;
    let row = tx.query_one(&update, &[&owner.as_str(), &more, &stored(wanted.1, "granted_sessions")?]).await?;
    let granted = (Money(large(row.try_get(0)?, "granted")?), large(row.try_get(1)?, "granted_sessions")?);
    Ok(given.stricter(quota(&row, 2)?).check(owner, wanted, granted)?)
}

/// Fails if [`charge`] would; changes nothing.
pub(super) async fn check_charge(
    client: &impl GenericClient,
    owner: &OwnerName,
    wanted: (Option<Money>, u64),
    given: Quota,
) -> Result<(), Fault> {
    let select = "SELECT granted, granted_sessions, budget, sessions FROM owners WHERE owner = $1";
    let Some(row) = client.query_opt(select, &[&owner.as_str()]).await? else { return Ok(()) };
    let granted: (u64, u64) = (large(row.try_get(0)?, "granted")?, large(row.try_get(1)?, "granted_sessions")?);
    let more = wanted.0.unwrap_or(Money::ZERO).0;
    let granted = (Money(granted.0.saturating_add(more)), granted.1.saturating_add(wanted.1));
    Ok(given.stricter(quota(&row, 2)?).check(owner, wanted, granted)?)
}

async fn grant(tx: &Transaction<'_>, sweep: &SweepId, wanted: Money, quota: Quota) -> Result<(), Fault> {
    // Locked, so that the second of two concurrent calls sees the grant of the first.
    let select = "SELECT owner, charged FROM sweeps WHERE id = $1 FOR UPDATE";
    let row = tx.query_opt(select, &[&sweep.as_str()]).await?;
    let row = row.ok_or_else(|| LedgerError::UnknownSweep { sweep: sweep.clone() })?;
    let Some(owner) = row.try_get::<_, Option<&str>>(0)? else { return Ok(()) };
    let more = wanted.0.saturating_sub(large(row.try_get(1)?, "granted")?);
    if more == 0 {
        return Ok(());
    }
    charge(tx, &parsed(owner, "sweeps.owner")?, (Some(Money(more)), 0), quota).await?;
    let update = "UPDATE sweeps SET charged = $2 WHERE id = $1";
    tx.execute(update, &[&sweep.as_str(), &stored(wanted.0, "granted")?]).await?;
    Ok(())
}
