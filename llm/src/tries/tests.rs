//! Tests in paused time; none waits for real.

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

fn request(text: &str) -> ChatRequest {
    ChatRequest::new(vec![ChatMessage::new(ChatRole::User, text)], Sampling::default())
}

#[tokio::test(start_paused = true)]
async fn a_request_that_keeps_failing_while_others_are_answered_is_quarantined_for_the_fleet() {
    let store = FakeStore::default();
    let workers = [0, 1].map(|_| tries_at(&store, 10, None, Retries { quarantine_after: 11, ..RETRIES }));
    let (bad, good, never) = (request("bad"), request("good"), CancellationToken::new());
    let of = |request, attempt| TryContext {
        suspect: Some(Suspect::new(&SWEEP, "m", request)),
        attempt,
        ..context(1, &never)
    };
    let failing = vec![Failure { detail: "boom".into(), ..failure(ErrorClass::Server) }; 100];
    let mut made = Vec::new();
    for (attempt, worker) in (1..).zip([&workers[0], &workers[1], &workers[0]]) {
        let others = async {
            sleep(Duration::from_micros(1)).await;
            run_tries(worker, of(&good, 1), &[]).await.unwrap();
        };
        let failing = async {
            let slowly = || async {
                sleep(Duration::from_millis(10)).await;
                Err::<Answer, _>(failing[0].clone())
            };
            match worker.run(of(&bad, attempt), slowly).await {
                Err(GivenUp::Failed(made)) => made,
                other => panic!("{other:?}"),
            }
        };
        made.push(join(failing, others).await.0);
    }
    assert_eq!(classes(&made[0]), vec![ErrorClass::Server; 8]);
    // Three more failures make eleven in the fleet.
    use ErrorClass::{Poison, Server};
    assert_eq!(classes(&made[1]), [Server, Server, Server, Poison]);
    assert_eq!(made[1][3].detail, "the request has failed 11 times, the last time with server: boom");
    assert_eq!(classes(&made[2]), [Poison], "later attempts are not sent at all");
    assert_eq!(made[2][0].detail, "the request had failed 11 times and was not sent again");
    assert_eq!(store.asked_about_failures(), 2, "first attempts do not even ask");
}

