//! Under paused time: nothing here waits for real.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use futures::future::{join, join_all};
use prometheus::Registry;
use regatta_proto::ErrorClass;

use super::*;
use crate::CallMetrics;

const RETRIES: Retries = Retries { attempts: 8, base_delay_ms: 500, max_delay_ms: 60_000, deadline_ms: 600_000, quarantine_after: 16 };

fn tries(concurrency: u32, requests_per_minute: Option<u32>, retries: Retries) -> Tries {
    let metrics = Arc::new(CallMetrics::register(&Registry::new()).unwrap());
    let name = "sim".parse().unwrap();
    let metrics = EndpointMetrics::new(metrics, &name);
    Tries::new(&name, Limits { concurrency, requests_per_minute, tokens_per_minute: None }, retries, metrics, 1)
}

fn failure(class: ErrorClass) -> Failure {
    Failure::unanswered(class, "no".into())
}

/// Fails with `failures` in order, then succeeds.
async fn run(tries: &Tries, failures: &[Failure]) -> Result<Done<()>, GivenUp> {
    let (number, never) = (AtomicU32::new(0), CancellationToken::new());
    let once = || {
        let number = number.fetch_add(1, Ordering::SeqCst) as usize;
        async move { failures.get(number).map_or(Ok(()), |failure| Err(failure.clone())) }
    };
    tries.run(Some(7), &never, once).await
}

