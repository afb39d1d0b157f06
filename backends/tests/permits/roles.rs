//! Rights of the deployment's roles in the database.

use regatta_backends::{Ledger, Permits, PostgresConfig};
use regatta_proto::{ErrorClass, Money};

use crate::failures::failing;
use crate::world::{World, account, spending, wanting};

const ROLES: &str = include_str!("../../../deploy/postgres-roles.sql");

/// The URL of a login that has `role` in the database of `world`.
async fn login(world: &World, role: &str) -> String {
    let database = world.url().rsplit('/').next().unwrap().replace('-', "_");
    // The server cuts names of over 63 characters, where they differ at their ends.
    let name = format!("{role}_{}", &database[database.len().saturating_sub(30)..]);
    world.sql(&format!("CREATE ROLE {name} LOGIN PASSWORD 'of a test' IN ROLE {role}")).await;
    let (scheme, rest) = world.url().split_once("://").unwrap();
    let address = rest.rsplit_once('@').map_or(rest, |(_, address)| address);
    format!("{scheme}://{name}:of%20a%20test@{address}")
}

fn config(url: &str) -> PostgresConfig {
    PostgresConfig { url: url.to_owned(), pool_size: 1 }
}

#[tokio::test]
async fn a_worker_leases_and_pays_and_sees_no_sweep_and_opens_no_account() {
    let world = World::postgres().await;
    Ledger::postgres(config(world.url())).await.unwrap();
    world.sql(ROLES).await;
    world.permits.open_account(&account("s"), Money(100), Money::ZERO).await.unwrap();
    let url = login(&world, "regatta_worker").await;
    let permits = Permits::postgres_as_it_is(config(&url)).await.unwrap();
    assert_eq!(permits.lease(&wanting("w-1", 5)).await.unwrap().grants[0].requests, 5);
    permits.settle(&spending("w-1", 10, 20)).await.unwrap();
    assert_eq!(permits.failing(&failing("a", ErrorClass::Timeout)).await.unwrap(), 1);
    let other = regatta_proto::AccountId { sweep: "another".parse().unwrap(), model: None };
    assert!(permits.open_account(&other, Money(100), Money::ZERO).await.is_err());
    let ledger = Ledger::postgres_as_it_is(config(&url)).await.unwrap();
    let error = ledger.sweeps().await.unwrap_err();
    assert!(with_sources(&error).contains("permission denied"), "{error:?}");
    assert!(Ledger::postgres(config(&url)).await.is_err(), "it may not change the schema");
}

#[tokio::test]
async fn coordinators_scorers_and_readers_see_sweeps_and_only_coordinators_have_permits_too() {
    let world = World::postgres().await;
    Ledger::postgres(config(world.url())).await.unwrap();
    // Again after each migration.
    world.sql(ROLES).await;
    world.sql(ROLES).await;
    for role in ["regatta_coordinator", "regatta_scorer", "regatta_reader"] {
        let url = login(&world, role).await;
        let ledger = Ledger::postgres_as_it_is(config(&url)).await.unwrap();
        assert!(ledger.sweeps().await.unwrap().is_empty(), "{role}");
        let permits = Permits::postgres_as_it_is(config(&url)).await.unwrap();
        let leased = permits.lease(&wanting("w-1", 5)).await;
        assert_eq!(leased.is_ok(), role == "regatta_coordinator", "{role}");
    }
}

/// The error with its sources.
fn with_sources(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source()).map(|error| format!("{error}: {error:?}")).collect()
}
