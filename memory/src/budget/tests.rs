use std::time::Duration;

use futures::FutureExt as _;
use futures::future::join_all;
use proptest::prelude::*;
use tokio::sync::Semaphore;

use super::*;

/// Of which one holder has 256 at most, and 512 are shared: at most 384 by long reads, the others by short ones, of up to 4.
const BUDGET: u64 = 1024;

fn budget() -> ByteBudget {
    ByteBudget::new(BUDGET)
}

/// `bytes` that another holder reads.
async fn read(budget: &ByteBudget, bytes: u64) -> HeldBytes {
    let mut held = budget.holder().read();
    held.grow(bytes).await.unwrap();
    held
}

#[tokio::test]
async fn what_is_dropped_is_given_back() {
    let budget = budget();
    let mut held = read(&budget, 200).await;
    assert_eq!((budget.held(), held.bytes()), (200, 200));
    held.shrink_to(50);
    assert_eq!((budget.held(), held.bytes()), (50, 50));
    drop(held);
    assert_eq!((budget.held(), budget.held_max()), (0, 200));
}

#[tokio::test]
async fn a_holder_has_a_quarter_of_the_budget_at_most() {
    let budget = budget();
    let holder = budget.holder();
    let (mut one, mut other) = (holder.read(), holder.read());
    one.grow(200).await.unwrap();
    assert_eq!(other.grow(57).await, Err(TooLarge { limit: 256 }));
    other.grow(56).await.unwrap();
    assert_eq!(budget.held(), 256);
}

#[tokio::test]
async fn where_their_share_is_used_up_one_read_goes_on_and_all_others_wait_for_it() {
    let budget = budget();
    let (mut first, mut second) = (read(&budget, 200).await, read(&budget, 150).await);
    let mut third = read(&budget, 30).await;
    // All want more, and none has come to its end.
    second.grow(50).await.unwrap();
    assert!(first.grow(50).now_or_never().is_none());
    let waits = third.grow(50);
    tokio::pin!(waits);
    assert!((&mut waits).now_or_never().is_none());
    assert_eq!((budget.held(), budget.waiting()), (430, 1));
    drop(second);
    waits.await.unwrap();
    assert_eq!((budget.held(), budget.waiting()), (280, 0));
}

#[tokio::test]
async fn the_oldest_is_served_first_and_nobody_overtakes_it() {
    let budget = budget();
    let (mut old, mut young) = (budget.holder().read(), budget.holder().read());
    let (one, other) = (read(&budget, 250).await, read(&budget, 130).await);
    let mut goes_on = budget.holder().read();
    goes_on.grow(10).await.unwrap();
    {
        let (of_young, of_old) = (young.grow(10), old.grow(250));
        tokio::pin!(of_young, of_old);
        assert!((&mut of_young).now_or_never().is_none());
        assert!((&mut of_old).now_or_never().is_none());
        drop(goes_on);
        // It takes the place of the one that went on.
        assert!((&mut of_old).now_or_never().is_some());
        assert!((&mut of_young).now_or_never().is_none());
        drop((one, other));
        assert!((&mut of_young).now_or_never().is_some());
    }
    assert_eq!(budget.held(), 260);
}

#[tokio::test]
async fn short_reads_go_on_while_long_ones_wait() {
    let budget = budget();
    let (_one, _other, _favoured) = (read(&budget, 250).await, read(&budget, 130).await, read(&budget, 250).await);
    let mut long = budget.holder().read();
    let waits = long.grow(100);
    tokio::pin!(waits);
    assert!((&mut waits).now_or_never().is_none());
    let short: Vec<HeldBytes> = join_all((0..32).map(|_| read(&budget, 4))).await;
    assert_eq!((budget.held(), budget.waiting()), (630 + 128, 1));
    // One that becomes long waits with the long ones.
    let mut grows = short.into_iter().next().unwrap();
    assert!(grows.grow(1).now_or_never().is_none());
}

#[tokio::test]
async fn short_reads_take_what_long_ones_leave_and_these_wait_for_it() {
    let budget = budget();
    let mut short: Vec<HeldBytes> = join_all((0..127).map(|_| read(&budget, 4))).await;
    let mut long = budget.holder().read();
    long.grow(5).now_or_never().unwrap().unwrap();
    let mut other = budget.holder().read();
    let waits = other.grow(50);
    tokio::pin!(waits);
    assert!((&mut waits).now_or_never().is_none());
    assert_eq!((budget.held(), budget.waiting()), (513, 1));
    short.truncate(100);
    waits.now_or_never().unwrap().unwrap();
}

#[tokio::test]
async fn who_does_not_wait_to_the_end_leaves_nothing() {
    let budget = budget();
    let (_one, _other) = (read(&budget, 250).await, read(&budget, 130).await);
    let favoured = read(&budget, 10).await;
    let (mut third, mut fourth) = (budget.holder().read(), budget.holder().read());
    assert!(third.grow(30).now_or_never().is_none());
    assert_eq!((budget.held(), budget.waiting()), (390, 0));
    {
        let waits = fourth.grow(30);
        tokio::pin!(waits);
        assert!((&mut waits).now_or_never().is_none());
        // Granted, and dropped before it is taken.
        drop(favoured);
        assert_eq!((budget.held(), budget.waiting()), (410, 0));
    }
    assert_eq!((budget.held(), budget.waiting()), (380, 0));
    let entering = budget.enter(50, CancellationToken::new());
    assert!(entering.now_or_never().is_none());
    assert_eq!((budget.held(), budget.waiting()), (380, 0));
}

