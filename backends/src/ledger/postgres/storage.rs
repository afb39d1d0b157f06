//! Objects that people store, and their owners' charges.

use std::collections::{BTreeMap, BTreeSet};

use deadpool_postgres::{Object, Transaction};
use jiff::Timestamp;
use regatta_proto::OwnerName;

use super::identity::storage_quota;
use super::pool::{Fault, read, write};
use super::{PostgresLedger, column};
use crate::ledger::columns::{large, parsed, stored, stored_time, time};
use crate::ledger::storage::{charged_for, has_died};
use crate::ledger::{Credits, EndedUse, LedgerError, ObjectRow, ObjectState, ObjectUse, ObjectUses, StorageQuota};

impl PostgresLedger {
    pub(in crate::ledger) async fn begin_uses(&self, uses: ObjectUses) -> Result<Vec<String>, LedgerError> {
        write!(self.0, "charge for objects", tx => begin_uses(tx, &uses))
    }

    pub(in crate::ledger) async fn end_uses(
        &self,
        owner: &OwnerName,
        keys: &[String],
        succeeded: bool,
    ) -> Result<(), LedgerError> {
        write!(self.0, "note that objects are stored", tx => end_uses(tx, owner, keys, succeeded))
    }

    pub(in crate::ledger) async fn object_states(
        &self,
        keys: &[String],
    ) -> Result<BTreeMap<String, ObjectState>, LedgerError> {
        read!(self.0, "read the states of objects", client => states(client, keys))
    }

