use super::*;

fn requests(reply: &PoolReply) -> Vec<u32> {
    reply.grants.iter().map(|grant| grant.requests).collect()
}

fn of_model(model: &str, party: Party) -> Party {
    Party { model: model.to_owned(), ..party }
}

fn sharing(weight: u32, priority: i32, party: Party) -> Party {
    Party { share: Share { weight, priority }, ..party }
}

#[test]
fn an_idle_pool_grants_a_minute_at_once() {
    let reply = Pool::default().lease(START, &request("w", limits(1000, 600, None), vec![party("s", 1000, 10)]));
    assert_eq!(reply.grants, [Grant { slots: 600, requests: 600, tokens: 6000 }]);
    assert_eq!((reply.valid_ms, reply.factor), (1000, 1.0));
}

#[test]
fn what_nobody_limits_is_granted_as_it_is_wanted() {
    let reply = Pool::default().lease(START, &request("w", limits(1000, None, None), vec![party("s", 700, 10)]));
    assert_eq!(reply.grants, [Grant { slots: 700, requests: 700, tokens: 7000 }]);
    assert_eq!(reply.retry_ms, 1000);
}

#[test]
fn what_was_not_sent_may_be_granted_again_at_once() {
    let (mut pool, limits) = (Pool::default(), limits(1000, 600, 6100));
    pool.lease(START, &request("w", limits, vec![party("s", 600, 10)]));
    let back = Party { in_flight: 450, unsent_requests: 150, unsent_tokens: 1500, ..party("s", 0, 0) };
    pool.lease(after(500), &request("w", limits, vec![back]));
    let reply = pool.lease(after(500), &request("v", limits, vec![party("s", 600, 10)]));
    assert_eq!((reply.grants[0].requests, reply.grants[0].tokens), (150, 1500));
}

#[test]
fn nobody_gives_back_more_than_its_last_grant() {
    let (mut pool, limits) = (Pool::default(), limits(1000, 600, None));
    pool.lease(START, &request("v", limits, vec![party("s", 500, 10)]));
    assert_eq!(requests(&pool.lease(START, &request("w", limits, vec![party("s", 500, 10)]))), [100]);
    let back = Party { unsent_requests: 600, ..party("s", 0, 0) };
    for _ in 0..3 {
        pool.lease(after(10), &request("w", limits, vec![back.clone()]));
    }
    assert_eq!(
        requests(&pool.lease(after(10), &request("v", limits, vec![in_flight(500, party("s", 500, 10))]))),
        [100]
    );
}

#[test]
fn tokens_are_corrected_by_what_calls_took() {
    let (mut pool, limits) = (Pool::default(), limits(1000, None, 10_000));
    let more = || party("s", 1000, 10);
    assert_eq!(requests(&pool.lease(START, &request("w", limits, vec![more()]))), [995]);
    let took_less = Party { token_correction: -2000, ..more() };
    assert_eq!(requests(&pool.lease(after(2_000), &request("w", limits, vec![took_less]))), [200]);
    let took_more = Party { token_correction: 500, in_flight: 200, ..more() };
    assert_eq!(requests(&pool.lease(after(4_000), &request("w", limits, vec![took_more]))), [0]);
    let took_less = Party { token_correction: -600, in_flight: 200, ..more() };
    assert_eq!(requests(&pool.lease(after(4_000), &request("w", limits, vec![took_less]))), [10]);
}

#[test]
fn slots_are_counted_over_all_workers() {
    let (mut pool, limits) = (Pool::default(), limits(10, None, None));
    assert_eq!(slots(&pool.lease(START, &request("v", limits, vec![party("s", 7, 1)]))), [7]);
    assert_eq!(slots(&pool.lease(START, &request("w", limits, vec![party("s", 7, 1)]))), [3]);
}

#[test]
fn calls_in_flight_keep_their_slots_until_they_end_and_others_have_their_part_then() {
    let (mut pool, limits) = (Pool::default(), limits(10, None, None));
    pool.lease(START, &request("v", limits, vec![party("s", 100, 1)]));
    assert_eq!(slots(&pool.lease(after(100), &request("w", limits, vec![party("s", 100, 1)]))), [0]);
    let busy = |calls: u32| in_flight(calls, party("s", 100, 1));
    assert_eq!(
        slots(&pool.lease(after(200), &request("v", limits, vec![busy(10)]))),
        [5],
        "it starts nothing until five are left"
    );
    assert_eq!(slots(&pool.lease(after(300), &request("w", limits, vec![party("s", 100, 1)]))), [0]);
    assert_eq!(slots(&pool.lease(after(400), &request("v", limits, vec![busy(7)]))), [5]);
    assert_eq!(slots(&pool.lease(after(500), &request("w", limits, vec![party("s", 100, 1)]))), [3]);
    assert_eq!(slots(&pool.lease(after(600), &request("v", limits, vec![busy(5)]))), [5]);
    assert_eq!(slots(&pool.lease(after(700), &request("w", limits, vec![busy(3)]))), [5]);
}

