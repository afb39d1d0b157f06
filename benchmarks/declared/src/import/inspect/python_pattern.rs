//! Python's patterns in the syntax of the crate `regex`.

use std::iter::Peekable;
use std::str::Chars;

/// The pattern that matches what `pattern` matches, as far as both have the same constructs; what remains is refused where it is compiled.
///
/// # Errors
/// When a set has an operator, which Python has not, in a place where it cannot be told from two characters.
pub(super) fn translated(pattern: &str) -> Result<String, String> {
    let mut made = String::new();
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => escape(&mut made, rest.next()),
            '[' => set(&mut made, &mut rest)?,
            other => made.push(other),
        }
    }
    Ok(made)
}

fn escape(made: &mut String, escaped: Option<char>) {
    match escaped {
        // The end of the text, and two characters that have a meaning only there.
        Some('Z') => made.push_str("\\z"),
        Some(c @ ('<' | '>')) => made.push(c),
        Some(c) => made.extend(['\\', c]),
        None => made.push('\\'),
    }
}

/// A set, in which `[`, `&` and `~` are characters for Python.
fn set(made: &mut String, rest: &mut Peekable<Chars<'_>>) -> Result<(), String> {
    made.push('[');
    if rest.next_if_eq(&'^').is_some() {
        made.push('^');
    }
    if rest.next_if_eq(&']').is_some() {
        made.push_str("\\]");
    }
    while let Some(c) = rest.next() {
        match c {
            ']' => {
                made.push(']');
                return Ok(());
            }
            '\\' => escape(made, rest.next()),
            '[' | '&' | '~' => made.extend(['\\', c]),
            '-' if rest.peek() == Some(&'-') => {
                return Err("a set of the pattern has --, which means something else here; write \\-".to_owned());
            }
            other => made.push(other),
        }
    }
    Ok(())
}
