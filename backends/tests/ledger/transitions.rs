//! Transitions: the ledger accepts those that its states have in Rust, and no others.

use regatta_backends::{AttemptState, SessionState, ShardState};
use regatta_proto::SweepState;
use regatta_tests::drawing::{NO_ROW, Transitions, drawn};

use crate::world::World;

/// A row of the ledger, as SQL.
struct Row {
    table: &'static str,
    row: &'static str,
    /// Columns, and their values, of a new row.
    columns: &'static str,
    values: String,
}

/// `NULL` for a state that is no end.
fn ended(is_end: bool) -> &'static str {
    if is_end { "0" } else { "NULL" }
}

/// The change of a row to a state, with further columns that this one needs.
fn sweep_becomes(state: SweepState) -> String {
    format!("state = '{state}', ended_at_ns = {}", ended(state.is_end()))
}

fn shard_becomes(state: ShardState) -> String {
    format!("state = '{state}'")
}

fn session_becomes(state: SessionState) -> String {
    format!("state = '{}'", state.as_str())
}

fn attempt_becomes(state: AttemptState) -> String {
    format!("state = '{state}', ended_at_ns = {}", ended(state != AttemptState::Open))
}

impl Row {
    fn of_sweep(state: SweepState) -> Self {
        Self {
            table: "sweeps",
            row: "id = 'x'",
            columns: "id, name, lock, created_at_ns, state, ended_at_ns",
            values: format!("'x', 'x', {{lock}}, 0, '{state}', {}", ended(state.is_end())),
        }
    }

    fn of_shard(state: ShardState) -> Self {
        Self {
            table: "shards",
            row: "shard = 99",
            columns: "sweep, shard, cell, queue, first, count, state",
            values: format!("(SELECT number FROM sweeps WHERE id = 's'), 99, 0, 'q', 0, 1, '{state}'"),
        }
    }

    fn of_session(state: SessionState, outcome: &str) -> Self {
        let cause = if outcome == "measured" { "NULL" } else { "'judge_unavailable'" };
        let state = state.as_str();
        Self {
            table: "sessions",
            row: "item = 99",
            columns: "sweep, cell, item, item_id, task, attempt, state, outcome, cause, served",
            values: format!(
                "(SELECT number FROM sweeps WHERE id = 's'), 0, 99, 'i', 't', 'a', '{state}', '{outcome}', {cause}, '[]'"
            ),
        }
    }

    fn of_attempt(state: AttemptState) -> Self {
        Self {
            table: "attempts",
            row: "item = 99",
            columns: "sweep, cell, item, id, number, worker, started_at_ns, input, cached_input, output, reasoning, known, \
                      unknown_calls, calls, retries, latency_us, outcome, segment, line, state, ended_at_ns",
            values: format!(
                "(SELECT number FROM sweeps WHERE id = 's'), 0, 99, 'a', 1, 'w', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'measured', 's', 0, \
                 '{state}', {}",
                ended(state != AttemptState::Open)
            ),
        }
    }

    /// `true` if the ledger takes it as a new row, which is deleted again.
    async fn may_begin(&self, world: &World) -> bool {
        let begun = self.insert(world).await;
        self.delete(world).await;
        if let Err(refusal) = &begun {
            assert!(refusal.contains("no such beginning"), "{refusal}");
        }
        begun.is_ok()
    }

    /// `true` if the ledger, after the changes of `way`, accepts the change `to` of the row, which is new and deleted again.
    async fn may_change(&self, world: &World, way: &[String], to: &str) -> bool {
        self.insert(world).await.unwrap();
        for change in way {
            self.update(world, change).await.unwrap();
        }
        let changed = self.update(world, to).await;
        self.delete(world).await;
        if let Err(refusal) = &changed {
            assert!(refusal.contains("no such transition"), "{refusal}");
        }
        changed.is_ok()
    }

    async fn insert(&self, world: &World) -> Result<(), String> {
        let Self { table, columns, values, .. } = self;
        world.sql(&format!("INSERT INTO {table} ({columns}) VALUES ({values})")).await
    }

    async fn update(&self, world: &World, change: &str) -> Result<(), String> {
        world.sql(&format!("UPDATE {} SET {change} WHERE {}", self.table, self.row)).await
    }

    async fn delete(&self, world: &World) {
        world.sql(&format!("DELETE FROM {} WHERE {}", self.table, self.row)).await.unwrap();
    }
}

