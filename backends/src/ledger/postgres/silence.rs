//! Questions that are claimed, and of which no worker tells.

use std::time::Duration;

use deadpool_postgres::{Object, Transaction};
use regatta_proto::{ModelRef, SweepId};

use super::column;
use super::leading::is_leading;
use super::planning::number;
use super::pool::Fault;
use crate::ledger::columns::{digest, parsed};
use crate::ledger::{Claimed, OpenQuestion, Silence, Term};

/// Condition of a row of `asked a` of a sweep of number `$1`: nobody has told of it within `$2` milliseconds, or might have without a name. What was told in a time to come was told before
/// the clock was put back.
const IS_SILENT: &str = "(coalesce(a.told_at, a.asked_at) < clock_timestamp() - $2 * interval '1 millisecond'
          OR coalesce(a.told_at, a.asked_at) > clock_timestamp() + interval '1 minute')
     AND NOT EXISTS (
         SELECT 1 FROM held h
         WHERE h.sweep = $1 AND h.kind = 'questions' AND h.named_at IS DISTINCT FROM h.told_at
           AND h.told_at >= clock_timestamp() - $2 * interval '1 millisecond'
           AND h.told_at <= clock_timestamp() + interval '1 minute')";
/// Condition of such a row beside [`IS_SILENT`]: it was claimed since the last resume, and is in doubt, where `$3` asks for that.
const IS_ASKED_FOR: &str =
    "(a.is_doubtful OR NOT $3) AND a.generation = (SELECT generation FROM sweeps WHERE number = $1)";

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

pub(super) async fn silent(
    client: &Object,
    sweep: &SweepId,
    judges: &[ModelRef],
    silence: Silence,
    at_most: u32,
) -> Result<Vec<OpenQuestion>, Fault> {
    let number = number(client, sweep).await?;
    let select = client
        .prepare_cached(&format!(
            "SELECT a.judge, a.question FROM asked a
             WHERE a.sweep = $1 AND a.judge = ANY ($4) AND {IS_SILENT} AND {IS_ASKED_FOR} ORDER BY a.judge, a.question LIMIT $5"
        ))
        .await?;
    let judges = column(judges, ToString::to_string);
    let rows = client
        .query(&select, &[&number, &milliseconds(silence.within), &silence.in_doubt, &judges, &i64::from(at_most)])
        .await?;
    let open = |row: &tokio_postgres::Row| {
        Ok(OpenQuestion { judge: parsed(row.try_get(0)?, "asked.judge")?, question: digest(row.try_get(1)?)? })
    };
    rows.iter().map(open).collect()
}

/// Records that a worker holds the questions now, so that the broker had their jobs. Of one that somebody else writes at this moment nothing needs to be recorded: either another
/// worker tells of it, or it is answered.
pub(super) async fn tell(tx: &Transaction<'_>, questions: &[(&SweepId, &OpenQuestion)]) -> Result<(), Fault> {
    let update = tx
        .prepare_cached(
            "UPDATE asked a SET told_at = clock_timestamp(), is_doubtful = false
             FROM (SELECT o.sweep, o.judge, o.question
                   FROM UNNEST($1::text[], $2::text[], $3::bytea[]) AS u (sweep, judge, question)
                   JOIN sweeps s ON s.id = u.sweep
                   JOIN asked o ON o.sweep = s.number AND o.judge = u.judge AND o.question = u.question
                   -- Often enough to be known, and seldom enough to be cheap.
                   WHERE o.told_at IS NULL OR o.told_at NOT BETWEEN clock_timestamp() - interval '30 seconds' AND clock_timestamp()
                   FOR UPDATE OF o SKIP LOCKED) AS told
             WHERE a.sweep = told.sweep AND a.judge = told.judge AND a.question = told.question",
        )
        .await?;
    let sweeps = column(questions, |(sweep, _)| sweep.as_str());
    let judges = column(questions, |(_, open)| open.judge.to_string());
    let digests = column(questions, |(_, open)| open.question.bytes().as_slice());
    tx.execute(&update, &[&sweeps, &judges, &digests]).await?;
    Ok(())
}

pub(super) async fn confirm(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    judge: &ModelRef,
    claimed: &Claimed,
) -> Result<(), Fault> {
    let number = number(tx, sweep).await?;
    let digests = column(&claimed.questions, |question| question.bytes().as_slice());
    let update = tx
        .prepare_cached(
            "UPDATE asked SET is_doubtful = false
             WHERE sweep = $1 AND judge = $2 AND question = ANY ($3) AND (extract(epoch FROM asked_at) * 1000000)::bigint = $4",
        )
        .await?;
    tx.execute(&update, &[&number, &judge.to_string(), &digests, &claimed.mark]).await?;
    Ok(())
}

pub(super) async fn release(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    questions: &[OpenQuestion],
    silence: Silence,
    term: Term,
) -> Result<Option<u64>, Fault> {
    if !is_leading(tx, term).await? {
        return Ok(None);
    }
    let number = number(tx, sweep).await?;
    let delete = tx
        .prepare_cached(&format!(
            "DELETE FROM asked a USING UNNEST($4::text[], $5::bytea[]) AS u (judge, question)
             WHERE a.sweep = $1 AND a.judge = u.judge AND a.question = u.question AND {IS_SILENT} AND {IS_ASKED_FOR}"
        ))
        .await?;
    let judges = column(questions, |open| open.judge.to_string());
    let digests = column(questions, |open| open.question.bytes().as_slice());
    Ok(Some(
        tx.execute(&delete, &[&number, &milliseconds(silence.within), &silence.in_doubt, &judges, &digests]).await?,
    ))
}

/// Releases all questions of the sweep of this number about which there is silence, whenever they were claimed.
pub(super) async fn release_all(tx: &Transaction<'_>, sweep: i64, within: Duration) -> Result<(), Fault> {
    let delete = tx.prepare_cached(&format!("DELETE FROM asked a WHERE a.sweep = $1 AND {IS_SILENT}")).await?;
    tx.execute(&delete, &[&sweep, &milliseconds(within)]).await?;
    Ok(())
}
