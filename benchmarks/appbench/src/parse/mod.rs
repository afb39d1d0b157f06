//! Plans and calls as texts (docs/benchmarks/appbench.md §4, §6).
//!
//! The official code has two readers of calls that disagree; they are kept apart, each exactly as it is, and the paper's reader is a
//! third. All of them are matchers written by hand: the official patterns need Python's idea of a word and of white space, and time that
//! is linear in the text, where a backtracking engine would take its square.

pub(crate) mod analysis;
mod dict;
pub(crate) mod evaluation;
pub(crate) mod paper;
mod plan;
mod scan;

#[cfg(test)]
mod tests;

pub(crate) use self::dict::Dict;
pub(crate) use self::plan::{Line, apps, lines};

/// The name that both official readers make of the word before the parenthesis: of `app_api`, what stands between the first two
/// underscores. The official example of a plan writes APIs so, but names with underscores of their own are cut as well.
fn without_prefix(word: &str) -> &str {
    word.split('_').nth(1).unwrap_or(word)
}

/// The call as it is read for its arguments: models escape underscores as in Markdown.
pub(crate) fn without_backslashes(call: &str) -> String {
    call.replace('\\', "")
}
