//! The one module that writes to standard output and standard error.
//!
//! A reader that has gone away (`| head`) is no reason to fail: what matters is in files and exit codes.

use std::io::{IsTerminal, Write};

/// A line a program or a person reads as the result.
pub(crate) fn line(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// A line about what is going on.
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// What went wrong.
pub(crate) fn error(text: &str) {
    let _ = writeln!(std::io::stderr(), "error: {text}");
}

/// Whether a person is watching standard error.
pub(crate) fn is_watched() -> bool {
    std::io::stderr().is_terminal()
}
