//! Each check can fail, and names the item.

use super::*;
use crate::endpoint::Call;
use crate::evidence::{Account, Attempt, InFlight, Leftovers, Struck};
use crate::plan::Fault;

fn line(item: &str) -> String {
    format!("{{\"cell\":0,\"benchmark\":\"b\",\"setting\":\"s\",\"trial\":0,\"item\":\"{item}\",\"scores\":1}}\n")
}

/// A call of this request.
fn call(item: &str, request: u64, begun_ms: u64) -> Call {
    let session = format!("b/s/0/{item}");
    let (kind, texts, ended_ms) = (CallKind::Live, Vec::new(), Some(begun_ms + 10));
    Call { session, kind, request, texts, client: 1, begun_ms, ended_ms, was_refused: false, cost: 50 * request }
}

fn attempt(item: &str, state: &str, calls: u64, known_cost: u64) -> Attempt {
    Attempt { session: format!("b/s/0/{item}"), state: state.to_owned(), calls, known_cost, at_most: 0 }
}

fn judged(request: u64, begun_ms: u64) -> Call {
    Call { kind: CallKind::Judges, cost: 7, ..call("-", request, begun_ms) }
}

/// A call for the vectors of these texts.
fn vectors(texts: &[u64], begun_ms: u64) -> Call {
    Call { texts: texts.to_vec(), cost: 0, ..judged(begun_ms, begun_ms) }
}

/// A line of the batch of this number.
fn batched(item: &str, batch: u64, begun_ms: u64) -> Call {
    Call { kind: CallKind::Batched, cost: 25, ..call(item, batch, begun_ms) }
}

fn account(part: Part, sweep: &str, counted: u64) -> Account {
    Account { part, sweep: sweep.to_owned(), counted: Some(counted), budget: 1_000 }
}

/// Two sessions of two requests each, one that is a line of a batch, a question to a judge and two texts of which vectors are needed, and a history in which nothing went wrong.
fn sound() -> (Reference, Evidence) {
    let results = line("x") + &line("y") + &line("night");
    let books = vec![
        call("x", 1, 0),
        call("x", 2, 20),
        call("y", 1, 40),
        call("y", 2, 60),
        judged(8, 80),
        batched("night", 3, 0),
        vectors(&[1, 2], 85),
    ];
    let reference = Reference::of(results.clone(), &books);
    let evidence = Evidence {
        state: "complete".to_owned(),
        results,
        attempts: vec![
            attempt("x", "recorded", 2, 150),
            attempt("y", "recorded", 2, 150),
            attempt("night", "recorded", 1, 25),
        ],
        books,
        judged_cost: 7,
        accounts: vec![account(Part::Live, "day", 307), account(Part::Batched, "tonight", 25)],
        requests_per_minute: 100,
        leftovers: Leftovers::default(),
        struck: Vec::new(),
        endpoints_opened_ms: vec![0, 0],
        fallen: Vec::new(),
        progress_ms: vec![0, 90],
    };
    (reference, evidence)
}

/// A fault, 90 ms after the beginning, that cut these requests off and lost a worker.
fn struck(fault: Fault, requests: &[(&str, u64)]) -> Struck {
    let mut in_flight = InFlight { workers: 1, ..InFlight::default() };
    for (item, request) in requests {
        in_flight.calls.entry(format!("b/s/0/{item}")).or_default().push(*request);
    }
    let (target, recovered_after_ms) = ("somebody".to_owned(), Some(100));
    Struck { fault, target, at_ms: 90, ended_ms: 95, recovered_after_ms, in_flight, had_two_leaders: false }
}

