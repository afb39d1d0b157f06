use std::fmt::Write;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{CHARACTERS_MAX, Value, YamlError, safe_load};
use crate::{repr_float, repr_text};

/// A value as Python prints it, more or less.
fn shown(value: &Value) -> String {
    let all = |values: &[Value]| values.iter().map(shown).collect::<Vec<_>>().join(", ");
    match value {
        Value::None => "None".to_owned(),
        Value::Bool(bool) => if *bool { "True" } else { "False" }.to_owned(),
        Value::Int(int) => int.decimal().to_owned(),
        Value::Float(float) => repr_float(*float),
        Value::Str(text) => repr_text(text),
        Value::List(values) => format!("[{}]", all(values)),
        Value::Dict(dict) => {
            let entries = dict.iter().map(|(key, value)| format!("{}: {}", shown(key), shown(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        Value::Bytes(bytes) => format!("bytes {bytes:?}"),
        Value::Date(date) => format!("date {date}"),
        Value::DateTime(moment) => format!("moment {}", moment.iso(' ')),
        Value::Set(members) => format!("set {{{}}}", all(members)),
        Value::Pair(pair) => format!("({}, {})", shown(&pair.0), shown(&pair.1)),
        Value::Cycle(kind) => format!("{kind:?}, around it"),
    }
}

fn outcome(text: &str) -> String {
    match safe_load(text) {
        Ok(value) => shown(&value),
        Err(error) => format!("! {error}"),
    }
}

fn outcomes(texts: &[&str]) -> String {
    let mut lines = String::new();
    for text in texts {
        writeln!(lines, "{text:?}\n    {}", outcome(text)).unwrap();
    }
    lines
}

/// Every outcome in the snapshots was compared with PyYAML's.
#[test]
fn plain_scalars_have_the_types_of_yaml_1_1() {
    insta::assert_snapshot!(outcomes(&[
        "",
        "~",
        "null",
        "nULL",
        "yes",
        "Off",
        "y",
        "012",
        "0o12",
        "0x1F",
        "0b11",
        "1_000",
        "08",
        "0_",
        "0b_",
        "-0",
        "1e5",
        "1.5e5",
        "1.5e+5",
        ".5",
        "+.5",
        "1.",
        "09.5",
        "1:30",
        "1:60",
        "190:20:30.5",
        "-.INF",
        ".nan",
        "2025-08-01",
        "2025-8-1",
        "2025-02-30",
        "2025-08-01 10:00:00.1234567 -5",
        "2025-08-01T10:00:00Z",
        "2025-08-01 24:00:00",
        "2025-08-01 10:00:00 +25:00",
        "=",
        "<<",
        "! 12",
        "! \"12\"",
        "!!int \" 1_2 \"",
        "!!int \"\"",
        "!!int x",
        "!!bool x",
        "!!float \"1:30\"",
        "!!timestamp x",
        "!!binary aGVsbG8=",
        "!!binary a",
        "!!str 12",
        "!foo x",
        "٣",
    ]));
}

#[test]
fn blocks_end_where_the_indentation_says() {
    insta::assert_snapshot!(outcomes(&[
        "a:\n- b\n- c\nd: e",
        "a:\n - b\n - c",
        "- - a\n  - b\n- c",
        "- a: b\n  c: d",
        "- a\n b",
        "- a:\n  - b\n  c: d",
        "a:\n  b: 1\n c: 2",
        "  a: b\n c: d",
        "a: b\n c: d",
        "a: b: c",
        "a: - b",
        "a\nb: c",
        "? a\n: b",
        "? a",
        "? [a]\n: b",
        "a:\n\tb: c",
        "a: \tb",
        "\ta: b",
        "-\ta",
        "a: b\t",
        "a: |\n  x\n   y\n\n",
        "a: >\n  x\n  y\n\n   z\n  w\n",
        "a: |+\n x\n\n",
        "a: >-\n x\n\n y\n",
        "a: |2\n   x\n",
        "a: |0\n x",
        "a: |\n\tx",
        "|",
        "a: b #c",
        "a: b#c",
        "--- a\n...\n",
        "a\n---\nb",
        "...\na",
        "---",
        "%YAML 2.0\n---\na",
        "%YAML 1.1\na",
    ]));
}

#[test]
fn flow_collections_have_their_own_rules() {
    insta::assert_snapshot!(outcomes(&[
        "{a:1}",
        "{a: 1, b}",
        "{\"a\":1}",
        "{a :b}",
        "{a::b}",
        "[a: b]",
        "[? a]",
        "[a,,b]",
        "[a, ]",
        "{a: 1,}",
        "{,}",
        "[a?b]",
        "{: a}",
        "{a: \"b\nc\"}",
        "[a,\n\tb]",
        "[a]: b",
        "{[a]: b}",
        "[",
        "{a",
        "[}",
        "]",
        "['it''s', \"a\\\n  b\", \"\\u00e9\\x41\\/\"]",
        "\"\\q\"",
        "\"\\UFFFFFFFF\"",
        "\"a\n---\nb\"",
        "'a\n\n b'",
    ]));
}

#[test]
fn anchors_merges_and_repeated_keys() {
    insta::assert_snapshot!(outcomes(&[
        "a: &x 1\nb: *x",
        "a: *x",
        "- &a 1\n- &a 2",
        "&a [*a]",
        "a: 1\nb: 2\na: 3",
        "1: a\n1.0: b\ntrue: c",
        "{<<: {a: 1, b: 2}, a: 3}",
        "<<: [{a: 1}, {a: 2, b: 3}]\nc: 4",
        "<<: 1",
        "a: &a {<<: *a, x: 1}",
        "a: 2025-02-30\n? [b]\n: c",
        "? [b]\n: c\na: 2025-02-30",
        "!!omap [a: 1, b: 2]",
        "!!set {a, b, a}",
        "!!set [a]",
        "!!seq {a: b}",
        "=: 1",
    ]));
}

#[test]
fn what_cannot_be_printed_may_not_occur() {
    for text in ["\0", "a\u{1}", "\u{7f}", "a: \u{8}b", "\u{fffe}", "\u{9f}"] {
        assert!(matches!(safe_load(text), Err(YamlError::Yaml { .. })), "{text:?}");
    }
    assert_eq!(outcome("\u{feff}a: 한\u{1f600}"), "{'a': '한😀'}");
}

#[test]
fn an_error_says_where() {
    assert_eq!(outcome("a: b\n한: [c\nd: *e"), "! line 3, column 2: neither ',' nor ']'");
}

#[test]
fn nesting_has_a_limit_that_is_an_exception_of_python() {
    for (open, close) in [("[", "]"), ("{a: ", "}"), ("- ", "")] {
        let nested = |depth: usize| safe_load(&format!("{}a{}", open.repeat(depth), close.repeat(depth)));
        assert!(nested(491).is_ok(), "{open}");
        assert_eq!(nested(492).err(), Some(YamlError::Exception { kind: "RecursionError" }), "{open}");
    }
}

#[test]
fn aliases_and_merges_cannot_grow_without_bounds() {
    let grown = |line: fn(usize) -> String| {
        let lines: Vec<String> = (1..60).map(line).collect();
        safe_load(&format!("a0: &a0 {{x: 1, y: 2}}\n{}", lines.join("\n"))).err()
    };
    assert_eq!(grown(|at| format!("a{at}: &a{at} [*a{0}, *a{0}]", at - 1)), Some(YamlError::TooLarge));
    assert_eq!(grown(|at| format!("a{at}: &a{at} {{<<: [*a{0}, *a{0}]}}", at - 1)), Some(YamlError::TooLarge));
    let chain: Vec<String> = (1..5000).map(|at| format!("- &a{at} [*a{}]", at - 1)).collect();
    assert_eq!(safe_load(&format!("- &a0 x\n{}", chain.join("\n"))).err(), Some(YamlError::TooLarge));
    assert_eq!(safe_load(&"a".repeat(CHARACTERS_MAX + 1)).err(), Some(YamlError::TooLarge));
}

#[test]
fn a_megabyte_takes_time_in_proportion() {
    let units = [
        "- a\n",
        "a: b\n",
        "[",
        "{",
        "- ",
        "? ",
        "a ",
        "\n",
        " ",
        "'",
        "\"",
        "\\",
        "[a,",
        "{a: b,",
        "*a ",
        "&a ",
        "!a ",
        "#",
        "|\n",
        "x",
        ": ",
        "[[]],",
        "\"a\": ",
        "- [a, {b: c}]\n",
        "1",
        "0x",
        "1:",
        "%a ",
        "---\n",
        "한",
        "!!str ",
        "a:\n",
        "''",
        "-",
    ];
    for unit in units {
        let start = Instant::now();
        let _ = safe_load(&unit.repeat(1_000_000 / unit.len()));
        // Unoptimised and on a busy machine; quadratic time would be hours.
        assert!(start.elapsed() < Duration::from_secs(60), "{unit:?}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,100}") {
        let _ = safe_load(&text);
    }

    #[test]
    fn any_text_of_yaml_is_read_or_refused(parts in proptest::collection::vec(proptest::sample::select(vec![
        " ", "  ", "\n", "\t", "- ", "-", ": ", ":", "? ", "[", "]", "{", "}", ", ", "&a", "*a", "!", "!!int ", "!!set ", "!<", "%", "|", ">",
        "+", "2", "'", "\"", "\\", "\\x", "#", " #", "<<", "=", "---", "...", "a", "1", "0x", ".", "2025-02-30", "한", "\r", "\u{2028}", "\u{feff}",
    ]), 0..25)) {
        let _ = safe_load(&parts.concat());
    }

    #[test]
    fn json_is_read_as_it_is(number: i64, text in "[a-z가-힣 ]{0,20}") {
        let json = serde_json::json!({ "list": [number, text, null, true], "dict": { "a": [] } }).to_string();
        let read: Value = crate::parse(&json).unwrap().into();
        prop_assert!(safe_load(&json).unwrap().equals(&read));
    }
}
