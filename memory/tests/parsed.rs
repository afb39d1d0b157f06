//! Memory of parsed JSON as the system counts it, beside what is charged for it. Alone in its process, as nothing else may allocate.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use regatta_memory::parsed_bytes;
use serde_json::Value;

/// Length of each text, in bytes.
const LENGTH: usize = 1 << 20;
/// Memory that the allocator takes in one piece, of which it uses only some.
const PIECE: u64 = 1 << 20;

/// `VmRSS` or `VmHWM` of this process, in bytes.
fn memory(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
}

/// An array of as many `element`s as fit.
fn many(element: &str) -> String {
    format!("[{}]", vec![element; LENGTH / (element.len() + 1)].join(","))
}

/// An object of as many members as its keys are short.
fn members(count: usize) -> String {
    format!("{{{}}}", (0..count).map(|number| format!("\"{number:x}\":0")).collect::<Vec<_>>().join(","))
}

#[test]
fn what_is_charged_covers_what_parsed_json_takes_and_no_multiple_of_it() {
    let texts = [
        format!("[\"{}\"]", "x".repeat(LENGTH)),
        many("1"),
        many("[]"),
        many("[1]"),
        many("\"ab\""),
        many("{\"a\":1}"),
        many("{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5}"),
        many("{\"token\":\" the\",\"logprob\":-0.25,\"bytes\":[32,116,104,101]}"),
        many("[[[[1]]]]"),
        many(&format!("{}{}", "[".repeat(120), "]".repeat(120))),
        members(LENGTH / 10),
        // Just after the table has grown.
        members(57_345),
        many(&members(9)),
        many(&members(29)),
        many(&members(449)),
        many("{\"\":{\"\":{\"\":{\"\":{}}}}}"),
    ];
    let mut kept = Vec::new();
    for text in &texts {
        // The peak counts from here: lists are copied when they grow.
        std::fs::write("/proc/self/clear_refs", "5").unwrap();
        let (charged, before) = (parsed_bytes(text.as_bytes()), memory("VmRSS"));
        // All are kept, so that none takes what another has given back.
        kept.push(serde_json::from_str::<Value>(text).unwrap());
        let taken = memory("VmHWM").saturating_sub(before);
        let times = |bytes: u64| bytes as f64 / text.len() as f64;
        println!("{:>28} takes {:.1} times its text, charged {:.1}", &text[..28], times(taken), times(charged));
        assert!(taken <= charged + PIECE, "{}: {taken} bytes, charged {charged}", &text[..28]);
        assert!(charged <= 3 * taken + PIECE, "{}: {taken} bytes, charged {charged}", &text[..28]);
    }
    assert_eq!(kept.len(), texts.len());
}
