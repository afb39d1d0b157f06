//! Plans of all kinds through all readers and evaluators: nothing panics, and nobody makes more of a text than the text is long.
//!
//! `REGATTA_FUZZ_CASES` says how many plans a run takes. That time is linear, which follows from how the readers are written, is measured
//! by the bench `scoring`, whose plans double.

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::data::{Data, Entry};
use crate::official::app_selection::Selection;
use crate::parse::{analysis, apps, evaluation, lines, paper as parse_paper, without_backslashes};
use crate::topology::Topology;
use crate::vectors::miniature;
use crate::{exec, official, paper};

static DATA: LazyLock<Data> = LazyLock::new(miniature);

/// Pieces of the readers' patterns, and characters that Python and Rust treat differently.
const TOKENS: &[&str] = &[
    "'",
    "\"",
    "=",
    "==",
    "#",
    ",",
    ", ",
    " ",
    "(",
    ")",
    "[",
    "]",
    ":",
    "_",
    ".",
    "\\",
    "\n",
    "\t",
    "\r",
    "\u{1c}",
    "\u{1f}",
    "\u{85}",
    "\u{3000}",
    "\u{200b}",
    "é",
    "İ",
    "ΑΣ",
    "²",
    "ⓐ",
    "\u{93e}",
    "\u{301}",
    "٣",
    "𝟗",
    "🙂",
    "a",
    "b1",
    "date",
    "city",
    "app1",
    "App2_x",
    "app0",
    "app-1",
    "r1 = f(",
    "#a=b",
    "''",
    "nyc",
    "'sfo'",
    "007",
    "4.50",
    "0.0",
    "1.",
    "：",
    "A: [a = f(#b='c')]\n",
];

fn cases() -> u32 {
    std::env::var("REGATTA_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(2000)
}

fn gold(entry: &Entry) -> String {
    entry.gold.used_app.iter().zip(&entry.gold.api_results).map(|(app, call)| format!("{app}: [{call}]\n")).collect()
}

/// A place in a text, how many characters to take out there, and what to put in.
fn edit() -> impl Strategy<Value = (Index, usize, &'static str)> {
    (any::<Index>(), 0..12_usize, select(TOKENS))
}

fn edited(text: String, edits: &[(Index, usize, &str)]) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for (place, gone, put) in edits {
        let start = place.index(characters.len() + 1);
        let end = (start + gone).min(characters.len());
        characters.splice(start..end, put.chars());
    }
    characters.into_iter().collect()
}

/// Tokens in any order, any text, or a gold plan with edits.
fn plan() -> impl Strategy<Value = String> {
    let tokens = proptest::collection::vec(select(TOKENS), 0..60).prop_map(|tokens| tokens.concat());
    let of_gold = (any::<Index>(), proptest::collection::vec(edit(), 0..8))
        .prop_map(|(at, edits)| edited(gold(at.get(&DATA.entries)), &edits));
    prop_oneof![2 => tokens, 1 => ".{0,80}", 3 => of_gold]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_plan_is_read_and_scored(text in plan(), item in any::<Index>(), answers in proptest::collection::vec(select(TOKENS), 0..7)) {
        let entry = item.get(&DATA.entries);
        let lines = lines(&text);
        let length = |lines: &[crate::parse::Line<'_>]| -> usize { lines.iter().map(|line| line.app.len() + line.call.len()).sum() };
        prop_assert!(length(&lines) <= text.len());
        for line in &lines {
            if let Some((name, arguments)) = evaluation::call(&without_backslashes(&line.call)) {
                // In lower case a letter may take more bytes, and every key gets a `#`.
                let read: usize = arguments.iter().map(|(key, value)| key.len() + value.len()).sum();
                prop_assert!(name.len() + read <= 3 * line.call.len());
            }
            if let Some((name, arguments)) = analysis::call(&line.call) {
                let read: usize = arguments.iter().map(|(key, value)| key.len() + value.len()).sum();
                prop_assert!(name.len() + read <= line.call.len());
            }
            if let Some(call) = parse_paper::call(&line.call, |name| DATA.phone.has_api(name)) {
                let read: usize = call.arguments.iter().map(|(key, value)| key.len() + value.text().len()).sum();
                prop_assert!(call.name.len() + read + call.returned.concat().len() <= 3 * line.call.len());
            }
        }
        let found = official::score(entry, &lines, None);
        prop_assert_eq!(found.evaluation.total_pred_apis as usize, lines.len());
        prop_assert_eq!(official::ItemCounters::from_values(&found.to_values()), Some(found));
        let selection = Selection::of(&DATA.phone, &answers);
        let named = apps(&lines);
        let revised = selection.revise(&named);
        prop_assert!(revised.len() <= named.len());
        official::aggregate(&[found, official::score(entry, &lines, Some(&revised))]);
        let found = paper::score(entry, &DATA.phone, &lines);
        prop_assert!(found.app_hit <= found.app_pred && found.api_hit <= found.api_gold);
        let executed = exec::score(&DATA, entry, &text);
        prop_assert!(executed.hit <= executed.pred && executed.pred <= lines.len());
        executed.detail();
        let calls: Vec<&str> = lines.iter().map(|line| line.call.as_str()).collect();
        if let Ok(topology) = Topology::of(calls.len(), &calls) {
            prop_assert_eq!(topology.sizes().iter().sum::<usize>(), calls.len());
            prop_assert_eq!(topology.weak_sizes().iter().sum::<usize>(), calls.len());
            prop_assert!(topology.weak_sizes().len() <= topology.sizes().len());
        }
    }
}