#[test]
fn a_party_that_is_not_named_holds_nothing() {
    let (mut pool, limits) = (Pool::default(), limits(10, None, None));
    pool.lease(START, &request("v", limits, vec![party("s", 5, 1), party("t", 5, 1)]));
    assert_eq!(slots(&pool.lease(after(10), &request("w", limits, vec![party("s", 9, 1)]))), [0]);
    pool.lease(after(20), &request("v", limits, vec![in_flight(5, party("s", 0, 0))]));
    assert_eq!(slots(&pool.lease(after(30), &request("w", limits, vec![party("s", 9, 1)]))), [5]);
    pool.lease(after(40), &request("v", limits, vec![]));
    assert_eq!(slots(&pool.lease(after(50), &request("w", limits, vec![in_flight(5, party("s", 9, 1))]))), [10]);
}

#[test]
fn a_model_has_its_own_limits_within_the_endpoints() {
    let few = ModelLimits { concurrency: Some(3), requests_per_minute: Some(2), tokens_per_minute: None };
    let mut wanting = request("w", limits(10, 20, None), vec![of_model("n", party("s", 9, 1)), party("s", 9, 1)]);
    wanting.model_limits.insert("n".to_owned(), few);
    let mut pool = Pool::default();
    let reply = pool.lease(START, &wanting);
    assert_eq!((slots(&reply), requests(&reply)), (vec![2, 8], vec![2, 8]), "no more slots than can be used");
    wanting.parties[0].in_flight = 2;
    wanting.parties[1].in_flight = 8;
    let reply = pool.lease(after(5_000), &wanting);
    assert_eq!((slots(&reply), requests(&reply)), (vec![2, 7], vec![0, 9]));
}

#[test]
fn a_higher_priority_goes_first() {
    let (mut pool, limits) = (Pool::default(), limits(10, 20, None));
    let both = |low: u32, high: u32| vec![sharing(9, 0, party("low", low, 1)), sharing(1, 1, party("high", high, 1))];
    assert_eq!(slots(&pool.lease(START, &request("w", limits, both(50, 8)))), [2, 8]);
    let reply = Pool::default().lease(START, &request("w", limits, both(50, 50)));
    assert_eq!((slots(&reply), requests(&reply)), (vec![0, 10], vec![0, 10]));
}

#[test]
fn weights_share_what_is_there_between_sweeps_whatever_their_models() {
    let (mut pool, limits) = (Pool::default(), limits(80, 80, None));
    let parties =
        vec![party("one", 500, 1), of_model("n", party("one", 500, 1)), sharing(3, 0, party("three", 500, 1))];
    let reply = pool.lease(START, &request("w", limits, parties));
    assert_eq!((slots(&reply), requests(&reply)), (vec![10, 10, 60], vec![10, 10, 60]));
}

#[test]
fn of_what_is_scarce_a_worker_gets_its_part_and_a_single_unit_goes_to_whoever_asks() {
    let (mut pool, limits) = (Pool::default(), limits(1000, 100, None));
    assert_eq!(requests(&pool.lease(START, &request("u", limits, vec![party("s", 99, 1)]))), [99]);
    let lacking = |worker: &str| request(worker, limits, vec![party("s", 50, 1)]);
    assert_eq!(requests(&pool.lease(after(1_500), &lacking("v"))), [1]);
    assert_eq!(requests(&pool.lease(after(1_500), &lacking("w"))), [0]);
    let back = Party { in_flight: 89, unsent_requests: 10, ..party("s", 0, 0) };
    pool.lease(after(1_600), &request("u", limits, vec![back]));
    let busy = request("v", limits, vec![in_flight(1, party("s", 50, 1))]);
    let first = requests(&pool.lease(after(1_700), &busy))[0];
    assert!((4..=6).contains(&first), "about half, and not all: {first}");
}

