//! Texts that are nearly right, for tests of what parses the texts of strangers.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Most edits of a text.
const EDITS_MAX: usize = 4;
/// Most bytes that an edit takes away.
const CUT_MAX: usize = 12;
/// Parts of formats that change what comes after them.
const WORDS: [&str; 20] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    ": ",
    "\n",
    "\n  ",
    "- ",
    "&a ",
    "*a",
    "<<: ",
    "!!set ",
    "null",
    "1e999",
    "-1",
    "\u{202e}",
    "\u{0}",
    "\u{1b}[2J",
];

/// `right` with a few parts left out, and words or any bytes put in.
pub(crate) fn nearly(right: &[u8]) -> impl Strategy<Value = Vec<u8>> {
    let right = right.to_vec();
    let put_in = prop_oneof![
        select(&WORDS[..]).prop_map(|word| word.as_bytes().to_vec()),
        vec(any::<u8>(), 0..4),
        vec(32_u8..127, 0..4),
    ];
    let edit = (any::<Index>(), 0..CUT_MAX, put_in);
    vec(edit, 0..EDITS_MAX).prop_map(move |edits| {
        let mut text = right.clone();
        for (at, cut, put_in) in edits {
            let at = at.index(text.len() + 1);
            let end = (at + cut).min(text.len());
            text.splice(at..end, put_in);
        }
        text
    })
}

/// The same as a text; bytes that are no UTF-8 are replaced.
pub(crate) fn nearly_text(right: &str) -> impl Strategy<Value = String> {
    nearly(right.as_bytes()).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}
