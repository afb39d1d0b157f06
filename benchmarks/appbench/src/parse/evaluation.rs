//! Calls as the official evaluator A (`evaluation.py`) reads them (docs/benchmarks/appbench.md §4.2).

use regatta_pycompat::{is_space, is_word, lower, strip};

use super::scan::{around, word};
use super::{Dict, without_prefix};

/// Arguments by `#key` in lower case; quotes belong to the values.
pub(crate) type Arguments = Dict<String>;

/// The name of the API; `None` where the text is no call.
pub(crate) fn name(text: &str) -> Option<String> {
    find(text).map(|(word, _)| name_of(word))
}

/// The name of the API and its arguments; `None` where the text is no call.
pub(crate) fn call(text: &str) -> Option<(String, Arguments)> {
    find(text).map(|(word, arguments)| (name_of(word), split(arguments)))
}

fn name_of(word: &str) -> String {
    without_prefix(&lower(word)).to_owned()
}

/// The first match of `(\w[\w\d_]*)\s*=\s*(\w[\w\d_]*)\(([^)]*)\)`, groups 2 and 3. Every match holds exactly one equals sign before its
/// parenthesis, and the first match is that of the first such sign.
fn find(text: &str) -> Option<(&str, &str)> {
    for (at, _) in text.match_indices('=') {
        let (before, after) = around(text, at)?;
        if !before.trim_end_matches(is_space).ends_with(is_word) {
            continue;
        }
        let (name, rest) = word(after.trim_start_matches(is_space));
        if let Some(arguments) = rest.strip_prefix('(').filter(|_| !name.is_empty()) {
            // Without a parenthesis that closes this call, there is none for later ones either.
            return Some((name, arguments.split_once(')')?.0));
        }
    }
    None
}

/// Arguments are told apart by a comma and a space, whatever quotes say. What has no equals sign empties the argument before it.
fn split(text: &str) -> Arguments {
    let mut arguments = Dict::default();
    let mut last: Option<&str> = None;
    for piece in text.split(", ") {
        let mut parts = piece.split('=');
        let value = match (parts.next(), parts.next(), parts.next()) {
            (Some(key), Some(value), None) => {
                last = Some(key);
                strip(value)
            }
            (_, None, _) => "",
            _ => continue,
        };
        if let Some(key) = last {
            arguments.insert(key_of(key), value.to_owned());
        }
    }
    arguments
}

fn key_of(text: &str) -> String {
    let key = lower(strip(text));
    if key.starts_with('#') { key } else { format!("#{key}") }
}
