//! Failures that only a server has.

use regatta_backends::ledger::{PostgresConfig, Recorded};
use regatta_backends::{Ledger, LedgerError};

use crate::world::{World, key, record, run};

/// Makes the server abort the first `count` transactions that write attempts, as it does when transactions collide.
async fn collide(url: &str, count: u32) {
    let sql = format!(
        "CREATE SEQUENCE tried;
         CREATE FUNCTION collide() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF nextval('tried') <= {count} THEN
                 RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01';
             END IF;
             RETURN NULL;
         END $$;
         CREATE TRIGGER collide BEFORE INSERT ON attempts FOR EACH STATEMENT EXECUTE FUNCTION collide();"
    );
    run(url, &sql).await;
}

#[tokio::test]
async fn a_call_that_collides_with_another_is_tried_again() {
    let world = World::postgres().await;
    let sweep = world.sweep("s", 1, 1).await;
    collide(world.url(), 4).await;
    assert_eq!(world.ledger.record(vec![record(key(&sweep, 0, 0), "w-1")]).await.unwrap(), [Recorded::First]);
    assert_eq!(world.cell(&sweep, 0).await.recorded, 1);
}

#[tokio::test]
async fn a_call_that_always_collides_fails_in_the_end() {
    let world = World::postgres().await;
    let sweep = world.sweep("s", 1, 1).await;
    collide(world.url(), 1000).await;
    let error = world.ledger.record(vec![record(key(&sweep, 0, 0), "w-1")]).await.unwrap_err();
    assert_eq!(error.to_string(), "failed to record sessions: db error: ERROR: deadlock detected");
    assert_eq!(world.cell(&sweep, 0).await.recorded, 0);
    run(world.url(), "DO $$ BEGIN ASSERT (SELECT last_value FROM tried) = 5; END $$").await;
}

#[tokio::test]
async fn a_newer_schema_is_refused() {
    let world = World::postgres().await;
    run(world.url(), "INSERT INTO ledger_version VALUES (99)").await;
    let config = PostgresConfig { url: world.url().to_owned(), pool_size: 1 };
    let error = Ledger::postgres(config).await.unwrap_err();
    assert!(matches!(error, LedgerError::NewerSchema { found: 99, known: 25 }), "{error}");
}

#[tokio::test]
async fn a_schema_that_may_not_be_changed_is_checked_and_left_alone() {
    let world = World::postgres().await;
    run(world.url(), "DELETE FROM ledger_version WHERE version > 6").await;
    let config = || PostgresConfig { url: world.url().to_owned(), pool_size: 1 };
    let error = Ledger::postgres_as_it_is(config()).await.unwrap_err();
    assert!(matches!(error, LedgerError::OlderSchema { found: 6, needed: 25 }) && error.is_outage(), "{error}");
    assert!(error.to_string().contains("regatta migrate"), "{error}");
    run(world.url(), "DROP TABLE ledger_version").await;
    let error = Ledger::postgres_as_it_is(config()).await.unwrap_err();
    assert!(matches!(error, LedgerError::OlderSchema { found: 0, needed: 25 }), "{error}");
    run(world.url(), "DO $$ BEGIN ASSERT to_regclass('ledger_version') IS NULL; END $$").await;
}

#[tokio::test]
async fn a_migrated_schema_opens_as_it_is() {
    let world = World::postgres().await;
    Ledger::postgres_as_it_is(PostgresConfig { url: world.url().to_owned(), pool_size: 1 }).await.unwrap();
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_refused_when_the_url_asks_for_it() {
    let world = World::postgres().await;
    let config = PostgresConfig { url: format!("{}?sslmode=require", world.url()), pool_size: 1 };
    let error = Ledger::postgres(config).await.unwrap_err().to_string();
    assert!(error.starts_with("failed to connect to the ledger: "), "{error}");
    assert!(error.contains("turn TLS on there (ssl = on), or write sslmode=disable into the URL"), "{error}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_with_its_reason() {
    let url = "postgres://me:secret@127.0.0.1:1/ledger".to_owned();
    let error = Ledger::postgres(PostgresConfig { url, pool_size: 1 }).await.unwrap_err();
    assert!(error.is_outage(), "{error}");
    let error = error.to_string();
    assert!(error.starts_with("failed to connect to the ledger"), "{error}");
    assert!(error.contains("onnection refused"), "{error}");
    assert!(!error.contains("secret"), "{error}");
}