pub(crate) async fn a_row_begins_in_a_state_that_is_drawn_for_it_and_in_no_other(world: World) {
    world.sweep("s", 1, 4).await;
    let sweeps = SweepState::ALL.map(|state| ("sweep", state.as_str(), Row::of_sweep(state)));
    let shards = ShardState::ALL.iter().map(|state| ("shard", state.as_str(), Row::of_shard(*state)));
    let sessions =
        SessionState::ALL.iter().map(|state| ("session", state.as_str(), Row::of_session(*state, "measured")));
    let attempts = AttemptState::ALL.iter().map(|state| ("attempt", state.as_str(), Row::of_attempt(*state)));
    for (machine, state, row) in sweeps.into_iter().chain(shards).chain(sessions).chain(attempts) {
        let is_drawn = drawn(machine).unwrap().contains(&(NO_ROW.to_owned(), state.to_owned()));
        assert_eq!(row.may_begin(&world).await, is_drawn, "{machine}: {state}");
    }
}

pub(crate) async fn a_transition_that_is_not_drawn_cannot_be_written(world: World) {
    world.sweep("s", 1, 4).await;
    let new = Row::of_sweep(SweepState::Running);
    for from in SweepState::ALL {
        let way: &[SweepState] = match from {
            SweepState::Running => &[],
            SweepState::Tabulating | SweepState::Cancelled => &[from],
            SweepState::Complete | SweepState::StoppedByBudget | SweepState::Incomplete => {
                &[SweepState::Tabulating, from]
            }
        };
        let way: Vec<String> = way.iter().copied().map(sweep_becomes).collect();
        for to in SweepState::ALL {
            let expected = from == to || from.may_become(to);
            let found = new.may_change(&world, &way, &sweep_becomes(to)).await;
            assert_eq!(found, expected, "sweep: {from} to {to}");
        }
    }
    let new = Row::of_shard(ShardState::Planned);
    for from in ShardState::ALL {
        let way: &[ShardState] = match from {
            ShardState::Planned => &[],
            ShardState::Dispatching => &[ShardState::Dispatching],
            ShardState::Dispatched => &[ShardState::Dispatching, ShardState::Dispatched],
        };
        let way: Vec<String> = way.iter().copied().map(shard_becomes).collect();
        for to in ShardState::ALL {
            let expected = from == to || from.may_become(*to);
            let found = new.may_change(&world, &way, &shard_becomes(*to)).await;
            assert_eq!(found, expected, "shard: {from} to {to}");
        }
    }
    for from in AttemptState::ALL {
        for to in AttemptState::ALL {
            let expected = from == to || from.may_become(*to);
            let found = Row::of_attempt(*from).may_change(&world, &[], &attempt_becomes(*to)).await;
            assert_eq!(found, expected, "attempt: {from} to {to}");
        }
    }
    for from in SessionState::ALL {
        for to in SessionState::ALL {
            for outcome in ["measured", "not_measured"] {
                // A session that was measured is never judged again.
                let is_final = outcome == "measured" && *from == SessionState::Settled;
                let expected = from == to || (from.may_become(*to) && !is_final);
                let found = Row::of_session(*from, outcome).may_change(&world, &[], &session_becomes(*to)).await;
                assert_eq!(found, expected, "{outcome} session: {from:?} to {to:?}");
            }
        }
    }
}

/// All pairs of `states`, by name, of which the second may follow the first.
fn possible<S: Copy>(states: &[S], name: fn(S) -> &'static str, may_become: fn(S, S) -> bool) -> Transitions {
    let pairs = states.iter().flat_map(|from| states.iter().map(move |to| (*from, *to)));
    let possible = pairs.filter(|(from, to)| may_become(*from, *to));
    possible.map(|(from, to)| (name(from).to_owned(), name(to).to_owned())).collect()
}

#[test]
fn states_have_the_transitions_that_are_drawn_and_no_others() {
    let machines = [
        ("sweep", possible(&SweepState::ALL, SweepState::as_str, SweepState::may_become)),
        ("shard", possible(ShardState::ALL, ShardState::as_str, ShardState::may_become)),
        ("session", possible(SessionState::ALL, SessionState::as_str, SessionState::may_become)),
        ("attempt", possible(AttemptState::ALL, AttemptState::as_str, AttemptState::may_become)),
    ];
    for (machine, possible) in machines {
        let mut drawn = drawn(machine).unwrap();
        drawn.retain(|(from, to)| from != NO_ROW && to != NO_ROW);
        assert_eq!(possible, drawn, "{machine}");
    }
}
