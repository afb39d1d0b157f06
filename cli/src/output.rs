//! The one module that writes to standard output and standard error.
//!
//! A reader that has gone away (`| head`) is no reason to fail: what matters is in files and exit codes. What models, specs and providers
//! wrote must not command the terminal, so it is made printable here, once, for everything.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use console::Term;
use regatta_report::USUAL_WIDTH;

/// Lines at the end of the terminal that are drawn again and again. Everything else that is written to standard error stands above them.
static DRAWN: Mutex<String> = Mutex::new(String::new());

/// Width that tables may have, in columns.
static WIDTH: AtomicU16 = AtomicU16::new(USUAL_WIDTH);

/// Lets tables be as wide as the terminal that standard output is, or, where it is none, as the variable `COLUMNS` says.
pub(crate) fn fit_to_terminal() {
    let of_terminal = Term::stdout().size_checked().map(|(_, width)| width);
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    if let Some(width) = of_terminal.or(told) {
        WIDTH.store(width, Ordering::Relaxed);
    }
}

/// Width that tables may have, in columns.
pub(crate) fn width() -> u16 {
    WIDTH.load(Ordering::Relaxed)
}

/// A line a program or a person reads as the result.
pub(crate) fn line(text: &str) {
    let _ = writeln!(std::io::stdout(), "{}", printable(text));
}

/// A line about what is going on.
pub(crate) fn note(text: &str) {
    let _ = above(format!("{}\n", printable(text)).as_bytes());
}

/// Writes an error to standard error.
pub(crate) fn error(text: &str) {
    let _ = above(format!("error: {}\n", printable(text)).as_bytes());
}

/// Draws `lines`, each ended and no longer than the terminal is wide, in the place of those that were drawn before.
pub(crate) fn redraw(lines: &str) {
    let mut drawn = drawn();
    let text = format!("{}{lines}", erasing(&drawn));
    lines.clone_into(&mut drawn);
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Leaves what is drawn where it is.
pub(crate) fn leave_drawn() {
    drawn().clear();
}

/// Writes to standard error, above what is drawn there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Above;

impl Write for Above {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        above(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        std::io::stderr().flush()
    }
}

/// Passes whole lines on, with everything that a terminal would obey written out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Printable<W>(pub(crate) W);

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(printable(&String::from_utf8_lossy(bytes)).as_bytes()).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Writes whole lines above what is drawn.
fn above(lines: &[u8]) -> io::Result<()> {
    let drawn = drawn();
    let mut stderr = std::io::stderr().lock();
    if drawn.is_empty() {
        return stderr.write_all(lines);
    }
    stderr.write_all(&[erasing(&drawn).as_bytes(), lines, drawn.as_bytes()].concat())
}

fn drawn() -> MutexGuard<'static, String> {
    DRAWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Moves the cursor to the beginning of `lines` and clears the rest of the screen.
fn erasing(lines: &str) -> String {
    match lines.lines().count() {
        0 => String::new(),
        count => format!("\u{1b}[{count}A\r\u{1b}[J"),
    }
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
    fn what_is_drawn_again_begins_where_it_was_drawn() {
        assert_eq!(erasing(""), "");
        assert_eq!(erasing("cell  done\none   1/2\n"), "\u{1b}[2A\r\u{1b}[J");
    }

    #[test]
    fn a_document_stays_what_it_is() {
        let value = serde_json::json!({ "text": "\u{9b}2J \u{1b}[0m \u{202e}" });
        let printed = printable(&value.to_string()).into_owned();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&printed).unwrap(), value);
    }
}
