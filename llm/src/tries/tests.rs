//! Tests in paused time; none waits for real.

mod costs;
mod quarantine;

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;

use futures::future::{join, join_all};
use prometheus::Registry;
use regatta_proto::{
    AccountId, CacheMode, ChatMessage, ChatRequest, ChatRole, Digest, EndpointKind, ErrorClass, Failing, Limits, Price,
    Sampling, Share, SweepId, Try, fingerprint,
};
use tokio::time::{Instant, sleep};

use super::*;
use crate::errors::Reach;
use crate::permits::fake::FakeStore;
use crate::permits::store::PermitStore as _;

const RETRIES: Retries =
    Retries { attempts: 8, base_delay_ms: 500, max_delay_ms: 60_000, deadline_ms: 600_000, quarantine_after: 16 };

static SWEEP: std::sync::LazyLock<SweepId> = std::sync::LazyLock::new(|| "s".parse().unwrap());

/// Answer of the test endpoint: ten tokens of input, and this usage.
#[derive(Debug, Default)]
struct Answer(Usage);

impl Answered for Answer {
    fn usage(&self) -> &Usage {
        &self.0
    }
    fn usage_is_known(&self) -> bool {
        true
    }
    fn tier(&self) -> Option<&str> {
        None
    }
    fn first_token(&self) -> Option<Duration> {
        None
    }
    fn exhausted_for(&self) -> Option<Duration> {
        None
    }
}

fn answer() -> Result<Answer, Failure> {
    Ok(Answer(Usage { input: 10, output: 10, ..Usage::default() }))
}

fn tries(concurrency: u32, requests_per_minute: Option<u32>, retries: Retries) -> Tries {
    tries_at(&FakeStore::default(), concurrency, requests_per_minute, retries)
}

fn tries_at(store: &FakeStore, concurrency: u32, requests_per_minute: Option<u32>, retries: Retries) -> Tries {
    let limits = Limits { concurrency, requests_per_minute, tokens_per_minute: None };
    tries_of(store, &EndpointSpec { limits, retries, ..EndpointSpec::of_kind(EndpointKind::Openai) })
}

fn tries_of(store: &FakeStore, spec: &EndpointSpec) -> Tries {
    Tries::open(&"main".parse().unwrap(), spec, &store.context(&Registry::new(), "w"))
}

fn context(seed: u64, interrupt: &CancellationToken) -> TryContext<'_> {
    TryContext {
        model: "m",
        payer: Payer { sweep: &SWEEP, share: Share::default(), accounts: &[], price: None, cache: CacheMode::Off },
        attempt: 1,
        prompt_bytes: 100,
        media_tokens: 0,
        max_output: Some(100),
        suspect: None,
        seed: Some(seed),
        interrupt,
        meter: None,
    }
}

fn failure(class: ErrorClass) -> Failure {
    Failure::unanswered(class, "no".into())
}

/// A call that fails with `failures` in order, and then succeeds.
async fn run_tries(tries: &Tries, context: TryContext<'_>, failures: &[Failure]) -> Result<Done<Answer>, GivenUp> {
    let number = AtomicU32::new(0);
    let once = || {
        let number = number.fetch_add(1, Ordering::SeqCst) as usize;
        async move { failures.get(number).map_or_else(answer, |failure| Err(failure.clone())) }
    };
    tries.run(context, once).await
}

async fn run(tries: &Tries, failures: &[Failure]) -> Result<Done<Answer>, GivenUp> {
    run_tries(tries, context(7, &CancellationToken::new()), failures).await
}

async fn tries_made(tries: &Tries, class: ErrorClass) -> usize {
    match run(tries, &vec![failure(class); 1000]).await {
        Err(GivenUp::Failed(made)) => made.len(),
        other => panic!("{other:?}"),
    }
}

fn classes(tries: &[Try]) -> Vec<ErrorClass> {
    tries.iter().map(|one| one.class).collect()
}

#[tokio::test(start_paused = true)]
async fn the_table_decides_what_is_tried_again() {
    for row in &crate::errors::TABLE {
        let expected = if row.retried { 8 } else { 1 };
        assert_eq!(tries_made(&tries(1, None, RETRIES), row.class).await, expected, "{:?}", row.class);
    }
}

