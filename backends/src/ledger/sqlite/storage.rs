//! Objects that people store, and their owners' charges.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use regatta_proto::OwnerName;
use rusqlite::{OptionalExtension, Transaction, params};

use super::SqliteLedger;
use super::identity::storage_quota;
use super::thread::Fault;
use crate::ledger::columns::{large, parsed, stored, stored_time, time};
use crate::ledger::storage::{charged_for, has_died};
use crate::ledger::{Credits, EndedUse, LedgerError, ObjectRow, ObjectState, ObjectUse, ObjectUses, StorageQuota};

impl SqliteLedger {
    pub(in crate::ledger) async fn begin_uses(&self, uses: ObjectUses) -> Result<Vec<String>, LedgerError> {
        self.0.write("charge for objects", move |tx| begin_uses(tx, &uses)).await
    }

    pub(in crate::ledger) async fn end_uses(
        &self,
        owner: &OwnerName,
        keys: &[String],
        succeeded: bool,
    ) -> Result<(), LedgerError> {
        let (owner, keys) = (owner.clone(), keys.to_vec());
        self.0.write("note that objects are stored", move |tx| end_uses(tx, &owner, &keys, succeeded)).await
    }

    pub(in crate::ledger) async fn object_states(
        &self,
        keys: &[String],
    ) -> Result<BTreeMap<String, ObjectState>, LedgerError> {
        let keys = keys.to_vec();
        self.0.read("read the states of objects", move |tx| states(tx, &keys)).await
    }

    pub(in crate::ledger) async fn idle_objects(
        &self,
        before: Timestamp,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<ObjectRow>, LedgerError> {
        // Every key is greater than the empty text.
        let after = after.map(str::to_owned).unwrap_or_default();
        self.0.read("read idle objects", move |tx| idle(tx, before, &after, limit)).await
    }

    pub(in crate::ledger) async fn release_uses(&self, uses: Vec<EndedUse>) -> Result<Credits, LedgerError> {
        self.0.write("credit owners", move |tx| release(tx, &uses)).await
    }

    pub(in crate::ledger) async fn begin_object_removal(
        &self,
        objects: &BTreeMap<String, Timestamp>,
        at: Timestamp,
    ) -> Result<Vec<String>, LedgerError> {
        let objects = objects.clone();
        self.0.write("begin to remove objects", move |tx| begin_object_removal(tx, &objects, at)).await
    }

    pub(in crate::ledger) async fn finish_object_removal(
        &self,
        keys: &[String],
        at: Timestamp,
    ) -> Result<Credits, LedgerError> {
        let keys = keys.to_vec();
        self.0.write("forget removed objects", move |tx| finish_object_removal(tx, &keys, at)).await
    }
}

fn begin_uses(tx: &Transaction<'_>, uses: &ObjectUses) -> Result<Vec<String>, Fault> {
    let at = stored_time(uses.at, "used_at")?;
    if let Some(owner) = &uses.owner {
        tx.execute("INSERT INTO owners (owner) VALUES (?1) ON CONFLICT DO NOTHING", [owner.as_str()])?;
    }
    let mut find = tx.prepare_cached("SELECT bytes, removing_at_ns FROM stored_objects WHERE key = ?1")?;
    let mut add = tx.prepare_cached("INSERT INTO stored_objects (key, bytes, used_at_ns) VALUES (?1, ?2, ?3)")?;
    let mut touch = tx.prepare_cached(
        "UPDATE stored_objects SET used_at_ns = max(used_at_ns + 1, ?2), removing_at_ns = NULL WHERE key = ?1",
    )?;
    let mut touch_use = tx.prepare_cached(
        "UPDATE stored_uses SET used_at_ns = max(used_at_ns + 1, ?3), pending = pending + (pending > 0)
         WHERE key = ?1 AND owner = ?2",
    )?;
    let mut add_use = tx.prepare_cached(
        "INSERT INTO stored_uses (key, owner, bytes, used_at_ns, pending) VALUES (?1, ?2, ?3, ?4, 1)",
    )?;
    let (mut unknown, mut more) = (Vec::new(), 0_u64);
    for (key, size) in &uses.objects {
        let found = find.query_row([key], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?)));
        let bytes = match (found.optional()?, size) {
            (Some((_, Some(since))), _) if !(uses.is_upload && has_died(since, at)) => {
                return Err(LedgerError::ObjectRemoved { key: key.clone() }.into());
            }
            (Some((bytes, _)), _) => {
                touch.execute(params![key, at])?;
                large(bytes, "bytes")?
            }
            (None, Some(bytes)) => {
                add.execute(params![key, stored(*bytes, "bytes")?, at])?;
                *bytes
            }
            (None, None) => {
                unknown.push(key.clone());
                continue;
            }
        };
        let Some(owner) = &uses.owner else { continue };
        if touch_use.execute(params![key, owner.as_str(), at])? == 0 {
            let charged = charged_for(bytes);
            add_use.execute(params![key, owner.as_str(), stored(charged, "bytes")?, at])?;
            more += charged;
        }
    }
    if let Some(owner) = uses.owner.as_ref().filter(|_| more > 0) {
        charge(tx, owner, more, uses.quota)?;
    }
    Ok(unknown)
}

