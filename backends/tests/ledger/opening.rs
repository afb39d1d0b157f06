//! Opening, restarting, sharing.

use regatta_backends::ledger::{Created, PostgresConfig};
use regatta_backends::{Claimed, Ledger, LedgerError, Quota, Silence};
use regatta_proto::{CellIndex, Digest, ItemIndex, Money, SweepId, SweepState};

use crate::world::{
    HERE, World, answerer, at, judge, judged, key, new_sweep, open, questions, record, run, verdict, waiting,
};

pub(crate) async fn opening_again_finds_everything_as_it_was(world: World) {
    let sweep = world.sweep("s", 2, 3).await;
    let ledger = &world.ledger;
    ledger.record(vec![record(key(&sweep, 0, 0), "w-1"), waiting(key(&sweep, 1, 1), "w-2", &["a"])]).await.unwrap();
    ledger.record_progress(vec![open(key(&sweep, 1, 2), "w-3", 4)]).await.unwrap();
    ledger.claim_questions(&sweep, &judge(), answerer(HERE), &questions(&["a"])).await.unwrap();
    ledger.save_judged(vec![judged(&sweep, "w-4", &[("b", 1)])]).await.unwrap();
    let everything = async |world: &World| {
        let ledger = &world.ledger;
        format!(
            "{:?}",
            (
                ledger.sweeps().await.unwrap(),
                ledger.shards(&sweep).await.unwrap(),
                ledger.cell_progress(&sweep).await.unwrap(),
                ledger.sessions(&sweep, CellIndex(0)).await.unwrap(),
                ledger.attempts(&sweep).await.unwrap(),
                ledger.awaiting_after(&sweep, None, u32::MAX).await.unwrap(),
                ledger.verdicts(answerer(HERE), &questions(&["b"])).await.unwrap(),
                ledger.judge_costs(&sweep).await.unwrap(),
                ledger.call_sums(&sweep).await.unwrap(),
            )
        )
    };
    let before = everything(&world).await;
    let world = world.restart().await;
    assert_eq!(everything(&world).await, before);
    assert_eq!(
        world.ledger.claim_questions(&sweep, &judge(), answerer(HERE), &questions(&["a"])).await.unwrap().questions,
        []
    );
}

pub(crate) async fn a_ledger_of_the_first_version_is_brought_up_to_date(world: World) {
    let rows = "
        INSERT INTO sweeps (id, name, lock, state, created_at_ns) VALUES ('old', 'old', {lock}, 'running', 0);
        INSERT INTO cells (sweep, cell, benchmark, setting, model, trial, queue, items, input, known, wasted_known)
        SELECT number, 0, 'worfbench', 'two-shot', 'lab/model', 0, 'q0', 3, 7, 5, 5 FROM sweeps;
        INSERT INTO attempts (sweep, cell, item, id, number, worker, state, started_at_ns, ended_at_ns, input,
            cached_input, output, reasoning, known, unknown_calls, at_most, calls, retries, latency_us)
        SELECT number, 0, 0, 'w-1', 1, 'w', 'lost', 0, 1, 7, 0, 0, 0, 5, 0, 90, 0, 0, 0 FROM sweeps
        UNION ALL SELECT number, 0, 1, 'w-2', 1, 'w', 'lost', 0, 1, 0, 0, 0, 0, 0, 0, NULL, 0, 0, 0 FROM sweeps
        UNION ALL SELECT number, 0, 2, 'w-3', 1, 'w', 'open', 0, NULL, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0 FROM sweeps;";
    let ledger = world.open_first_version(rows).await;
    let sweep = SweepId::new("old").unwrap();
    let cell = ledger.cell_progress(&sweep).await.unwrap().remove(0);
    assert_eq!((cell.usage.input, cell.usage.cache_write, cell.cost.known), (7, 0, Money(5)));
    assert_eq!(cell.maybe_spent, Money(90), "the calls in flight of lost attempts");
    assert_eq!(cell.cost.unknown_calls, 1, "of which one has a price that nobody knows");
    let first = ledger.attempts(&sweep).await.unwrap().remove(0);
    assert_eq!(first.maybe_spent, Money::ZERO);
    assert_eq!(first.cached_calls, None, "nobody knows which answers came from the response cache");
    assert_eq!(ledger.call_sums(&sweep).await.unwrap(), []);
    ledger.record(vec![record(key(&sweep, 0, 2), "w-3")]).await.unwrap();
    assert_eq!(ledger.cell_progress(&sweep).await.unwrap()[0].maybe_spent, Money(93));
}

