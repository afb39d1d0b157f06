use std::io::Write;

use regatta_proto::{SweepLock, Transcript};
use serde_json::{Value, json};

use super::ledger::{Bill, Ledger};
use super::*;
use crate::transcripts::Session;

/// A lock with a model of known price, one of unknown price, and one that the spec prices.
fn lock() -> SweepLock {
    let endpoint = |kind: &str| json!({ "kind": kind });
    serde_json::from_value(json!({
        "v": 1, "regatta": "0.1.0", "name": "s", "seed": 0, "trials": 1, "benchmarks": {},
        "endpoints": { "openai": endpoint("openai"), "sim": endpoint("simulated") },
        "models": [
            { "id": "openai/gpt-5", "price": { "input_per_mtok": 1, "output_per_mtok": 8 } },
            { "id": "openai/mystery" },
            { "id": "sim/oracle", "price": { "input_per_mtok": 3, "output_per_mtok": 15 } },
        ],
        "price_sources": [{ "table": { "date": "2026-01-01" } }, "unknown", "spec"],
    }))
    .unwrap()
}

/// Prices with a tier, a batch price, a price at night and one from March on.
fn table() -> PriceTable {
    PriceTable::parse(
        "date: 2026-02-01
models:
  gpt-5:
  - price:
      input_per_mtok: 2
      cached_input_per_mtok: 0.5
      output_per_mtok: 10
      tiers: [{above_input_tokens: 1000, rates: {input_per_mtok: 4, output_per_mtok: 20}}]
      windows: [{from: 22:00:00, to: 02:00:00, rates: {input_per_mtok: 1, output_per_mtok: 5}}]
      variants: {batch: {input_per_mtok: 1.5, output_per_mtok: 6}, flex: {input_per_mtok: 1.75, output_per_mtok: 7}}
  - from: 2026-03-01
    price: {input_per_mtok: 100, output_per_mtok: 100}
",
    )
    .unwrap()
}

/// A call of `gpt-5` for which a tenth of a cent was recorded, with `changes`.
fn call(changes: Value) -> Value {
    let mut call = json!({
        "role": "agent", "attempt": 1, "model": "openai/gpt-5", "request": { "messages": [] },
        "reply": { "text": "yes", "finish": "stop" }, "usage": { "input": 1000, "output": 100 }, "cost": 1_000_000,
        "latency_us": 5, "at": "2026-02-10T12:00:00Z",
    });
    if let (Value::Object(call), Value::Object(changes)) = (&mut call, changes) {
        call.extend(changes);
    }
    json!({ "call": call })
}

fn transcript(events: Vec<Value>) -> Transcript {
    serde_json::from_value(json!({ "events": events })).unwrap()
}

fn bills_of(transcripts: Vec<(Session, Transcript)>, on: Option<&str>) -> Vec<Bill> {
    let (lock, table) = (lock(), table());
    let mut ledger = Ledger::new(&lock, &table, on.map(|on| on.parse().unwrap()));
    for (session, transcript) in transcripts {
        ledger.add(session, transcript);
    }
    ledger.into_bills()
}

const SESSION: Session = Session { cell: 0, item: 0 };

/// Cost of one call at the table's prices, in nanodollars; `None` when it is unknown.
fn repriced(changes: Value) -> Option<u64> {
    let bills = bills_of(vec![(SESSION, transcript(vec![call(changes)]))], None);
    let sum = bills[0].repriced;
    (sum.unknown_calls == 0).then_some(sum.known.0)
}

#[test]
fn a_call_is_priced_by_its_own_usage_tier_lane_and_time() {
    assert_eq!(repriced(json!({})), Some(1000 * 2_000 + 100 * 10_000));
    assert_eq!(
        repriced(json!({ "usage": { "input": 1000, "cached_input": 600, "output": 100 } })),
        Some(400 * 2_000 + 600 * 500 + 100 * 10_000)
    );
    assert_eq!(repriced(json!({ "usage": { "input": 1001, "output": 100 } })), Some(1001 * 4_000 + 100 * 20_000));
    assert_eq!(repriced(json!({ "lane": "batch", "served": { "tier": "flex" } })), Some(1000 * 1_500 + 100 * 6_000));
    assert_eq!(repriced(json!({ "served": { "tier": "flex" } })), Some(1000 * 1_750 + 100 * 7_000));
    assert_eq!(repriced(json!({ "served": { "tier": "default" } })), Some(1000 * 2_000 + 100 * 10_000));
    assert_eq!(repriced(json!({ "at": "2026-02-10T23:00:00Z" })), Some(1000 * 1_000 + 100 * 5_000));
}