/// Charges an owner for more bytes, or fails.
fn charge(tx: &Transaction<'_>, owner: &OwnerName, more: u64, given: StorageQuota) -> Result<(), Fault> {
    let (total, limit): (i64, Option<i64>) = tx.query_row(
        "UPDATE owners SET stored_bytes = stored_bytes + ?2 WHERE owner = ?1 RETURNING stored_bytes, stored_bytes_max",
        params![owner.as_str(), stored(more, "stored_bytes")?],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    Ok(given.stricter(storage_quota(limit)?).check(owner, more, large(total, "stored_bytes")?)?)
}

fn credit(tx: &Transaction<'_>, credits: &Credits) -> Result<(), Fault> {
    let mut update = tx.prepare_cached("UPDATE owners SET stored_bytes = stored_bytes - ?2 WHERE owner = ?1")?;
    for (owner, bytes) in credits {
        update.execute(params![owner.as_str(), stored(*bytes, "stored_bytes")?])?;
    }
    Ok(())
}

fn end_uses(tx: &Transaction<'_>, owner: &OwnerName, keys: &[String], succeeded: bool) -> Result<(), Fault> {
    let mut end = tx.prepare_cached(match succeeded {
        true => "UPDATE stored_uses SET pending = 0 WHERE key = ?1 AND owner = ?2 RETURNING pending, bytes",
        false => {
            "UPDATE stored_uses SET pending = pending - 1 WHERE key = ?1 AND owner = ?2 AND pending > 0
             RETURNING pending, bytes"
        }
    })?;
    let mut remove = tx.prepare_cached("DELETE FROM stored_uses WHERE key = ?1 AND owner = ?2")?;
    let mut less = 0_u64;
    for key in keys {
        let ended: Option<(i64, i64)> =
            end.query_row([key.as_str(), owner.as_str()], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        if let Some((0, bytes)) = ended
            && !succeeded
        {
            remove.execute([key.as_str(), owner.as_str()])?;
            less += large(bytes, "bytes")?;
        }
    }
    credit(tx, &Credits::from([(owner.clone(), less)]))
}

fn states(tx: &Transaction<'_>, keys: &[String]) -> Result<BTreeMap<String, ObjectState>, Fault> {
    let mut find = tx.prepare_cached("SELECT removing_at_ns IS NULL FROM stored_objects WHERE key = ?1")?;
    let mut states = BTreeMap::new();
    for key in keys {
        let is_there: Option<bool> = find.query_row([key], |row| row.get(0)).optional()?;
        if let Some(is_there) = is_there {
            let state = if is_there { ObjectState::Stored } else { ObjectState::Removing };
            states.insert(key.clone(), state);
        }
    }
    Ok(states)
}

fn idle(tx: &Transaction<'_>, before: Timestamp, after: &str, limit: u32) -> Result<Vec<ObjectRow>, Fault> {
    let mut select = tx.prepare_cached(
        "SELECT key, bytes, used_at_ns FROM stored_objects o
         WHERE key > ?2 AND (used_at_ns <= ?1 OR EXISTS (SELECT 1 FROM stored_uses WHERE key = o.key AND used_at_ns <= ?1))
         ORDER BY key LIMIT ?3",
    )?;
    let mut select_uses =
        tx.prepare_cached("SELECT owner, bytes, used_at_ns FROM stored_uses WHERE key = ?1 ORDER BY owner")?;
    let mut rows = select.query(params![stored_time(before, "before")?, after, limit])?;
    let mut objects = Vec::new();
    while let Some(row) = rows.next()? {
        let key: String = row.get(0)?;
        let mut uses = Vec::new();
        let mut found = select_uses.query([&key])?;
        while let Some(row) = found.next()? {
            uses.push(ObjectUse {
                owner: parsed(&row.get::<_, String>(0)?, "stored_uses.owner")?,
                bytes: large(row.get(1)?, "bytes")?,
                used_at: time(row.get(2)?, "used_at")?,
            });
        }
        objects.push(ObjectRow {
            key,
            bytes: large(row.get(1)?, "bytes")?,
            used_at: time(row.get(2)?, "used_at")?,
            uses,
        });
    }
    Ok(objects)
}

fn release(tx: &Transaction<'_>, uses: &[EndedUse]) -> Result<Credits, Fault> {
    let mut remove =
        tx.prepare_cached("DELETE FROM stored_uses WHERE key = ?1 AND owner = ?2 AND used_at_ns = ?3 RETURNING bytes")?;
    let mut credits = Credits::new();
    for EndedUse { key, owner, used_at } in uses {
        let seen = stored_time(*used_at, "used_at")?;
        let bytes: Option<i64> = remove.query_row(params![key, owner.as_str(), seen], |row| row.get(0)).optional()?;
        if let Some(bytes) = bytes {
            *credits.entry(owner.clone()).or_default() += large(bytes, "bytes")?;
        }
    }
    credit(tx, &credits)?;
    Ok(credits)
}

fn begin_object_removal(
    tx: &Transaction<'_>,
    objects: &BTreeMap<String, Timestamp>,
    at: Timestamp,
) -> Result<Vec<String>, Fault> {
    let at = stored_time(at, "removing_at")?;
    let mut find = tx.prepare_cached("SELECT removing_at_ns FROM stored_objects WHERE key = ?1 AND used_at_ns = ?2")?;
    let mut mark = tx.prepare_cached("UPDATE stored_objects SET removing_at_ns = ?2 WHERE key = ?1")?;
    let mut marked = Vec::new();
    for (key, used_at) in objects {
        let seen = stored_time(*used_at, "used_at")?;
        let found: Option<Option<i64>> = find.query_row(params![key, seen], |row| row.get(0)).optional()?;
        if found.is_some_and(|since| since.is_none_or(|since| has_died(since, at))) {
            mark.execute(params![key, at])?;
            marked.push(key.clone());
        }
    }
    Ok(marked)
}

fn finish_object_removal(tx: &Transaction<'_>, keys: &[String], at: Timestamp) -> Result<Credits, Fault> {
    let at = stored_time(at, "removing_at")?;
    let mut find = tx.prepare_cached("SELECT 1 FROM stored_objects WHERE key = ?1 AND removing_at_ns = ?2")?;
    let mut remove_uses = tx.prepare_cached("DELETE FROM stored_uses WHERE key = ?1 RETURNING owner, bytes")?;
    let mut remove = tx.prepare_cached("DELETE FROM stored_objects WHERE key = ?1")?;
    let mut credits = Credits::new();
    for key in keys {
        if !find.exists(params![key, at])? {
            continue;
        }
        let mut removed = remove_uses.query([key])?;
        while let Some(row) = removed.next()? {
            let owner: OwnerName = parsed(&row.get::<_, String>(0)?, "stored_uses.owner")?;
            *credits.entry(owner).or_default() += large(row.get(1)?, "bytes")?;
        }
        drop(removed);
        remove.execute([key])?;
    }
    credit(tx, &credits)?;
    Ok(credits)
}

/// Notes that a sweep refers to its inputs, or fails if one of them is not there any more.
pub(super) fn refer(tx: &Transaction<'_>, inputs: &BTreeSet<String>, at: Timestamp) -> Result<(), Fault> {
    let mut touch = tx.prepare_cached(
        "UPDATE stored_objects SET used_at_ns = max(used_at_ns + 1, ?2) WHERE key = ?1 AND removing_at_ns IS NULL",
    )?;
    let at = stored_time(at, "used_at")?;
    for key in inputs {
        if touch.execute(params![key, at])? == 0 {
            return Err(LedgerError::ObjectRemoved { key: key.clone() }.into());
        }
    }
    Ok(())
}
