//! Tokens, owners and their quotas.

use jiff::Timestamp;
use regatta_proto::{Digest, Money, OwnerName, SweepId, TokenId};
use rusqlite::{OptionalExtension, Row, Rows, Transaction, params};

use super::SqliteLedger;
use super::thread::Fault;
use crate::ledger::columns::{large, money, parsed, stored, stored_money, stored_time, time, unreadable};
use crate::ledger::identity::{OWNER_TOKENS_MAX, TOKENS_MAX};
use crate::ledger::{LedgerError, NewToken, OwnerRow, PageMark, Quota, StorageQuota, TokenRow};

impl SqliteLedger {
    pub(in crate::ledger) async fn create_token(&self, token: NewToken) -> Result<bool, LedgerError> {
        self.0.write("keep a token", move |tx| create(tx, &token)).await
    }

    pub(in crate::ledger) async fn tokens(&self, digest: Option<&Digest>) -> Result<Vec<TokenRow>, LedgerError> {
        let digest = digest.copied();
        self.0.read("read the tokens", move |tx| tokens(tx, digest)).await
    }

    pub(in crate::ledger) async fn tokens_after(
        &self,
        after: Option<&PageMark>,
        limit: u32,
    ) -> Result<Vec<TokenRow>, LedgerError> {
        let after = after.cloned();
        self.0.read("read the tokens", move |tx| tokens_after(tx, after.as_ref(), limit)).await
    }

    pub(in crate::ledger) async fn revoke_token(&self, id: &TokenId, at: Timestamp) -> Result<bool, LedgerError> {
        let id = id.clone();
        self.0
            .write("revoke a token", move |tx| {
                let revoked = tx.execute(
                    "UPDATE tokens SET revoked_at_ns = ifnull(revoked_at_ns, ?2) WHERE id = ?1",
                    params![id.as_str(), stored_time(at, "revoked_at")?],
                )?;
                Ok(revoked == 1)
            })
            .await
    }

    pub(in crate::ledger) async fn set_quota(
        &self,
        owner: &OwnerName,
        quota: Option<Quota>,
        storage: Option<StorageQuota>,
    ) -> Result<(), LedgerError> {
        let owner = owner.clone();
        self.0.write("set a quota", move |tx| set_quota(tx, &owner, quota, storage)).await
    }

    pub(in crate::ledger) async fn owners(&self) -> Result<Vec<OwnerRow>, LedgerError> {
        self.owners_after(None, u32::MAX).await
    }

    pub(in crate::ledger) async fn owners_after(
        &self,
        after: Option<&OwnerName>,
        limit: u32,
    ) -> Result<Vec<OwnerRow>, LedgerError> {
        let after = after.cloned();
        self.0.read("read the owners", move |tx| owners(tx, after.as_ref(), limit)).await
    }

    pub(in crate::ledger) async fn grant(
        &self,
        sweep: &SweepId,
        wanted: Money,
        quota: Quota,
    ) -> Result<(), LedgerError> {
        let sweep = sweep.clone();
        self.0.write("grant a sweep money", move |tx| grant(tx, &sweep, wanted, quota)).await
    }
}

fn create(tx: &Transaction<'_>, token: &NewToken) -> Result<bool, Fault> {
    let count: i64 = tx.query_row("SELECT count(*) FROM tokens", [], |row| row.get(0))?;
    if count >= TOKENS_MAX {
        return Err(LedgerError::TooManyTokens { limit: TOKENS_MAX }.into());
    }
    let of_owner = "SELECT count(*) FROM tokens
        WHERE owner = ?1 AND revoked_at_ns IS NULL AND (expires_at_ns IS NULL OR expires_at_ns > ?2)";
    let now = stored_time(token.created_at, "created_at")?;
    let count: i64 = tx.query_row(of_owner, params![token.owner.as_str(), now], |row| row.get(0))?;
    if count >= OWNER_TOKENS_MAX {
        return Err(LedgerError::TooManyTokensOf { owner: token.owner.clone(), limit: OWNER_TOKENS_MAX }.into());
    }
    let created = tx.execute(
        "INSERT INTO tokens (id, digest, owner, scopes, created_at_ns, created_by, expires_at_ns)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
        params![
            token.id.as_str(),
            token.digest.bytes(),
            token.owner.as_str(),
            token.scopes.to_string(),
            now,
            token.created_by.as_str(),
            token.expires_at.map(|at| stored_time(at, "expires_at")).transpose()?,
        ],
    )?;
    if created == 1 {
        set_quota(tx, &token.owner, token.quota, token.storage)?;
    }
    Ok(created == 1)
}