#[tokio::test(start_paused = true)]
async fn failed_tries_before_an_answer_are_kept() {
    let tries = tries(1, None, RETRIES);
    let done = run(&tries, &[failure(ErrorClass::Server), failure(ErrorClass::Timeout)]).await.unwrap();
    assert_eq!(classes(&done.tries), [ErrorClass::Server, ErrorClass::Timeout]);
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
async fn a_call_tells_how_long_it_waited_for_its_retry_and_for_its_permit() {
    let tries_of_one = tries(1, None, RETRIES);
    let told = Failure { retry_after: Some(Duration::from_secs(20)), ..failure(ErrorClass::RateLimited) };
    let done = run(&tries_of_one, &[told]).await.unwrap();
    assert_eq!(done.tries[0].waited_us, 0, "nothing was before it");
    assert!((20_000_000..20_600_000).contains(&done.waited_us), "{}", done.waited_us);

    let tries = tries(1, None, RETRIES);
    let interrupt = CancellationToken::new();
    let slow = || async {
        sleep(Duration::from_secs(5)).await;
        answer()
    };
    let calls = [1, 2].map(|seed| tries.run(context(seed, &interrupt), slow));
    let waited: Vec<u64> = join_all(calls).await.into_iter().map(|done| done.unwrap().waited_us).collect();
    assert!((4_900_000..5_100_000).contains(&waited[1].abs_diff(waited[0])), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_retry_holds_no_permit() {
    let tries = tries(1, None, Retries { base_delay_ms: 60_000, ..RETRIES });
    let begun = Instant::now();
    let other = async {
        run(&tries, &[]).await.unwrap();
        begun.elapsed()
    };
    let (first, other) = join(run(&tries, &[failure(ErrorClass::Server)]), other).await;
    assert!(first.is_ok() && begun.elapsed() > Duration::from_secs(3));
    assert!(other < Duration::from_secs(1), "{other:?}");
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_asks_to_be_left_alone_gets_no_other_call_meanwhile() {
    let tries = tries(5, None, RETRIES);
    let begun = Instant::now();
    let told = [Failure { retry_after: Some(Duration::from_secs(20)), ..failure(ErrorClass::RateLimited) }];
    let other = async {
        sleep(Duration::from_secs(1)).await;
        run(&tries, &[]).await.unwrap();
        begun.elapsed()
    };
    let (_, other) = join(run(&tries, &told), other).await;
    assert!(other >= Duration::from_secs(20), "{other:?}");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_our_own_permits_does_not_count_towards_the_deadline() {
    let tries = tries(10, Some(2), Retries { deadline_ms: 1_000, base_delay_ms: 10, ..RETRIES });
    let failures = [failure(ErrorClass::Server), failure(ErrorClass::Server)];
    let calls = join_all((0..5).map(|_| run(&tries, &failures))).await;
    assert!(calls.iter().all(Result::is_ok));
}

#[tokio::test(start_paused = true)]
async fn every_wait_ends_when_interrupted() {
    let store = FakeStore::default();
    let account = AccountId { sweep: SWEEP.clone(), model: None };
    store.budget(&account, Money(1_000_000_000));
    let tries = &tries_at(&store, 1, None, RETRIES);
    let interrupt = CancellationToken::new();
    let forever = Some(Duration::from_secs(3600));
    let refused =
        || async move { Err::<Answer, _>(Failure { retry_after: forever, ..failure(ErrorClass::RateLimited) }) };
    let price = Price::per_mtok(0.0, 6_000.0);
    // Either of two calls takes more than half of the money.
    let payer = Payer { accounts: std::slice::from_ref(&account), price: Some(&price), ..context(1, &interrupt).payer };
    let paying = || TryContext { payer, ..context(1, &interrupt) };
    let in_flight = CancellationToken::new();
    let slow = || async {
        in_flight.cancelled().await;
        answer()
    };
    let (one, two, (), three, four) = tokio::join!(
        tries.run(context(1, &interrupt), refused),
        tries.run(context(2, &interrupt), refused),
        async {
            sleep(Duration::from_secs(1)).await;
            interrupt.cancel();
            in_flight.cancel();
        },
        tries.run(paying(), slow),
        tries.run(paying(), slow),
    );
    let made = |result: Result<Done<Answer>, GivenUp>| match result {
        Err(GivenUp::Interrupted(made)) => made.len(),
        other => panic!("not interrupted: {other:?}"),
    };
    // The first one waits for its retry, the others for the endpoint, for money, or for a permit.
    assert_eq!([made(one), made(two), made(three), made(four)], [1, 0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_request_in_flight_is_awaited_when_interrupted_and_no_further_one_begins() {
    let tries = tries(1, None, RETRIES);
    let interrupt = CancellationToken::new();
    let slow = || async {
        sleep(Duration::from_secs(10)).await;
        answer()
    };
    let (in_flight, waiting, ()) =
        tokio::join!(tries.run(context(1, &interrupt), slow), tries.run(context(1, &interrupt), slow), async {
            sleep(Duration::from_secs(1)).await;
            interrupt.cancel();
        });
    assert!(in_flight.is_ok());
    assert!(matches!(waiting, Err(GivenUp::Interrupted(tries)) if tries.is_empty()));
}

#[tokio::test(start_paused = true)]
async fn thousands_of_sessions_learn_within_the_deadline_that_an_endpoint_is_dead() {
    let tries = tries(64, None, Retries { deadline_ms: 60_000, ..RETRIES });
    let begun = Instant::now();
    let dead = join_all((0..5_000).map(|_| tries_made(&tries, ErrorClass::Connection))).await;
    assert!((60..90).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    assert!(dead.iter().all(|made| *made <= 10));
    let begun = Instant::now();
    assert_eq!(tries_made(&tries, ErrorClass::Connection).await, 1);
    assert!(begun.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn one_answer_gives_every_session_its_retries_back() {
    let tries = tries(64, None, Retries { deadline_ms: 20_000, ..RETRIES });
    join_all((0..100).map(|_| tries_made(&tries, ErrorClass::Connection))).await;
    assert_eq!(tries_made(&tries, ErrorClass::Connection).await, 1);
    run(&tries, &[]).await.unwrap();
    assert!(tries_made(&tries, ErrorClass::Connection).await > 4);
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_is_down_for_minutes_costs_a_few_tries_and_no_sessions() {
    let tries = tries(64, None, RETRIES);
    let (begun, never, sent) = (Instant::now(), CancellationToken::new(), AtomicU32::new(0));
    let back_at = begun + Duration::from_secs(400);
    let calls = (0..1_000).map(|seed| {
        let sent = &sent;
        tries.run(context(seed, &never), move || async move {
            sent.fetch_add(1, Ordering::SeqCst);
            if Instant::now() < back_at { Err(failure(ErrorClass::Connection)) } else { answer() }
        })
    });
    let done: Vec<Done<Answer>> = join_all(calls).await.into_iter().map(Result::unwrap).collect();
    assert!(begun.elapsed() < Duration::from_secs(430), "{:?}", begun.elapsed());
    assert!(done.iter().all(|done| done.tries.len() < 8));
    let in_vain = sent.load(Ordering::SeqCst) - 1_000;
    assert!(in_vain < 6_000, "{in_vain}: some for each in the first seconds, then one now and then");
}

/// An endpoint that accepts 500 requests a minute, counted by a sliding window or by a bucket of 20 that refills steadily, and never tells
/// when to retry.
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
            tries.run(context(seed, &never), move || async move {
                sleep(Duration::from_millis(200)).await;
                if accept(&mut limited.lock().unwrap()) { answer() } else { Err(failure(ErrorClass::RateLimited)) }
            })
        });
        assert_eq!(join_all(calls).await.iter().filter(|call| call.is_err()).count(), 0);
        assert!(begun.elapsed() < Duration::from_secs(720), "{:?}; at best it is 360 s", begun.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_that_stood_still_sends_nothing_before_its_connections_have_noticed() {
    let tries = tries(1, None, RETRIES);
    run(&tries, &[]).await.unwrap();
    tokio::time::advance(Duration::from_secs(13)).await;
    let woken = Instant::now();
    run(&tries, &[]).await.unwrap();
    assert!((2.0..2.6).contains(&woken.elapsed().as_secs_f64()), "{:?}", woken.elapsed());
}

/// It is nobody's fault: neither the endpoint's, whose breaker would open, nor the request's, which has a bounded number of tries.
#[tokio::test(start_paused = true)]
async fn a_request_that_was_not_sent_because_its_process_stood_still_is_sent_again_and_is_no_try() {
    let tries = tries(1, None, Retries { attempts: 1, ..RETRIES });
    let unsent = Failure {
        reach: Reach::StoodStill,
        maybe_billed: false,
        ..Failure::unanswered(ErrorClass::Connection, "it stood still".into())
    };
    let done = run(&tries, &vec![unsent; 40]).await.unwrap();
    assert_eq!(done.tries, []);
}
