//! Reads YAML of other people: documents that parsers would take minutes or gigabytes for are refused before they are parsed.

mod expansion;
mod words;

use std::iter::Peekable;
use std::str::Chars;

use serde::de::DeserializeOwned;

pub use self::words::plain_message;

/// Most brackets, or dashes of lists in one line, that may be open at once.
const NESTING_MAX: usize = 100;
/// Steps taken over a document, as a multiple of its length. Only a document with hundreds of brackets that nothing closes takes so many.
const STEPS_PER_CHARACTER: usize = 256;

/// Reads a document. Of a map, a key may be there once.
///
/// # Errors
/// When it is no YAML of a `T`, has a key twice or is [more than anybody needs](check_yaml); names line and field.
pub fn read_yaml<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    check_yaml(text)?;
    let value = serde_yaml_ng::from_str(text).map_err(|error| plain_message(&error.to_string()))?;
    // A map silently takes the last of two equal keys; a YAML document refuses them.
    serde_yaml_ng::from_str::<serde_yaml_ng::Value>(text).map_err(|error| error.to_string())?;
    Ok(value)
}

/// Refuses what nobody needs and what YAML parsers take minutes or gigabytes for: deeply nested brackets and lists, and aliases that repeat
/// much.
///
/// # Errors
/// The line in which too many are open, or how much the aliases expand to.
pub fn check_yaml(text: &str) -> Result<(), String> {
    check_nesting(text)?;
    expansion::check(text)
}

fn check_nesting(text: &str) -> Result<(), String> {
    check_nesting_within(text, &mut text.len().saturating_mul(STEPS_PER_CHARACTER))
}

/// The same in at most `steps`, of which it leaves the rest.
fn check_nesting_within(text: &str, steps: &mut usize) -> Result<(), String> {
    let too_deep = |position: usize| {
        let line = text.get(..position).unwrap_or(text).lines().count().max(1);
        Err(format!("line {line} is nested too deeply: at most {NESTING_MAX} brackets, or dashes, may be open"))
    };
    let mut begin = 0;
    for line in text.split_inclusive('\n') {
        begin += line.len();
        let words = line.split_whitespace().take_while(|word| matches!(*word, "-" | "?" | ":"));
        if words.count() > NESTING_MAX {
            return too_deep(begin);
        }
    }
    // Where a bracket is a bracket, and not a part of a text or a comment, depends on everything before it. Within brackets it does not, so
    // every bracket is followed from where it opens as if it were one; those that are none can only find too many.
    for (position, _) in text.match_indices(['[', '{']) {
        if Flow::new(&text[position + 1..], steps).nests_too_deeply() {
            return too_deep(position + 1);
        }
    }
    Ok(())
}

/// Scans YAML from just after an opening bracket to the bracket that closes it.
struct Flow<'t, 's> {
    rest: Peekable<Chars<'t>>,
    steps: &'s mut usize,
}

impl<'t, 's> Flow<'t, 's> {
    fn new(text: &'t str, steps: &'s mut usize) -> Self {
        Self { rest: text.chars().peekable(), steps }
    }

    /// `true` if more than [`NESTING_MAX`] brackets are open at some place, or that was too much work to find out.
    fn nests_too_deeply(mut self) -> bool {
        let mut open = 1_usize;
        while let Some(c) = self.next() {
            match c {
                '[' | '{' => open += 1,
                ']' | '}' => open -= 1,
                '"' => self.double_quoted(),
                '\'' => self.single_quoted(),
                '#' => self.skip_while(|c| !is_break(c)),
                // Closing brackets in the address of a tag close nothing.
                '!' if self.rest.peek() == Some(&'<') => self.skip_while(|c| c != '>' && !is_blank(c)),
                '!' => self.skip_while(|c| !is_blank(c) && !is_flow_indicator(c)),
                ',' | '?' | ':' | '&' | '*' => {}
                c if is_blank(c) => {}
                c => self.plain(c),
            }
            if open == 0 {
                return false;
            }
            if open > NESTING_MAX || *self.steps == 0 {
                return true;
            }
        }
        false
    }

    fn next(&mut self) -> Option<char> {
        *self.steps = self.steps.saturating_sub(1);
        self.rest.next()
    }

    fn skip_while(&mut self, is_skipped: impl Fn(char) -> bool) {
        while self.rest.peek().is_some_and(|c| is_skipped(*c)) {
            self.next();
        }
    }

    fn double_quoted(&mut self) {
        while let Some(c) = self.next() {
            match c {
                '"' => return,
                '\\' => drop(self.next()),
                _ => {}
            }
        }
    }