fn set_quota(
    tx: &Transaction<'_>,
    owner: &OwnerName,
    quota: Option<Quota>,
    storage: Option<StorageQuota>,
) -> Result<(), Fault> {
    if let Some(quota) = quota {
        tx.execute(
            "INSERT INTO owners (owner, budget, sessions) VALUES (?1, ?2, ?3)
             ON CONFLICT (owner) DO UPDATE SET budget = excluded.budget, sessions = excluded.sessions",
            params![
                owner.as_str(),
                stored_money(quota.budget, "budget")?,
                quota.sessions.map(|count| stored(count, "sessions")).transpose()?
            ],
        )?;
    }
    if let Some(StorageQuota { bytes }) = storage {
        tx.execute(
            "INSERT INTO owners (owner, stored_bytes_max) VALUES (?1, ?2)
             ON CONFLICT (owner) DO UPDATE SET stored_bytes_max = excluded.stored_bytes_max",
            params![owner.as_str(), bytes.map(|bytes| stored(bytes, "stored_bytes_max")).transpose()?],
        )?;
    }
    Ok(())
}

/// Selects the columns that [`token`] reads.
const SELECT_TOKENS: &str =
    "SELECT id, owner, scopes, created_at_ns, created_by, expires_at_ns, revoked_at_ns FROM tokens";

fn tokens(tx: &Transaction<'_>, digest: Option<Digest>) -> Result<Vec<TokenRow>, Fault> {
    let mut select =
        tx.prepare_cached(&format!("{SELECT_TOKENS} WHERE ?1 IS NULL OR digest = ?1 ORDER BY created_at_ns, id"))?;
    read(select.query([digest.map(|digest| *digest.bytes())])?)
}

fn tokens_after(tx: &Transaction<'_>, after: Option<&PageMark>, limit: u32) -> Result<Vec<TokenRow>, Fault> {
    let mut select = tx.prepare_cached(&format!(
        "{SELECT_TOKENS} WHERE ?1 IS NULL OR (created_at_ns, id) > (?1, ?2) ORDER BY created_at_ns, id LIMIT ?3"
    ))?;
    let created_at = after.map(|mark| stored_time(mark.created_at, "created_at")).transpose()?;
    read(select.query(params![created_at, after.map(|mark| &mark.id), limit])?)
}

fn read(mut rows: Rows<'_>) -> Result<Vec<TokenRow>, Fault> {
    let mut tokens = Vec::new();
    while let Some(row) = rows.next()? {
        tokens.push(token(row)?);
    }
    Ok(tokens)
}

fn token(row: &Row<'_>) -> Result<TokenRow, Fault> {
    let scopes: String = row.get(2)?;
    let moment = |column: usize, field| -> Result<Option<Timestamp>, Fault> {
        Ok(row.get::<_, Option<i64>>(column)?.map(|nanos| time(nanos, field)).transpose()?)
    };
    Ok(TokenRow {
        id: parsed(&row.get::<_, String>(0)?, "tokens.id")?,
        owner: parsed(&row.get::<_, String>(1)?, "tokens.owner")?,
        scopes: scopes.parse().map_err(|_| unreadable("tokens.scopes", &scopes))?,
        created_at: time(row.get(3)?, "created_at")?,
        created_by: parsed(&row.get::<_, String>(4)?, "tokens.created_by")?,
        expires_at: moment(5, "expires_at")?,
        revoked_at: moment(6, "revoked_at")?,
    })
}

fn owners(tx: &Transaction<'_>, after: Option<&OwnerName>, limit: u32) -> Result<Vec<OwnerRow>, Fault> {
    let mut select = tx.prepare_cached(
        "SELECT owner, budget, sessions, granted, granted_sessions, stored_bytes, stored_bytes_max FROM owners
         WHERE ?1 IS NULL OR owner > ?1 ORDER BY owner LIMIT ?2",
    )?;
    let mut rows = select.query(params![after.map(OwnerName::as_str), limit])?;
    let mut owners = Vec::new();
    while let Some(row) = rows.next()? {
        owners.push(OwnerRow {
            owner: parsed(&row.get::<_, String>(0)?, "owners.owner")?,
            quota: quota(row, 1)?,
            granted: Money(large(row.get(3)?, "granted")?),
            granted_sessions: large(row.get(4)?, "granted_sessions")?,
            stored_bytes: large(row.get(5)?, "stored_bytes")?,
            storage: storage_quota(row.get(6)?)?,
        });
    }
    Ok(owners)
}

