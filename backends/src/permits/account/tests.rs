use proptest::prelude::*;
use regatta_proto::{AccountId, SweepId};

use super::*;

/// Any moment; accounts know none before it.
const START: u64 = 1_790_000_000_000;

fn telling(holder: usize, [spent, maybe_spent, in_flight, wanted]: [u64; 4]) -> AccountRequest {
    AccountRequest {
        account: AccountId { sweep: SweepId::new("s").unwrap(), model: None },
        holder: WorkerId::new(format!("w{holder}")).unwrap(),
        spent: Money(spent),
        maybe_spent: Money(maybe_spent),
        in_flight: Money(in_flight),
        sent: Money(in_flight),
        to_send: Money(wanted),
        wanted: Money(wanted),
        least: Money::ZERO,
        claim: None,
        claims_for_good: false,
    }
}

fn of(cap: u64) -> Account {
    Account::new(Money(cap), Money::ZERO, Money::ZERO)
}

#[test]
fn as_much_is_reserved_as_there_is() {
    let mut account = of(100);
    assert_eq!(account.settle(START, &telling(0, [0, 0, 0, 70])).reserved, Money(70));
    let reply = account.settle(START, &telling(1, [0, 0, 0, 70]));
    let expected = AccountReply {
        reserved: Money(30),
        may_send: Money(30),
        left: Money(0),
        may_come: Money(100),
        valid_ms: 10_000,
        idle_ms: 200,
        claimed: None,
        was_overtaken: false,
    };
    assert_eq!(reply, expected);
}

#[test]
fn what_is_too_little_is_left_to_others() {
    let mut account = of(100);
    account.settle(START, &telling(0, [0, 0, 0, 40]));
    let needing =
        |least: u64, in_flight: u64| AccountRequest { least: Money(least), ..telling(1, [0, 0, in_flight, 90]) };
    assert_eq!(account.settle(START, &needing(61, 0)).reserved, Money::ZERO);
    assert_eq!(account.settle(START, &needing(60, 0)).reserved, Money(60));
    assert_eq!(account.settle(START, &needing(50, 20)).reserved, Money(20), "what is in flight stays");
    assert_eq!(account.settle(START, &needing(40, 20)).reserved, Money(60));
}

#[test]
fn money_that_may_have_been_spent_does_not_come_back() {
    let mut account = of(100);
    account.settle(START, &telling(0, [10, 20, 0, 0]));
    let reply = account.settle(START, &telling(1, [0, 0, 0, 500]));
    assert_eq!((reply.reserved, reply.may_come), (Money(70), Money(70)));
}

#[test]
fn what_is_in_flight_is_kept_and_cannot_be_claimed() {
    let mut account = of(100);
    account.settle(START, &telling(0, [0, 0, 0, 60]));
    account.set_cap(Money(20));
    assert_eq!(account.settle(START, &telling(0, [0, 0, 40, 60])).reserved, Money(40));
    assert_eq!(account.settle(START, &telling(1, [0, 0, 50, 50])).reserved, Money::ZERO);
}

#[test]
fn a_call_that_cost_more_than_its_reservation_leaves_nothing_and_no_debt() {
    let mut account = of(100);
    account.settle(START, &telling(0, [0, 0, 0, 60]));
    let reply = account.settle(START, &telling(0, [140, 0, 0, 10]));
    assert_eq!((reply.reserved, reply.left, reply.may_come), (Money::ZERO, Money::ZERO, Money::ZERO));
}

#[test]
fn a_request_that_was_overtaken_changes_nothing() {
    let mut account = of(100);
    account.settle(START, &telling(0, [10, 0, 30, 30]));
    let newer = account.settle(START, &telling(0, [30, 5, 40, 60]));
    let before = account.clone();
    let older = account.settle(START, &telling(0, [10, 0, 30, 30]));
    assert_eq!(older, AccountReply { was_overtaken: true, ..newer });
    assert_eq!(account, before);
}

#[test]
fn a_reservation_is_lost_with_its_holder_until_it_comes_back() {
    let mut account = of(100);
    account.settle(START, &telling(0, [10, 0, 20, 40]));
    assert_eq!(account.read(START + 29_999).lost, Money::ZERO);
    let state = account.read(START + 30_000);
    assert_eq!((state.reserved, state.lost, state.left), (Money::ZERO, Money(40), Money(50)));
    assert_eq!(account.settle(START + 40_000, &telling(1, [0, 0, 0, 100])).may_come, Money(50));
    account.settle(START + 50_000, &telling(0, [25, 0, 5, 5]));
    let state = account.read(START + 50_000);
    assert_eq!((state.spent, state.reserved, state.lost, state.left), (Money(25), Money(55), Money::ZERO, Money(20)));
}

