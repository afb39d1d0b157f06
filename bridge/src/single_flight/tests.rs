use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// A client that can be told to go.
#[derive(Clone, Default)]
struct Client(Arc<AtomicBool>);

impl Client {
    fn leave(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Waiting for Client {
    fn is_gone(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

type Calls = SingleFlight<&'static str, Client>;

fn key(body: &str) -> RequestKey {
    RequestKey { request: Digest::of(body.as_bytes()), idempotency_key: None }
}

fn keyed(body: &str, idempotency_key: &str) -> RequestKey {
    RequestKey { idempotency_key: Some(idempotency_key.to_owned()), ..key(body) }
}

fn new(join: Join<&'static str>) -> u64 {
    match join {
        Join::Lead(leader, waiter) => {
            assert_eq!(leader.number, waiter.number);
            waiter.number
        }
        other => panic!("{other:?}"),
    }
}

fn joined(join: Join<&'static str>) -> u64 {
    match join {
        Join::Wait(waiter) => waiter.number,
        other => panic!("{other:?}"),
    }
}

#[test]
fn two_equal_requests_whose_clients_both_wait_are_two_calls() {
    let calls = Calls::new();
    assert_eq!(new(calls.join(key("x"), Client::default())), 0);
    assert_eq!(new(calls.join(key("x"), Client::default())), 1);
}

#[test]
fn a_request_joins_the_call_whose_client_is_gone_in_flight_and_finished() {
    let calls = Calls::new();
    let (first, second) = (Client::default(), Client::default());
    new(calls.join(key("x"), first.clone()));
    first.leave();
    assert_eq!(joined(calls.join(key("x"), second.clone())), 0);
    assert_eq!(new(calls.join(key("y"), Client::default())), 1);
    calls.finished(0, true);
    second.leave();
    assert_eq!(joined(calls.join(key("x"), Client::default())), 0);
}

#[test]
fn a_request_joins_a_call_that_is_left_although_an_older_equal_one_is_waited_for() {
    let calls = Calls::new();
    let (second, third) = (Client::default(), Client::default());
    new(calls.join(key("x"), Client::default()));
    new(calls.join(key("x"), second.clone()));
    second.leave();
    assert_eq!(joined(calls.join(key("x"), third.clone())), 1);
    assert_eq!(new(calls.join(key("x"), Client::default())), 2);
    third.leave();
    assert_eq!(joined(calls.join(key("x"), Client::default())), 1);
}

#[test]
fn an_answer_that_was_given_is_given_to_nobody_else_unless_the_idempotency_key_is_the_same() {
    let calls = Calls::new();
    new(calls.join(key("x"), Client::default()));
    calls.finished(0, true);
    calls.claimed(0);
    assert_eq!(new(calls.join(key("x"), Client::default())), 1);
    assert_eq!(new(calls.join(keyed("x", "k"), Client::default())), 2);
    calls.finished(2, true);
    calls.claimed(2);
    assert_eq!(joined(calls.join(keyed("x", "k"), Client::default())), 2);
    assert_eq!(new(calls.join(keyed("x", "other"), Client::default())), 3);
    assert_eq!(new(calls.join(keyed("y", "k"), Client::default())), 4);
}

#[test]
fn a_call_that_failed_is_forgotten() {
    let calls = Calls::new();
    new(calls.join(keyed("x", "k"), Client::default()));
    calls.finished(0, false);
    assert_eq!(new(calls.join(keyed("x", "k"), Client::default())), 1);
}

#[test]
fn calls_in_flight_and_cached_responses_are_bounded() {
    let calls = Calls::new();
    for number in 0..IN_FLIGHT_MAX as u64 {
        assert_eq!(new(calls.join(keyed("x", &number.to_string()), Client::default())), number);
    }
    assert!(matches!(calls.join(key("x"), Client::default()), Join::Full));
    for number in 0..=KEPT_MAX as u64 {
        calls.finished(number, true);
    }
    assert_eq!(new(calls.join(keyed("x", "0"), Client::default())), IN_FLIGHT_MAX as u64);
    assert_eq!(joined(calls.join(keyed("x", "1"), Client::default())), 1);
}

#[test]
fn no_call_begins_in_a_closed_session() {
    let calls = Calls::new();
    calls.close();
    assert!(matches!(calls.join(key("x"), Client::default()), Join::Closed));
}
