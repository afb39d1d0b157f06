//! Calls as the official evaluator B (`analysis.py`) reads them (docs/benchmarks/appbench.md §4.3).

use regatta_pycompat::is_word;

use super::scan::{skip_equals, word};
use super::{Dict, without_prefix};

/// Arguments by key, without `#` and without quotes.
pub(crate) type Arguments = Dict<String>;

const QUOTES: [char; 2] = ['\'', '"'];

/// The name of the API, its case kept, and its arguments; `None` where the text is no call.
pub(crate) fn call(text: &str) -> Option<(String, Arguments)> {
    text.split('\n').find_map(call_in_line)
}

/// The first match of `(\w+)\((.*)\)`, which never crosses the end of a line.
fn call_in_line(line: &str) -> Option<(String, Arguments)> {
    let line = line.get(..line.rfind(')')?)?;
    let (open, _) =
        line.match_indices('(').find(|(open, _)| line.get(..*open).is_some_and(|s| s.ends_with(is_word)))?;
    let (before, arguments) = super::scan::around(line, open)?;
    let start = before.trim_end_matches(is_word).len();
    Some((without_prefix(before.get(start..)?).to_owned(), find_all(arguments)))
}

/// All matches of `(\w+)\s*=\s*['\"](.+?)['\"]|(\w+)\s*=\s*(\[.*\])|(\w+)\s*=\s*(\w+)`.
fn find_all(text: &str) -> Arguments {
    let mut arguments = Dict::default();
    // Where the last bracket closes, counted from the end, so that nobody looks for it twice.
    let behind_brackets = text.rfind(']').and_then(|close| text.get(close + 1..)).map(str::len);
    let mut rest = text;
    while let Some(at_word) = rest.find(is_word).and_then(|start| rest.get(start..)) {
        let (key, after) = word(at_word);
        let value = skip_equals(after)
            .and_then(|value| quoted(value).or_else(|| bracketed(value, behind_brackets?)).or_else(|| unquoted(value)));
        rest = match value {
            Some((value, rest)) => {
                arguments.insert(key.to_owned(), value.to_owned());
                rest
            }
            // Another start within the same word would fail alike.
            None => after,
        };
    }
    arguments
}

/// At least one character, whatever it is, up to the next quote of either kind.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix(QUOTES)?;
    let first = text.chars().next()?.len_utf8();
    let close = first + text.get(first..)?.find(QUOTES)?;
    super::scan::around(text, close)
}

/// A list, up to the last bracket of all.
fn bracketed(text: &str, behind_brackets: usize) -> Option<(&str, &str)> {
    let list = text.len().checked_sub(behind_brackets).filter(|_| text.starts_with('['))?;
    text.split_at_checked(list).filter(|(list, _)| list.len() > 1)
}

fn unquoted(text: &str) -> Option<(&str, &str)> {
    Some(word(text)).filter(|(value, _)| !value.is_empty())
}