#[test]
fn what_waits_for_its_permit_is_not_lost_with_its_holder() {
    let mut account = of(100);
    let waits = AccountRequest { to_send: Money(15), ..telling(0, [10, 0, 0, 40]) };
    assert_eq!(account.settle(START, &waits).may_send, Money(15));
    assert_eq!(account.read(START).at_most(), Money(25));
    let state = account.read(START + DEAD_MS);
    assert_eq!((state.lost, state.left, state.at_most()), (Money(15), Money(75), Money(25)));
}

#[test]
fn a_holder_that_was_taken_for_dead_keeps_what_it_has_sent_alone() {
    let mut account = of(100);
    account.settle(START, &AccountRequest { to_send: Money(15), ..telling(0, [0, 0, 0, 40]) });
    assert_eq!(account.settle(START + DEAD_MS, &telling(1, [0, 0, 0, 100])).reserved, Money(85));
    let back = AccountRequest { sent: Money(10), to_send: Money(40), ..telling(0, [0, 0, 40, 40]) };
    let reply = account.settle(START + DEAD_MS, &back);
    assert_eq!(
        (reply.reserved, reply.may_send),
        (Money(10), Money(10)),
        "what is left does not pay for all that waits"
    );
}

#[test]
fn all_that_a_build_had_reserved_which_does_not_tell_what_it_sends_may_be_spent() {
    let mut account = of(100);
    account.settle(START, &AccountRequest { to_send: Money(15), ..telling(0, [0, 0, 0, 40]) });
    let mut stored = serde_json::to_value(&account).unwrap();
    stored["holders"]["w0"].as_object_mut().unwrap().remove("may_send").unwrap();
    let mut account: Account = serde_json::from_value(stored).unwrap();
    assert_eq!(account.read(START + DEAD_MS).lost, Money(40));
}

#[test]
fn amounts_beyond_all_bounds_do_not_overflow() {
    let mut account = of(u64::MAX);
    for holder in 0..3 {
        account.settle(START, &telling(holder, [u64::MAX; 4]));
    }
    assert_eq!(account.read(START).left, Money::ZERO);
}

#[test]
fn a_worker_that_was_taken_for_dead_keeps_nothing_that_it_has_spent_since() {
    let mut account = of(100);
    let waiting = |spent, sent, waits| AccountRequest {
        sent: Money(sent),
        to_send: Money(sent),
        ..telling(0, [spent, 0, sent + waits, sent + waits])
    };
    assert_eq!(account.settle(START, &waiting(0, 40, 60)).reserved, Money(100));
    let dead = START + DEAD_MS;
    assert_eq!(account.settle(dead, &telling(1, [0, 0, 0, 90])).reserved, Money(60), "what it had not sent");
    assert_eq!(account.settle(dead, &waiting(0, 40, 60)).reserved, Money(40));
    assert_eq!(account.settle(dead, &waiting(30, 0, 60)).reserved, Money(10));
    let state = account.read(dead);
    assert_eq!((state.spent, state.reserved, state.left), (Money(30), Money(70), Money::ZERO));
}

#[test]
fn workers_that_left_long_ago_are_kept_as_sums() {
    let mut account = of(u64::MAX);
    for holder in 0..3 * HOLDERS_MAX {
        let at = START + holder as u64 * FORGET_MS / 500;
        account.settle(at, &telling(holder, [5, 2, 0, 1]));
    }
    assert!(account.holders.len() <= HOLDERS_MAX);
    let (state, all) = (account.read(START), 3 * HOLDERS_MAX as u64);
    assert_eq!((state.spent, state.maybe_spent), (Money(5 * all), Money(2 * all)));
    assert_eq!(state.reserved + state.lost, Money(all));
}

#[test]
fn workers_are_remembered_however_many_there_are_while_they_are_heard_of() {
    let mut account = of(u64::MAX);
    for round in 0..2 {
        for holder in 0..2 * HOLDERS_MAX {
            account.settle(START + round, &telling(holder, [5, 0, 0, 0]));
        }
    }
    assert_eq!(account.read(START).spent, Money(10 * HOLDERS_MAX as u64));
}

/// The actual state of a worker.
#[derive(Debug, Clone, Copy, Default)]
struct Worker {
    spent: u64,
    maybe_spent: u64,
    in_flight: u64,
    /// Part of `in_flight` that is under way.
    sent: u64,
    reserved: u64,
    may_send: u64,
    asked_at: Option<u64>,
    is_dead: bool,
    /// The store took it for dead once, and may have given others what it had reserved.
    was_dead: bool,
}

impl Worker {
    fn telling(&self, number: usize, wanted: u64) -> AccountRequest {
        let to_send = Money(self.sent + wanted / 3);
        AccountRequest {
            sent: Money(self.sent),
            to_send,
            ..telling(number, [self.spent, self.maybe_spent, self.in_flight, wanted])
        }
    }
}

