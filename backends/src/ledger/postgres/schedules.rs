//! Schedules, their ticks, and the notices about them.

use deadpool_postgres::{GenericClient, Object, Transaction};
use jiff::Timestamp;
use regatta_proto::{Digest, Money, OwnerName, ScheduleName, SweepId};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::PostgresLedger;
use super::leading::is_leading;
use super::pool::{Fault, read, write};
use super::storage::refer;
use crate::ledger::columns::{digest, large, money, parsed, small, stored_money, stored_time, time, unreadable};
use crate::ledger::schedules::{
    Admission, NOTICES_KEPT, NewNotice, NewSchedule, NoticeRow, PutSchedule, ScheduleRow, TickEnd, TickRow,
};
use crate::ledger::{LedgerError, Term};

impl PostgresLedger {
    pub(in crate::ledger) async fn put_schedule(
        &self,
        new: &NewSchedule,
        replaces: Option<&ScheduleRow>,
    ) -> Result<PutSchedule, LedgerError> {
        write!(self.0, "write a schedule", tx => put_with_inputs(tx, new, replaces))
    }

    pub(in crate::ledger) async fn schedules(
        &self,
        only: Option<&ScheduleName>,
    ) -> Result<Vec<ScheduleRow>, LedgerError> {
        read!(self.0, "read the schedules", client => all(client, only))
    }

    pub(in crate::ledger) async fn schedules_after(
        &self,
        after: Option<&ScheduleName>,
        limit: u32,
    ) -> Result<Vec<ScheduleRow>, LedgerError> {
        read!(self.0, "read the schedules", client => all_after(client, after, limit))
    }

    pub(in crate::ledger) async fn pause_schedule(
        &self,
        name: &ScheduleName,
        paused: bool,
        at: Timestamp,
    ) -> Result<bool, LedgerError> {
        write!(self.0, "pause a schedule", tx => pause(tx, name, paused, at))
    }

    pub(in crate::ledger) async fn delete_schedule(&self, name: &ScheduleName) -> Result<bool, LedgerError> {
        write!(self.0, "delete a schedule", tx => delete(tx, name))
    }

    pub(in crate::ledger) async fn add_tick(
        &self,
        name: &ScheduleName,
        at: Timestamp,
    ) -> Result<Option<bool>, LedgerError> {
        write!(self.0, "add a tick", tx => add_by_hand(tx, name, at))
    }

    pub(in crate::ledger) async fn ticks(
        &self,
        name: &ScheduleName,
        limit: Option<u32>,
    ) -> Result<Vec<TickRow>, LedgerError> {
        read!(self.0, "read the ticks of a schedule", client => ticks(client, name, limit))
    }

    pub(in crate::ledger) async fn spent_since(
        &self,
        name: &ScheduleName,
        since: Timestamp,
    ) -> Result<Money, LedgerError> {
        read!(self.0, "read what a schedule has spent", client => spent(client, name, since))
    }

    pub(in crate::ledger) async fn admit_ticks(
        &self,
        name: &ScheduleName,
        admission: &Admission,
        notices: &[NewNotice],
        term: Term,
    ) -> Result<bool, LedgerError> {
        write!(self.0, "admit ticks", tx => admit(tx, name, admission, notices, term))
    }

    pub(in crate::ledger) async fn start_tick(
        &self,
        name: &ScheduleName,
        tick: Timestamp,
        sweep: (&SweepId, &Digest),
        at: Timestamp,
        term: Term,
    ) -> Result<bool, LedgerError> {
        write!(self.0, "start a tick", tx => start(tx, name, tick, sweep, at, term))
    }

    pub(in crate::ledger) async fn end_tick(
        &self,
        name: &ScheduleName,
        tick: Timestamp,
        end: &TickEnd,
        notices: &[NewNotice],
        term: Term,
    ) -> Result<bool, LedgerError> {
        write!(self.0, "end a tick", tx => end_tick(tx, name, tick, end, notices, term))
    }