#[tokio::test(start_paused = true)]
async fn failures_of_one_sweep_or_with_other_settings_quarantine_no_request_of_a_neighbour() {
    let store = FakeStore::default();
    let spec = EndpointSpec { retries: RETRIES, ..EndpointSpec::of_kind(EndpointKind::Openai) };
    let mut hasty = spec.clone();
    hasty.timeouts.total_ms = 1;
    let routed = EndpointSpec { headers: [("x-route".to_owned(), "broken".to_owned())].into(), ..spec.clone() };
    let (bad, never, others) = (request("bad"), CancellationToken::new(), "others".parse().unwrap());
    let counted = async |spec: &EndpointSpec, sweep: &SweepId| {
        let failing = &Failing {
            fingerprint: fingerprint(sweep, "pool", &spec.request_settings(), "m", &bad),
            class: ErrorClass::Timeout,
        };
        for _ in 0..RETRIES.quarantine_after {
            store.failing(failing).await.unwrap();
        }
    };
    let is_sent = async || {
        let suspect = Some(Suspect::new(&SWEEP, "m", &bad));
        let context = TryContext { suspect, attempt: 2, ..context(1, &never) };
        run_tries(&tries_of(&store, &spec), context, &[]).await.is_ok()
    };
    counted(&spec, &others).await;
    counted(&hasty, &SWEEP).await;
    counted(&routed, &SWEEP).await;
    assert!(is_sent().await, "these are others' failures");
    counted(&spec, &SWEEP).await;
    assert!(!is_sent().await, "these are its own");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_quarantines_nobody_and_holds_nobody_up() {
    let (store, bad) = (FakeStore::default(), request("bad"));
    let quarantine = Quarantine::new(Arc::new(store.clone()), "pool".into(), Digest::of(b""), 2);
    store.answers_after(Duration::from_secs(60));
    let begun = Instant::now();
    assert_eq!(quarantine.look(&mut Suspect::new(&SWEEP, "m", &bad)).await, None);
    assert_eq!(quarantine.count(&mut Suspect::new(&SWEEP, "m", &bad), &failure(ErrorClass::Server)).await, None);
    assert_eq!(begun.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_no_requests_fault() {
    let store = FakeStore::default();
    let tries = tries_at(&store, 10, None, Retries { quarantine_after: 2, ..RETRIES });
    let (bad, never) = (request("bad"), CancellationToken::new());
    run(&tries, &[]).await.unwrap();
    let context = TryContext { suspect: Some(Suspect::new(&SWEEP, "m", &bad)), ..context(1, &never) };
    let Err(GivenUp::Failed(made)) = run_tries(&tries, context, &vec![failure(ErrorClass::Server); 100]).await else {
        panic!("it never succeeds");
    };
    assert_eq!(classes(&made), vec![ErrorClass::Server; 8]);
}

fn paid<'a>(account: &'a AccountId, price: &'a Price, interrupt: &'a CancellationToken) -> TryContext<'a> {
    let context = context(1, interrupt);
    TryContext {
        payer: Payer { accounts: std::slice::from_ref(account), price: Some(price), ..context.payer },
        ..context
    }
}

/// Records the reports of a call in progress.
#[derive(Debug, Default)]
struct Told(std::sync::Mutex<Vec<Moment>>);

#[derive(Debug, PartialEq)]
enum Moment {
    Sent(Option<Money>),
    Failed(Option<Money>, Option<Money>),
}

impl Told {
    fn say(&self, moment: Moment) {
        self.0.lock().unwrap().push(moment);
    }
}

impl Meter for Told {
    fn waited(&self, _: Timestamp, _: Timestamp) {}

    fn sent(&self, at_most: Option<Money>) {
        self.say(Moment::Sent(at_most));
    }

    fn failed(&self, failed: &Try) {
        self.say(Moment::Failed(failed.cost, failed.at_most));
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_try_may_cost_is_told_when_it_is_sent_and_what_it_did_cost_when_it_has_failed() {
    let store = FakeStore::default();
    let account = AccountId { sweep: SWEEP.clone(), model: None };
    store.budget(&account, Money(10_000_000));
    let tries = tries_at(&store, 10, None, RETRIES);
    let (price, never, told) = (Price::per_mtok(1.0, 2.0), CancellationToken::new(), Told::default());
    let paid = TryContext { meter: Some(&told), ..paid(&account, &price, &never) };
    run_tries(&tries, paid, &[failure(ErrorClass::Timeout), failure(ErrorClass::Server)]).await.unwrap();
    let unpriced = TryContext { meter: Some(&told), ..context(1, &never) };
    run_tries(&tries, unpriced, &[]).await.unwrap();
    let worst = Some(Money(300_000));
    let moments = [
        Moment::Sent(worst),
        Moment::Failed(None, worst),
        Moment::Sent(worst),
        Moment::Failed(None, None),
        Moment::Sent(worst),
        Moment::Sent(None),
    ];
    assert_eq!(*told.0.lock().unwrap(), moments);
}

#[tokio::test(start_paused = true)]
async fn what_a_try_may_cost_is_that_of_the_service_tier_it_asks_for_and_of_no_dearer_one() {
    let price =
        Price { variants: [("priority".to_owned(), Price::per_mtok(10.0, 20.0))].into(), ..Price::per_mtok(1.0, 2.0) };
    let worst_case = async |tier: Option<&str>| {
        let mut spec = EndpointSpec::of_kind(EndpointKind::Openai);
        spec.body.extend(tier.map(|tier| ("service_tier".to_owned(), tier.into())));
        let (never, told) = (CancellationToken::new(), Told::default());
        let payer = Payer { price: Some(&price), ..context(1, &never).payer };
        let asked = TryContext { payer, meter: Some(&told), ..context(1, &never) };
        run_tries(&tries_of(&FakeStore::default(), &spec), asked, &[]).await.unwrap();
        told.0.into_inner().unwrap()
    };
    assert_eq!(worst_case(Some("default")).await, [Moment::Sent(Some(Money(300_000)))]);
    assert_eq!(worst_case(Some("priority")).await, [Moment::Sent(Some(Money(3_000_000)))]);
    assert_eq!(worst_case(None).await, [Moment::Sent(Some(Money(3_000_000)))], "the provider chooses");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_its_permit_tells_of_no_cost() {
    let tries = tries(1, None, RETRIES);
    let (never, told, hold) = (CancellationToken::new(), Told::default(), tokio::sync::Notify::new());
    let holds = tries.run(context(1, &never), || async {
        hold.notified().await;
        answer()
    });
    let waits = run_tries(&tries, TryContext { meter: Some(&told), ..context(2, &never) }, &[]);
    let looks = async {
        sleep(Duration::from_secs(5)).await;
        assert!(told.0.lock().unwrap().is_empty());
        hold.notify_one();
    };
    let (first, second, ()) = tokio::join!(holds, waits, looks);
    assert!(first.is_ok() && second.is_ok());
    assert_eq!(told.0.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn every_kind_of_try_is_paid_with_what_it_cost() {
    let store = FakeStore::default();
    let account = AccountId { sweep: SWEEP.clone(), model: None };
    store.budget(&account, Money(10_000_000));
    let tries = tries_at(&store, 10, None, RETRIES);
    let (price, never) = (Price::per_mtok(1.0, 2.0), CancellationToken::new());
    let told = Usage { input: 5, output: 1, ..Usage::default() };
    let failures = [
        failure(ErrorClass::Timeout),
        Failure { usage: Some(told), ..failure(ErrorClass::BadResponse) },
        failure(ErrorClass::Server),
    ];
    let done = run_tries(&tries, paid(&account, &price, &never), &failures).await.unwrap();
    let costs: Vec<_> = done.tries.iter().map(|one| (one.cost, one.at_most)).collect();
    // The worst case is a hundred bytes and a hundred tokens; one failure reports five and one.
    assert_eq!(costs, [(None, Some(Money(300_000))), (Some(Money(7_000)), None), (None, None)]);
    assert_eq!(done.cost, Some(Money(30_000)));
    sleep(Duration::from_secs(10)).await;
    assert_eq!(store.account(&account), (Money(37_000), Money(300_000), Money::ZERO));
    store.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn a_broken_answer_of_a_tier_without_a_price_has_an_unknown_cost_and_an_account_pays_the_worst() {
    let store = FakeStore::default();
    let account = AccountId { sweep: SWEEP.clone(), model: None };
    store.budget(&account, Money(10_000_000));
    let tries = tries_at(&store, 10, None, RETRIES);
    let (price, never) = (Price::per_mtok(1.0, 2.0), CancellationToken::new());
    let told = Usage { input: 5, output: 1, ..Usage::default() };
    let failure = Failure { usage: Some(told), tier: Some("priority".into()), ..failure(ErrorClass::BadResponse) };
    let done = run_tries(&tries, paid(&account, &price, &never), &[failure]).await.unwrap();
    assert_eq!((done.tries[0].cost, done.tries[0].at_most), (None, Some(Money(300_000))));
    sleep(Duration::from_secs(10)).await;
    assert_eq!(store.account(&account), (Money(30_000), Money(300_000), Money::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_call_beyond_the_budget_is_not_sent() {
    let store = FakeStore::default();
    let account = AccountId { sweep: SWEEP.clone(), model: None };
    store.budget(&account, Money(250_000));
    let tries = tries_at(&store, 10, None, RETRIES);
    let (price, never) = (Price::per_mtok(1.0, 2.0), CancellationToken::new());
    let Err(GivenUp::Failed(made)) = run_tries(&tries, paid(&account, &price, &never), &[]).await else {
        panic!("it was sent");
    };
    assert_eq!(classes(&made), [ErrorClass::Budget]);
    let detail = "the budget of sweep s is used up: the call may cost $0.0003000, and $0.0002500 is left at most";
    assert_eq!(made[0].detail, detail);
    let context = paid(&account, &price, &never);
    let context = TryContext { payer: Payer { price: None, ..context.payer }, ..context };
    let Err(GivenUp::Failed(made)) = run_tries(&tries, context, &[]).await else { panic!("it was sent") };
    assert_eq!(classes(&made), [ErrorClass::Budget]);
    assert_eq!(made[0].detail, "the price of m is unknown, so the budget of sweep s does not allow it");
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
