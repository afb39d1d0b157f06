//! Schedules, their ticks, and the notices about them.

use jiff::Timestamp;
use regatta_proto::{Digest, Money, OwnerName, ScheduleName, SweepId};
use rusqlite::{Row, Rows, Transaction, params};

use super::SqliteLedger;
use super::storage::refer;
use super::thread::Fault;
use crate::ledger::columns::{digest, large, money, parsed, small, stored_money, stored_time, time, unreadable};
use crate::ledger::schedules::{
    Admission, NOTICES_KEPT, NewNotice, NewSchedule, NoticeRow, PutSchedule, ScheduleRow, TickEnd, TickRow,
};
use crate::ledger::{LedgerError, Term};

impl SqliteLedger {
    pub(in crate::ledger) async fn put_schedule(
        &self,
        new: &NewSchedule,
        replaces: Option<&ScheduleRow>,
    ) -> Result<PutSchedule, LedgerError> {
        let (new, replaces) = (new.clone(), replaces.cloned());
        self.0
            .write("write a schedule", move |tx| {
                let effect = put(tx, &new, replaces.as_ref())?;
                if effect.is_there() {
                    refer(tx, &new.inputs, new.at)?;
                }
                Ok(effect)
            })
            .await
    }

    pub(in crate::ledger) async fn schedules(
        &self,
        only: Option<&ScheduleName>,
    ) -> Result<Vec<ScheduleRow>, LedgerError> {
        let only = only.cloned();
        self.0.read("read the schedules", move |tx| all(tx, only.as_ref())).await
    }

    pub(in crate::ledger) async fn schedules_after(
        &self,
        after: Option<&ScheduleName>,
        limit: u32,
    ) -> Result<Vec<ScheduleRow>, LedgerError> {
        let after = after.cloned();
        self.0.read("read the schedules", move |tx| all_after(tx, after.as_ref(), limit)).await
    }

    pub(in crate::ledger) async fn pause_schedule(
        &self,
        name: &ScheduleName,
        paused: bool,
        at: Timestamp,
    ) -> Result<bool, LedgerError> {
        let name = name.clone();
        self.0
            .write("pause a schedule", move |tx| {
                let changed = tx.execute(
                    "UPDATE schedules SET decided_until_ns = CASE WHEN is_paused AND NOT ?2 THEN ?3 ELSE decided_until_ns END,
                        is_paused = ?2 WHERE name = ?1",
                    params![name.as_str(), paused, stored_time(at, "decided_until")?],
                )?;
                Ok(changed == 1)
            })
            .await
    }

    pub(in crate::ledger) async fn delete_schedule(&self, name: &ScheduleName) -> Result<bool, LedgerError> {
        let name = name.clone();
        self.0
            .write("delete a schedule", move |tx| {
                tx.execute("DELETE FROM schedule_notices WHERE schedule = ?1", [name.as_str()])?;
                tx.execute("DELETE FROM schedule_ticks WHERE schedule = ?1", [name.as_str()])?;
                Ok(tx.execute("DELETE FROM schedules WHERE name = ?1", [name.as_str()])? == 1)
            })
            .await
    }

    pub(in crate::ledger) async fn add_tick(
        &self,
        name: &ScheduleName,
        at: Timestamp,
    ) -> Result<Option<bool>, LedgerError> {
        let name = name.clone();
        self.0
            .write("add a tick", move |tx| {
                if all(tx, Some(&name))?.is_empty() {
                    return Ok(None);
                }
                add(tx, &name, at, true).map(Some)
            })
            .await
    }

    pub(in crate::ledger) async fn ticks(
        &self,
        name: &ScheduleName,
        limit: Option<u32>,
    ) -> Result<Vec<TickRow>, LedgerError> {
        let name = name.clone();
        self.0.read("read the ticks of a schedule", move |tx| ticks(tx, &name, limit)).await
    }

    pub(in crate::ledger) async fn spent_since(
        &self,
        name: &ScheduleName,
        since: Timestamp,
    ) -> Result<Money, LedgerError> {
        let name = name.clone();
        self.0
            .read("read what a schedule has spent", move |tx| {
                let spent: i64 = tx.query_row(
                    "SELECT ifnull(sum(spent), 0) FROM schedule_ticks WHERE schedule = ?1 AND at_ns >= ?2",
                    params![name.as_str(), stored_time(since, "since")?],
                    |row| row.get(0),
                )?;
                Ok(Money(large(spent, "spent")?))
            })
            .await
    }

