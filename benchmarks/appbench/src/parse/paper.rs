//! Calls as the paper means them: quotes and other habits of models are tolerated (docs/benchmarks/appbench.md §6).

use std::collections::BTreeMap;

use regatta_pycompat::{is_space, is_word, lower, strip};

use super::scan::{skip_equals, skip_space, word};
use super::without_backslashes;

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// The names it returns, in order.
    pub(crate) returned: Vec<String>,
    /// The API, in lower case.
    pub(crate) name: String,
    /// Arguments by key, in lower case.
    pub(crate) arguments: BTreeMap<String, Argument>,
}

/// The value of an argument, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Argument {
    /// A value.
    Literal(String),
    /// A name, which stands for what an earlier call returned under it; or for itself, if none did.
    Name(String),
}

impl Argument {
    /// Text of the argument, without quotes or `#`.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Literal(text) | Self::Name(text) => text,
        }
    }
}

/// The call that `text` is; `None` where it is none. `is_api` knows the names of APIs.
pub(crate) fn call(text: &str, is_api: impl Fn(&str) -> bool) -> Option<Call> {
    let text = without_backslashes(text);
    // The anchored pattern `\s*(?:([^=()]*)=)?\s*([\w.]+)\s*\(` has one way to match: by the first of these characters.
    let (returned, rest) = match text.find(['=', '(', ')']).and_then(|at| super::scan::around(&text, at)) {
        Some((returned, rest)) if text.get(returned.len()..)?.starts_with('=') => (returned, rest),
        _ => ("", text.as_str()),
    };
    let rest = skip_space(rest);
    let (name, rest) = rest.split_at_checked(rest.find(|c| !is_word(c) && c != '.').unwrap_or(rest.len()))?;
    let arguments = skip_space(rest).strip_prefix('(').filter(|_| !name.is_empty())?;
    let (arguments, _) = arguments.rsplit_once(')')?;
    let names = returned.split(',').map(strip).filter(|name| !name.is_empty());
    Some(Call {
        returned: names.map(str::to_owned).collect(),
        name: api_name(name, is_api),
        arguments: split(arguments).into_iter().filter_map(argument).collect(),
    })
}

/// `App.api` and `app_api` are `api`.
fn api_name(word: &str, is_api: impl Fn(&str) -> bool) -> String {
    let name = lower(word);
    let name = name.rsplit_once('.').map_or(name.as_str(), |(_, name)| name);
    match name.split_once('_') {
        Some((_, rest)) if !is_api(name) && is_api(rest) => rest.to_owned(),
        _ => name.to_owned(),
    }
}

/// Splits at `,\s*(?=#?\w+\s*=)`: at the commas behind which an argument begins.
fn split(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices(',') {
        if text.get(at + 1..).is_some_and(begins_argument) {
            pieces.extend(text.get(start..at));
            start = at + 1;
        }
    }
    pieces.extend(text.get(start..));
    pieces
}

fn begins_argument(text: &str) -> bool {
    let text = skip_space(text);
    let (key, rest) = word(text.strip_prefix('#').unwrap_or(text));
    !key.is_empty() && skip_equals(rest).is_some()
}

fn argument(piece: &str) -> Option<(String, Argument)> {
    let piece = strip(piece).trim_end_matches(',');
    if piece.is_empty() {
        return None;
    }
    let (key, value) = piece.split_once('=').unwrap_or((piece, ""));
    let key = strip(strip(key).trim_start_matches('#'));
    Some((lower(key), value_of(strip(value))))
}

fn value_of(text: &str) -> Argument {
    let within = |quote: char| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    if let Some(literal) = within('\'').or_else(|| within('"')) {
        return Argument::Literal(literal.to_owned());
    }
    let name = text.strip_prefix('#').unwrap_or(text);
    if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_word) {
        return Argument::Name(name.to_owned());
    }
    Argument::Literal(text.to_owned())
}

/// A text without white space at its ends, and one space for each run of it inside.
pub(crate) fn collapse(text: &str) -> String {
    let mut collapsed = String::with_capacity(text.len());
    for word in text.split(is_space).filter(|word| !word.is_empty()) {
        if !collapsed.is_empty() {
            collapsed.push(' ');
        }
        collapsed.push_str(word);
    }
    collapsed
}

/// The form in which literals are compared: lower case, collapsed, numbers without zeros that mean nothing.
pub(crate) fn normal(text: &str) -> String {
    let text = collapse(&lower(text));
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, "0"));
    let is_digits = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) {
        return text;
    }
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    match fraction.trim_end_matches('0') {
        "" => whole.to_owned(),
        fraction => format!("{whole}.{fraction}"),
    }
}
