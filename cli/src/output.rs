//! The one module that writes to standard output and standard error.
//!
//! A reader that has gone away (`| head`) is no reason to fail: what matters is in files and exit codes. What models, specs and providers
//! wrote must not command the terminal, so it is made printable here, once, for everything.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write};

/// A line a program or a person reads as the result.
pub(crate) fn line(text: &str) {
    let _ = writeln!(std::io::stdout(), "{}", printable(text));
}

/// A line about what is going on.
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", printable(text));
}

/// Writes an error to standard error.
pub(crate) fn error(text: &str) {
    let _ = writeln!(std::io::stderr(), "error: {}", printable(text));
}

/// Rings the bell of the terminal.
pub(crate) fn bell() {
    let _ = write!(std::io::stderr(), "\u{7}");
}

/// True if standard error is a terminal.
pub(crate) fn is_watched() -> bool {
    std::io::stderr().is_terminal()
}

/// `text` with everything that a terminal would obey written out, in the way of JSON, so that documents stay what they are.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(commands) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if commands(c) {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out.into()
}

/// `true` for what moves the cursor, changes the terminal, or makes text read in another order than it is written.
fn commands(c: char) -> bool {
    let reorders = matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (c.is_control() && !matches!(c, '\n' | '\t')) || reorders
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_that_is_printed_commands_the_terminal() {
        let osc = "a\u{1b}]0;title\u{7}b\u{9b}2J\rc\u{202e}d\n\te";
        assert_eq!(printable(osc), "a\\u001b]0;title\\u0007b\\u009b2J\\u000dc\\u202ed\n\te");
        assert!(matches!(printable("한국어 é — 95 %"), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn what_is_printable_stays_as_it_is(text in "[\\x00-\\xff\u{200e}\u{202a}-\u{202e}\u{2066}\\PC]{0,40}") {
            let once = printable(&text).into_owned();
            prop_assert!(!once.contains(commands));
            prop_assert_eq!(printable(&once), once.as_str());
        }
    }

    #[test]
    fn a_document_stays_what_it_is() {
        let value = serde_json::json!({ "text": "\u{9b}2J \u{1b}[0m \u{202e}" });
        let printed = printable(&value.to_string()).into_owned();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&printed).unwrap(), value);
    }
}
