//! Each check can fail, and names the item.

use super::*;
use crate::endpoint::Call;
use crate::evidence::{Attempt, InFlight, Leftovers, Struck};
use crate::plan::Fault;

fn line(item: &str) -> String {
    format!("{{\"cell\":0,\"benchmark\":\"b\",\"setting\":\"s\",\"trial\":0,\"item\":\"{item}\",\"scores\":1}}\n")
}

fn call(item: &str, begun_ms: u64) -> Call {
    let session = format!("b/s/0/{item}");
    let (kind, ended_ms) = (CallKind::Live, Some(begun_ms + 10));
    Call { session, kind, client: 1, begun_ms, ended_ms, was_refused: false, cost: 50 }
}

fn attempt(item: &str, state: &str, calls: u64) -> Attempt {
    Attempt { session: format!("b/s/0/{item}"), state: state.to_owned(), calls, known_cost: calls * 50, at_most: 0 }
}

fn judged(begun_ms: u64) -> Call {
    Call { kind: CallKind::Judges, cost: 7, ..call("-", begun_ms) }
}

fn batched(item: &str) -> Call {
    Call { kind: CallKind::Batched, cost: 25, ..call(item, 0) }
}

/// Two sessions of two calls each, one that is a line of a batch and a question to a judge, and a history in which nothing went wrong.
fn sound() -> (Reference, Evidence) {
    let results = line("x") + &line("y") + &line("night");
    let books = vec![call("x", 0), call("x", 20), call("y", 40), call("y", 60), judged(80), batched("night")];
    let reference = Reference::of(results.clone(), &books);
    let evidence = Evidence {
        state: "complete".to_owned(),
        results,
        attempts: vec![
            attempt("x", "recorded", 2),
            attempt("y", "recorded", 2),
            Attempt { known_cost: 25, ..attempt("night", "recorded", 1) },
        ],
        books,
        judged_cost: 7,
        account: 232,
        without_account: Vec::new(),
        budget: 1_000,
        leftovers: Leftovers::default(),
        struck: Vec::new(),
        fallen: Vec::new(),
        longest_silence_ms: 0,
    };
    (reference, evidence)
}

/// A fault that cut a worker off with one call of each of the items.
fn struck(fault: Fault, in_flight: &[&str]) -> Struck {
    let calls = in_flight.iter().map(|item| (format!("b/s/0/{item}"), 1)).collect();
    let in_flight = InFlight { calls, judges: 0, workers: 1 };
    let (target, recovered_after_ms) = ("somebody".to_owned(), Some(100));
    Struck { fault, target, at_ms: 1, ended_ms: 2, recovered_after_ms, in_flight, had_two_leaders: false }
}

/// Asserts that a sound history with `change` fails this check, with this item.
#[track_caller]
fn fails(check_name: &str, item: &str, change: impl FnOnce(&mut Evidence)) {
    let (reference, mut evidence) = sound();
    change(&mut evidence);
    let findings = check(&reference, &evidence);
    assert!(findings.iter().any(|one| one.check == check_name && one.item == item), "{findings:?}");
}

#[test]
fn a_sound_history_passes() {
    let (reference, evidence) = sound();
    assert_eq!(check(&reference, &evidence), []);
}

#[test]
fn a_call_that_was_in_flight_in_a_killed_process_may_be_made_again() {
    let (reference, mut evidence) = sound();
    evidence.struck.push(struck(Fault::KillWorker, &["x"]));
    evidence.books.push(call("x", 100));
    evidence.account += 50;
    assert_eq!(check(&reference, &evidence), []);
}

#[test]
fn a_batch_may_be_handed_in_twice_for_each_worker_that_was_lost_and_each_is_paid() {
    let (reference, mut evidence) = sound();
    evidence.struck.push(struck(Fault::KillWorker, &[]));
    evidence.books.push(batched("night"));
    evidence.attempts.push(Attempt { known_cost: 25, ..attempt("night", "waste", 1) });
    evidence.account += 25;
    assert_eq!(check(&reference, &evidence), []);
    evidence.attempts.pop();
    assert!(check(&reference, &evidence).iter().any(|one| one.check == "money" && one.item == "b/s/0/night"));
}

#[test]
fn a_line_of_a_batch_that_nothing_explains_is_found() {
    fails("calls", "b/s/0/night", |evidence| evidence.books.push(batched("night")));
    fails("calls", "b/s/0/night", |evidence| {
        evidence.struck.push(struck(Fault::KillWorker, &["night"]));
        evidence.books.extend([batched("night"), batched("night")]);
    });
    fails("calls", "b/s/0/night", |evidence| drop(evidence.books.remove(5)));
}

#[test]
fn more_lines_twice_than_a_batch_for_each_worker_are_found() {
    let items: Vec<String> = (0..=BATCH_MAX).map(|number| format!("night-{number}")).collect();
    let books: Vec<Call> = items.iter().map(|item| batched(item)).collect();
    let (results, (_, mut evidence)) = (items.iter().map(|item| line(item)).collect(), sound());
    let reference = Reference::of(results, &books);
    evidence.books = books.iter().chain(&books).cloned().collect();
    evidence.struck.push(struck(Fault::KillWorker, &[]));
    let findings = calls(&reference, &evidence);
    assert_eq!(findings.iter().map(|one| one.item.as_str()).collect::<Vec<_>>(), ["batches"]);
    evidence.struck.push(struck(Fault::KillWorker, &[]));
    assert_eq!(calls(&reference, &evidence), []);
}