    pub(in crate::ledger) async fn admit_ticks(
        &self,
        name: &ScheduleName,
        admission: &Admission,
        notices: &[NewNotice],
        term: Term,
    ) -> Result<bool, LedgerError> {
        let (name, admission, notices) = (name.clone(), admission.clone(), notices.to_vec());
        self.write_as_leader(term, "admit ticks", move |tx| admit(tx, &name, &admission, &notices)).await
    }

    pub(in crate::ledger) async fn start_tick(
        &self,
        name: &ScheduleName,
        tick: Timestamp,
        (sweep, lock): (&SweepId, &Digest),
        at: Timestamp,
        term: Term,
    ) -> Result<bool, LedgerError> {
        let (name, sweep, lock) = (name.clone(), sweep.clone(), *lock);
        self.write_as_leader(term, "start a tick", move |tx| {
            let started = tx.execute(
                "UPDATE schedule_ticks SET state = 'running', sweep = ?3, lock = ?4, started_at_ns = ?5
                 WHERE schedule = ?1 AND at_ns = ?2 AND state = 'due' AND NOT EXISTS
                    (SELECT 1 FROM schedule_ticks other WHERE other.schedule = ?1 AND other.state = 'running')",
                params![
                    name.as_str(),
                    stored_time(tick, "at")?,
                    sweep.as_str(),
                    lock.bytes(),
                    stored_time(at, "started_at")?
                ],
            )?;
            Ok(started == 1)
        })
        .await
    }

    pub(in crate::ledger) async fn end_tick(
        &self,
        name: &ScheduleName,
        tick: Timestamp,
        end: &TickEnd,
        notices: &[NewNotice],
        term: Term,
    ) -> Result<bool, LedgerError> {
        let (name, end, notices) = (name.clone(), end.clone(), notices.to_vec());
        self.write_as_leader(term, "end a tick", move |tx| end_tick(tx, &name, tick, &end, &notices)).await
    }

