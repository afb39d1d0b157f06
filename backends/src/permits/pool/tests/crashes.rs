//! Crashes of the store, and what is known after them.

use super::*;

/// Of a hundred slots the worker fills so many, and wants so many more.
fn asks(holder: &str, filled: u32, waiting: u32) -> PoolRequest {
    request(holder, limits(100, None, None), vec![in_flight(filled, party("s", waiting, 10))])
}

fn idle(holder: &str) -> PoolRequest {
    request(holder, limits(100, None, None), vec![])
}

/// A pool of which all leases are known, and its last durable state.
#[derive(Default)]
struct Kept {
    pool: Pool,
    durable: Pool,
}

impl Kept {
    fn lease(&mut self, at: u64, request: &PoolRequest) -> Vec<u32> {
        let reply = self.pool.lease(after(at), request);
        if self.pool.save_due(after(at), request) {
            self.durable = self.pool.clone();
        }
        slots(&reply)
    }

    fn crash(&mut self, at: u64) {
        self.pool = self.durable.clone().recovered(after(at));
    }
}

#[test]
fn after_a_crash_slots_are_granted_as_soon_as_all_who_may_fill_some_have_told() {
    let mut kept = Kept::default();
    for (at, holder) in [(0, "u"), (100, "v"), (200, "w")] {
        kept.lease(at, &asks(holder, 0, 20));
    }
    // One that has nothing to do for a moment stays known, without a durable state for each such moment.
    kept.lease(300, &idle("w"));
    kept.lease(2_000, &asks("w", 0, 20));
    kept.crash(5_000);
    assert_eq!(kept.lease(5_000, &asks("u", 20, 20)), [20], "two have not told yet");
    assert_eq!(kept.lease(5_100, &asks("x", 0, 20)), [0]);
    assert_eq!(kept.lease(5_200, &asks("v", 20, 20)), [20]);
    assert_eq!(kept.lease(5_300, &asks("w", 20, 0)), [20]);
    assert_eq!(kept.lease(5_400, &asks("u", 20, 20)), [30], "of the forty, what is fair");
    // Another crash, and one of the four is gone.
    kept.crash(8_000);
    for holder in ["u", "v", "x"] {
        assert_eq!(kept.lease(8_100, &asks(holder, 10, 10)), [10]);
    }
    for at in [11_000, 14_000, 17_000, 17_900] {
        assert_eq!(kept.lease(at, &asks("u", 10, 10)), [10]);
    }
    assert_eq!(kept.lease(18_000, &asks("u", 10, 10)), [20], "nobody is waited for who does not come");
}

#[test]
fn a_time_in_which_nobody_reaches_the_store_again_after_a_crash_does_not_count() {
    for away in [4_000, 12_000, 40_000] {
        let mut kept = Kept::default();
        // When it was durable last, one of them had no slot.
        kept.lease(0, &asks("v", 0, 100));
        kept.lease(100, &asks("w", 0, 0));
        kept.crash(5_000);
        assert_eq!(kept.lease(5_000, &asks("v", 40, 60)), [40]);
        for at in (0..5_900).step_by(1_000) {
            assert_eq!(kept.lease(5_000 + away + at, &asks("v", 40, 60)), [40], "{at} ms after {away} ms");
        }
        assert_eq!(kept.lease(11_000 + away, &asks("w", 60, 0)), [50]);
    }
    // Of what is not known at all the same is true, and no other crash is taken for one of which all is known.
    let mut kept = Kept { pool: Pool::without_memory(START), durable: Pool::default() };
    kept.lease(0, &asks("v", 40, 60));
    assert_eq!(kept.lease(30_000, &asks("v", 40, 60)), [40]);
    kept.crash(31_000);
    assert_eq!(kept.lease(31_000, &asks("v", 40, 60)), [40]);
}

#[test]
fn what_was_not_known_is_known_once_all_must_have_told() {
    let mut kept = Kept { pool: Pool::without_memory(START), durable: Pool::default() };
    for at in (0..28_000).step_by(1_000) {
        kept.lease(at, &asks("v", 40, 0));
    }
    kept.crash(30_000);
    assert_eq!(kept.lease(30_000, &asks("v", 40, 60)), [100]);
}

#[test]
fn who_has_nothing_to_do_again_and_again_makes_few_states_durable() {
    let call = asks("w", 0, 1);
    let (mut pool, mut saved) = (Pool::default(), 0);
    for at in (0..100_000).step_by(5_000) {
        for (later, request) in [(0, &call), (1_000, &idle("w"))] {
            pool.lease(after(at + later), request);
            saved += u32::from(pool.save_due(after(at + later), request));
        }
    }
    assert_eq!(saved, 1, "when it comes");
}

#[test]
fn who_has_gone_is_not_waited_for_after_a_crash() {
    let mut kept = Kept::default();
    kept.lease(0, &asks("gone", 0, 20));
    for at in (1_000..14_000).step_by(1_000) {
        kept.lease(at, &asks("w", 10, 0));
    }
    kept.crash(14_000);
    assert_eq!(kept.lease(14_000, &asks("w", 10, 10)), [20]);
}

#[test]
fn a_crash_soon_after_a_loss_does_not_make_known_who_was_not() {
    let mut kept = Kept { pool: Pool::without_memory(START), durable: Pool::default() };
    kept.lease(0, &asks("v", 0, 20));
    kept.crash(1_000);
    for at in (1_000..26_000).step_by(1_000) {
        assert_eq!(kept.lease(at, &asks("v", 0, 20)), [0], "{at}");
    }
    assert_eq!(kept.lease(26_000, &asks("v", 0, 20)), [20]);
}