#[test]
fn who_waits_for_long_for_more_than_is_there_is_waited_for() {
    let (mut pool, limits) = (Pool::default(), limits(1000, None, 10_000));
    pool.lease(START, &request("u", limits, vec![party("s", 9, 1000)]));
    let small = |worker: &str| request(worker, limits, vec![party("s", 1, 100)]);
    let big = request("big", limits, vec![party("s", 1, 5_000)]);
    assert_eq!(requests(&pool.lease(START, &big)), [0]);
    assert_eq!(requests(&pool.lease(after(1_900), &small("v"))), [1]);
    pool.lease(after(2_000), &big);
    assert_eq!(requests(&pool.lease(after(2_100), &small("w"))), [0]);
    pool.lease(after(61_000), &big);
    assert_eq!(requests(&pool.lease(after(61_900), &big)), [1]);
    assert_eq!(requests(&pool.lease(after(62_100), &small("w"))), [1]);
}

#[test]
fn a_call_that_is_larger_than_the_limit_goes_alone() {
    let (mut pool, limits) = (Pool::default(), limits(10, None, 1000));
    let grant = pool.lease(START, &request("w", limits, vec![party("s", 5, 3000)])).grants[0];
    assert_eq!((grant.requests, grant.tokens), (1, 3000));
    assert_eq!(requests(&pool.lease(after(60_000), &request("w", limits, vec![party("s", 5, 3000)]))), [0]);
    assert_eq!(requests(&pool.lease(after(62_000), &request("w", limits, vec![party("s", 5, 3000)]))), [1]);
}

#[test]
fn a_hold_stops_requests_and_leaves_slots() {
    let (mut pool, limits) = (Pool::default(), limits(10, 600, None));
    let mut told = request("w", limits, vec![in_flight(3, party("s", 5, 1))]);
    told.signals.hold_ms = Some(400);
    let reply = pool.lease(START, &told);
    assert_eq!((slots(&reply), requests(&reply), reply.retry_ms), (vec![8], vec![0], 400));
    told.signals.hold_ms = None;
    assert_eq!(requests(&pool.lease(after(399), &told)), [0]);
    assert_eq!(requests(&pool.lease(after(400), &told)), [5]);
}

#[test]
fn refusals_take_back_a_part_of_everything_but_never_the_last_slot() {
    let mut pool = Pool::default();
    let mut told = request("w", limits(10, 100, 10_000), vec![party("s", 500, 100)]);
    told.signals.refused = 1;
    let reply = pool.lease(START, &told);
    assert_eq!((slots(&reply), requests(&reply), reply.factor), (vec![7], vec![7], 0.7));
    for burst in 1..20 {
        pool.lease(after(burst * 12_000), &told);
    }
    let reply = pool.lease(after(300_000), &told);
    assert_eq!((slots(&reply), requests(&reply), reply.factor), (vec![1], vec![1], 0.05));
    assert_eq!(pool.changes().count(), 9);
}

#[test]
fn a_limit_of_nothing_grants_nothing() {
    let reply = Pool::default().lease(START, &request("w", limits(10, 0, None), vec![party("s", 5, 1)]));
    assert_eq!(requests(&reply), [0]);
}

#[test]
fn one_is_told_when_it_is_worth_asking_again() {
    let (mut pool, limits) = (Pool::default(), limits(10_000, 100, None));
    let all = request("w", limits, vec![party("s", 100, 1)]);
    assert_eq!(pool.lease(START, &all).retry_ms, 1000, "all is granted");
    let busy = request("w", limits, vec![in_flight(100, party("s", 100, 1))]);
    assert_eq!(pool.lease(after(1_000), &busy).retry_ms, 1000, "never later than a grant is valid");
    let freed_at = 61_750 - START % 250;
    let looked = pool.lease(after(freed_at - 300), &busy);
    assert_eq!((requests(&looked), looked.retry_ms), (vec![0], 300));
    assert_eq!(pool.lease(after(freed_at - 3), &busy).retry_ms, 20);
    assert_eq!(requests(&pool.lease(after(freed_at), &busy)), [100]);
}

#[test]
fn with_many_workers_each_asks_less_often() {
    let (mut pool, limits) = (Pool::default(), limits(10, 5, None));
    let retries: Vec<u64> = (0..120)
        .map(|worker| pool.lease(START, &request(&format!("w{worker}"), limits, vec![party("s", 10, 1)])).retry_ms)
        .collect();
    assert!(retries.iter().all(|retry| (20..=1000).contains(retry)));
    assert_eq!(retries[119], 1000);
}

#[test]
fn a_share_that_changes_holds_at_once() {
    let (mut pool, limits) = (Pool::default(), limits(40, None, None));
    let both = |weight: u32| vec![party("a", 100, 1), sharing(weight, 0, party("b", 100, 1))];
    assert_eq!(slots(&pool.lease(START, &request("w", limits, both(1)))), [20, 20]);
    assert_eq!(slots(&pool.lease(after(10), &request("w", limits, both(3)))), [10, 30]);
}

