//! Transitions: the ledger accepts those that its states have in Rust, and no others.

use regatta_backends::{AttemptState, SessionState, ShardState};
use regatta_proto::SweepState;

use crate::world::World;

/// A row in a state, and the change to another, as SQL.
struct Change {
    table: &'static str,
    row: &'static str,
    columns: &'static str,
    values: String,
    /// Further columns that the new state needs.
    with: String,
}

/// `NULL` for a state that is no end.
fn ended(is_end: bool) -> &'static str {
    if is_end { "0" } else { "NULL" }
}

impl Change {
    fn of_sweep(from: SweepState, to: SweepState) -> Self {
        Self {
            table: "sweeps",
            row: "id = 'x'",
            columns: "id, name, lock, created_at_ns, state, ended_at_ns",
            values: format!("'x', 'x', {{lock}}, 0, '{from}', {}", ended(from.is_end())),
            with: format!("state = '{to}', ended_at_ns = {}", ended(to.is_end())),
        }
    }

    fn of_shard(from: ShardState, to: ShardState) -> Self {
        Self {
            table: "shards",
            row: "shard = 99",
            columns: "sweep, shard, cell, queue, first, count, state",
            values: format!("(SELECT number FROM sweeps WHERE id = 's'), 99, 0, 'q', 0, 1, '{from}'"),
            with: format!("state = '{to}'"),
        }
    }

    fn of_session(from: SessionState, to: SessionState, outcome: &str) -> Self {
        let cause = if outcome == "measured" { "NULL" } else { "'judge_unavailable'" };
        let from = from.as_str();
        Self {
            table: "sessions",
            row: "item = 99",
            columns: "sweep, cell, item, item_id, task, attempt, state, outcome, cause, served",
            values: format!(
                "(SELECT number FROM sweeps WHERE id = 's'), 0, 99, 'i', 't', 'a', '{from}', '{outcome}', {cause}, '[]'"
            ),
            with: format!("state = '{}'", to.as_str()),
        }
    }

    fn of_attempt(from: AttemptState, to: AttemptState) -> Self {
        let is_ended = |state| state != AttemptState::Open;
        Self {
            table: "attempts",
            row: "item = 99",
            columns: "sweep, cell, item, id, number, worker, started_at_ns, input, cached_input, output, reasoning, known, \
                      unknown_calls, calls, retries, latency_us, outcome, segment, line, state, ended_at_ns",
            values: format!(
                "(SELECT number FROM sweeps WHERE id = 's'), 0, 99, 'a', 1, 'w', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'measured', 's', 0, \
                 '{from}', {}",
                ended(is_ended(from))
            ),
            with: format!("state = '{to}', ended_at_ns = {}", ended(is_ended(to))),
        }
    }

    /// `true` if the ledger accepts the change.
    async fn is_accepted(&self, world: &World) -> bool {
        let Self { table, row, columns, values, with } = self;
        let clear = format!("DELETE FROM {table} WHERE {row};");
        let insert = format!("{clear} INSERT INTO {table} ({columns}) VALUES ({values});");
        world.sql(&insert).await.unwrap();
        let update = world.sql(&format!("UPDATE {table} SET {with} WHERE {row};")).await;
        world.sql(&clear).await.unwrap();
        if let Err(refusal) = &update {
            assert!(refusal.contains("no such transition"), "{refusal}");
        }
        update.is_ok()
    }
}

pub(crate) async fn a_transition_that_is_not_drawn_cannot_be_written(world: World) {
    world.sweep("s", 1, 4).await;
    for from in SweepState::ALL {
        for to in SweepState::ALL {
            let expected = from == to || from.may_become(to);
            assert_eq!(Change::of_sweep(from, to).is_accepted(&world).await, expected, "sweep: {from} to {to}");
        }
    }
    for from in ShardState::ALL {
        for to in ShardState::ALL {
            let expected = from == to || from.may_become(*to);
            assert_eq!(Change::of_shard(*from, *to).is_accepted(&world).await, expected, "shard: {from} to {to}");
        }
    }
    for from in AttemptState::ALL {
        for to in AttemptState::ALL {
            let expected = from == to || from.may_become(*to);
            assert_eq!(Change::of_attempt(*from, *to).is_accepted(&world).await, expected, "attempt: {from} to {to}");
        }
    }
    for from in SessionState::ALL {
        for to in SessionState::ALL {
            for outcome in ["measured", "not_measured"] {
                // A session that was measured is never judged again.
                let is_final = outcome == "measured" && *from == SessionState::Settled;
                let expected = from == to || (from.may_become(*to) && !is_final);
                let change = Change::of_session(*from, *to, outcome);
                assert_eq!(change.is_accepted(&world).await, expected, "{outcome} session: {from:?} to {to:?}");
            }
        }
    }
}
