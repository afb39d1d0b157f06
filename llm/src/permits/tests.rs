//! Under paused time: nothing here waits for real.

use std::sync::atomic::{AtomicU32, Ordering};

use futures::FutureExt;
use futures::future::join_all;
use prometheus::Registry;
use proptest::prelude::*;
use regatta_proto::{EndpointKind, Limits, ModelLimits};
use tokio::time::{sleep, timeout};

use super::fake::{FakeStore, VALID};
use super::*;

const MINUTE: Duration = Duration::from_secs(60);

fn spec(limits: Limits) -> EndpointSpec {
    EndpointSpec { limits, ..EndpointSpec::of_kind(EndpointKind::Openai) }
}

fn slots(concurrency: u32) -> Limits {
    Limits { concurrency, ..Limits::default() }
}

fn governor(store: &FakeStore, spec: &EndpointSpec) -> Arc<Governor> {
    let context = store.context(&Registry::new(), "w");
    let metrics = Arc::new(EndpointMetrics::new(Arc::clone(&context.metrics), &"main".parse().unwrap()));
    Arc::new(Governor::open(spec, &context, metrics))
}

fn sweep(name: &str) -> SweepId {
    name.parse().unwrap()
}

/// A call of the sweep `s`.
fn ask(sweep: &SweepId) -> Ask<'_> {
    Ask { sweep, share: Share::default(), model: "m", tokens: 0, line: Line::New }
}