/// The fourth version still has the table of verdicts of the first.
pub(crate) async fn verdicts_of_a_ledger_that_knew_judges_by_their_names_are_asked_for_again(world: World) {
    let rows = "
        INSERT INTO sweeps (id, name, lock, state, created_at_ns) VALUES ('old', 'old', {lock}, 'running', 0);
        INSERT INTO cells (sweep, cell, benchmark, setting, model, trial, queue, items)
        SELECT number, 0, 'worfbench', 'two-shot', 'lab/model', 0, 'q0', 3 FROM sweeps;
        INSERT INTO verdicts (judge, question, verdict) VALUES ('{judge}', {lock}, '{\"similarity\":{\"micro\":[[1]]}}');";
    let ledger = world.open_first_version(&rows.replace("{judge}", &judge().to_string())).await;
    let (sweep, asked) = (SweepId::new("old").unwrap(), vec!["0".repeat(64).parse::<Digest>().unwrap()]);
    assert!(ledger.verdicts(answerer(HERE), &asked).await.unwrap().is_empty(), "nobody knows which model gave it");
    assert_eq!(
        ledger.claim_questions(&sweep, &judge(), answerer(HERE), &asked).await.unwrap().questions,
        asked,
        "it is asked again"
    );
    let mut answered = judged(&sweep, "w-1", &[]);
    answered.outcome.verdicts = vec![(asked[0], verdict(7))];
    ledger.save_judged(vec![answered]).await.unwrap();
    assert_eq!(ledger.verdicts(answerer(HERE), &asked).await.unwrap()[&asked[0]], verdict(7), "and the new one counts");
}

/// Migrates as the next version of the program would, by a migration that only adds; `admits_previous` is what it says of this version.
async fn migrate_once_more(world: &World, admits_previous: &str) {
    let sql = format!(
        "ALTER TABLE sweeps ADD COLUMN made_up TEXT;
         CREATE TABLE made_up (name TEXT PRIMARY KEY);
         INSERT INTO ledger_version (version, admits_previous)
         SELECT max(version) + 1, {admits_previous} FROM ledger_version;"
    );
    world.sql(&sql).await.unwrap();
}

pub(crate) async fn a_ledger_that_is_one_version_newer_is_used_where_that_only_added_something(world: World) {
    migrate_once_more(&world, "TRUE").await;
    opening_again_finds_everything_as_it_was(world.restart().await).await;
}

pub(crate) async fn a_newer_ledger_that_admits_no_older_program_is_refused(world: World) {
    for admits_previous in ["FALSE", "NULL"] {
        migrate_once_more(&world, admits_previous).await;
        let error = world.try_open().await.unwrap_err();
        assert!(matches!(error, LedgerError::NewerSchema { found, known } if found == known + 1), "{error}");
        assert!(error.to_string().contains("use the newer build"), "{error}");
        let before = "DROP TABLE made_up; ALTER TABLE sweeps DROP COLUMN made_up;
                      DELETE FROM ledger_version WHERE version = (SELECT max(version) FROM ledger_version);";
        world.sql(before).await.unwrap();
    }
    // Two versions are too many, whatever they say.
    migrate_once_more(&world, "TRUE").await;
    let again =
        "INSERT INTO ledger_version (version, admits_previous) SELECT max(version) + 1, TRUE FROM ledger_version";
    world.sql(again).await.unwrap();
    assert!(matches!(world.try_open().await.unwrap_err(), LedgerError::NewerSchema { .. }));
}

pub(crate) async fn a_ledger_that_is_one_version_older_is_brought_up_to_date(world: World) {
    opening_again_finds_everything_as_it_was(world.of_the_version_before().await).await;
}