#[tokio::test]
async fn what_a_session_keeps_is_held_as_long_as_the_session_is() {
    let budget = budget();
    let session = budget.enter(3, CancellationToken::new()).await;
    let mut held = session.read();
    held.grow(20).await.unwrap();
    held.keep(4);
    assert_eq!(budget.held(), 7);
    session.keep(2);
    let to_be_published = session.clone();
    drop(session);
    assert_eq!(budget.held(), 9);
    drop(to_be_published);
    assert_eq!(budget.held(), 0);
}

#[tokio::test]
async fn a_session_begins_when_there_is_room_and_no_read_waits() {
    let budget = budget();
    let (_one, other) = (read(&budget, 250).await, read(&budget, 100).await);
    let enters = budget.enter(100, CancellationToken::new());
    tokio::pin!(enters);
    assert!((&mut enters).now_or_never().is_none());
    drop(other);
    let _session = enters.now_or_never().unwrap();
    assert_eq!(budget.held(), 350);
}

#[tokio::test]
async fn a_session_that_has_more_than_its_share_begins_alone() {
    let budget = budget();
    let _session = budget.enter(600, CancellationToken::new()).await;
    assert_eq!(budget.held(), 600);
}

#[tokio::test]
async fn the_session_that_keeps_most_leaves_where_what_is_kept_overdraws_its_share() {
    let budget = budget();
    let leave = [(); 3].map(|()| CancellationToken::new());
    let mut sessions = Vec::new();
    for (leave, bytes) in leave.iter().zip([100, 230, 10]) {
        sessions.push(budget.enter(bytes, leave.clone()).await);
    }
    let mut beyond = sessions[2].read();
    beyond.grow(200).await.unwrap();
    beyond.keep(200);
    assert!(leave.iter().all(|leave| !leave.is_cancelled()));
    let mut next = budget.holder().read();
    let waits = next.grow(10);
    tokio::pin!(waits);
    assert!((&mut waits).now_or_never().is_none());
    assert_eq!(leave.map(|leave| leave.is_cancelled()), [false, true, false]);
    // What it reads before it leaves takes the last quarter.
    let mut last = sessions[1].read();
    last.grow(10).now_or_never().unwrap().unwrap();
    drop(last);
    sessions.remove(1);
    waits.now_or_never().unwrap().unwrap();
}

#[tokio::test]
async fn a_session_that_stays_is_not_told_to_leave_and_the_others_go_on_one_by_one() {
    let budget = budget();
    let leave = [(); 2].map(|()| CancellationToken::new());
    let mut sessions = Vec::new();
    for leave in &leave {
        sessions.push(budget.enter(5, leave.clone()).await);
    }
    sessions[0].stay();
    sessions[0].keep(700);
    let (mut first, mut second) = (budget.holder().read(), budget.holder().read());
    assert!(first.grow(10).now_or_never().is_none());
    assert!(second.grow(10).now_or_never().is_none());
    assert_eq!(leave.map(|leave| leave.is_cancelled()), [false, true]);
    sessions[1].stay();
    drop(sessions.pop());
    first.grow(10).now_or_never().unwrap().unwrap();
    assert!(second.grow(10).now_or_never().is_none());
    drop(first);
    second.grow(10).now_or_never().unwrap().unwrap();
}

#[tokio::test]
async fn sessions_and_messages_begin_in_the_order_in_which_they_came() {
    let budget = budget();
    let token = CancellationToken::new;
    let first = budget.enter(300, token()).await;
    {
        let (large, small) = (budget.enter(700, token()), budget.enter(1, token()));
        tokio::pin!(large, small);
        assert!((&mut large).now_or_never().is_none());
        // It would fit, but the large one would then wait for ever.
        assert!((&mut small).now_or_never().is_none());
        assert_eq!((budget.held(), budget.waiting()), (300, 2));
        drop(first);
        let alone = (&mut large).now_or_never().unwrap();
        assert!((&mut small).now_or_never().is_none());
        drop(alone);
        let _small = (&mut small).now_or_never().unwrap();
        assert_eq!((budget.held(), budget.waiting()), (1, 0));
    }
    assert_eq!(budget.held(), 0);
}