#[test]
fn the_price_of_the_calls_own_day_counts_unless_a_day_is_given() {
    assert_eq!(repriced(json!({ "at": "2026-02-28T12:00:00Z" })), Some(3_000_000));
    assert_eq!(repriced(json!({ "at": "2026-03-01T12:00:00Z" })), Some(1100 * 100_000));
    assert_eq!(repriced(json!({ "at": null })), Some(3_000_000), "else the table's");
    let later = bills_of(vec![(SESSION, transcript(vec![call(json!({}))]))], Some("2026-05-01"));
    assert_eq!(later[0].repriced.known, Money(1100 * 100_000));
}

#[test]
fn what_nobody_prices_stays_unknown_and_out_of_the_difference() {
    let bills = bills_of(
        vec![(
            SESSION,
            transcript(vec![
                call(json!({ "model": "openai/mystery", "cost": null })),
                call(json!({ "model": "sim/oracle" })),
            ]),
        )],
        None,
    );
    let [mystery, oracle] = bills.as_slice() else { panic!("two models") };
    assert_eq!((mystery.recorded.unknown_calls, mystery.repriced.unknown_calls, mystery.difference()), (1, 1, None));
    assert_eq!(
        (oracle.recorded.known, oracle.repriced.unknown_calls, oracle.difference()),
        (Money(1_000_000), 1, None)
    );
    assert_eq!((mystery.priced_by.as_str(), oracle.priced_by.as_str()), ("nobody", "spec"));
}

#[test]
fn a_call_whose_endpoint_did_not_tell_its_usage_is_unknown_at_any_price() {
    assert_eq!(repriced(json!({ "usage": { "input": 0, "output": 0 }, "cost": null })), None);
    assert_eq!(repriced(json!({ "cost": null })), None, "it had a price and no cost");
    assert_eq!(repriced(json!({ "usage": { "input": 0, "output": 7 } })), None, "no prompt is of zero tokens");
}

#[test]
fn a_tier_that_the_runs_price_did_not_name_is_priced_where_the_table_names_it() {
    let served = |tier: &str| json!({ "served": { "tier": tier }, "cost": null });
    assert_eq!(repriced(served("flex")), Some(1000 * 1_750 + 100 * 7_000));
    assert_eq!(repriced(served("scale")), None, "this table does not, either");
}

#[test]
fn an_answer_from_the_cache_costs_nothing() {
    let bills = bills_of(vec![(SESSION, transcript(vec![call(json!({ "from_cache": true }))]))], None);
    assert_eq!(
        (bills[0].calls, bills[0].from_cache, bills[0].recorded.known, bills[0].repriced.known),
        (0, 1, Money::ZERO, Money::ZERO)
    );
}

#[test]
fn failed_tries_that_were_billed_are_priced_too() {
    let failed =
        |usage: Value, cost: Value| json!({ "class": "bad_response", "latency_us": 1, "usage": usage, "cost": cost });
    let tries = json!([failed(json!({ "input": 500, "output": 0 }), json!(7)), failed(Value::Null, Value::Null)]);
    let given_up =
        json!({ "failed": { "role": "agent", "attempt": 1, "model": "openai/gpt-5", "tries": tries.clone() } });
    let bills = bills_of(vec![(SESSION, transcript(vec![call(json!({ "tries": tries })), given_up]))], None);
    assert_eq!((bills[0].calls, bills[0].billed_tries), (1, 2));
    assert_eq!(bills[0].recorded.known, Money(1_000_000 + 2 * 7));
    assert_eq!(bills[0].repriced.known, Money(3_000_000 + 2 * 500 * 2_000));
}

#[test]
fn a_call_is_counted_once_however_many_transcripts_hold_it() {
    let first = transcript(vec![call(json!({}))]);
    let continued = transcript(vec![call(json!({})), call(json!({ "attempt": 2 }))]);
    let elsewhere = Session { cell: 0, item: 1 };
    let bills = bills_of(
        vec![(SESSION, first.clone()), (SESSION, continued), (SESSION, first.clone()), (elsewhere, first)],
        None,
    );
    assert_eq!((bills[0].calls, bills[0].recorded.known), (3, Money(3_000_000)));
}