#[test]
fn the_same_party_twice_is_two_parties() {
    let (mut pool, limits) = (Pool::default(), limits(10, 10, None));
    let reply = pool.lease(START, &request("w", limits, vec![party("s", 9, 1), party("s", 9, 1)]));
    assert_eq!((slots(&reply), requests(&reply)), (vec![5, 5], vec![5, 5]));
}

#[test]
fn a_pool_that_nobody_uses_is_empty_after_a_minute() {
    let (mut pool, limits) = (Pool::default(), limits(1000, 600, 60_000));
    for worker in 0..20 {
        pool.lease(START, &request(&format!("w{worker}"), limits, vec![party("s", 30, 10)]));
    }
    // Those that are silent might only have been kept from the store.
    for at in (30_000..72_000).step_by(3_000) {
        pool.lease(after(at), &request("w0", limits, vec![]));
    }
    pool.lease(after(82_000), &request("w1", limits, vec![]));
    assert!(pool.lines.is_empty() && pool.holders.is_empty());
}

#[test]
fn a_pool_without_memory_grants_nothing_for_a_minute() {
    let (mut pool, limits) = (Pool::without_memory(START), limits(10, 600, None));
    let wanting = request("w", limits, vec![party("s", 5, 1)]);
    assert_eq!(requests(&pool.lease(after(61_499), &wanting)), [0]);
    assert_eq!(requests(&pool.lease(after(61_500), &wanting)), [5]);
}

#[test]
fn nothing_is_inherited_of_a_process_that_was_granted_nothing_for_long() {
    let limits = limits(10, 600, None);
    let wanting = request("w", limits, vec![party("s", 5, 1)]);
    let mut pool = Pool::default();
    assert_eq!(requests(&pool.lease(START, &wanting)), [5]);
    assert!(pool.save_due(START, &wanting));
    // A state is renewed within an hour of the last grant.
    let counts_until = after(3_600_000 + 61_750);
    assert!(pool.clone().inherited(counts_until - 1).is_some());
    assert_eq!(pool.inherited(counts_until), None);
}

#[test]
fn numbers_beyond_all_bounds_do_not_overflow() {
    let mut pool = Pool::default();
    let mut wanting = request(
        "w",
        limits(u32::MAX, u32::MAX, u64::MAX),
        vec![
            Party {
                in_flight: u32::MAX,
                waiting_tokens: u64::MAX,
                unsent_tokens: u64::MAX,
                token_correction: i64::MIN,
                unsent_requests: u32::MAX,
                ..party("s", u32::MAX, 1)
            },
            Party { token_correction: i64::MAX, waiting_tokens: u64::MAX, ..party("t", 1, 1) },
        ],
    );
    wanting.signals = Signals { answered: u32::MAX, refused: u32::MAX, hold_ms: Some(u64::MAX), reason: String::new() };
    for step in 0..200 {
        let reply = pool.lease(after(step * 2_000), &wanting);
        assert_eq!(reply.grants.len(), 2);
        (wanting.signals, wanting.holder) = (Signals::default(), WorkerId::new(format!("w{}", step % 3)).unwrap());
    }
}

#[test]
fn after_a_loss_no_slot_is_granted_before_those_that_are_filled_are_registered_again() {
    let mut pool = Pool::without_memory(START);
    let limits = limits(100, None, None);
    let asks = |waiting| request("v", limits, vec![party("s", waiting, 10)]);
    let busy = || request("w", limits, vec![in_flight(90, party("s", 0, 10))]);
    assert_eq!(slots(&pool.lease(START, &asks(100))), [0], "who holds slots has not told yet");
    for at in (0..27_000).step_by(1_000) {
        assert!(slots(&pool.lease(after(at), &busy()))[0] <= 90);
        let granted = slots(&pool.lease(after(at), &asks(100)))[0];
        assert!(granted <= if at < 25_000 { 0 } else { 10 }, "{granted} after {at} ms");
    }
    assert_eq!(slots(&pool.lease(after(27_000), &asks(100))), [10]);
}

#[test]
fn who_comes_back_after_its_slots_went_to_others_starts_nothing() {
    let mut pool = Pool::default();
    let limits = limits(100, None, None);
    assert_eq!(slots(&pool.lease(START, &request("w", limits, vec![party("s", 100, 10)]))), [100]);
    let other = request("v", limits, vec![party("s", 100, 10)]);
    for at in (0..10_000).step_by(1_000) {
        assert_eq!(slots(&pool.lease(after(at), &other)), [0]);
    }
    assert_eq!(slots(&pool.lease(after(10_000), &other)), [100]);
    // Its calls were under way when it was stopped, and their answers wait for it: none takes the place of one that ends.
    for still in [64, 20, 0] {
        let awake = request("w", limits, vec![in_flight(still, party("s", 200, 10))]);
        assert_eq!(slots(&pool.lease(after(15_000), &awake)), [0]);
    }
}

