//! Limits of requests and tokens per sliding minute.

use super::*;

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
    // Estimates are too high, as intended: calls take half of them on average.
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