    pub(in crate::ledger) async fn waiting_notices(
        &self,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<NoticeRow>, LedgerError> {
        read!(self.0, "read notices", client => waiting(client, now, limit))
    }

    pub(in crate::ledger) async fn notice_sent(&self, id: &str) -> Result<(), LedgerError> {
        write!(self.0, "note a notice as sent", tx => sent(tx, id))
    }

    pub(in crate::ledger) async fn notice_failed(
        &self,
        id: &str,
        problem: &str,
        next: Option<Timestamp>,
    ) -> Result<(), LedgerError> {
        write!(self.0, "note that a notice was not sent", tx => failed(tx, id, problem, next))
    }
}

async fn put_with_inputs(
    tx: &Transaction<'_>,
    new: &NewSchedule,
    replaces: Option<&ScheduleRow>,
) -> Result<PutSchedule, Fault> {
    let effect = put(tx, new, replaces).await?;
    if effect.is_there() {
        refer(tx, &new.inputs, new.at).await?;
    }
    Ok(effect)
}

async fn put(tx: &Transaction<'_>, new: &NewSchedule, replaces: Option<&ScheduleRow>) -> Result<PutSchedule, Fault> {
    let NewSchedule { name, document, owner, at, inputs: _ } = new;
    let now = stored_time(*at, "created_at")?;
    let insert = tx
        .prepare_cached(
            "INSERT INTO schedules (name, document, created_at_ns, decided_until_ns, owner) VALUES ($1, $2, $3, $3, $4)
             ON CONFLICT (name) DO NOTHING",
        )
        .await?;
    if tx.execute(&insert, &[&name.as_str(), &document, &now, &owner.as_ref().map(OwnerName::as_str)]).await? == 1 {
        return Ok(PutSchedule::Created);
    }
    let same = tx.prepare_cached("SELECT 1 FROM schedules WHERE name = $1 AND document = $2 FOR UPDATE").await?;
    if tx.query_opt(&same, &[&name.as_str(), &document]).await?.is_some() {
        return Ok(PutSchedule::Unchanged);
    }
    let Some(seen) = replaces else { return Ok(PutSchedule::Differs) };
    let replace = tx
        .prepare_cached(
            "UPDATE schedules SET document = $2, created_at_ns = $3, decided_until_ns = $3
             WHERE name = $1 AND document = $4 AND created_at_ns = $5 AND owner IS NOT DISTINCT FROM $6",
        )
        .await?;
    let (seen_at, seen_owner) =
        (stored_time(seen.created_at, "created_at")?, seen.owner.as_ref().map(OwnerName::as_str));
    let replaced =
        tx.execute(&replace, &[&name.as_str(), &document, &now, &seen.document, &seen_at, &seen_owner]).await?;
    Ok(if replaced == 1 { PutSchedule::Replaced } else { PutSchedule::Overtaken })
}

/// Selects the columns that [`schedule`] reads.
const SELECT_SCHEDULES: &str =
    "SELECT name, document, is_paused, created_at_ns, decided_until_ns, judged, owner FROM schedules";

async fn all(client: &impl GenericClient, only: Option<&ScheduleName>) -> Result<Vec<ScheduleRow>, Fault> {
    let select = client
        .prepare_cached(&format!("{SELECT_SCHEDULES} WHERE $1::text IS NULL OR name = $1 ORDER BY name COLLATE \"C\""))
        .await?;
    client.query(&select, &[&only.map(ScheduleName::as_str)]).await?.iter().map(schedule).collect()
}

async fn all_after(client: &Object, after: Option<&ScheduleName>, limit: u32) -> Result<Vec<ScheduleRow>, Fault> {
    let select = client
        .prepare_cached(&format!(
            "{SELECT_SCHEDULES} WHERE $1::text IS NULL OR name COLLATE \"C\" > $1 ORDER BY name COLLATE \"C\" LIMIT $2"
        ))
        .await?;
    let after = after.map(ScheduleName::as_str);
    client.query(&select, &[&after, &i64::from(limit)]).await?.iter().map(schedule).collect()
}

fn schedule(row: &Row) -> Result<ScheduleRow, Fault> {
    Ok(ScheduleRow {
        name: parsed(row.try_get(0)?, "schedules.name")?,
        document: row.try_get(1)?,
        is_paused: row.try_get(2)?,
        created_at: time(row.try_get(3)?, "created_at")?,
        decided_until: time(row.try_get(4)?, "decided_until")?,
        judged: small(row.try_get(5)?, "judged")?,
        owner: row.try_get::<_, Option<&str>>(6)?.map(|owner| parsed(owner, "schedules.owner")).transpose()?,
    })
}

async fn pause(tx: &Transaction<'_>, name: &ScheduleName, paused: bool, at: Timestamp) -> Result<bool, Fault> {
    let update = tx
        .prepare_cached(
            "UPDATE schedules SET decided_until_ns = CASE WHEN is_paused AND NOT $2 THEN $3 ELSE decided_until_ns END,
                is_paused = $2 WHERE name = $1",
        )
        .await?;
    Ok(tx.execute(&update, &[&name.as_str(), &paused, &stored_time(at, "decided_until")?]).await? == 1)
}

async fn delete(tx: &Transaction<'_>, name: &ScheduleName) -> Result<bool, Fault> {
    // Locked first, so that no tick or notice is added meanwhile.
    let lock = tx.prepare_cached("SELECT 1 FROM schedules WHERE name = $1 FOR UPDATE").await?;
    tx.query_opt(&lock, &[&name.as_str()]).await?;
    let mut deleted = 0;
    for statement in [
        "DELETE FROM schedule_notices WHERE schedule = $1",
        "DELETE FROM schedule_ticks WHERE schedule = $1",
        "DELETE FROM schedules WHERE name = $1",
    ] {
        deleted = tx.execute(&tx.prepare_cached(statement).await?, &[&name.as_str()]).await?;
    }
    Ok(deleted == 1)
}

async fn add_by_hand(tx: &Transaction<'_>, name: &ScheduleName, at: Timestamp) -> Result<Option<bool>, Fault> {
    let find = tx.prepare_cached("SELECT 1 FROM schedules WHERE name = $1 FOR SHARE").await?;
    if tx.query_opt(&find, &[&name.as_str()]).await?.is_none() {
        return Ok(None);
    }
    add(tx, name, at, true).await.map(Some)
}

/// Adds a due tick; an existing one is left unchanged.
async fn add(tx: &Transaction<'_>, name: &ScheduleName, at: Timestamp, by_hand: bool) -> Result<bool, Fault> {
    let insert = tx
        .prepare_cached(
            "INSERT INTO schedule_ticks (schedule, at_ns, state, by_hand, since_ns) VALUES ($1, $2, 'due', $3, $2)
             ON CONFLICT DO NOTHING",
        )
        .await?;
    Ok(tx.execute(&insert, &[&name.as_str(), &stored_time(at, "at")?, &by_hand]).await? == 1)
}

async fn ticks(client: &Object, name: &ScheduleName, limit: Option<u32>) -> Result<Vec<TickRow>, Fault> {
    const COLUMNS: &str =
        "SELECT schedule, at_ns, state, by_hand, since_ns, stands_for, reason, sweep, lock, started_at_ns,
        ended_at_ns, spent, outcome FROM schedule_ticks WHERE schedule = $1";
    let query = match limit {
        Some(_) => format!("{COLUMNS} ORDER BY at_ns DESC LIMIT $2"),
        None => format!("{COLUMNS} AND state IN ('due', 'running') AND $2::bigint IS NULL ORDER BY at_ns"),
    };
    let select = client.prepare_cached(&query).await?;
    client.query(&select, &[&name.as_str(), &limit.map(i64::from)]).await?.iter().map(tick).collect()
}

fn tick(row: &Row) -> Result<TickRow, Fault> {
    let state: &str = row.try_get(2)?;
    let moment = |column: usize, field| -> Result<Option<Timestamp>, Fault> {
        Ok(row.try_get::<_, Option<i64>>(column)?.map(|nanos| time(nanos, field)).transpose()?)
    };
    Ok(TickRow {
        schedule: parsed(row.try_get(0)?, "schedule_ticks.schedule")?,
        at: time(row.try_get(1)?, "at")?,
        state: state.parse().map_err(|_| unreadable("schedule_ticks.state", state))?,
        by_hand: row.try_get(3)?,
        since: time(row.try_get(4)?, "since")?,
        stands_for: small(row.try_get(5)?, "stands_for")?,
        reason: row.try_get(6)?,
        sweep: row.try_get::<_, Option<&str>>(7)?.map(|id| parsed(id, "schedule_ticks.sweep")).transpose()?,
        lock: row.try_get::<_, Option<&[u8]>>(8)?.map(digest).transpose()?,
        started_at: moment(9, "started_at")?,
        ended_at: moment(10, "ended_at")?,
        spent: money(row.try_get(11)?, "spent")?,
        outcome: row.try_get(12)?,
    })
}

/// Reopens the ended tick of a sweep that is resumed. Does nothing for other sweeps.
pub(super) async fn reopen_tick(tx: &Transaction<'_>, sweep: &SweepId) -> Result<(), Fault> {
    let update =
        tx.prepare_cached("UPDATE schedule_ticks SET state = 'running' WHERE sweep = $1 AND state = 'ended'").await?;
    tx.execute(&update, &[&sweep.as_str()]).await?;
    Ok(())
}

async fn spent(client: &Object, name: &ScheduleName, since: Timestamp) -> Result<Money, Fault> {
    let select = client
        .prepare_cached(
            "SELECT coalesce(sum(spent), 0)::bigint FROM schedule_ticks WHERE schedule = $1 AND at_ns >= $2",
        )
        .await?;
    let row = client.query_one(&select, &[&name.as_str(), &stored_time(since, "since")?]).await?;
    Ok(Money(large(row.try_get(0)?, "spent")?))
}

async fn admit(
    tx: &Transaction<'_>,
    name: &ScheduleName,
    admission: &Admission,
    notices: &[NewNotice],
    term: Term,
) -> Result<bool, Fault> {
    if !is_leading(tx, term).await? {
        return Ok(false);
    }
    let until = stored_time(admission.until, "decided_until")?;
    let update = tx
        .prepare_cached(
            "UPDATE schedules SET decided_until_ns = $3 WHERE name = $1 AND decided_until_ns = $2 AND NOT is_paused",
        )
        .await?;
    if tx.execute(&update, &[&name.as_str(), &stored_time(admission.from, "decided_until")?, &until]).await? == 0 {
        return Ok(false);
    }
    for at in &admission.due {
        add(tx, name, *at, false).await?;
    }
    let miss = tx
        .prepare_cached(
            "INSERT INTO schedule_ticks (schedule, at_ns, state, since_ns, stands_for, reason, ended_at_ns)
             VALUES ($1, $2, 'missed', $3, $4, $5, $6) ON CONFLICT DO NOTHING",
        )
        .await?;
    for missed in &admission.missed {
        let (at, since) = (stored_time(missed.at, "at")?, stored_time(missed.since, "since")?);
        tx.execute(
            &miss,
            &[&name.as_str(), &at, &since, &i64::from(missed.stands_for), &missed.reason.as_str(), &until],
        )
        .await?;
    }
    let replace = tx
        .prepare_cached(
            "UPDATE schedule_ticks SET state = 'missed', reason = $3, ended_at_ns = $4
             WHERE schedule = $1 AND at_ns = $2 AND state = 'due'",
        )
        .await?;
    for (at, reason) in &admission.replaced {
        tx.execute(&replace, &[&name.as_str(), &stored_time(*at, "at")?, &reason.as_str(), &until]).await?;
    }
    write_notices(tx, name, admission.until, notices).await?;
    Ok(true)
}

async fn start(
    tx: &Transaction<'_>,
    name: &ScheduleName,
    tick: Timestamp,
    (sweep, lock): (&SweepId, &Digest),
    at: Timestamp,
    term: Term,
) -> Result<bool, Fault> {
    if !is_leading(tx, term).await? {
        return Ok(false);
    }
    let update = tx
        .prepare_cached(
            "UPDATE schedule_ticks SET state = 'running', sweep = $3, lock = $4, started_at_ns = $5
             WHERE schedule = $1 AND at_ns = $2 AND state = 'due' AND NOT EXISTS
                (SELECT 1 FROM schedule_ticks other WHERE other.schedule = $1 AND other.state = 'running')",
        )
        .await?;
    let (tick, at) = (stored_time(tick, "at")?, stored_time(at, "started_at")?);
    let started = tx.execute(&update, &[&name.as_str(), &tick, &sweep.as_str(), &lock.bytes().as_slice(), &at]).await?;
    Ok(started == 1)
}

async fn end_tick(
    tx: &Transaction<'_>,
    name: &ScheduleName,
    at: Timestamp,
    end: &TickEnd,
    notices: &[NewNotice],
    term: Term,
) -> Result<bool, Fault> {
    if !is_leading(tx, term).await? {
        return Ok(false);
    }
    if let Some(generation) = end.generation {
        // Locked, and before the tick, as where it is resumed: one of the two is over before the other.
        let find = tx
            .prepare_cached(
                "SELECT 1 FROM sweeps s JOIN schedule_ticks t ON t.sweep = s.id
                 WHERE t.schedule = $1 AND t.at_ns = $2 AND s.generation = $3 FOR SHARE OF s",
            )
            .await?;
        let place: [&(dyn ToSql + Sync); 3] = [&name.as_str(), &stored_time(at, "at")?, &i64::from(generation)];
        if tx.query_opt(&find, &place).await?.is_none() {
            return Ok(false);
        }
    }
    let update = tx
        .prepare_cached(
            "UPDATE schedule_ticks SET state = $4, ended_at_ns = $5, reason = $6, spent = $7, outcome = $8
             WHERE schedule = $1 AND at_ns = $2 AND state = $3",
        )
        .await?;
    let ended = tx
        .execute(
            &update,
            &[
                &name.as_str(),
                &stored_time(at, "at")?,
                &end.from.as_str(),
                &end.to.as_str(),
                &stored_time(end.at, "ended_at")?,
                &end.reason,
                &stored_money(end.spent, "spent")?,
                &end.outcome,
            ],
        )
        .await?;
    if ended == 0 {
        return Ok(false);
    }
    if end.is_judged {
        let count = tx.prepare_cached("UPDATE schedules SET judged = judged + 1 WHERE name = $1").await?;
        tx.execute(&count, &[&name.as_str()]).await?;
    }
    write_notices(tx, name, end.at, notices).await?;
    let forget = tx
        .prepare_cached("DELETE FROM schedule_notices WHERE schedule = $1 AND state <> 'waiting' AND at_ns < $2")
        .await?;
    tx.execute(&forget, &[&name.as_str(), &stored_time(end.at - NOTICES_KEPT, "at")?]).await?;
    Ok(true)
}

async fn write_notices(
    tx: &Transaction<'_>,
    name: &ScheduleName,
    at: Timestamp,
    notices: &[NewNotice],
) -> Result<(), Fault> {
    let insert = tx
        .prepare_cached(
            "INSERT INTO schedule_notices (id, schedule, at_ns, channel, body, state, next_at_ns)
             VALUES ($1, $2, $3, $4, $5, 'waiting', $3) ON CONFLICT DO NOTHING",
        )
        .await?;
    let at = stored_time(at, "at")?;
    for notice in notices {
        tx.execute(&insert, &[&notice.id, &name.as_str(), &at, &notice.channel, &notice.body]).await?;
    }
    Ok(())
}

async fn waiting(client: &Object, now: Timestamp, limit: u32) -> Result<Vec<NoticeRow>, Fault> {
    let select = client
        .prepare_cached(
            "SELECT id, schedule, channel, body, tries FROM schedule_notices
             WHERE state = 'waiting' AND next_at_ns <= $1 ORDER BY next_at_ns, id COLLATE \"C\" LIMIT $2",
        )
        .await?;
    let rows = client.query(&select, &[&stored_time(now, "next_at")?, &i64::from(limit)]).await?;
    rows.iter()
        .map(|row| {
            Ok(NoticeRow {
                id: row.try_get(0)?,
                schedule: parsed(row.try_get(1)?, "schedule_notices.schedule")?,
                channel: row.try_get(2)?,
                body: row.try_get(3)?,
                tries: small(row.try_get(4)?, "tries")?,
            })
        })
        .collect()
}

async fn sent(tx: &Transaction<'_>, id: &str) -> Result<(), Fault> {
    let update = tx.prepare_cached("UPDATE schedule_notices SET state = 'sent', problem = NULL WHERE id = $1").await?;
    tx.execute(&update, &[&id]).await?;
    Ok(())
}

async fn failed(tx: &Transaction<'_>, id: &str, problem: &str, next: Option<Timestamp>) -> Result<(), Fault> {
    let update = tx
        .prepare_cached(
            "UPDATE schedule_notices SET tries = tries + 1, problem = $2, next_at_ns = coalesce($3, next_at_ns),
                state = CASE WHEN $3::bigint IS NULL THEN 'given_up' ELSE 'waiting' END
             WHERE id = $1 AND state = 'waiting'",
        )
        .await?;
    let next = next.map(|next| stored_time(next, "next_at")).transpose()?;
    tx.execute(&update, &[&id, &problem, &next]).await?;
    Ok(())
}