proptest! {
    /// Workers that keep to the rules: calls are reserved within what is reserved and valid, sent within what may be sent and is valid, and
    /// cost at most what they reserved; from the moment a worker asks until it has the answer, nothing is reserved but what is in flight,
    /// and nothing is sent.
    #[test]
    fn nothing_ever_brings_more_than_the_cap(
        cap in 0_u64..10_000,
        steps in prop::collection::vec((0_usize..5, 0_u8..10, 0_u64..3_000, 0_u64..12_000, 0_u64..200), 1..300),
    ) {
        let (mut account, mut workers, mut now) = (of(cap), [Worker::default(); 5], START);
        for (number, what, amount, later, least) in steps {
            now += later;
            let worker = &mut workers[number];
            match what {
                _ if worker.is_dead => {
                    // It comes back after all, or never.
                    worker.is_dead = amount > 300;
                }
                // Its answer is lost: the store has done it, the worker does not know.
                0 => {
                    account.settle(now, &worker.telling(number, amount + worker.in_flight));
                    (worker.reserved, worker.may_send) = (worker.in_flight, worker.sent);
                }
                1..=4 => {
                    let request = AccountRequest { least: Money(least), ..worker.telling(number, amount + worker.in_flight) };
                    worker.was_dead |= worker.asked_at.is_some_and(|at| at + DEAD_MS <= now);
                    let reply = account.settle(now, &request);
                    let is_useful = reply.reserved.0 == worker.in_flight || reply.reserved.0 >= worker.in_flight + least;
                    prop_assert!(is_useful || worker.was_dead);
                    prop_assert!(reply.may_send <= reply.reserved);
                    (worker.reserved, worker.may_send, worker.asked_at) = (reply.reserved.0, reply.may_send.0, Some(now));
                    let before = account.clone();
                    prop_assert_eq!(account.settle(now, &request), reply);
                    prop_assert_eq!(&account, &before, "a repeated request changes nothing");
                }
                5 if worker.asked_at.is_some_and(|at| now < at + VALID_MS) => {
                    worker.in_flight += amount.min(worker.reserved.saturating_sub(worker.in_flight));
                }
                6 if worker.asked_at.is_some_and(|at| now < at + VALID_MS) => {
                    let waits = worker.in_flight - worker.sent;
                    worker.sent += amount.min(waits).min(worker.may_send.saturating_sub(worker.sent));
                }
                7 | 8 => {
                    // A call ends, and costs at most what it had reserved; or nobody knows what it cost.
                    let call = amount.min(worker.sent);
                    worker.in_flight -= call;
                    worker.sent -= call;
                    worker.reserved = worker.reserved.saturating_sub(call);
                    worker.may_send = worker.may_send.saturating_sub(call);
                    if what == 7 { worker.spent += call / 2 } else { worker.maybe_spent += call }
                }
                9 => worker.is_dead = true,
                _ => {}
            }
            let truth: u64 = workers.iter().map(|worker| worker.spent + worker.maybe_spent + worker.sent).sum();
            prop_assert!(truth <= cap, "{truth} of {cap}");
            let state = account.read(now);
            prop_assert!(truth <= state.at_most().0, "{truth} of {} that may be spent at most", state.at_most());
            let counted = state.spent + state.maybe_spent + state.reserved + state.lost;
            prop_assert!(counted.0 <= cap);
            prop_assert_eq!(counted + state.left, Money(cap));
            let stored: Account = serde_json::from_str(&serde_json::to_string(&account).unwrap()).unwrap();
            prop_assert_eq!(&stored, &account);
        }
    }

    #[test]
    fn everything_can_be_spent(cap in 1_u64..100_000, calls in prop::collection::vec((0_usize..4, 1_u64..500), 1..50)) {
        let (mut account, mut spent) = (of(cap), [0; 4]);
        for (worker, cost) in calls.iter().cycle().take(20_000) {
            let reserved = account.settle(START, &telling(*worker, [spent[*worker], 0, 0, *cost])).reserved.0;
            spent[*worker] += reserved;
            let reply = account.settle(START, &telling(*worker, [spent[*worker], 0, 0, 0]));
            if reply.left == Money::ZERO {
                break;
            }
        }
        prop_assert_eq!(account.read(START).spent.0, spent.iter().sum::<u64>());
        prop_assert!(spent.iter().sum::<u64>() <= cap);
        prop_assert_eq!(account.read(START).left.0, cap - spent.iter().sum::<u64>());
    }
}

#[test]
fn what_is_of_no_use_to_a_worker_is_left_to_others() {
    let mut account = Account::new(Money(1_500), Money::ZERO, Money::ZERO);
    let asking = |holder, wanted| AccountRequest { least: Money(1_000), ..telling(holder, [0, 0, 0, wanted]) };
    assert_eq!(account.settle(0, &telling(0, [0, 0, 0, 900])).reserved, Money(900));
    assert_eq!(account.settle(1, &asking(1, 1_000)).reserved, Money::ZERO, "600 pay for no call of its own");
    assert_eq!(account.settle(2, &asking(0, 2_000)).reserved, Money(1_500));
    assert_eq!(account.settle(3, &asking(1, 1_000)).reserved, Money::ZERO);
}