async fn tries_made(tries: &Tries, class: ErrorClass) -> usize {
    match run(tries, &vec![failure(class); 1000]).await {
        Err(GivenUp::Failed(made)) => made.len(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn the_table_decides_what_is_tried_again() {
    use ErrorClass::*;
    let tries = tries(1, None, RETRIES);
    for class in [Connection, Timeout, RateLimited, Server, BadResponse] {
        assert_eq!(tries_made(&tries, class).await, 8, "{class:?}");
    }
    for class in [Auth, NotFound, BadRequest, ContextLength] {
        assert_eq!(tries_made(&tries, class).await, 1, "{class:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn failed_tries_before_an_answer_are_kept() {
    let tries = tries(1, None, RETRIES);
    let done = run(&tries, &[failure(ErrorClass::Server), failure(ErrorClass::Timeout)]).await.unwrap();
    let classes: Vec<ErrorClass> = done.tries.iter().map(|one| one.class).collect();
    assert_eq!(classes, [ErrorClass::Server, ErrorClass::Timeout]);
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_is_waited_for() {
    let tries = tries(1, None, RETRIES);
    let begun = Instant::now();
    let told = Failure { retry_after: Some(Duration::from_secs(20)), ..failure(ErrorClass::RateLimited) };
    run(&tries, &[told]).await.unwrap();
    assert!((20.0..20.6).contains(&begun.elapsed().as_secs_f64()), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_retry_holds_no_permit() {
    let tries = tries(1, None, RETRIES);
    let begun = Instant::now();
    let told = [Failure { retry_after: Some(Duration::from_secs(20)), ..failure(ErrorClass::RateLimited) }];
    let other = async {
        run(&tries, &[]).await.unwrap();
        begun.elapsed()
    };
    let (first, other) = join(run(&tries, &told), other).await;
    assert!(first.is_ok() && other < Duration::from_secs(1), "{other:?}");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_our_own_permits_does_not_count_towards_the_deadline() {
    let tries = tries(10, Some(1), Retries { deadline_ms: 1_000, base_delay_ms: 10, ..RETRIES });
    let failures = [failure(ErrorClass::Server), failure(ErrorClass::Server)];
    let calls = join_all((0..5).map(|_| run(&tries, &failures))).await;
    assert!(calls.iter().all(Result::is_ok));
}

#[tokio::test(start_paused = true)]
async fn every_wait_ends_when_interrupted() {
    let tries = Arc::new(tries(1, None, RETRIES));
    let interrupt = CancellationToken::new();
    let call = || {
        let (tries, interrupt) = (Arc::clone(&tries), interrupt.clone());
        async move {
            let forever = Some(Duration::from_secs(3600));
            let once =
                || async move { Err::<(), _>(Failure { retry_after: forever, ..failure(ErrorClass::RateLimited) }) };
            tries.run(None, &interrupt, once).await
        }
    };
    let calls = [tokio::spawn(call()), tokio::spawn(call())];
    tokio::time::sleep(Duration::from_secs(1)).await;
    interrupt.cancel();
    for made in join_all(calls).await {
        let Err(GivenUp::Interrupted(made)) = made.unwrap() else { panic!("not interrupted") };
        assert_eq!(made.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_in_flight_is_awaited_when_interrupted_and_no_further_one_begins() {
    let tries = Arc::new(tries(1, None, RETRIES));
    let interrupt = CancellationToken::new();
    let slow = || async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        Ok::<_, Failure>("answer")
    };
    let (in_flight, waiting, ()) =
        tokio::join!(tries.run(None, &interrupt, slow), tries.run(None, &interrupt, slow), async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            interrupt.cancel();
        });
    assert_eq!(in_flight.unwrap_or_else(|_| panic!("it was in flight")).value, "answer");
    assert!(matches!(waiting, Err(GivenUp::Interrupted(tries)) if tries.is_empty()));
}

#[tokio::test(start_paused = true)]
async fn thousands_of_sessions_learn_within_seconds_that_an_endpoint_is_dead() {
    let tries = tries(64, None, RETRIES);
    let begun = Instant::now();
    let dead = join_all((0..5_000).map(|_| tries_made(&tries, ErrorClass::Connection))).await;
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    assert!(dead.iter().all(|made| *made <= 8));
    assert_eq!(tries_made(&tries, ErrorClass::Connection).await, 1);
}

#[tokio::test(start_paused = true)]
async fn one_answer_gives_every_session_its_retries_back() {
    let tries = tries(64, None, RETRIES);
    join_all((0..100).map(|_| tries_made(&tries, ErrorClass::Connection))).await;
    assert_eq!(tries_made(&tries, ErrorClass::Connection).await, 1);
    run(&tries, &[]).await.unwrap();
    assert_eq!(tries_made(&tries, ErrorClass::Connection).await, 8);
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_restarts_costs_retries_and_no_sessions() {
    let tries = tries(64, None, RETRIES);
    let back_at = Instant::now() + Duration::from_secs(4);
    let never = CancellationToken::new();
    let calls = (0..1_000).map(|seed| {
        tries.run(Some(seed), &never, move || async move {
            if Instant::now() < back_at { Err(failure(ErrorClass::Connection)) } else { Ok(()) }
        })
    });
    assert!(join_all(calls).await.iter().all(Result::is_ok));
}

/// An endpoint that accepts 500 requests a minute, counted by a sliding window or by a bucket of 20 that refills steadily, and never
/// says when there is room again.
#[derive(Default)]
struct Limited {
    starts: VecDeque<Instant>,
    bucket: Option<(f64, Instant)>,
}

impl Limited {
    const PER_MINUTE: f64 = 500.0;

    fn by_window(&mut self) -> bool {
        while self.starts.front().is_some_and(|start| start.elapsed() >= Duration::from_secs(60)) {
            self.starts.pop_front();
        }
        let accepts = (self.starts.len() as f64) < Self::PER_MINUTE;
        if accepts {
            self.starts.push_back(Instant::now());
        }
        accepts
    }

    fn by_bucket(&mut self) -> bool {
        let (level, since) = self.bucket.get_or_insert((20.0, Instant::now()));
        *level = (*level + since.elapsed().as_secs_f64() * Self::PER_MINUTE / 60.0).min(20.0);
        *since = Instant::now();
        let accepts = *level >= 1.0;
        *level -= f64::from(u8::from(accepts));
        accepts
    }
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_over_its_limit_loses_no_sessions() {
    for accept in [Limited::by_window, Limited::by_bucket] {
        let tries = tries(64, None, Retries::default());
        let (never, limited) = (CancellationToken::new(), Mutex::new(Limited::default()));
        let begun = Instant::now();
        let calls = (0..3_000).map(|seed| {
            let limited = &limited;
            tries.run(Some(seed), &never, move || async move {
                sleep(Duration::from_millis(200)).await;
                if accept(&mut limited.lock().unwrap()) { Ok(()) } else { Err(failure(ErrorClass::RateLimited)) }
            })
        });
        assert_eq!(join_all(calls).await.iter().filter(|call| call.is_err()).count(), 0);
        assert!(begun.elapsed() < Duration::from_secs(720), "{:?}; at best it is 360 s", begun.elapsed());
    }
}
