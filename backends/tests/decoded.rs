//! Memory of messages as the system counts it, beside what is charged for them: the worst that models and agents can have a report hold. Alone
//! in its process, as nothing else may allocate.
#![cfg(feature = "cluster")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use regatta_backends::queue::message_bytes;
use regatta_proto::{Report, wire};
use serde_json::value::RawValue;

/// Length of what is hostile in each report, in bytes.
const LENGTH: usize = 1 << 19;
/// Memory that the allocator takes in one piece, of which it uses only some.
const PIECE: u64 = 1 << 20;

/// `VmRSS` or `VmHWM` of this process, in bytes.
fn memory(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
}

/// As many `element`s as fit, for between two brackets.
fn many(element: &str) -> String {
    vec![element; LENGTH / (element.len() + 1)].join(",")
}

/// Members with keys of their own.
fn members() -> String {
    (0..LENGTH / 9).map(|number| format!("\"{number:x}\":0")).collect::<Vec<_>>().join(",")
}

/// A report of one session with `events`.
fn report(events: &str) -> String {
    format!(
        r#"{{"session":{{"key":{{"sweep":"s","cell":0,"item":0}},"lock":"{}","attempt":{{"id":"a-1","number":1,"worker":"w1",
        "started_at":"2027-01-15T08:00:00Z","ended_at":"2027-01-15T08:00:02Z"}},"outcome":{{"kind":"measured"}},
        "transcript":{{"events":[{events}]}}}}}}"#,
        "0".repeat(64)
    )
}

/// One call; `request`, `reply` and `call` are further members of these.
fn event(messages: &str, request: &str, reply: &str, call: &str) -> String {
    format!(
        r#"{{"call":{{"role":"agent","attempt":1,"model":"sim/m","request":{{"messages":[{messages}]{request}}},
        "reply":{{"text":null,"finish":"stop"{reply}}},"usage":{{"input":1,"output":1}},"cost":null,"latency_us":1{call}}}}}"#
    )
}

/// A report of one call.
fn call(request: &str, reply: &str, call: &str) -> String {
    report(&event("", request, reply, call))
}

/// A report of many calls that begin with the same messages, which are as short as can be, and the bytes for which their prefixes stand.
fn calls_that_begin_alike() -> (String, u64) {
    const COUNT: usize = 1_000;
    /// That a message is counted as, beside its texts.
    const MESSAGE: usize = 160;
    let first = event(&vec![r#"{"role":"user","content":""}"#; COUNT].join(","), "", "", "");
    let next = event("", "", "", "").replacen('{', r#"{"prefix":{"event":0,"count":1000},"#, 1);
    let events = vec![next; COUNT].join(",");
    (report(&format!("{first},{events}")), (COUNT * COUNT * MESSAGE) as u64)
}

fn raw_usage(value: &str) -> String {
    call("", "", &format!(",\"raw_usage\":{value}"))
}

#[test]
fn what_is_charged_for_a_message_covers_what_it_takes_once_it_is_decoded() {
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let reports = [
        ("one text", report(&format!(r#"{{"recorded":{{"text":"{}","finish":"stop"}}}}"#, "x".repeat(LENGTH)))),
        ("numbers", raw_usage(&format!("[{}]", many("1")))),
        ("empty arrays", raw_usage(&format!("[{}]", many("[]")))),
        ("tiny arrays", raw_usage(&format!("[{}]", many("[1]")))),
        ("tiny objects", raw_usage(&format!("[{}]", many("{\"a\":1}")))),
        ("short keys", raw_usage(&format!("{{{}}}", members()))),
        ("deep nesting", raw_usage(&format!("[{}]", many(&deep)))),
        ("empty texts", call(&format!(",\"stop\":[{}]", many("\"\"")), "", "")),
        ("tools", call(&format!(",\"tools\":[{}]", many(r#"{"name":"","parameters":{}}"#)), "", "")),
        (
            "calls of tools",
            call("", &format!(",\"tool_calls\":[{}]", many(r#"{"id":"","name":"","arguments":""}"#)), ""),
        ),
        ("tokens", call("", &format!(",\"logprobs\":[{}]", many(r#"{"token":"","logprob":0,"top":[["",0]]}"#)), "")),
        ("tries", call("", "", &format!(",\"tries\":[{}]", many(r#"{"class":"auth","latency_us":1}"#)))),
        ("replies", report(&many(r#"{"recorded":{"text":null,"finish":"stop"}}"#))),
        ("failures", report(&many(r#"{"failed":{"role":"agent","attempt":1,"model":"s/m","tries":[]}}"#))),
    ];
    let reports = reports.map(|(name, json)| (name, json.len(), RawValue::from_string(json).unwrap()));
    let reports = reports.map(|(name, length, json)| (name, length, wire::encode(&json).unwrap()));
    let (json, compacted) = calls_that_begin_alike();
    let (length, json) = (json.len(), RawValue::from_string(json).unwrap());
    let alike = ("equal prefixes", length, wire::encode_compact(&json, compacted).unwrap());
    let reports: Vec<_> = reports.into_iter().chain([alike]).collect();
    let mut kept: Vec<Report> = Vec::new();
    for (name, length, encoded) in &reports {
        // The peak counts from here: lists are copied when they grow.
        std::fs::write("/proc/self/clear_refs", "5").unwrap();
        let before = memory("VmRSS");
        // All are kept, so that none takes what another has given back.
        kept.push(wire::decode(encoded).unwrap());
        let taken = memory("VmHWM").saturating_sub(before);
        // Of two texts beside the values only one is there while it is decoded.
        let charged = message_bytes(encoded) - *length as u64;
        let times = |bytes: u64| bytes as f64 / *length as f64;
        println!("{name:>16} take {:.1} times their JSON, charged {:.1}", times(taken), times(charged));
        assert!(taken <= charged + PIECE, "{name}: {taken} bytes, charged {charged}");
    }
    assert_eq!(kept.len(), reports.len());
    let Some(Report::Session(last)) = kept.last() else { panic!("it is of a session") };
    assert_eq!(last.transcript.compacted_bytes(), compacted, "what a writer counts");
    let (_, length, text) = &reports[0];
    let charged = message_bytes(text) as f64 / *length as f64;
    assert!((3.0..3.1).contains(&charged), "a long text is charged {charged:.2} times its JSON");
}
