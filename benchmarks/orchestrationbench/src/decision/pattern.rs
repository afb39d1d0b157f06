//! Patterns in the schemas of agent cards: Python's `re.match` on a regular-expression engine with look-around and a
//! limit on backtracking.

use fancy_regex::{Regex, RegexBuilder};
use regatta_pycompat::digit_class;

/// Backtracking steps after which a text counts as not matching.
const STEPS_MAX: usize = 100_000;

/// Returns `true` if the text begins with a match, and `None` if the pattern is invalid.
pub(crate) fn matches_at_start(pattern: &str, text: &str) -> Option<bool> {
    let regex = compile(pattern)?;
    Some(regex.is_match(text).unwrap_or(false))
}

fn compile(pattern: &str) -> Option<Regex> {
    let translated = format!(r"\A(?:{})", translate(pattern));
    RegexBuilder::new(&translated).backtrack_limit(STEPS_MAX).build().ok()
}

/// Translates a Python pattern. In the target engine `$` matches at the very end alone, classes such as `\d` have
/// other members, and sets can contain operators.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut chars = pattern.chars().peekable();
    // Position within a character class: `Some(true)` at its start, where `]` is literal, `Some(false)` later.
    let mut class: Option<bool> = None;
    while let Some(c) = chars.next() {
        match (c, class) {
            ('\\', _) => {
                out.push_str(&escape(chars.next(), &mut chars, class.is_some()));
                class = class.map(|_| false);
            }
            ('[', None) => {
                out.push('[');
                if chars.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                class = Some(true);
            }
            (']', Some(true)) => {
                out.push_str(r"\]");
                class = Some(false);
            }
            (']', Some(false)) => {
                out.push(']');
                class = None;
            }
            ('[' | '&' | '~', Some(_)) => {
                out.extend(['\\', c]);
                class = Some(false);
            }
            ('-', Some(_)) if chars.peek() == Some(&'-') => {
                out.push_str(r"\-");
                class = Some(false);
            }
            ('$', None) => out.push_str(r"(?=\n?\z)"),
            (c, _) => {
                out.push(c);
                class = class.map(|_| false);
            }
        }
    }
    out
}

/// Translates a backslash and the character after it.
fn escape(escaped: Option<char>, rest: &mut std::iter::Peekable<std::str::Chars<'_>>, in_class: bool) -> String {
    match escaped {
        Some('d') => in_brackets(digit_class(), "", in_class),
        Some('D') => in_brackets(digit_class(), "^", in_class),
        Some('w') => in_brackets(r"\p{L}\p{N}_", "", in_class),
        Some('W') => in_brackets(r"\p{L}\p{N}_", "^", in_class),
        Some('s') => in_brackets(r"\s\x1c-\x1f", "", in_class),
        Some('S') => in_brackets(r"\s\x1c-\x1f", "^", in_class),
        Some('Z') => r"\z".to_owned(),
        Some('b') if in_class => r"\x08".to_owned(),
        Some(letter @ ('u' | 'U')) => {
            let length = if letter == 'u' { 4 } else { 8 };
            let digits: String = std::iter::from_fn(|| rest.next_if(char::is_ascii_hexdigit)).take(length).collect();
            format!("\\x{{{digits}}}")
        }
        Some(c) => format!("\\{c}"),
        None => "\\".to_owned(),
    }
}

fn in_brackets(members: &str, negation: &str, in_class: bool) -> String {
    if in_class && negation.is_empty() { members.to_owned() } else { format!("[{negation}{members}]") }
}