#[test]
fn the_table_shows_both_costs_and_how_far_they_are_apart() {
    let failed = json!({ "class": "bad_response", "latency_us": 1, "usage": { "input": 500, "output": 0 } });
    let transcript = transcript(vec![
        call(json!({})),
        call(json!({ "lane": "batch", "cost": 4_000_000 })),
        call(json!({ "from_cache": true })),
        call(json!({ "model": "openai/mystery", "cost": null, "tries": [failed] })),
        call(json!({ "model": "sim/oracle", "cost": 500_000 })),
    ]);
    insta::assert_snapshot!(render(&bills_of(vec![(SESSION, transcript)], None)));
}

#[test]
fn differences_are_shown_with_their_sign() {
    let shown = [(0, 5), (250_000_000, 1_000_000_000), (-250_000_000, 1_000_000_000), (5, 0)]
        .map(|(nanos, of)| difference(Some(nanos), Money(of)));
    assert_eq!(shown, ["$0", "+$0.2500 (+25.0 %)", "-$0.2500 (-25.0 %)", "+$0.000000005"]);
    assert_eq!(difference(None, Money::ZERO), "unknown");
}

/// A run's directory with `lines` in one segment.
fn run(lines: &[String]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("sweep.lock.yaml"), serde_yaml_ng::to_string(&lock()).unwrap()).unwrap();
    std::fs::create_dir(directory.path().join("transcripts")).unwrap();
    let mut segment = zstd::Encoder::new(Vec::new(), 1).unwrap();
    segment.write_all(lines.concat().as_bytes()).unwrap();
    let segment = segment.finish().unwrap();
    let name = &Digest::of(&segment).to_string()[..16];
    std::fs::write(directory.path().join(format!("transcripts/{name}.jsonl.zst")), segment).unwrap();
    directory
}

fn line(item: u32) -> String {
    let transcript = json!({ "events": [call(json!({}))] });
    json!({ "cell": 2, "item": item, "attempt": 1, "attempt_id": "w-1", "transcript": transcript }).to_string() + "\n"
}

#[test]
fn every_transcript_of_every_segment_is_read() {
    let directory = run(&[line(4), line(5)]);
    let mut sessions = Vec::new();
    transcripts::read(directory.path(), |session, transcript| sessions.push((session, transcript.calls().count())))
        .unwrap();
    assert_eq!(sessions, [(Session { cell: 2, item: 4 }, 1), (Session { cell: 2, item: 5 }, 1)]);
    assert_eq!(super::lock(directory.path()).unwrap(), lock());
}

#[test]
fn a_line_that_is_no_transcript_is_an_error_that_names_it() {
    let directory = run(&[line(4), "{\"cell\": 1}\n".to_owned()]);
    let error = format!("{:#}", transcripts::read(directory.path(), |_, _| {}).unwrap_err());
    assert!(error.contains(".jsonl.zst") && error.contains("line 2"), "{error}");
}

#[test]
fn a_directory_without_a_run_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let error = format!("{:#}", super::lock(directory.path()).unwrap_err());
    assert!(error.contains("holds no run"), "{error}");
    let error = format!("{:#}", transcripts::read(directory.path(), |_, _| {}).unwrap_err());
    assert!(error.contains("there are no transcripts"), "{error}");
}

/// A session's attempt as `attempts.jsonl` tells it.
fn attempt(state: &str, usage: Value, cost: u64) -> String {
    json!({
        "cell": 0, "item": "i", "attempt": 1, "id": "w-1", "state": state, "started_at": "2026-02-10T12:00:00Z", "usage": usage,
        "known_cost_nanodollars": cost, "unpriced_calls": 0, "calls": 1,
    })
    .to_string()
        + "\n"
}

/// Bills of a run whose one session has these events, and whose attempts are these.
fn bills_with_attempts(events: Vec<Value>, attempts: &[String]) -> Vec<Bill> {
    let mut lock = lock();
    lock.benchmarks.insert(
        "b".parse().unwrap(),
        serde_json::from_value(json!({
            "dataset": regatta_proto::Digest::of(b""), "settings": ["s"], "evaluators": [], "items": {},
        }))
        .unwrap(),
    );
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("attempts.jsonl"), attempts.concat()).unwrap();
    let table = table();
    let mut ledger = Ledger::new(&lock, &table, None);
    ledger.add(SESSION, transcript(events));
    add_lost(&mut ledger, &lock, directory.path()).unwrap();
    ledger.into_bills()
}