async fn sent(governor: &Governor, ask: &Ask<'_>) -> Permit {
    let mut permit = governor.acquire(ask).await;
    permit.sent();
    permit
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_run_than_the_fleet_has_slots() {
    let store = FakeStore::default();
    let workers: Vec<_> = (0..3).map(|_| governor(&store, &spec(slots(7)))).collect();
    let (running, most) = (AtomicU32::new(0), AtomicU32::new(0));
    let sweep = sweep("s");
    let calls = (0..300).map(|number: usize| {
        let (governor, running, most, sweep) = (&workers[number % 3], &running, &most, &sweep);
        async move {
            let permit = sent(governor, &ask(sweep)).await;
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            sleep(Duration::from_millis(200)).await;
            running.fetch_sub(1, Ordering::SeqCst);
            permit.answered(None);
        }
    });
    timeout(MINUTE, join_all(calls)).await.unwrap();
    assert_eq!(most.load(Ordering::SeqCst), 7);
    store.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_is_freed_goes_to_the_next_call_without_the_store() {
    let store = FakeStore::default();
    let governor = governor(&store, &spec(slots(10)));
    let sweep = sweep("s");
    let begun = Instant::now();
    let calls = (0..10_000).map(|_| async {
        let permit = sent(&governor, &ask(&sweep)).await;
        sleep(Duration::from_millis(1)).await;
        permit.answered(None);
    });
    join_all(calls).await;
    assert!(begun.elapsed() < Duration::from_millis(2_200), "{:?}", begun.elapsed());
    assert!(store.leases().len() < 10, "{}", store.leases().len());
    store.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn conversations_that_change_between_models_do_not_wait_for_the_store_at_every_turn() {
    let store = FakeStore::default();
    let governor = governor(&store, &spec(slots(10)));
    let sweep = sweep("s");
    let begun = Instant::now();
    let conversations = (0..100).map(|_| async {
        for turn in 0..100 {
            let model = if turn % 2 == 0 { "agent" } else { "user" };
            let permit = sent(&governor, &Ask { model, ..ask(&sweep) }).await;
            sleep(Duration::from_millis(1)).await;
            permit.answered(None);
        }
    });
    join_all(conversations).await;
    assert!(begun.elapsed() < Duration::from_millis(2_200), "{:?}", begun.elapsed());
    store.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_comes_alone_is_asked_for_at_once() {
    let store = FakeStore::default();
    let governor = governor(&store, &spec(slots(10)));
    let begun = Instant::now();
    drop(sent(&governor, &ask(&sweep("s"))).await);
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

/// Sends calls over `workers` for a while and returns when each was sent, with its tokens.
async fn traffic(workers: &[Arc<Governor>], calls: usize, tokens: impl Fn(usize) -> (u64, u64)) -> Vec<(Instant, u64)> {
    let (log, sweep) = (Mutex::new(Vec::new()), sweep("s"));
    let calls = (0..calls).map(|number| {
        let (log, sweep, governor) = (&log, &sweep, &workers[number % workers.len()]);
        let (estimate, real) = tokens(number);
        async move {
            let permit = sent(governor, &Ask { tokens: estimate, ..ask(sweep) }).await;
            log.lock().unwrap().push((Instant::now(), real));
            sleep(Duration::from_millis(300)).await;
            permit.answered(Some(real));
        }
    });
    join_all(calls).await;
    let mut log = log.into_inner().unwrap();
    log.sort();
    log
}

/// The most of any sliding minute.
fn busiest_minute(log: &[(Instant, u64)], of: impl Fn(u64) -> u64) -> u64 {
    let minute = |at: Instant| log.iter().filter(move |(other, _)| at <= *other && *other < at + MINUTE);
    log.iter().map(|(at, _)| minute(*at).map(|(_, tokens)| of(*tokens)).sum()).max().unwrap()
}

#[tokio::test(start_paused = true)]
async fn any_sliding_minute_of_the_fleet_holds_at_most_the_allowed_requests() {
    let store = FakeStore::default();
    store.answers_after(Duration::from_millis(4));
    let limits = Limits { requests_per_minute: Some(120), ..slots(50) };
    let workers: Vec<_> = (0..4).map(|_| governor(&store, &spec(limits))).collect();
    let begun = Instant::now();
    let log = traffic(&workers, 600, |_| (0, 0)).await;
    assert_eq!(busiest_minute(&log, |_| 1), 120);
    assert!(begun.elapsed() < Duration::from_secs(4 * 61 + 8), "{:?}; at best it is 4 minutes", begun.elapsed());
    store.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn any_sliding_minute_of_the_fleet_holds_at_most_the_allowed_tokens() {
    let store = FakeStore::default();
    store.answers_after(Duration::from_millis(4));
    let limits = Limits { tokens_per_minute: Some(10_000), ..slots(50) };
    let workers: Vec<_> = (0..3).map(|_| governor(&store, &spec(limits))).collect();
    let begun = Instant::now();
    // Estimates are too high, as they should be: on average half of what they say is needed.
    let log = traffic(&workers, 400, |number| (200, 50 + (number as u64 * 37) % 100)).await;
    assert!(busiest_minute(&log, |tokens| tokens) <= 10_000);
    let all: u64 = log.iter().map(|(_, tokens)| tokens).sum();
    let at_best = (MINUTE + VALID) * u32::try_from(all.div_ceil(10_000)).unwrap();
    assert!(begun.elapsed() < at_best + Duration::from_secs(8), "{:?}; at best it is {at_best:?}", begun.elapsed());
    store.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn a_call_larger_than_a_minutes_tokens_is_sent_all_the_same() {
    let store = FakeStore::default();
    let limits = Limits { tokens_per_minute: Some(1_000), ..slots(5) };
    let governor = governor(&store, &spec(limits));
    let sweep = sweep("s");
    let large = Ask { tokens: 50_000, ..ask(&sweep) };
    sent(&governor, &large).await.answered(Some(50_000));
    store.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_needs_more_than_those_behind_it_has_its_turn() {
    let store = FakeStore::default();
    let limits = Limits { tokens_per_minute: Some(1_000), ..slots(1) };
    let governor = governor(&store, &spec(limits));
    let sweep = sweep("s");
    let calls = [900, 10, 10, 10].map(|tokens| {
        let (governor, sweep) = (&governor, &sweep);
        async move { sent(governor, &Ask { tokens, ..ask(sweep) }).await.answered(Some(tokens)) }
    });
    timeout(Duration::from_secs(2), join_all(calls)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn limits_of_one_model_hold_no_other_model_up() {
    let store = FakeStore::default();
    let mut spec = spec(slots(50));
    spec.model_limits.insert("slow".into(), ModelLimits { requests_per_minute: Some(2), ..ModelLimits::default() });
    let governor = governor(&store, &spec);
    let sweep = sweep("s");
    let begun = Instant::now();
    let of = |model: &'static str, count: usize| {
        let (governor, sweep) = (&governor, &sweep);
        join_all((0..count).map(move |_| async move {
            sent(governor, &Ask { model, ..ask(sweep) }).await.answered(None);
            begun.elapsed()
        }))
    };
    let (slow, fast) = tokio::join!(of("slow", 3), of("fast", 100));
    assert!(fast.iter().all(|at| *at < Duration::from_secs(2)), "{fast:?}");
    assert!(slow[1] < Duration::from_secs(2) && slow[2] > Duration::from_secs(59), "{slow:?}");
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_party_are_served_in_the_order_they_came() {
    let governor = governor(&FakeStore::default(), &spec(slots(1)));
    let (order, sweep) = (Mutex::new(Vec::new()), sweep("s"));
    let calls = (0..50).map(|number| {
        let (order, sweep, governor) = (&order, &sweep, &governor);
        async move {
            let permit = sent(governor, &ask(sweep)).await;
            order.lock().unwrap().push(number);
            sleep(Duration::from_millis(1)).await;
            permit.answered(None);
        }
    });
    join_all(calls).await;
    assert_eq!(*order.lock().unwrap(), (0..50).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_tried_again_goes_before_new_ones() {
    let governor = governor(&FakeStore::default(), &spec(slots(1)));
    let sweep = sweep("s");
    let call = ask(&sweep);
    let first = sent(&governor, &call).await;
    let mut new = Box::pin(governor.acquire(&call));
    assert!((&mut new).now_or_never().is_none());
    let retry = Ask { line: Line::Retried, ..ask(&sweep) };
    let mut retried = Box::pin(governor.acquire(&retry));
    assert!((&mut retried).now_or_never().is_none());
    first.answered(None);
    let permit = retried.now_or_never().unwrap();
    assert!((&mut new).now_or_never().is_none());
    permit.answered(None);
    assert!(new.now_or_never().is_some());
}

#[tokio::test(start_paused = true)]
async fn once_many_calls_are_refused_no_new_one_begins_until_all_of_them_got_through() {
    let governor = governor(&FakeStore::default(), &spec(slots(40)));
    let sweep = sweep("s");
    drop(governor.acquire(&ask(&sweep)).await);
    let mut refused: Vec<Refused> = (0..19).map(|_| governor.refused(&ask(&sweep), "no")).collect();
    drop(governor.acquire(&ask(&sweep)).await);
    refused.push(governor.refused(&ask(&sweep), "no"));
    let (call, retry) = (ask(&sweep), Ask { line: Line::Retried, ..ask(&sweep) });
    let mut new = Box::pin(governor.acquire(&call));
    assert!(timeout(Duration::from_secs(9), &mut new).await.is_err());
    drop(governor.acquire(&retry).await);
    refused.truncate(1);
    assert!(timeout(Duration::from_secs(9), &mut new).await.is_err());
    refused.clear();
    drop(timeout(Duration::from_secs(1), new).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_few_refusals_stop_nobody_however_small_the_concurrency() {
    let governor = governor(&FakeStore::default(), &spec(slots(1)));
    let sweep = sweep("s");
    let _refused: Vec<Refused> = (0..15).map(|_| governor.refused(&ask(&sweep), "no")).collect();
    drop(timeout(Duration::from_secs(1), governor.acquire(&ask(&sweep))).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_leaves_takes_nobodys_turn_with_it() {
    let store = FakeStore::default();
    let limits = Limits { tokens_per_minute: Some(1_000), ..slots(5) };
    let governor = governor(&store, &spec(limits));
    let sweep = sweep("s");
    let (large, small) = (Ask { tokens: 900, ..ask(&sweep) }, Ask { tokens: 100, ..ask(&sweep) });
    sent(&governor, &large).await.answered(Some(900));
    let mut first = Box::pin(governor.acquire(&large));
    let mut second = Box::pin(governor.acquire(&small));
    assert!(timeout(Duration::from_secs(5), &mut first).await.is_err());
    assert!((&mut second).now_or_never().is_none());
    drop(first);
    drop(timeout(Duration::from_secs(2), second).await.unwrap());
    store.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn what_was_not_sent_is_given_back() {
    let store = FakeStore::default();
    let limits = Limits { requests_per_minute: Some(10), tokens_per_minute: Some(10_000), ..slots(50) };
    let governor = governor(&store, &spec(limits));
    let sweep = sweep("s");
    for _ in 0..50 {
        drop(governor.acquire(&Ask { tokens: 900, ..ask(&sweep) }).await);
    }
    let begun = Instant::now();
    for _ in 0..10 {
        sent(&governor, &Ask { tokens: 900, ..ask(&sweep) }).await.answered(Some(100));
    }
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    store.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_on_what_is_void() {
    let store = FakeStore::default();
    // An answer takes so long that what it grants is void when it comes.
    store.answers_after(VALID + Duration::from_millis(1));
    let limits = Limits { requests_per_minute: Some(10), ..slots(5) };
    let governor = governor(&store, &spec(limits));
    let sweep = sweep("s");
    let call = ask(&sweep);
    let mut waiting = Box::pin(governor.acquire(&call));
    assert!(timeout(Duration::from_secs(30), &mut waiting).await.is_err());
    store.answers_after(Duration::from_millis(10));
    drop(timeout(Duration::from_secs(5), waiting).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn slots_go_on_through_an_outage_of_the_store_until_they_are_void() {
    let store = FakeStore::default();
    let governor = governor(&store, &spec(slots(3)));
    let sweep = sweep("s");
    let busy = |for_time: Duration| {
        let (governor, sweep) = (&governor, &sweep);
        let begun = Instant::now();
        async move {
            let mut calls = 0;
            while begun.elapsed() < for_time {
                let Ok(permit) = timeout(for_time, sent(governor, &ask(sweep))).await else { break };
                sleep(Duration::from_millis(100)).await;
                permit.answered(None);
                calls += 1;
            }
            calls
        }
    };
    busy(Duration::from_secs(1)).await;
    store.is_away(true);
    assert!(busy(Duration::from_secs(5)).await >= 40, "what is held goes on");
    sleep(Duration::from_secs(10)).await;
    assert!(governor.acquire(&ask(&sweep)).now_or_never().is_none(), "what is void does not");
    store.is_away(false);
    drop(timeout(Duration::from_secs(6), governor.acquire(&ask(&sweep))).await.unwrap());
    store.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_makes_nobody_use_more_than_the_store_knows_of() {
    let store = FakeStore::default();
    let workers: Vec<_> = (0..2).map(|_| governor(&store, &spec(slots(4)))).collect();
    let sweep = sweep("s");
    let (running, most) = (AtomicU32::new(0), AtomicU32::new(0));
    let calls = (0..400u64).map(|number| {
        let (governor, running, most, sweep) = (&workers[number as usize % 2], &running, &most, &sweep);
        async move {
            sleep(Duration::from_millis(number * 40)).await;
            let permit = sent(governor, &ask(sweep)).await;
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            sleep(Duration::from_millis(90)).await;
            running.fetch_sub(1, Ordering::SeqCst);
            permit.answered(None);
        }
    });
    let weather = async {
        for _ in 0..20 {
            sleep(Duration::from_millis(777)).await;
            store.is_away(true);
            sleep(Duration::from_millis(444)).await;
            store.is_away(false);
        }
    };
    tokio::join!(join_all(calls), weather);
    assert!(most.load(Ordering::SeqCst) <= 4);
    store.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_asks_to_be_left_alone_is_left_alone_by_the_whole_fleet() {
    let store = FakeStore::default();
    let workers: Vec<_> = (0..2).map(|_| governor(&store, &spec(slots(10)))).collect();
    let sweep = sweep("s");
    drop(sent(&workers[0], &ask(&sweep)).await);
    let begun = Instant::now();
    workers[0].hold(Duration::from_secs(20), "retry-after");
    sleep(Duration::from_millis(50)).await;
    let calls = workers.iter().map(|worker| async {
        drop(sent(worker, &ask(&sweep)).await);
        begun.elapsed().as_secs()
    });
    let at = join_all(calls).await;
    assert!(at.iter().all(|at| (20..23).contains(at)), "{at:?}");
    let told =
        store.leases().into_iter().find_map(|lease| lease.signals.hold_ms.map(|hold| (hold, lease.signals.reason)));
    let (hold, reason) = told.unwrap();
    assert!((19_950..=20_000).contains(&hold) && reason == "retry-after", "{hold} {reason}");
}

#[tokio::test(start_paused = true)]
async fn refusals_and_answers_are_told_to_the_store() {
    let store = FakeStore::default();
    let governor = governor(&store, &spec(slots(10)));
    let sweep = sweep("s");
    for _ in 0..3 {
        sent(&governor, &ask(&sweep)).await.answered(None);
    }
    let _refused = governor.refused(&ask(&sweep), &"x".repeat(1000));
    governor.refused_again("slow down");
    sleep(Duration::from_millis(10)).await;
    let told = store.leases().into_iter().map(|lease| lease.signals).find(|signals| signals.refused > 0).unwrap();
    assert_eq!((told.answered, told.refused, told.reason.as_str()), (3, 2, "slow down"));
}

#[tokio::test(start_paused = true)]
async fn what_nobody_needs_goes_back_and_then_the_store_is_left_alone() {
    let store = FakeStore::default();
    let governor = governor(&store, &spec(slots(10)));
    let sweep = sweep("s");
    sent(&governor, &ask(&sweep)).await.answered(None);
    assert_eq!(store.slots(), 1);
    sleep(Duration::from_secs(5)).await;
    assert_eq!(store.slots(), 0);
    let asked = store.leases().len();
    sleep(Duration::from_secs(3600)).await;
    assert_eq!(store.leases().len(), asked);
    drop(governor.acquire(&ask(&sweep)).await);
}

#[tokio::test(start_paused = true)]
async fn slots_of_calls_in_flight_are_renewed_for_as_long_as_these_last() {
    let store = FakeStore::default();
    let governor = governor(&store, &spec(slots(1)));
    let (other, sweep) = (super::tests::governor(&store, &spec(slots(1))), sweep("s"));
    let permit = sent(&governor, &ask(&sweep)).await;
    let call = ask(&sweep);
    let mut waiting = Box::pin(other.acquire(&call));
    assert!(timeout(Duration::from_secs(300), &mut waiting).await.is_err());
    permit.answered(None);
    drop(timeout(Duration::from_secs(8), waiting).await.unwrap());
    store.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_is_closed_gives_everything_back() {
    let store = FakeStore::default();
    let governor = governor(&store, &spec(slots(10)));
    drop(governor.acquire(&ask(&sweep("s"))).await);
    assert_eq!(store.slots(), 1);
    drop(governor);
    sleep(Duration::from_millis(1)).await;
    assert_eq!(store.slots(), 0);
}

/// One call of a random world.
#[derive(Debug, Clone)]
struct Plan {
    worker: usize,
    sweep: usize,
    comes_ms: u64,
    patience_ms: u64,
    lasts_ms: u64,
    tokens: u64,
    ends: Ends,
}

#[derive(Debug, Clone, Copy)]
enum Ends {
    Answered,
    Refused,
    Cancelled,
    Unsent,
}

fn plan() -> impl Strategy<Value = Plan> {
    let ends = prop_oneof![
        6 => Just(Ends::Answered),
        1 => Just(Ends::Refused),
        1 => Just(Ends::Cancelled),
        1 => Just(Ends::Unsent),
    ];
    let patience = prop_oneof![3 => Just(u64::MAX), 1 => 0u64..2_000];
    (0usize..3, 0usize..2, 0u64..20_000, patience, 1u64..3_000, 1u64..300, ends).prop_map(
        |(worker, sweep, comes_ms, patience_ms, lasts_ms, tokens, ends)| Plan {
            worker,
            sweep,
            comes_ms,
            patience_ms,
            lasts_ms,
            tokens,
            ends,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn whatever_happens_limits_hold_and_everybody_gets_a_turn(
        plans in prop::collection::vec(plan(), 1..150),
        concurrency in 1u32..8,
        requests in prop::option::of(20u32..200),
        tokens in prop::option::of(2_000u64..20_000),
        delay_ms in 0u64..40,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let limits = Limits { concurrency, requests_per_minute: requests, tokens_per_minute: tokens };
            let store = FakeStore::default();
            store.answers_after(Duration::from_millis(delay_ms));
            let workers: Vec<_> = (0..3).map(|_| governor(&store, &spec(limits))).collect();
            let sweeps = [sweep("a"), sweep("b")];
            let (running, log) = (AtomicU32::new(0), Mutex::new(Vec::new()));
            let calls = plans.iter().map(|plan| {
                let (governor, sweep, running, log) = (&workers[plan.worker], &sweeps[plan.sweep], &running, &log);
                async move {
                    sleep(Duration::from_millis(plan.comes_ms)).await;
                    let ask = Ask { tokens: plan.tokens, ..ask(sweep) };
                    let patience = Duration::from_millis(plan.patience_ms.min(3_600_000 * 24));
                    let Ok(mut permit) = timeout(patience, governor.acquire(&ask)).await else { return };
                    assert!(running.fetch_add(1, Ordering::SeqCst) < concurrency);
                    if matches!(plan.ends, Ends::Unsent) {
                        running.fetch_sub(1, Ordering::SeqCst);
                        return;
                    }
                    permit.sent();
                    log.lock().unwrap().push((Instant::now(), plan.tokens));
                    let _refused = matches!(plan.ends, Ends::Refused).then(|| governor.refused(&ask, "no"));
                    sleep(Duration::from_millis(plan.lasts_ms)).await;
                    running.fetch_sub(1, Ordering::SeqCst);
                    match plan.ends {
                        Ends::Cancelled => drop(permit),
                        Ends::Refused => permit.failed(plan.tokens),
                        _ => permit.answered(Some(plan.tokens)),
                    }
                }
            });
            // Nobody waits for ever: the longest wait there can be is that for the minutes and the slots all others need.
            timeout(Duration::from_secs(4 * 3600), join_all(calls)).await.unwrap();
            store.assert_obeyed();
            let log = log.into_inner().unwrap();
            if let (Some(limit), false) = (requests, log.is_empty()) {
                assert!(busiest_minute(&log, |_| 1) <= u64::from(limit));
            }
            if let (Some(limit), false) = (tokens, log.is_empty()) {
                assert!(busiest_minute(&log, |tokens| tokens) <= limit);
            }
            for governor in &workers {
                assert_eq!(governor.pool.locked().in_flight(), 0);
            }
        });
    }
}
