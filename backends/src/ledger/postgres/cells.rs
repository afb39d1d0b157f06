//! Locks and counters of cells.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use deadpool_postgres::Transaction;
use regatta_proto::{CellIndex, SessionKey, SweepId};

use super::column;
use super::pool::Fault;
use crate::ledger::LedgerError;
use crate::ledger::columns::{Place, parsed, small};
use crate::ledger::counters::Delta;

/// Cells that this transaction has locked, by sweep, with its number.
#[derive(Debug)]
pub(super) struct Locked(HashMap<SweepId, (i64, BTreeSet<CellIndex>)>);

impl Locked {
    /// The place of a session, if it is in one of these cells.
    pub(super) fn find(&self, key: &SessionKey) -> Option<Place> {
        let (number, cells) = self.0.get(&key.sweep)?;
        cells.contains(&key.cell).then(|| Place::of(*number, key))
    }

    /// The place of a session in one of these cells.
    pub(super) fn place(&self, key: &SessionKey) -> Result<Place, LedgerError> {
        self.find(key).ok_or_else(|| match self.0.contains_key(&key.sweep) {
            true => LedgerError::UnknownCell { sweep: key.sweep.clone(), cell: key.cell },
            false => LedgerError::UnknownSweep { sweep: key.sweep.clone() },
        })
    }
}

/// Locks the cells of some sessions, in their order. Until the end of the transaction no other transaction changes their sessions and
/// attempts, so reads of these stay valid.
///
/// # Errors
/// When one of them does not exist.
pub(super) async fn lock<'k>(
    tx: &Transaction<'_>,
    keys: impl Iterator<Item = &'k SessionKey> + Clone,
) -> Result<Locked, Fault> {
    let locked = lock_known(tx, keys.clone()).await?;
    for key in keys {
        if locked.find(key).is_none() {
            // Distinguishes an unknown sweep from an unknown cell.
            super::planning::number::number(tx, &key.sweep).await?;
            return Err(LedgerError::UnknownCell { sweep: key.sweep.clone(), cell: key.cell }.into());
        }
    }
    Ok(locked)
}

/// As [`lock`]; cells that do not exist are left out.
pub(super) async fn lock_known<'k>(
    tx: &Transaction<'_>,
    keys: impl Iterator<Item = &'k SessionKey>,
) -> Result<Locked, Fault> {
    let wanted: BTreeSet<_> = keys.map(|key| (&key.sweep, key.cell)).collect();
    let wanted: Vec<_> = wanted.into_iter().collect();
    let select = tx
        .prepare_cached(
            "SELECT s.id, c.sweep, c.cell
             FROM UNNEST($1::text[], $2::bigint[]) AS u (sweep, cell)
             JOIN sweeps s ON s.id = u.sweep
             JOIN cells c ON c.sweep = s.number AND c.cell = u.cell
             ORDER BY c.sweep, c.cell FOR NO KEY UPDATE OF c",
        )
        .await?;
    let sweeps = column(&wanted, |(sweep, _)| sweep.as_str());
    let cells = column(&wanted, |(_, cell)| i64::from(cell.0));
    let rows = tx.query(&select, &[&sweeps, &cells]).await?;
    let mut locked: HashMap<SweepId, (i64, BTreeSet<CellIndex>)> = HashMap::new();
    for row in &rows {
        let (sweep, number) = (parsed(row.try_get(0)?, "sweeps.id")?, row.try_get(1)?);
        let (_, cells) = locked.entry(sweep).or_insert_with(|| (number, BTreeSet::new()));
        cells.insert(CellIndex(small(row.try_get(2)?, "cell")?));
    }
    Ok(Locked(locked))
}

/// Locks all cells of a sweep in their order.
pub(super) async fn lock_sweep(tx: &Transaction<'_>, sweep: i64) -> Result<(), Fault> {
    let select = tx.prepare_cached("SELECT cell FROM cells WHERE sweep = $1 ORDER BY cell FOR NO KEY UPDATE").await?;
    tx.query(&select, &[&sweep]).await?;
    Ok(())
}

/// Counter changes of a transaction, by sweep and cell.
pub(super) type Deltas = BTreeMap<(i64, i64), Delta>;

/// Adds all deltas to the cells, which are locked.
pub(super) async fn add(tx: &Transaction<'_>, deltas: &Deltas) -> Result<(), Fault> {
    let rows: Vec<_> = deltas.iter().filter(|(_, delta)| **delta != Delta::default()).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let update = tx
        .prepare_cached(
            "UPDATE cells c SET
                 recorded = c.recorded + u.recorded, settled = c.settled + u.settled,
                 measured = c.measured + u.measured, model_failures = c.model_failures + u.model_failures,
                 not_measured = c.not_measured + u.not_measured,
                 input = c.input + u.input, cached_input = c.cached_input + u.cached_input,
                 cache_write = c.cache_write + u.cache_write, cache_write_1h = c.cache_write_1h + u.cache_write_1h,
                 output = c.output + u.output, reasoning = c.reasoning + u.reasoning,
                 known = c.known + u.known, unknown_calls = c.unknown_calls + u.unknown_calls,
                 unmetered_calls = c.unmetered_calls + u.unmetered_calls,
                 maybe_spent = c.maybe_spent + u.maybe_spent, wasted_known = c.wasted_known + u.wasted_known,
                 wasted_unknown_calls = c.wasted_unknown_calls + u.wasted_unknown_calls
             FROM UNNEST($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
                         $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[],
                         $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[])
                 AS u (sweep, cell, recorded, settled, measured, model_failures, not_measured, input, cached_input,
                       cache_write, cache_write_1h, output, reasoning, known, unknown_calls, unmetered_calls,
                       maybe_spent, wasted_known, wasted_unknown_calls)
             WHERE c.sweep = u.sweep AND c.cell = u.cell",
        )
        .await?;
    let counter = |value: fn(&Delta) -> i64| column(&rows, |(_, delta)| value(delta));
    let found = tx
        .execute(
            &update,
            &[
                &column(&rows, |((sweep, _), _)| *sweep),
                &column(&rows, |((_, cell), _)| *cell),
                &counter(|delta| delta.recorded),
                &counter(|delta| delta.settled),
                &counter(|delta| delta.measured),
                &counter(|delta| delta.model_failures),
                &counter(|delta| delta.not_measured),
                &counter(|delta| delta.spent.input),
                &counter(|delta| delta.spent.cached_input),
                &counter(|delta| delta.spent.cache_write),
                &counter(|delta| delta.spent.cache_write_1h),
                &counter(|delta| delta.spent.output),
                &counter(|delta| delta.spent.reasoning),
                &counter(|delta| delta.spent.known),
                &counter(|delta| delta.spent.unknown_calls),
                &counter(|delta| delta.spent.unmetered_calls),
                &counter(|delta| delta.maybe_spent),
                &counter(|delta| delta.wasted_known),
                &counter(|delta| delta.wasted_unknown_calls),
            ],
        )
        .await?;
    super::all_changed("add to the cells' counters", rows.len(), found)
}