    fn single_quoted(&mut self) {
        while let Some(c) = self.next() {
            if c == '\'' {
                if self.rest.peek() != Some(&'\'') {
                    return;
                }
                self.next();
            }
        }
    }

    /// A text without quotes, in which quotes mean nothing. It goes on over the ends of lines.
    fn plain(&mut self, first: char) {
        let mut before = first;
        while let Some(&c) = self.rest.peek() {
            let is_comment = c == '#' && is_blank(before);
            let is_value = is_blank(c) && before == ':';
            if is_flow_indicator(c) || is_comment || is_value {
                return;
            }
            before = c;
            self.next();
        }
    }
}

const fn is_flow_indicator(c: char) -> bool {
    matches!(c, ',' | '[' | ']' | '{' | '}')
}

const fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

const fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\u{feff}') || is_break(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        check_nesting(text).unwrap_err()
    }

    #[test]
    fn what_nobody_writes_by_hand_is_refused_with_its_line() {
        let nested = |depth: usize| format!("a: 1\nb: {}{}\n", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(check_nesting(&nested(NESTING_MAX)), Ok(()));
        assert_eq!(
            refused(&nested(NESTING_MAX + 1)),
            "line 2 is nested too deeply: at most 100 brackets, or dashes, may be open"
        );
        assert!(check_nesting(&format!("a:\n{}x\n", "- ".repeat(NESTING_MAX + 1))).is_err());
    }

    /// Steps that it takes to refuse a text.
    fn steps_of_refusal(text: &str) -> usize {
        let most = text.len() * STEPS_PER_CHARACTER;
        let mut left = most;
        check_nesting_within(text, &mut left).unwrap_err();
        most - left
    }

    #[test]
    fn what_is_nested_without_end_is_refused_in_a_few_steps_however_long_it_is() {
        for deep in ["[", "- ", "{a: ", "? ", "[\n", "- [", "[{a: "] {
            let steps = [1_000, 100_000].map(|times| steps_of_refusal(&deep.repeat(times)));
            assert!(steps[0] == steps[1] && steps[0] <= 10 * NESTING_MAX, "{deep:?} took {steps:?}");
        }
    }

    #[test]
    fn no_text_takes_more_steps_than_a_multiple_of_its_length() {
        // Each bracket has to be followed to the end of the text, as nothing closes it, and it hides the others.
        let lines = |count: usize| "x: 'a[ #'\n".repeat(count);
        assert_eq!(check_nesting(&lines(100)), Ok(()));
        let long = lines(5_000);
        assert_eq!(steps_of_refusal(&long), long.len() * STEPS_PER_CHARACTER);
    }

    #[test]
    fn nesting_is_refused_before_anything_is_parsed() {
        let broken = "a: b: c\n";
        assert!(!read_yaml::<serde_yaml_ng::Value>(broken).unwrap_err().contains("nested too deeply"));
        let nested = read_yaml::<serde_yaml_ng::Value>(&format!("{broken}b: {}", "[".repeat(200_000))).unwrap_err();
        assert_eq!(nested, "line 2 is nested too deeply: at most 100 brackets, or dashes, may be open");
    }

    #[test]
    fn brackets_that_texts_comments_and_tags_hold_close_nothing() {
        let openings = [
            "[\"}\", ",
            "['}', ",
            "['it''s ]', ",
            "[\"\\\"]\", ",
            "[ # ]\n",
            "[ !<]> ",
            "{a: \"}\", ? ",
            "[\n\"\n]\n\", ",
        ];
        for opening in openings {
            let nested = opening.repeat(NESTING_MAX + 1);
            refused(&nested);
            refused(&format!("a: |\n  it's \"\nb: {nested}"));
        }
    }

    #[test]
    fn brackets_side_by_side_and_in_texts_are_as_many_as_they_are() {
        let many = NESTING_MAX * 3;
        let side_by_side = "- { a: \"it's {}\", b: ['[]', x], c: [1, 2] } # don't [sic]\n".repeat(many);
        assert_eq!(check_nesting(&side_by_side), Ok(()));
        let prompts = "- |\n  Choose one of [A] or {B}; don't say \"[\n  why]\".\n".repeat(many);
        assert_eq!(check_nesting(&prompts), Ok(()));
        let json = format!("[{}]", vec!["{\"a\": [\"\\\"{}\", {}], \"b\": \"it's [sic]\"}"; many].join(",\n"));
        assert_eq!(check_nesting(&json), Ok(()));
    }

    #[test]
    fn a_key_that_is_there_twice_is_refused() {
        let twice = read_yaml::<std::collections::BTreeMap<String, u32>>("a: 1\na: 2\n");
        assert_eq!(twice.unwrap_err(), "duplicate entry with key \"a\"");
    }
}
