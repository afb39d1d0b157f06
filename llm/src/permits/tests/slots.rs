//! Limits of concurrency: the number of calls in flight, and the delay between one call and the next.

use super::*;

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

#[tokio::test(start_paused = true)]
async fn where_more_slots_are_filled_than_are_granted_none_is_filled_again_also_while_the_store_is_asked() {
    for turn in 0..20 {
        let store = FakeStore::default();
        store.answers_after(Duration::from_millis(200));
        let governor = governor(&store, &spec(slots(2)));
        let sweep = sweep("s");
        let first = sent(&governor, &ask(&sweep)).await;
        let second = sent(&governor, &ask(&sweep)).await;
        // Its slots are others' by now.
        store.grants_slots_up_to(0);
        let call = ask(&sweep);
        let mut waiting = Box::pin(governor.acquire(&call));
        // At some of these moments the store is being asked.
        assert!(timeout(Duration::from_millis(5_000 + turn * 50), &mut waiting).await.is_err());
        first.answered(None);
        assert!(timeout(Duration::from_secs(2), &mut waiting).await.is_err(), "turn {turn}");
        drop(second);
    }
}
