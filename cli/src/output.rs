//! The one module that writes to standard output and standard error.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this module is what the terminal sees")]

use std::io::IsTerminal;

/// A line a program or a person reads as the result.
pub(crate) fn line(text: &str) {
    println!("{text}");
}

/// A line about what is going on.
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}

/// What went wrong.
pub(crate) fn error(text: &str) {
    eprintln!("error: {text}");
}

/// Whether a person is watching standard error.
pub(crate) fn is_watched() -> bool {
    std::io::stderr().is_terminal()
}