#[test]
fn attempts_that_left_no_transcript_are_counted_at_both_prices() {
    let kept = attempt("recorded", json!({ "input": 1000, "output": 100 }), 1_000_000);
    let lost = attempt("lost", json!({ "input": 700, "output": 10 }), 780_000);
    let bills = bills_with_attempts(vec![call(json!({}))], &[kept, lost]);
    let of_lost = bills.iter().find(|bill| bill.purpose == Purpose::Lost).unwrap();
    assert_eq!((of_lost.calls, of_lost.recorded.known), (1, Money(780_000)));
    assert_eq!(of_lost.repriced.known, Money(700 * 2_000 + 10 * 10_000));
    assert_eq!(sum(&bills, |bill| bill.recorded).known, Money(1_780_000));
}

#[test]
fn answers_from_the_cache_are_no_lost_attempts() {
    let cached = || vec![call(json!({ "from_cache": true }))];
    let line = attempt("recorded", json!({ "input": 0, "output": 0 }), 0);
    let told = line.replace("\"calls\":1", "\"calls\":1,\"cached_calls\":1");
    for line in [&line, &told] {
        let bills = bills_with_attempts(cached(), std::slice::from_ref(line));
        assert_eq!(
            bills.iter().map(|bill| (bill.purpose, bill.from_cache)).collect::<Vec<_>>(),
            [(Purpose::Sessions, 1)]
        );
    }
    // A lost attempt that was answered from the cache alone was billed nothing.
    let lost = told.replace("recorded", "lost");
    assert_eq!(bills_with_attempts(cached(), &[told, lost]).len(), 1);
}

#[test]
fn a_try_that_may_have_been_billed_at_an_unknown_price_is_one_of_a_session() {
    let tries = json!([{ "class": "timeout", "latency_us": 1, "unpriced": true }]);
    let given_up = json!({ "failed": { "role": "agent", "attempt": 1, "model": "openai/gpt-5", "tries": tries } });
    let line = attempt("recorded", json!({ "input": 0, "output": 0 }), 0).replace("\"calls\":1", "\"calls\":0");
    let line = line.replace("\"unpriced_calls\":0", "\"unpriced_calls\":1");
    let bills = bills_with_attempts(vec![given_up], &[line]);
    let [bill] = bills.as_slice() else { panic!("{bills:?}") };
    assert_eq!((bill.purpose, bill.billed_tries, bill.recorded.unknown_calls), (Purpose::Sessions, 1, 1));
    assert_eq!(bill.repriced, CostSum { known: Money::ZERO, unknown_calls: 1 });
}

#[test]
fn what_judges_took_is_counted_at_both_prices() {
    let (lock, table) = (lock(), table());
    let mut ledger = Ledger::new(&lock, &table, Some("2026-02-10".parse().unwrap()));
    let judge = |model: &str, known: u64| JudgeSpending {
        judge: model.parse().unwrap(),
        served: Vec::new(),
        usage: Usage { input: 500, output: 20, ..Usage::default() },
        cost: CostSum { known: Money(known), unknown_calls: 0 },
    };
    ledger.add_judge(&judge("openai/gpt-5", 660_000), "2026-02-10".parse().unwrap());
    ledger.add_judge(&judge("openai/mystery", 5), "2026-02-10".parse().unwrap());
    let bills = ledger.into_bills();
    assert_eq!(bills[0].purpose, Purpose::Judging);
    assert_eq!((bills[0].recorded.known, bills[0].repriced.known), (Money(660_000), Money(500 * 2_000 + 20 * 10_000)));
    assert_eq!((bills[1].repriced.unknown_calls, bills[1].difference()), (1, None));

    let mut ledger = Ledger::new(&lock, &table, None);
    let mut of_three_nobody_told = judge("openai/gpt-5", 660_000);
    (of_three_nobody_told.usage.unmetered_calls, of_three_nobody_told.cost.unknown_calls) = (3, 3);
    ledger.add_judge(&of_three_nobody_told, "2026-02-10".parse().unwrap());
    let bills = ledger.into_bills();
    assert_eq!((bills[0].repriced.unknown_calls, bills[0].difference()), (3, None), "no table knows what they took");
}