#[test]
fn a_call_that_nothing_explains_is_found() {
    fails("calls", "b/s/0/x", |evidence| evidence.books.push(call("x", 100)));
    fails("calls", "b/s/0/x", |evidence| {
        evidence.struck.push(struck(Fault::KillWorker, &["y"]));
        evidence.books.push(call("x", 100));
    });
    // Whatever a session had done before the call that was cut off is known, and not done again.
    fails("calls", "b/s/0/x", |evidence| {
        evidence.struck.push(struck(Fault::KillWorker, &["x"]));
        evidence.books.extend([call("x", 100), call("x", 120)]);
    });
    fails("calls", "b/s/0/z", |evidence| evidence.books.push(call("z", 100)));
    fails("calls", "b/s/0/y", |evidence| drop(evidence.books.remove(3)));
}

#[test]
fn a_nano_dollar_that_is_missing_or_too_much_is_found() {
    fails("money", "b/s/0/x", |evidence| evidence.attempts[0].known_cost -= 1);
    fails("money", "b/s/0/y", |evidence| evidence.attempts[1].known_cost += 1);
    fails("money", "b/s/0/y", |evidence| evidence.attempts.push(attempt("y", "waste", 1)));
    fails("money", "b/s/0/x", |evidence| {
        evidence.struck.push(struck(Fault::KillWorker, &["x"]));
        evidence.attempts[0] = attempt("x", "recorded", 0);
    });
    fails("judges", "judges' calls", |evidence| evidence.judged_cost = 6);
    fails("judges", "judges' calls", |evidence| evidence.judged_cost = 8);
    fails("judges", "judges' calls", |evidence| evidence.books.push(judged(100)));
}

#[test]
fn a_judges_cost_may_be_unknown_where_its_call_was_cut_off_and_nowhere_else() {
    let of_judges =
        |judges| Struck { in_flight: InFlight { judges, ..InFlight::default() }, ..struck(Fault::KillWorker, &[]) };
    let (reference, mut evidence) = sound();
    evidence.struck.push(of_judges(1));
    evidence.books.push(judged(100));
    evidence.account += 7;
    assert_eq!(check(&reference, &evidence), []);
    fails("judges", "judges' calls", |evidence| {
        evidence.struck.push(of_judges(0));
        evidence.books.push(judged(100));
    });
    fails("judges", "judges' calls", |evidence| {
        evidence.struck.push(of_judges(1));
        evidence.books.extend([judged(100), judged(120)]);
    });
}

#[test]
fn results_that_differ_are_named() {
    fails("same results", "b/s/0/y", |evidence| {
        evidence.results = line("x") + &line("y").replace("\"scores\":1", "\"scores\":2") + &line("night")
    });
    fails("same results", "line 2", |evidence| evidence.results = line("x"));
    fails("one result an item", "b/s/0/x", |evidence| evidence.results = line("x") + &line("x"));
    fails("one result an item", "b/s/0/y", |evidence| evidence.attempts[1].state = "waste".to_owned());
}

#[test]
fn a_budget_that_is_overrun_or_an_account_that_forgets_is_found() {
    fails("budget", "account", |evidence| evidence.account = 231);
    fails("budget", "tonight", |evidence| evidence.without_account.push("tonight".to_owned()));
    fails("budget", "budget", |evidence| evidence.budget = 230);
}

#[test]
fn limits_that_are_exceeded_are_found() {
    let many = |count: u64, gap_ms: u64| {
        move |evidence: &mut Evidence| {
            evidence.books.extend((0..count).map(|number| call("x", 1_000 + number * gap_ms)));
        }
    };
    fails("limits", "concurrency", many(u64::from(CONCURRENCY) + 1, 0));
    fails("limits", "requests per minute", many(u64::from(REQUESTS_PER_MINUTE) + 1, 15));
}

#[test]
fn what_is_left_over_is_named() {
    fails("nothing left", "open attempts", |evidence| evidence.leftovers.open_attempts = 1);
    fails("nothing left", "sessions that await verdicts", |evidence| evidence.leftovers.awaiting = 1);
    fails("nothing left", "slots", |evidence| evidence.leftovers.slots = 1);
    fails("nothing left", "reserved nano-dollars", |evidence| evidence.leftovers.reserved = 1);
    fails("nothing left", "checkpoints", |evidence| evidence.leftovers.checkpoints = 1);
    let of_queue = |queue: &str| (queue.to_owned(), 2);
    fails("nothing left", "regatta.dead", |evidence| evidence.leftovers.queues.push(of_queue("regatta.dead")));
    fails("nothing left", "regatta.jobs.q, unacknowledged", |evidence| {
        evidence.leftovers.unacknowledged.push(of_queue("regatta.jobs.q"));
    });
    fails("processes", "worker-4 ended with 1", |evidence| evidence.fallen.push("worker-4 ended with 1".to_owned()));
    fails("end", "sweep", |evidence| evidence.state = "incomplete".to_owned());
}

#[test]
fn a_slow_recovery_is_found() {
    let slow = |after| {
        move |evidence: &mut Evidence| {
            evidence.struck.push(Struck { recovered_after_ms: after, ..struck(Fault::KillLeader, &[]) });
        }
    };
    fails("recovery", "kill-leader", slow(Some(15_001)));
    fails("recovery", "kill-leader", slow(None));
    fails("recovery", "purge-jobs", |evidence| {
        evidence.struck.push(Struck { recovered_after_ms: Some(180_001), ..struck(Fault::PurgeJobs, &[]) });
    });
    fails("recovery", "longest silence", |evidence| evidence.longest_silence_ms = 26_000);
}