/// The last migration adds what this build writes. One that this build can do without (`Admits::Both`) has it open the older ledger here.
#[tokio::test]
async fn a_ledger_that_is_one_version_older_and_may_not_be_changed_is_refused_until_it_is_migrated() {
    let url = World::postgres().await.url_of_the_version_before().await;
    let config = || PostgresConfig { url: url.clone(), pool_size: 1 };
    let error = Ledger::postgres_as_it_is(config()).await.unwrap_err();
    let LedgerError::OlderSchema { found, needed } = error else { panic!("{error}") };
    assert_eq!(found + 1, needed);
    let said = format!(
        "failed to open the ledger: its schema is version {found}, this build needs {needed}; run `regatta migrate`"
    );
    assert_eq!(error.to_string(), said);
    run(&url, &format!("DO $$ BEGIN ASSERT (SELECT max(version) = {found} FROM ledger_version); END $$")).await;
    Ledger::postgres(config()).await.unwrap();
    Ledger::postgres_as_it_is(config()).await.unwrap();
}

#[tokio::test]
async fn each_database_of_a_server_has_a_name_of_its_own() {
    let (one, other) = (World::postgres().await, World::postgres().await);
    let name = one.ledger.database_name().await.unwrap().unwrap();
    assert_eq!(one.open().await.database_name().await.unwrap().as_ref(), Some(&name));
    assert_ne!(other.ledger.database_name().await.unwrap().unwrap(), name);
    assert!(name.chars().all(|c| c.is_ascii_digit() || c == '-'), "{name} is part of a key");
}

pub(crate) async fn many_processes_may_open_at_once(world: World) {
    let ledgers = world.open_new_at_once(8).await;
    let created =
        futures::future::join_all(ledgers.iter().map(|ledger| ledger.create_sweep(new_sweep("s", 1, 1)))).await;
    let new = created.into_iter().filter(|created| *created.as_ref().unwrap() == Created::New).count();
    assert_eq!(new, 1);
}

pub(crate) async fn handles_share_one_store(world: World) {
    let other = world.open().await;
    let sweep = world.sweep("s", 1, 1).await;
    assert_eq!(other.sweep(&sweep).await.unwrap().unwrap().state, SweepState::Running);
    let clone = other.clone();
    drop(other);
    assert!(clone.transition(&sweep, &[SweepState::Running], SweepState::Tabulating, at(1)).await.unwrap());
    assert_eq!(world.ledger.sweep(&sweep).await.unwrap().unwrap().state, SweepState::Tabulating);
}

pub(crate) async fn an_unknown_sweep_is_an_error_and_not_an_empty_answer(world: World) {
    let sweep = SweepId::new("nobody").unwrap();
    let ledger = &world.ledger;
    assert_eq!(ledger.sweep(&sweep).await.unwrap(), None);
    let claimed = Claimed { generation: 0, mark: 0, questions: Vec::new() };
    let silence = Silence { within: std::time::Duration::ZERO, in_doubt: false };
    let errors = [
        ledger.cell_progress(&sweep).await.err(),
        ledger.shards(&sweep).await.err(),
        ledger.next_shards(&sweep, "q0", 1).await.err(),
        ledger.sessions(&sweep, CellIndex(0)).await.err(),
        ledger.attempts(&sweep).await.err(),
        ledger.awaiting_after(&sweep, None, u32::MAX).await.err(),
        ledger.claim_questions(&sweep, &judge(), answerer(HERE), &questions(&["a"])).await.err(),
        ledger.save_judged(vec![judged(&sweep, "w-1", &[])]).await.err(),
        ledger.record(vec![record(key(&sweep, 0, 0), "w-1")]).await.err(),
        ledger.reopen_unmeasured(&sweep, Quota::default()).await.err(),
        ledger.close_open_attempts(&sweep, at(1)).await.err(),
        ledger.metrics(&sweep).await.err(),
        ledger.judge_costs(&sweep).await.err(),
        ledger.call_sums(&sweep).await.err(),
        ledger.cost_moments(&sweep).await.err(),
        ledger.continuations(&sweep, CellIndex(0), &[ItemIndex(0)]).await.err(),
        ledger.resume(&sweep, SweepState::Cancelled, None, Quota::default()).await.err(),
        ledger.release_questions(&sweep, &judge(), &claimed).await.err(),
        ledger.stale_questions(&sweep, std::time::Duration::ZERO).await.err(),
        ledger.silent_questions(&sweep, &[judge()], silence, 1).await.err(),
        ledger.transition(&sweep, &SweepState::ALL, SweepState::Running, at(1)).await.err(),
    ];
    for (call, error) in errors.into_iter().enumerate() {
        assert!(
            matches!(&error, Some(LedgerError::UnknownSweep { sweep: named }) if *named == sweep),
            "{call}: {error:?}"
        );
    }
}
