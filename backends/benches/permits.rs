//! Time of one lease of permits, and of one telling of money, in PostgreSQL, by the workers that the state lists:
//! `cargo bench -p regatta-backends --features cluster --bench permits`.
//!
//! One worker after another asks, on one connection, so that nobody waits for a row's lock. The server is that of
//! `REGATTA_TEST_POSTGRES_URL`, or a private one on this machine: round trips take next to nothing. `docs/scale.md` has what follows.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement may fail loudly, and prints its result")]

use std::collections::BTreeMap;
use std::time::Instant;

use regatta_backends::{Permits, PostgresConfig};
use regatta_proto::{AccountId, AccountRequest, Limits, Money, Party, PoolRequest, Share, Signals, SweepId, WorkerId};
use regatta_tests::{Postgres, create_database};

/// Workers of a pool. All of them lease within the ten seconds after which a silent one is no longer listed.
const OF_POOLS: [u32; 4] = [1, 100, 300, 1_000];
/// Workers of an account, which lists them for a day.
const OF_ACCOUNTS: [u32; 4] = [1, 100, 300, 1_000];
/// Requests that are measured.
const REQUESTS: u32 = 500;

#[tokio::main]
async fn main() {
    let (_server, url) = match std::env::var("REGATTA_TEST_POSTGRES_URL") {
        Ok(url) => (None, url),
        Err(_) => {
            let server = Postgres::start().await.unwrap();
            let url = server.url();
            (Some(server), url)
        }
    };
    let url = create_database(&url).await.unwrap();
    let permits = Permits::postgres(PostgresConfig { url, pool_size: 1 }).await.unwrap();
    for workers in OF_POOLS {
        let pool = format!("pool-{workers}");
        for worker in 0..workers {
            permits.lease(&lease(&pool, worker, workers)).await.unwrap();
        }
        let begun = Instant::now();
        for number in 0..REQUESTS {
            permits.lease(&lease(&pool, number % workers, workers)).await.unwrap();
        }
        let listed = permits.holders(&pool).await.unwrap().len();
        print("a lease", listed, begun);
    }
    for workers in OF_ACCOUNTS {
        let account = AccountId { sweep: SweepId::new(format!("sweep-{workers}")).unwrap(), model: None };
        permits.open_uncapped_account(&account, Money::ZERO).await.unwrap();
        for worker in 0..workers {
            permits.settle(&telling(&account, worker, 1)).await.unwrap();
        }
        let begun = Instant::now();
        for number in 0..REQUESTS {
            permits.settle(&telling(&account, number % workers, u64::from(number / workers) + 2)).await.unwrap();
        }
        print("a telling of money", workers as usize, begun);
    }
}

fn print(request: &str, listed: usize, begun: Instant) {
    let each_us = begun.elapsed().as_secs_f64() * 1e6 / f64::from(REQUESTS);
    println!("{listed:>5} workers listed: {each_us:>7.0} us {request}");
}

fn holder(worker: u32) -> WorkerId {
    WorkerId::new(format!("worker-{worker:05}")).unwrap()
}

/// A worker with a call in flight and another that waits, as in the middle of a sweep.
fn lease(pool: &str, worker: u32, workers: u32) -> PoolRequest {
    let party = Party {
        sweep: SweepId::new("sweep").unwrap(),
        model: String::new(),
        share: Share::default(),
        in_flight: 1,
        waiting: 1,
        waiting_tokens: 0,
        unsent_requests: 0,
        unsent_tokens: 0,
        token_correction: 0,
    };
    PoolRequest {
        pool: pool.to_owned(),
        holder: holder(worker),
        limits: Limits { concurrency: workers, requests_per_minute: None, tokens_per_minute: None },
        model_limits: BTreeMap::new(),
        parties: vec![party],
        signals: Signals::default(),
    }
}

/// A worker that has one call under way, and has ended so many.
fn telling(account: &AccountId, worker: u32, calls: u64) -> AccountRequest {
    let each = Money(1_000_000);
    AccountRequest {
        account: account.clone(),
        holder: holder(worker),
        spent: Money(each.0 * calls),
        maybe_spent: Money::ZERO,
        in_flight: each,
        sent: each,
        to_send: each,
        wanted: each,
        least: Money::ZERO,
        claim: None,
        claims_for_good: false,
    }
}