/// The same with these requests of judges.
fn struck_judges(requests: &[u64]) -> Struck {
    let in_flight = InFlight { judges: requests.to_vec(), ..InFlight::default() };
    Struck { in_flight, ..struck(Fault::KillWorker, &[]) }
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
fn each_finding_says_what_was_seen_of_which_item_and_what_was_expected() {
    let (reference, mut evidence) = sound();
    evidence.state = "incomplete".to_owned();
    evidence.fallen.push("worker-4 ended with 1".to_owned());
    evidence.results = line("x") + &line("y").replace("\"scores\":1", "\"scores\":2") + &line("night");
    evidence.attempts[0].known_cost += 1;
    evidence.attempts[1].state = "waste".to_owned();
    evidence.books.push(call("x", 2, 100));
    evidence.books.extend((0..17).map(|_| Call { was_refused: true, ..call("x", 0, 200_000) }));
    evidence.books.extend((0..100).map(|number| Call { was_refused: true, ..call("x", 0, 200_100 + 20 * number) }));
    evidence.judged_cost = 6;
    evidence.accounts[1].counted = Some(24);
    evidence.leftovers = Leftovers {
        open_attempts: 1,
        awaiting: 2,
        slots: 3,
        reserved: 4,
        checkpoints: 5,
        queues: vec![("regatta.dead".to_owned(), 6)],
        unacknowledged: vec![("regatta.jobs.q".to_owned(), 7)],
    };
    evidence.struck.push(Struck { recovered_after_ms: Some(45_001), ..struck(Fault::KillLeader, &[]) });
    evidence.struck.push(Struck { recovered_after_ms: None, ..struck(Fault::LockHolder, &[]) });
    let said = check(&reference, &evidence);
    let said: Vec<String> =
        said.iter().map(|Finding { check, item, message }| format!("{check}, {item}: {message}")).collect();
    assert_eq!(
        said,
        [
            "processes, worker-4 ended with 1: nobody ended it",
            "end, sweep: it is incomplete, not complete",
            "same results, b/s/0/y: differs from the undisturbed run (3 lines for 3)",
            "one result an item, b/s/0/y: 0 of its attempts count",
            "calls, b/s/0/x: 1 calls beyond the undisturbed run, begun at [100] ms, and no fault had cut these requests off before; the same was asked at [20, 100] ms",
            "money, b/s/0/x: the ledger has 151 nano-dollars of 2 calls, the endpoint 250 of 3, and 0 were cut off",
            "judges, judges' calls: the ledger has 6 nano-dollars where 7 were billed, 0 of them for requests that were cut off",
            "budget, day: its account counts 307 nano-dollars, and the endpoint billed 407",
            "budget, tonight: its account counts 24 nano-dollars, and the endpoint billed 25",
            "limits, requests per minute: 117 calls in a minute, and 100 are allowed",
            "nothing left, open attempts: 1 are left",
            "nothing left, sessions that await verdicts: 2 are left",
            "nothing left, slots: 3 are left",
            "nothing left, reserved nano-dollars: 4 are left",
            "nothing left, checkpoints: 5 are left",
            "nothing left, regatta.dead: 6 are left",
            "nothing left, regatta.jobs.q, unacknowledged: 7 are left",
            "recovery, kill-leader: it recovered after 45001 ms, and 45000 ms are allowed",
            "recovery, lock-holder: it has not recovered, and 45000 ms are allowed",
        ]
    );
}

#[test]
fn a_request_that_was_cut_off_may_be_made_again() {
    let (reference, mut evidence) = sound();
    evidence.struck.push(struck(Fault::KillWorker, &[("x", 2)]));
    evidence.books.push(call("x", 2, 100));
    evidence.accounts[0].counted = Some(407);
    assert_eq!(check(&reference, &evidence), []);
}

#[test]
fn a_batch_of_a_lost_worker_may_be_handed_in_twice_and_each_is_paid() {
    let (reference, mut evidence) = sound();
    evidence.struck.push(struck(Fault::KillWorker, &[]));
    evidence.books.push(batched("night", 4, 100));
    evidence.attempts.push(attempt("night", "waste", 1, 25));
    evidence.accounts[1].counted = Some(50);
    assert_eq!(check(&reference, &evidence), []);
    evidence.attempts.pop();
    assert!(check(&reference, &evidence).iter().any(|one| one.check == "money" && one.item == "b/s/0/night"));
}

#[test]
fn a_line_of_a_batch_that_nothing_explains_is_found() {
    fails("calls", "b/s/0/night", |evidence| evidence.books.push(batched("night", 4, 100)));
    fails("calls", "b/s/0/night", |evidence| {
        evidence.struck.push(struck(Fault::KillWorker, &[("night", 3)]));
        evidence.books.extend([batched("night", 4, 100), batched("night", 5, 200)]);
    });
    // Its sessions had been acknowledged long before the worker was lost.
    fails("calls", "b/s/0/night", |evidence| {
        evidence.struck.push(Struck { at_ms: 9_000, ended_ms: 9_500, ..struck(Fault::KillWorker, &[]) });
        evidence.books.push(batched("night", 4, 9_900));
    });
    fails("calls", "b/s/0/night", |evidence| drop(evidence.books.remove(5)));
}

#[test]
fn a_call_that_nothing_explains_is_found() {
    let killed = |requests: &[(&str, u64)]| struck(Fault::KillWorker, requests);
    fails("calls", "b/s/0/x", |evidence| evidence.books.push(call("x", 2, 100)));
    // Another session was cut off, or another request, or later, or only one of two.
    fails("calls", "b/s/0/x", |evidence| {
        evidence.struck.push(killed(&[("y", 2)]));
        evidence.books.push(call("x", 2, 100));
    });
    fails("calls", "b/s/0/x", |evidence| {
        evidence.struck.push(killed(&[("x", 2)]));
        evidence.books.push(call("x", 1, 100));
    });
    fails("calls", "b/s/0/x", |evidence| {
        evidence.struck.push(killed(&[("x", 2)]));
        evidence.books.push(call("x", 2, 80));
    });
    fails("calls", "b/s/0/x", |evidence| {
        evidence.struck.push(killed(&[("x", 2)]));
        evidence.books.extend([call("x", 2, 100), call("x", 2, 120)]);
    });
    fails("calls", "b/s/0/z", |evidence| evidence.books.push(call("z", 1, 100)));
    fails("calls", "b/s/0/y", |evidence| drop(evidence.books.remove(3)));
}

#[test]
fn a_session_that_asks_something_else_than_undisturbed_is_found() {
    fails("calls", "b/s/0/y", |evidence| evidence.books[3].request = 9);
}

#[test]
fn a_nano_dollar_that_is_missing_or_too_much_is_found() {
    fails("money", "b/s/0/x", |evidence| evidence.attempts[0].known_cost -= 1);
    fails("money", "b/s/0/y", |evidence| evidence.attempts[1].known_cost += 1);
    fails("money", "b/s/0/y", |evidence| evidence.attempts.push(attempt("y", "waste", 1, 100)));
    fails("money", "b/s/0/x", |evidence| {
        evidence.struck.push(struck(Fault::KillWorker, &[("x", 2)]));
        evidence.attempts[0] = attempt("x", "recorded", 0, 0);
    });
}

#[test]
fn a_call_that_was_cut_off_may_be_unknown_with_what_a_call_costs_and_no_more() {
    // The calls of the session cost 50, 100, and 100 again.
    let told = |calls, known_cost| {
        let (reference, mut evidence) = sound();
        evidence.struck.push(struck(Fault::KillWorker, &[("x", 2)]));
        evidence.books.push(call("x", 2, 100));
        evidence.accounts[0].counted = Some(407);
        evidence.attempts[0] = attempt("x", "recorded", calls, known_cost);
        check(&reference, &evidence)
    };
    assert_eq!(told(2, 150), []);
    assert_eq!(told(3, 250), []);
    let unlikely = [(2, 149), (2, 201), (3, 249), (3, 150), (1, 50), (0, 0)];
    for (calls, known_cost) in unlikely {
        assert_eq!(told(calls, known_cost).len(), 1, "{known_cost} of {calls} calls");
    }
}

#[test]
fn a_judges_cost_may_be_unknown_where_its_request_was_cut_off_and_nowhere_else() {
    let (reference, mut evidence) = sound();
    evidence.struck.push(struck_judges(&[8]));
    evidence.books.push(judged(8, 100));
    evidence.accounts[0].counted = Some(314);
    assert_eq!(check(&reference, &evidence), []);
    evidence.judged_cost = 14;
    assert_eq!(check(&reference, &evidence), [], "its answer had come all the same");
    fails("judges", JUDGES, |evidence| evidence.judged_cost = 6);
    fails("judges", JUDGES, |evidence| evidence.judged_cost = 8);
    fails("judges", JUDGES, |evidence| {
        evidence.struck.push(struck_judges(&[9]));
        evidence.judged_cost = 0;
    });
}

#[test]
fn a_question_that_is_answered_twice_is_found_though_both_answers_are_known() {
    let asked_again = |struck: Vec<Struck>| {
        move |evidence: &mut Evidence| {
            evidence.struck.extend(struck);
            evidence.books.push(judged(8, 100));
            evidence.judged_cost = 14;
            evidence.accounts[0].counted = Some(314);
        }
    };
    fails("judges", JUDGES, asked_again(Vec::new()));
    fails("judges", JUDGES, asked_again(vec![struck_judges(&[9])]));
    fails("judges", JUDGES, asked_again(vec![Struck { at_ms: 101, ..struck_judges(&[8]) }]));
}

#[test]
fn what_judges_are_asked_less_or_otherwise_than_undisturbed_is_found() {
    fails("judges", JUDGES, |evidence| {
        evidence.books.retain(|call| call.request != 8);
        evidence.judged_cost = 0;
    });
    fails("judges", JUDGES, |evidence| evidence.books[4].request = 9);
    fails("judges", JUDGES, |evidence| evidence.books[6].texts = vec![1]);
    fails("judges", JUDGES, |evidence| evidence.books[6].texts = vec![1, 3]);
    let (reference, mut evidence) = sound();
    evidence.books[6].texts = vec![2];
    evidence.books.push(vectors(&[1], 86));
    assert_eq!(check(&reference, &evidence), [], "the same texts in other calls");
}

#[test]
fn a_vector_that_processes_ask_for_more_often_than_each_once_is_found() {
    let (reference, mut evidence) = sound();
    evidence.books.push(vectors(&[2], 1_000));
    assert_eq!(check(&reference, &evidence), [], "the other process has none either");
    fails("judges", JUDGES, |evidence| evidence.books.extend([vectors(&[1, 2], 1_000), vectors(&[2], 2_000)]));
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
    fails("budget", "day", |evidence| evidence.accounts[0].counted = Some(306));
    fails("budget", "tonight", |evidence| evidence.accounts[1].counted = None);
    fails("budget", "day", |evidence| evidence.accounts[0].budget = 306);
    fails("budget", "tonight", |evidence| evidence.accounts[1].counted = Some(1_001));
}

#[test]
fn an_account_does_not_make_up_for_what_that_of_another_sweep_forgets() {
    fails("budget", "tonight", |evidence| {
        evidence.accounts[0].counted = Some(900);
        evidence.accounts[1].counted = Some(24);
    });
    fails("budget", "tonight", |evidence| {
        evidence.accounts[0].budget = 2_000;
        evidence.accounts[1].budget = 24;
    });
}

#[test]
fn limits_that_are_exceeded_are_found() {
    let many = |count: u64, gap_ms: u64| {
        move |evidence: &mut Evidence| {
            evidence.books.extend((0..count).map(|number| call("x", 1, 100_000 + number * gap_ms)));
        }
    };
    fails("limits", "concurrency", many(u64::from(CONCURRENCY) + 1, 0));
    let (reference, mut evidence) = sound();
    many(u64::from(CONCURRENCY) + 1, 0)(&mut evidence);
    assert_eq!(limits(&reference, &evidence)[0].message, "17 calls at once, and 16 are allowed");
    fails("limits", "requests per minute", many(101, 590));
    let (reference, mut evidence) = sound();
    many(101, 595)(&mut evidence);
    assert_eq!(limits(&reference, &evidence), [], "the last of them may have been sent half a second before it came");
}

#[test]
fn a_request_that_was_refused_counts_in_its_minute() {
    fails("limits", "requests per minute", |evidence| {
        let refused = |number: u64| Call { was_refused: true, ..call("x", 0, 1_000 + number) };
        evidence.books.extend((0..101).map(refused));
    });
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
    let slow = |fault, after| {
        move |evidence: &mut Evidence| {
            evidence.struck.push(Struck { recovered_after_ms: after, ..struck(fault, &[]) });
        }
    };
    fails("recovery", "kill-leader", slow(Fault::KillLeader, Some(45_001)));
    fails("recovery", "kill-leader", slow(Fault::KillLeader, None));
    fails("recovery", "refusals", slow(Fault::Refusals, Some(90_001)));
    fails("recovery", "purge-jobs", slow(Fault::PurgeJobs, Some(180_001)));
}

#[test]
fn a_deployment_in_which_nobody_goes_on_for_long_after_a_fault_is_found() {
    let next = |fault, next_ms| {
        move |evidence: &mut Evidence| {
            evidence.struck.push(Struck { at_ms: 1_000, ended_ms: 1_500, ..struck(fault, &[]) });
            evidence.progress_ms = vec![0, 90, next_ms, 17_000];
        }
    };
    fails("recovery", "kill-leader", next(Fault::KillLeader, 16_600));
    for (fault, next_ms) in [(Fault::KillLeader, 16_400), (Fault::PurgeJobs, 16_600), (Fault::Refusals, 16_600)] {
        let (reference, mut evidence) = sound();
        next(fault, next_ms)(&mut evidence);
        assert_eq!(check(&reference, &evidence), []);
    }
    // In a storm the next fault strikes before anybody could go on.
    let (reference, mut evidence) = sound();
    next(Fault::KillLeader, 18_000)(&mut evidence);
    evidence.struck.push(Struck { at_ms: 10_000, ended_ms: 12_000, ..struck(Fault::KillWorker, &[]) });
    assert_eq!(check(&reference, &evidence), []);
}

#[test]
fn silence_is_found_wherever_it_is() {
    fails("recovery", "longest silence", |evidence| evidence.progress_ms = vec![0, 26_000, 27_000]);
    // Faults of a moment, before and after.
    fails("recovery", "longest silence", |evidence| {
        evidence.struck.push(struck(Fault::KillWorker, &[]));
        evidence.struck.push(Struck { at_ms: 30_000, ended_ms: 30_000, ..struck(Fault::KillWorker, &[]) });
        evidence.progress_ms = vec![0, 100, 26_000, 40_000];
    });
}

#[test]
fn a_conversation_that_goes_on_breaks_the_silence_before_it_is_recorded() {
    let with_calls = |gap_ms: u64| {
        let (reference, mut evidence) = sound();
        evidence.progress_ms = vec![0, 90, 60_000];
        let answered_late = |number| call("x", 2, number * gap_ms);
        evidence.books.extend((1..=60_000 / gap_ms).map(answered_late));
        silence::recovered(&reference, &evidence).len()
    };
    assert_eq!((with_calls(8_000), with_calls(25_000), with_calls(26_000)), (0, 0, 1));
    // A call that is refused, or that began when all was recorded, is no progress.
    for more in [Call { was_refused: true, ..call("x", 2, 15_000) }, call("x", 2, 27_500)] {
        fails("recovery", "longest silence", |evidence| {
            evidence.progress_ms = vec![0, 90, 27_000];
            evidence.books.push(more);
        });
    }
}

#[test]
fn lost_messages_excuse_silence_until_their_sessions_are_back_and_not_later() {
    let (reference, mut evidence) = sound();
    evidence.struck.push(Struck { recovered_after_ms: Some(100_000), ..struck(Fault::PurgeJobs, &[]) });
    evidence.progress_ms = vec![0, 90, 100_000, 110_000];
    assert_eq!(check(&reference, &evidence), []);
    fails("recovery", "longest silence", |late| {
        late.struck.clone_from(&evidence.struck);
        late.progress_ms = vec![0, 90, 100_000, 126_000];
    });
    fails("recovery", "longest silence", |early| {
        early.struck.push(Struck { at_ms: 40_000, ended_ms: 41_000, ..evidence.struck[0].clone() });
        early.progress_ms = vec![0, 90, 30_000, 100_000];
    });
}

#[test]
fn nobody_records_anything_while_the_broker_or_the_database_is_away() {
    let away = |fault, ended_ms, progress_ms: &[u64]| {
        let (reference, mut evidence) = sound();
        evidence.struck.push(Struck { at_ms: 100, ended_ms, ..struck(fault, &[]) });
        evidence.progress_ms = progress_ms.to_vec();
        check(&reference, &evidence).len()
    };
    assert_eq!(away(Fault::KillBroker, 20_100, &[90, 35_000]), 0);
    assert_eq!(away(Fault::KillBroker, 20_100, &[90, 36_000]), 1);
    assert_eq!(away(Fault::KillDatabase, 15_100, &[90, 30_000]), 0);
    assert_eq!(away(Fault::KillDatabase, 15_100, &[90, 31_000]), 1);
    assert_eq!(away(Fault::KillWorker, 20_100, &[90, 26_000]), 1, "others go on");
}

#[test]
fn a_sweep_that_has_used_its_minute_up_waits_for_the_next_one() {
    let (reference, mut evidence) = sound();
    evidence.requests_per_minute = 6;
    evidence.progress_ms = vec![0, 90, 61_750 + 25_000, 61_750 + 26_000];
    assert_eq!(check(&reference, &evidence), []);
    fails("recovery", "longest silence", |evidence| {
        evidence.requests_per_minute = 6;
        evidence.progress_ms = vec![0, 90, 61_750 + 25_200];
    });
    let slow = |requests_per_minute| {
        let (reference, mut evidence) = sound();
        evidence.requests_per_minute = requests_per_minute;
        evidence.struck.push(Struck { recovered_after_ms: Some(80_000), ..struck(Fault::KillWorker, &[]) });
        (check(&reference, &evidence).len(), recovered_after(&evidence, &evidence.struck[0]))
    };
    let (of_six, of_seven) = (slow(6), slow(7));
    assert!(of_six.0 == 0 && of_six.1.is_some_and(|after_ms| after_ms < 20_000), "{of_six:?}");
    assert_eq!(of_seven, (1, Some(80_000)), "the limit of seven was not used up");
}

#[test]
fn a_limit_of_which_something_is_left_excuses_no_silence_but_for_what_a_fault_has_used() {
    // Of a limit of 200 so many are sent in the first second, and then nothing happens for 40 seconds.
    let silent_after = |sent: u64, fault: Fault, struck_at_ms: Option<u64>| {
        let (reference, mut evidence) = sound();
        evidence.books = (0..sent).map(|number| call("x", 2, 1_000 + number)).collect();
        evidence.requests_per_minute = 200;
        evidence.progress_ms = vec![0, 1_000, 41_000];
        let of = |at_ms| Struck { at_ms, ended_ms: at_ms, ..struck(fault, &[]) };
        evidence.struck.extend(struck_at_ms.map(of));
        silence::recovered(&reference, &evidence).len()
    };
    let silent = |sent, struck_at_ms| silent_after(sent, Fault::KillWorker, struck_at_ms);
    assert_eq!((silent(200, None), silent(199, None), silent(180, None)), (0, 1, 1));
    assert_eq!((silent(180, Some(500)), silent(179, Some(500))), (0, 1), "a tenth at most");
    assert_eq!(silent(180, Some(2_000)), 0, "what was granted was lost with its holder");
    assert_eq!(silent(180, Some(35_000)), 1, "nobody had used it before");
    let refused = |sent| silent_after(sent, Fault::Refusals, Some(500));
    assert_eq!((refused(140), refused(139)), (0, 1), "the pool uses less where calls were refused");
}