/// Reads a quota from two columns, money and sessions, beginning at `first`.
fn quota(row: &Row<'_>, first: usize) -> Result<Quota, Fault> {
    let sessions: Option<i64> = row.get(first + 1)?;
    Ok(Quota {
        budget: money(row.get(first)?, "budget")?,
        sessions: sessions.map(|count| large(count, "sessions")).transpose()?,
    })
}

/// Reads a quota of stored bytes from its column.
pub(super) fn storage_quota(bytes: Option<i64>) -> Result<StorageQuota, LedgerError> {
    Ok(StorageQuota { bytes: bytes.map(|bytes| large(bytes, "stored_bytes_max")).transpose()? })
}

/// Charges a sweep's grant to its owner's quota, or fails.
pub(super) fn charge(
    tx: &Transaction<'_>,
    owner: &OwnerName,
    wanted: (Option<Money>, u64),
    given: Quota,
) -> Result<(), Fault> {
    tx.execute("INSERT INTO owners (owner) VALUES (?1) ON CONFLICT DO NOTHING", [owner.as_str()])?;
    let money = wanted.0.unwrap_or(Money::ZERO);
    let (granted, kept) = tx.query_row(
        // The sum saturates at the largest number that can be stored, so that an owner who has reached it is granted no less than before.
        "UPDATE owners SET granted = granted + min(?2, 9223372036854775807 - granted),
            granted_sessions = granted_sessions + min(?3, 9223372036854775807 - granted_sessions) WHERE owner = ?1
         RETURNING granted, granted_sessions, budget, sessions",
        params![owner.as_str(), stored(money.0, "granted")?, stored(wanted.1, "granted_sessions")?],
        |row| Ok(((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?), quota(row, 2))),
    )?;
    let granted = (Money(large(granted.0, "granted")?), large(granted.1, "granted_sessions")?);
    Ok(given.stricter(kept?).check(owner, wanted, granted)?)
}

/// Fails if [`charge`] would; changes nothing.
pub(super) fn check_charge(
    tx: &Transaction<'_>,
    owner: &OwnerName,
    wanted: (Option<Money>, u64),
    given: Quota,
) -> Result<(), Fault> {
    let select = "SELECT granted, granted_sessions, budget, sessions FROM owners WHERE owner = ?1";
    let found = tx
        .query_row(select, [owner.as_str()], |row| Ok(((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?), quota(row, 2))))
        .optional()?;
    let Some((granted, kept)) = found else { return Ok(()) };
    let granted: (u64, u64) = (large(granted.0, "granted")?, large(granted.1, "granted_sessions")?);
    let more = wanted.0.unwrap_or(Money::ZERO).0;
    let granted = (Money(granted.0.saturating_add(more)), granted.1.saturating_add(wanted.1));
    Ok(given.stricter(kept?).check(owner, wanted, granted)?)
}

fn grant(tx: &Transaction<'_>, sweep: &SweepId, wanted: Money, quota: Quota) -> Result<(), Fault> {
    let select = "SELECT owner, charged FROM sweeps WHERE id = ?1";
    let found: Option<(Option<String>, i64)> =
        tx.query_row(select, [sweep.as_str()], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let (owner, granted) = found.ok_or_else(|| LedgerError::UnknownSweep { sweep: sweep.clone() })?;
    let Some(owner) = owner else { return Ok(()) };
    let more = wanted.0.saturating_sub(large(granted, "granted")?);
    if more == 0 {
        return Ok(());
    }
    charge(tx, &parsed(&owner, "sweeps.owner")?, (Some(Money(more)), 0), quota)?;
    let update = "UPDATE sweeps SET charged = ?2 WHERE id = ?1";
    tx.execute(update, params![sweep.as_str(), stored(wanted.0, "granted")?])?;
    Ok(())
}
