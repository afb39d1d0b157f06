//! The order of waiting calls.

use super::*;

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
async fn refusals_among_many_answers_close_no_line_and_their_short_waits_are_their_own() {
    let governor = governor(&FakeStore::default(), &spec(slots(40)));
    let sweep = sweep("s");
    for _ in 0..9 {
        sent(&governor, &ask(&sweep)).await.answered(None);
    }
    let mut refused = Vec::new();
    for _ in 0..25 {
        refused.push(governor.refused(&ask(&sweep), "no"));
        governor.told_to_wait(Duration::from_secs(1), "no");
        for _ in 0..2 {
            sent(&governor, &ask(&sweep)).now_or_never().expect("nobody waits").answered(None);
        }
    }
    governor.told_to_wait(Duration::from_secs(30), "a window is used up");
    assert!(timeout(Duration::from_secs(29), governor.acquire(&ask(&sweep))).await.is_err());
}
