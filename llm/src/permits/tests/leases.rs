//! Leases, reports to the store, and behaviour while the store is away.

use super::*;

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_on_what_is_void() {
    let store = FakeStore::default();
    // The answer takes so long that its grants have expired when it arrives.
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

/// The process is stopped after a call got its permit and before it is sent.
#[tokio::test(start_paused = true)]
async fn a_permit_that_is_older_than_its_lease_sends_nothing_and_gives_its_slot_back() {
    let store = FakeStore::default();
    let governor = governor(&store, &spec(slots(1)));
    let sweep = sweep("s");
    let mut late = governor.acquire(&ask(&sweep)).await;
    store.is_away(true);
    sleep(VALID * 10).await;
    assert!(!late.sent(), "others may have got its slot");
    drop(late);
    store.is_away(false);
    let mut next = timeout(Duration::from_secs(6), governor.acquire(&ask(&sweep))).await.unwrap();
    assert!(next.sent());
    next.answered(None);
    store.assert_obeyed();
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

#[tokio::test(start_paused = true)]
async fn a_renewal_that_the_store_did_not_answer_is_tried_again_within_moments() {
    let store = FakeStore::default();
    let governor = governor(&store, &spec(slots(1)));
    let permit = sent(&governor, &ask(&sweep("s"))).await;
    sleep(Duration::from_millis(2_900)).await;
    store.is_away(true);
    sleep(Duration::from_millis(300)).await;
    let renewed = store.leases().len();
    store.is_away(false);
    sleep(Duration::from_millis(500)).await;
    // Slots are kept for ten seconds: at every third second, three failures would lose them.
    assert_eq!(store.leases().len(), renewed + 1);
    permit.answered(None);
}