#[tokio::test]
async fn a_session_that_stays_after_it_was_told_to_leave_is_not_waited_for() {
    let budget = budget();
    let leave = [(); 2].map(|()| CancellationToken::new());
    let (stays, goes) = (budget.enter(200, leave[0].clone()).await, budget.enter(150, leave[1].clone()).await);
    let mut beyond = goes.read();
    beyond.grow(100).await.unwrap();
    beyond.keep(100);
    stays.keep(60);
    let mut next = budget.holder().read();
    assert!(next.grow(10).now_or_never().is_none());
    assert_eq!(leave.each_ref().map(CancellationToken::is_cancelled), [true, false]);
    stays.stay();
    assert!(next.grow(10).now_or_never().is_none());
    assert!(leave[1].is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn metrics_tell_what_is_held_and_how_long_was_waited() {
    let registry = prometheus::Registry::new();
    let budget = ByteBudget::observed(BUDGET, ByteMetrics::register(&registry).unwrap());
    let (one, other, goes_on) = (read(&budget, 250).await, read(&budget, 130).await, read(&budget, 10).await);
    let mut waits = budget.holder().read();
    assert!(waits.grow(257).await.is_err());
    let free = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        drop((one, other, goes_on));
    };
    tokio::join!(free, async { waits.grow(30).await.unwrap() });
    let values: Vec<(String, f64)> = registry.gather().iter().map(value).collect();
    let values: Vec<(&str, f64)> = values.iter().map(|(name, value)| (&**name, *value)).collect();
    assert_eq!(
        values,
        [
            ("regatta_memory_budget_bytes", 1024.0),
            ("regatta_memory_held_bytes", 30.0),
            ("regatta_memory_held_max_bytes", 390.0),
            ("regatta_memory_refused_total", 1.0),
            ("regatta_memory_waited_seconds_total", 3.0),
            ("regatta_memory_waiting", 0.0),
            ("regatta_memory_waits_total", 1.0),
        ]
    );
}

fn value(family: &prometheus::proto::MetricFamily) -> (String, f64) {
    let metric = &family.get_metric()[0];
    let value = match family.get_field_type() {
        prometheus::proto::MetricType::COUNTER => metric.get_counter().get_value(),
        _ => metric.get_gauge().get_value(),
    };
    (family.name().to_owned(), value)
}

/// An answer in pieces of some bytes.
#[derive(Debug, Clone)]
struct Read {
    pieces: Vec<u64>,
    /// `true` if half of a piece is given back as soon as it is here.
    is_stream: bool,
    /// Bytes that are kept of it.
    keeps: u64,
}

/// A session of several answers, each of which is read under a permit. One that is told to leave is published, and begins again with what
/// it has.
async fn run(budget: ByteBudget, permits: Arc<Semaphore>, publisher: Arc<Semaphore>, answers: Vec<Read>) {
    let (mut kept, mut next) = (0, 0);
    loop {
        let leave = CancellationToken::new();
        let session = budget.enter(kept, leave.clone()).await;
        while next < answers.len() && !leave.is_cancelled() {
            let permit = tokio::select! {
                biased;
                () = leave.cancelled() => break,
                permit = permits.acquire() => permit.unwrap(),
            };
            let Read { pieces, is_stream, keeps } = &answers[next];
            let mut held = session.read();
            for piece in pieces {
                tokio::time::sleep(Duration::from_millis(*piece)).await;
                if held.grow(*piece).await.is_err() {
                    // Refused: the session is over.
                    next = answers.len();
                    break;
                }
                if *is_stream {
                    held.shrink_to(held.bytes() - piece / 2);
                }
            }
            let keeps = (*keeps).min(held.bytes());
            kept += keeps;
            next += 1;
            held.keep(keeps);
            drop(permit);
        }
        let turn = publisher.acquire().await.unwrap();
        tokio::time::sleep(Duration::from_millis(3)).await;
        drop((turn, session));
        if next >= answers.len() {
            return;
        }
    }
}

fn read_of_an_answer() -> impl Strategy<Value = Read> {
    let piece = prop_oneof![1_u64..4, 1_u64..120];
    (prop::collection::vec(piece, 1..6), any::<bool>(), 0_u64..200).prop_map(|(pieces, is_stream, keeps)| Read {
        pieces,
        is_stream,
        keeps,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// The clock only moves when nothing else can: a deadlock is a time-out at once. Some sessions are dropped amid of it.
    #[test]
    fn sessions_in_a_tiny_budget_all_come_to_their_ends_and_never_hold_more_together(
        sessions in prop::collection::vec(
            (prop::collection::vec(read_of_an_answer(), 1..6), prop::option::weighted(0.2, 1_u64..2_000)), 1..40,
        ),
        permits in 1_usize..6,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let budget = budget();
            let (permits, publisher) = (Arc::new(Semaphore::new(permits)), Arc::new(Semaphore::new(1)));
            let all = sessions.into_iter().map(|(answers, dropped_after_ms)| {
                let session = run(budget.clone(), Arc::clone(&permits), Arc::clone(&publisher), answers);
                let end = dropped_after_ms.map_or(Duration::MAX, Duration::from_millis);
                tokio::spawn(tokio::time::timeout(end, session))
            });
            let ends = tokio::time::timeout(Duration::from_secs(3600), join_all(all)).await.expect("nobody waits for ever");
            assert!(ends.iter().all(Result::is_ok), "{ends:?}");
            assert_eq!((budget.held(), budget.waiting()), (0, 0));
            assert!(budget.held_max() <= BUDGET, "{}", budget.held_max());
        });
    }
}