    pub(in crate::ledger) async fn waiting_notices(
        &self,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<NoticeRow>, LedgerError> {
        self.0.read("read notices", move |tx| waiting(tx, now, limit)).await
    }

    pub(in crate::ledger) async fn notice_sent(&self, id: &str) -> Result<(), LedgerError> {
        let id = id.to_owned();
        self.0
            .write("note a notice as sent", move |tx| {
                tx.execute("UPDATE schedule_notices SET state = 'sent', problem = NULL WHERE id = ?1", [id])?;
                Ok(())
            })
            .await
    }

    pub(in crate::ledger) async fn notice_failed(
        &self,
        id: &str,
        problem: &str,
        next: Option<Timestamp>,
    ) -> Result<(), LedgerError> {
        let (id, problem) = (id.to_owned(), problem.to_owned());
        self.0
            .write("note that a notice was not sent", move |tx| {
                let next = next.map(|next| stored_time(next, "next_at")).transpose()?;
                tx.execute(
                    "UPDATE schedule_notices SET tries = tries + 1, problem = ?2, next_at_ns = ifnull(?3, next_at_ns),
                        state = CASE WHEN ?3 IS NULL THEN 'given_up' ELSE 'waiting' END
                     WHERE id = ?1 AND state = 'waiting'",
                    params![id, problem, next],
                )?;
                Ok(())
            })
            .await
    }
}

/// Reopens the ended tick of a sweep that is resumed. Does nothing for other sweeps.
pub(super) fn reopen_tick(tx: &Transaction<'_>, sweep: &SweepId) -> Result<(), Fault> {
    tx.execute("UPDATE schedule_ticks SET state = 'running' WHERE sweep = ?1 AND state = 'ended'", [sweep.as_str()])?;
    Ok(())
}

fn put(tx: &Transaction<'_>, new: &NewSchedule, replaces: Option<&ScheduleRow>) -> Result<PutSchedule, Fault> {
    let NewSchedule { name, document, owner, at, inputs: _ } = new;
    let now = stored_time(*at, "created_at")?;
    match (all(tx, Some(name))?.pop(), replaces) {
        (None, _) => {
            tx.execute(
                "INSERT INTO schedules (name, document, created_at_ns, decided_until_ns, owner) VALUES (?1, ?2, ?3, ?3, ?4)",
                params![name.as_str(), document, now, owner.as_ref().map(OwnerName::as_str)],
            )?;
            Ok(PutSchedule::Created)
        }
        (Some(there), _) if there.document == *document => Ok(PutSchedule::Unchanged),
        (Some(_), None) => Ok(PutSchedule::Differs),
        (Some(there), Some(seen))
            if (&there.document, there.created_at, &there.owner) != (&seen.document, seen.created_at, &seen.owner) =>
        {
            Ok(PutSchedule::Overtaken)
        }
        (Some(_), Some(_)) => {
            tx.execute(
                "UPDATE schedules SET document = ?2, created_at_ns = ?3, decided_until_ns = ?3 WHERE name = ?1",
                params![name.as_str(), document, now],
            )?;
            Ok(PutSchedule::Replaced)
        }
    }
}

/// Selects the columns that [`read`] reads.
const SELECT_SCHEDULES: &str =
    "SELECT name, document, is_paused, created_at_ns, decided_until_ns, judged, owner FROM schedules";

fn all(tx: &Transaction<'_>, only: Option<&ScheduleName>) -> Result<Vec<ScheduleRow>, Fault> {
    let mut select = tx.prepare_cached(&format!("{SELECT_SCHEDULES} WHERE ?1 IS NULL OR name = ?1 ORDER BY name"))?;
    read(select.query([only.map(ScheduleName::as_str)])?)
}

fn all_after(tx: &Transaction<'_>, after: Option<&ScheduleName>, limit: u32) -> Result<Vec<ScheduleRow>, Fault> {
    let mut select =
        tx.prepare_cached(&format!("{SELECT_SCHEDULES} WHERE ?1 IS NULL OR name > ?1 ORDER BY name LIMIT ?2"))?;
    read(select.query(params![after.map(ScheduleName::as_str), limit])?)
}

fn read(mut rows: Rows<'_>) -> Result<Vec<ScheduleRow>, Fault> {
    let mut schedules = Vec::new();
    while let Some(row) = rows.next()? {
        schedules.push(ScheduleRow {
            name: parsed(&row.get::<_, String>(0)?, "schedules.name")?,
            document: row.get(1)?,
            is_paused: row.get(2)?,
            created_at: time(row.get(3)?, "created_at")?,
            decided_until: time(row.get(4)?, "decided_until")?,
            judged: small(row.get(5)?, "judged")?,
            owner: row.get::<_, Option<String>>(6)?.map(|owner| parsed(&owner, "schedules.owner")).transpose()?,
        });
    }
    Ok(schedules)
}

/// Adds a due tick; an existing one is left unchanged.
fn add(tx: &Transaction<'_>, name: &ScheduleName, at: Timestamp, by_hand: bool) -> Result<bool, Fault> {
    let added = tx.execute(
        "INSERT OR IGNORE INTO schedule_ticks (schedule, at_ns, state, by_hand, since_ns) VALUES (?1, ?2, 'due', ?3, ?2)",
        params![name.as_str(), stored_time(at, "at")?, by_hand],
    )?;
    Ok(added == 1)
}

fn ticks(tx: &Transaction<'_>, name: &ScheduleName, limit: Option<u32>) -> Result<Vec<TickRow>, Fault> {
    const COLUMNS: &str =
        "SELECT schedule, at_ns, state, by_hand, since_ns, stands_for, reason, sweep, lock, started_at_ns,
        ended_at_ns, spent, outcome FROM schedule_ticks WHERE schedule = ?1";
    let query = match limit {
        Some(_) => format!("{COLUMNS} ORDER BY at_ns DESC LIMIT ?2"),
        None => format!("{COLUMNS} AND state IN ('due', 'running') AND ?2 IS NULL ORDER BY at_ns"),
    };
    let mut select = tx.prepare_cached(&query)?;
    let mut rows = select.query(params![name.as_str(), limit])?;
    let mut ticks = Vec::new();
    while let Some(row) = rows.next()? {
        ticks.push(tick(row)?);
    }
    Ok(ticks)
}

fn tick(row: &Row<'_>) -> Result<TickRow, Fault> {
    let state: String = row.get(2)?;
    let moment = |column: usize, field| -> Result<Option<Timestamp>, Fault> {
        Ok(row.get::<_, Option<i64>>(column)?.map(|nanos| time(nanos, field)).transpose()?)
    };
    Ok(TickRow {
        schedule: parsed(&row.get::<_, String>(0)?, "schedule_ticks.schedule")?,
        at: time(row.get(1)?, "at")?,
        state: state.parse().map_err(|_| unreadable("schedule_ticks.state", state))?,
        by_hand: row.get(3)?,
        since: time(row.get(4)?, "since")?,
        stands_for: small(row.get(5)?, "stands_for")?,
        reason: row.get(6)?,
        sweep: row.get::<_, Option<String>>(7)?.map(|id| parsed(&id, "schedule_ticks.sweep")).transpose()?,
        lock: row.get::<_, Option<Vec<u8>>>(8)?.map(|bytes| digest(&bytes)).transpose()?,
        started_at: moment(9, "started_at")?,
        ended_at: moment(10, "ended_at")?,
        spent: money(row.get(11)?, "spent")?,
        outcome: row.get(12)?,
    })
}

fn admit(
    tx: &Transaction<'_>,
    name: &ScheduleName,
    admission: &Admission,
    notices: &[NewNotice],
) -> Result<bool, Fault> {
    let until = stored_time(admission.until, "decided_until")?;
    let moved = tx.execute(
        "UPDATE schedules SET decided_until_ns = ?3 WHERE name = ?1 AND decided_until_ns = ?2 AND NOT is_paused",
        params![name.as_str(), stored_time(admission.from, "decided_until")?, until],
    )?;
    if moved == 0 {
        return Ok(false);
    }
    for at in &admission.due {
        add(tx, name, *at, false)?;
    }
    for missed in &admission.missed {
        tx.execute(
            "INSERT OR IGNORE INTO schedule_ticks (schedule, at_ns, state, since_ns, stands_for, reason, ended_at_ns)
             VALUES (?1, ?2, 'missed', ?3, ?4, ?5, ?6)",
            params![
                name.as_str(),
                stored_time(missed.at, "at")?,
                stored_time(missed.since, "since")?,
                missed.stands_for,
                missed.reason,
                until
            ],
        )?;
    }
    for (at, reason) in &admission.replaced {
        tx.execute(
            "UPDATE schedule_ticks SET state = 'missed', reason = ?3, ended_at_ns = ?4
             WHERE schedule = ?1 AND at_ns = ?2 AND state = 'due'",
            params![name.as_str(), stored_time(*at, "at")?, reason, until],
        )?;
    }
    write_notices(tx, name, admission.until, notices)?;
    Ok(true)
}

fn end_tick(
    tx: &Transaction<'_>,
    name: &ScheduleName,
    at: Timestamp,
    end: &TickEnd,
    notices: &[NewNotice],
) -> Result<bool, Fault> {
    if let Some(generation) = end.generation {
        let mut find = tx.prepare_cached(
            "SELECT 1 FROM sweeps s JOIN schedule_ticks t ON t.sweep = s.id
             WHERE t.schedule = ?1 AND t.at_ns = ?2 AND s.generation = ?3",
        )?;
        if !find.exists(params![name.as_str(), stored_time(at, "at")?, generation])? {
            return Ok(false);
        }
    }
    let ended = tx.execute(
        "UPDATE schedule_ticks SET state = ?4, ended_at_ns = ?5, reason = ?6, spent = ?7, outcome = ?8
         WHERE schedule = ?1 AND at_ns = ?2 AND state = ?3",
        params![
            name.as_str(),
            stored_time(at, "at")?,
            end.from.as_str(),
            end.to.as_str(),
            stored_time(end.at, "ended_at")?,
            end.reason,
            stored_money(end.spent, "spent")?,
            end.outcome
        ],
    )?;
    if ended == 0 {
        return Ok(false);
    }
    if end.is_judged {
        tx.execute("UPDATE schedules SET judged = judged + 1 WHERE name = ?1", [name.as_str()])?;
    }
    write_notices(tx, name, end.at, notices)?;
    tx.execute(
        "DELETE FROM schedule_notices WHERE schedule = ?1 AND state <> 'waiting' AND at_ns < ?2",
        params![name.as_str(), stored_time(end.at - NOTICES_KEPT, "at")?],
    )?;
    Ok(true)
}

fn write_notices(tx: &Transaction<'_>, name: &ScheduleName, at: Timestamp, notices: &[NewNotice]) -> Result<(), Fault> {
    for notice in notices {
        tx.execute(
            "INSERT OR IGNORE INTO schedule_notices (id, schedule, at_ns, channel, body, state, next_at_ns)
             VALUES (?1, ?2, ?3, ?4, ?5, 'waiting', ?3)",
            params![notice.id, name.as_str(), stored_time(at, "at")?, notice.channel, notice.body],
        )?;
    }
    Ok(())
}

fn waiting(tx: &Transaction<'_>, now: Timestamp, limit: u32) -> Result<Vec<NoticeRow>, Fault> {
    let mut select = tx.prepare_cached(
        "SELECT id, schedule, channel, body, tries FROM schedule_notices
         WHERE state = 'waiting' AND next_at_ns <= ?1 ORDER BY next_at_ns, id LIMIT ?2",
    )?;
    let mut rows = select.query(params![stored_time(now, "next_at")?, limit])?;
    let mut notices = Vec::new();
    while let Some(row) = rows.next()? {
        notices.push(NoticeRow {
            id: row.get(0)?,
            schedule: parsed(&row.get::<_, String>(1)?, "schedule_notices.schedule")?,
            channel: row.get(2)?,
            body: row.get(3)?,
            tries: small(row.get(4)?, "tries")?,
        });
    }
    Ok(notices)
}