#[test]
fn slots_that_are_filled_twice_are_not_filled_again() {
    let mut pool = Pool::default();
    let limits = limits(6, None, None);
    let ask = |holder: &str, filled| request(holder, limits, vec![in_flight(filled, party("s", 10, 10))]);
    assert_eq!(slots(&pool.lease(START, &ask("v", 4))), [6], "four of these went on while nobody could ask");
    assert_eq!(slots(&pool.lease(after(100), &ask("w", 2))), [0], "two are filled beyond what there is");
    assert_eq!(slots(&pool.lease(after(200), &ask("v", 3))), [3]);
    assert_eq!(slots(&pool.lease(after(300), &ask("w", 2))), [3]);
}

#[test]
fn after_a_time_in_which_nobody_reached_the_store_all_have_time_to_tell_of_their_slots() {
    let limits = limits(100, None, None);
    let busy = |holder: &str| request(holder, limits, vec![in_flight(50, party("s", 50, 10))]);
    let idle = |holder: &str| request(holder, limits, vec![party("s", 50, 10)]);
    for away in [4_000, 12_000, 600_000] {
        let mut pool = Pool::default();
        for holder in ["v", "w"] {
            pool.lease(START, &idle(holder));
        }
        for holder in ["v", "w"] {
            assert_eq!(slots(&pool.lease(after(100), &busy(holder))), [50]);
        }
        let back = 100 + away;
        for at in (0..25_000).step_by(3_000) {
            assert_eq!(slots(&pool.lease(after(back + at), &busy("v"))), [50], "the others are those of {away} ms ago");
        }
        assert_eq!(pool.holders(after(back + 24_900)).len(), 2);
        assert_eq!(slots(&pool.lease(after(back + 24_900), &busy("w"))), [50]);
    }
}

#[test]
fn while_nobody_reaches_the_store_again_and_again_the_time_to_come_back_does_not_pass() {
    let limits = limits(100, None, None);
    let mut pool = Pool::default();
    pool.lease(START, &request("w", limits, vec![in_flight(100, party("s", 0, 10))]));
    let asks = request("v", limits, vec![party("s", 100, 10)]);
    for at in [40_000, 41_000, 80_000, 82_000, 120_000, 135_000] {
        assert_eq!(slots(&pool.lease(after(at), &asks)), [0], "{at}");
    }
    let back = request("w", limits, vec![in_flight(90, party("s", 0, 10))]);
    assert_eq!(slots(&pool.lease(after(135_500), &back)), [50], "its fair share from now on, and ninety are filled");
    assert_eq!(slots(&pool.lease(after(136_000), &asks)), [10]);
}

#[test]
fn who_does_not_come_back_is_forgotten_when_others_have_asked_for_a_while() {
    let limits = limits(100, None, None);
    let asks = |filled, waiting| request("v", limits, vec![in_flight(filled, party("s", waiting, 10))]);
    let of_dead = request("w", limits, vec![in_flight(90, party("s", 0, 10))]);
    let mut pool = Pool::default();
    pool.lease(START, &of_dead);
    for at in (60_000..85_000).step_by(1_000) {
        assert_eq!(slots(&pool.lease(after(at), &asks(0, 50))), [10]);
    }
    assert_eq!(slots(&pool.lease(after(85_000), &asks(0, 50))), [50]);
    // Bursts, between which nobody asks: in the third one.
    let mut pool = Pool::default();
    pool.lease(START, &of_dead);
    let mut granted = Vec::new();
    for burst in 1..=3 {
        for at in 0..10 {
            granted = slots(&pool.lease(after(burst * 60_000 + at * 1_000), &asks(0, 50)));
        }
        pool.lease(after(burst * 60_000 + 10_000), &request("v", limits, vec![]));
    }
    assert_eq!(granted, [50]);
}

#[test]
fn nobody_is_waited_for_whose_calls_are_over_by_now() {
    let limits = limits(100, None, None);
    let mut pool = Pool::default();
    pool.lease(START, &request("w", limits, vec![in_flight(90, party("s", 0, 10))]));
    assert_eq!(slots(&pool.lease(after(25 * 3_600_000), &request("v", limits, vec![party("s", 50, 10)]))), [50]);
}