    pub(in crate::ledger) async fn idle_objects(
        &self,
        before: Timestamp,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<ObjectRow>, LedgerError> {
        read!(self.0, "read idle objects", client => idle(client, before, after, limit))
    }

    pub(in crate::ledger) async fn release_uses(&self, uses: Vec<EndedUse>) -> Result<Credits, LedgerError> {
        write!(self.0, "credit owners", tx => release(tx, &uses))
    }

    pub(in crate::ledger) async fn begin_object_removal(
        &self,
        objects: &BTreeMap<String, Timestamp>,
        at: Timestamp,
    ) -> Result<Vec<String>, LedgerError> {
        write!(self.0, "begin to remove objects", tx => begin_object_removal(tx, objects, at))
    }

    pub(in crate::ledger) async fn finish_object_removal(
        &self,
        keys: &[String],
        at: Timestamp,
    ) -> Result<Credits, LedgerError> {
        write!(self.0, "forget removed objects", tx => finish_object_removal(tx, keys, at))
    }
}

/// A row of an object, locked.
struct Locked {
    key: String,
    bytes: u64,
    used_at: i64,
    removing_at: Option<i64>,
}

/// Locks those of the objects that there are, by key: every call begins so, and so none waits for another that waits for it.
async fn lock(tx: &Transaction<'_>, keys: &[&str]) -> Result<Vec<Locked>, Fault> {
    let select = tx
        .prepare_cached(
            "SELECT key, bytes, used_at_ns, removing_at_ns FROM stored_objects WHERE key = ANY ($1) ORDER BY key FOR UPDATE",
        )
        .await?;
    let rows = tx.query(&select, &[&keys]).await?;
    rows.iter()
        .map(|row| {
            let (key, bytes) = (row.try_get(0)?, large(row.try_get(1)?, "bytes")?);
            Ok(Locked { key, bytes, used_at: row.try_get(2)?, removing_at: row.try_get(3)? })
        })
        .collect()
}

async fn touch(tx: &Transaction<'_>, keys: &[&str], at: i64) -> Result<(), Fault> {
    let touch = tx
        .prepare_cached(
            "UPDATE stored_objects SET used_at_ns = greatest(used_at_ns + 1, $2), removing_at_ns = NULL WHERE key = ANY ($1)",
        )
        .await?;
    tx.execute(&touch, &[&keys, &at]).await?;
    Ok(())
}

async fn begin_uses(tx: &Transaction<'_>, uses: &ObjectUses) -> Result<Vec<String>, Fault> {
    let at = stored_time(uses.at, "used_at")?;
    if let Some(owner) = &uses.owner {
        tx.execute("INSERT INTO owners (owner) VALUES ($1) ON CONFLICT DO NOTHING", &[&owner.as_str()]).await?;
    }
    let keys: Vec<&str> = uses.objects.keys().map(String::as_str).collect();
    let known = lock(tx, &keys).await?;
    if let Some(removing) =
        known.iter().find(|object| object.removing_at.is_some_and(|since| !(uses.is_upload && has_died(since, at))))
    {
        return Err(LedgerError::ObjectRemoved { key: removing.key.clone() }.into());
    }
    touch(tx, &column(&known, |object| object.key.as_str()), at).await?;
    let mut sizes: BTreeMap<&str, u64> = known.iter().map(|object| (object.key.as_str(), object.bytes)).collect();
    let mut unknown = Vec::new();
    let mut new = Vec::new();
    for (key, size) in uses.objects.iter().filter(|(key, _)| !sizes.contains_key(key.as_str())) {
        match size {
            Some(bytes) => new.push((key.as_str(), *bytes)),
            None => unknown.push(key.clone()),
        }
    }
    add(tx, &new, at).await?;
    sizes.extend(new);
    if let Some(owner) = &uses.owner {
        let more = add_uses(tx, owner, &sizes, at).await?;
        if more > 0 {
            charge(tx, owner, more, uses.quota).await?;
        }
    }
    Ok(unknown)
}

/// Adds objects. Another transaction may add the same at this moment: then this one waits for it, and uses its row.
async fn add(tx: &Transaction<'_>, new: &[(&str, u64)], at: i64) -> Result<(), Fault> {
    if new.is_empty() {
        return Ok(());
    }
    let insert = tx
        .prepare_cached(
            "INSERT INTO stored_objects (key, bytes, used_at_ns)
             SELECT key, bytes, $3::bigint FROM UNNEST($1::text[], $2::bigint[]) AS u (key, bytes)
             ON CONFLICT (key) DO UPDATE SET used_at_ns = greatest(stored_objects.used_at_ns + 1, $3)",
        )
        .await?;
    let bytes = new.iter().map(|(_, bytes)| stored(*bytes, "bytes")).collect::<Result<Vec<_>, _>>()?;
    tx.execute(&insert, &[&column(new, |(key, _)| *key), &bytes, &at]).await?;
    Ok(())
}

/// Adds an owner's uses of objects of these sizes, whose rows are locked, and returns the bytes to be charged for those that are new.
async fn add_uses(tx: &Transaction<'_>, owner: &OwnerName, sizes: &BTreeMap<&str, u64>, at: i64) -> Result<u64, Fault> {
    let touch = tx
        .prepare_cached(
            "UPDATE stored_uses SET used_at_ns = greatest(used_at_ns + 1, $3),
                 pending = CASE WHEN pending > 0 THEN pending + 1 ELSE 0 END
             WHERE owner = $2 AND key = ANY ($1) RETURNING key",
        )
        .await?;
    let keys: Vec<&str> = sizes.keys().copied().collect();
    let there = tx.query(&touch, &[&keys, &owner.as_str(), &at]).await?;
    let there = there.iter().map(|row| row.try_get(0)).collect::<Result<BTreeSet<&str>, _>>()?;
    let new: Vec<(&str, u64)> = sizes
        .iter()
        .filter(|(key, _)| !there.contains(**key))
        .map(|(key, bytes)| (*key, charged_for(*bytes)))
        .collect();
    let insert = tx
        .prepare_cached(
            "INSERT INTO stored_uses (key, owner, bytes, used_at_ns, pending)
             SELECT key, $3::text, bytes, $4::bigint, 1 FROM UNNEST($1::text[], $2::bigint[]) AS u (key, bytes)",
        )
        .await?;
    let bytes = new.iter().map(|(_, bytes)| stored(*bytes, "bytes")).collect::<Result<Vec<_>, _>>()?;
    tx.execute(&insert, &[&column(&new, |(key, _)| *key), &bytes, &owner.as_str(), &at]).await?;
    Ok(new.iter().map(|(_, bytes)| bytes).sum())
}

/// Charges an owner for more bytes, or fails. The owner's row stays locked until the end of the transaction.
async fn charge(tx: &Transaction<'_>, owner: &OwnerName, more: u64, given: StorageQuota) -> Result<(), Fault> {
    let update = tx
        .prepare_cached(
            "UPDATE owners SET stored_bytes = stored_bytes + $2 WHERE owner = $1 RETURNING stored_bytes, stored_bytes_max",
        )
        .await?;
    let row = tx.query_one(&update, &[&owner.as_str(), &stored(more, "stored_bytes")?]).await?;
    Ok(given.stricter(storage_quota(row.try_get(1)?)?).check(owner, more, large(row.try_get(0)?, "stored_bytes")?)?)
}

async fn credit(tx: &Transaction<'_>, credits: &Credits) -> Result<(), Fault> {
    let update = tx.prepare_cached("UPDATE owners SET stored_bytes = stored_bytes - $2 WHERE owner = $1").await?;
    for (owner, bytes) in credits {
        tx.execute(&update, &[&owner.as_str(), &stored(*bytes, "stored_bytes")?]).await?;
    }
    Ok(())
}

async fn end_uses(tx: &Transaction<'_>, owner: &OwnerName, keys: &[String], succeeded: bool) -> Result<(), Fault> {
    lock(tx, &column(keys, String::as_str)).await?;
    if succeeded {
        let settle = tx
            .prepare_cached("UPDATE stored_uses SET pending = 0 WHERE owner = $2 AND key = ANY ($1) AND pending > 0")
            .await?;
        tx.execute(&settle, &[&keys, &owner.as_str()]).await?;
        return Ok(());
    }
    let end = tx
        .prepare_cached(
            "UPDATE stored_uses SET pending = pending - 1 WHERE owner = $2 AND key = ANY ($1) AND pending > 0
             RETURNING key, pending",
        )
        .await?;
    let ended = tx.query(&end, &[&keys, &owner.as_str()]).await?;
    let mut last: Vec<&str> = Vec::new();
    for row in &ended {
        if row.try_get::<_, i64>(1)? == 0 {
            last.push(row.try_get(0)?);
        }
    }
    let remove =
        tx.prepare_cached("DELETE FROM stored_uses WHERE owner = $2 AND key = ANY ($1) RETURNING bytes").await?;
    let mut less = 0_u64;
    for row in tx.query(&remove, &[&last, &owner.as_str()]).await? {
        less += large(row.try_get(0)?, "bytes")?;
    }
    credit(tx, &Credits::from([(owner.clone(), less)])).await
}

async fn states(client: &Object, keys: &[String]) -> Result<BTreeMap<String, ObjectState>, Fault> {
    let select =
        client.prepare_cached("SELECT key, removing_at_ns IS NULL FROM stored_objects WHERE key = ANY ($1)").await?;
    let rows = client.query(&select, &[&keys]).await?;
    rows.iter()
        .map(|row| {
            let state = if row.try_get(1)? { ObjectState::Stored } else { ObjectState::Removing };
            Ok((row.try_get(0)?, state))
        })
        .collect()
}

async fn idle(client: &Object, before: Timestamp, after: Option<&str>, limit: u32) -> Result<Vec<ObjectRow>, Fault> {
    let select = client
        .prepare_cached(
            "SELECT o.key, o.bytes, o.used_at_ns, u.owner, u.bytes, u.used_at_ns
             FROM (SELECT key, bytes, used_at_ns FROM stored_objects o
                   WHERE ($2::text IS NULL OR key > $2) AND (used_at_ns <= $1 OR EXISTS (
                       SELECT 1 FROM stored_uses u WHERE u.key = o.key AND u.used_at_ns <= $1))
                   ORDER BY key LIMIT $3) o
             LEFT JOIN stored_uses u ON u.key = o.key ORDER BY o.key, u.owner COLLATE \"C\"",
        )
        .await?;
    let before = stored_time(before, "before")?;
    let mut objects: Vec<ObjectRow> = Vec::new();
    // One statement, so that a row and its uses are of one moment.
    for row in client.query(&select, &[&before, &after, &i64::from(limit)]).await? {
        let key: &str = row.try_get(0)?;
        if objects.last().is_none_or(|last| last.key != key) {
            let (bytes, used_at) = (large(row.try_get(1)?, "bytes")?, time(row.try_get(2)?, "used_at")?);
            objects.push(ObjectRow { key: key.to_owned(), bytes, used_at, uses: Vec::new() });
        }
        if let (Some(owner), Some(object)) = (row.try_get::<_, Option<&str>>(3)?, objects.last_mut()) {
            object.uses.push(ObjectUse {
                owner: parsed(owner, "stored_uses.owner")?,
                bytes: large(row.try_get(4)?, "bytes")?,
                used_at: time(row.try_get(5)?, "used_at")?,
            });
        }
    }
    Ok(objects)
}

async fn release(tx: &Transaction<'_>, uses: &[EndedUse]) -> Result<Credits, Fault> {
    lock(tx, &column(uses, |ended| ended.key.as_str())).await?;
    let remove = tx
        .prepare_cached(
            "DELETE FROM stored_uses s USING UNNEST($1::text[], $2::text[], $3::bigint[]) AS u (key, owner, used_at_ns)
             WHERE s.key = u.key AND s.owner = u.owner AND s.used_at_ns = u.used_at_ns RETURNING s.owner, s.bytes",
        )
        .await?;
    let seen = uses.iter().map(|ended| stored_time(ended.used_at, "used_at")).collect::<Result<Vec<_>, _>>()?;
    let (keys, owners) = (column(uses, |ended| ended.key.as_str()), column(uses, |ended| ended.owner.as_str()));
    let removed = tx.query(&remove, &[&keys, &owners, &seen]).await?;
    credited(tx, &removed).await
}

/// Credits the owners of uses that were removed, each row of which is an owner and its bytes.
async fn credited(tx: &Transaction<'_>, removed: &[tokio_postgres::Row]) -> Result<Credits, Fault> {
    let mut credits = Credits::new();
    for row in removed {
        let owner: OwnerName = parsed(row.try_get(0)?, "stored_uses.owner")?;
        *credits.entry(owner).or_default() += large(row.try_get(1)?, "bytes")?;
    }
    credit(tx, &credits).await?;
    Ok(credits)
}

async fn begin_object_removal(
    tx: &Transaction<'_>,
    objects: &BTreeMap<String, Timestamp>,
    at: Timestamp,
) -> Result<Vec<String>, Fault> {
    let at = stored_time(at, "removing_at")?;
    let keys: Vec<&str> = objects.keys().map(String::as_str).collect();
    let mut marked = Vec::new();
    for object in lock(tx, &keys).await? {
        let seen = objects.get(&object.key).map(|used_at| stored_time(*used_at, "used_at")).transpose()?;
        if seen == Some(object.used_at) && object.removing_at.is_none_or(|since| has_died(since, at)) {
            marked.push(object.key);
        }
    }
    let mark = tx.prepare_cached("UPDATE stored_objects SET removing_at_ns = $2 WHERE key = ANY ($1)").await?;
    tx.execute(&mark, &[&marked, &at]).await?;
    Ok(marked)
}

async fn finish_object_removal(tx: &Transaction<'_>, keys: &[String], at: Timestamp) -> Result<Credits, Fault> {
    let at = stored_time(at, "removing_at")?;
    let locked = lock(tx, &column(keys, String::as_str)).await?;
    let marked: Vec<&str> =
        locked.iter().filter(|object| object.removing_at == Some(at)).map(|object| object.key.as_str()).collect();
    let remove_uses = tx.prepare_cached("DELETE FROM stored_uses WHERE key = ANY ($1) RETURNING owner, bytes").await?;
    let removed = tx.query(&remove_uses, &[&marked]).await?;
    let remove = tx.prepare_cached("DELETE FROM stored_objects WHERE key = ANY ($1)").await?;
    tx.execute(&remove, &[&marked]).await?;
    credited(tx, &removed).await
}

/// Notes that a sweep refers to its inputs, or fails if one of them is not there any more.
pub(super) async fn refer(tx: &Transaction<'_>, inputs: &BTreeSet<String>, at: Timestamp) -> Result<(), Fault> {
    if inputs.is_empty() {
        return Ok(());
    }
    let keys: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let locked = lock(tx, &keys).await?;
    let there: BTreeSet<&str> =
        locked.iter().filter(|object| object.removing_at.is_none()).map(|object| object.key.as_str()).collect();
    if let Some(key) = keys.iter().find(|key| !there.contains(*key)) {
        return Err(LedgerError::ObjectRemoved { key: (*key).to_owned() }.into());
    }
    touch(tx, &keys, stored_time(at, "used_at")?).await
}
