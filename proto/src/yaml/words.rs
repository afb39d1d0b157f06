//! Messages of parsers in the words of those who write the documents.

use crate::did_you_mean;

/// Numbers as parsers name them, with what may be written.
const NUMBERS: [(&str, &str); 12] = [
    ("usize", "a whole number that is not negative"),
    ("isize", "a whole number"),
    ("u128", "a whole number that is not negative"),
    ("u16", "a whole number from 0 to 65535"),
    ("u32", "a whole number from 0 to 4294967295"),
    ("u64", "a whole number that is not negative"),
    ("i16", "a whole number"),
    ("i32", "a whole number"),
    ("i64", "a whole number"),
    ("f32", "a number"),
    ("f64", "a number"),
    ("u8", "a whole number from 0 to 255"),
];
/// Kinds of values as parsers name them, and as people do.
const FOUND: [(&str, &str); 4] = [
    ("invalid type: string ", "found the text "),
    ("invalid type: integer ", "found "),
    ("invalid type: floating point ", "found "),
    ("invalid value: integer ", "found "),
];
const EXPECTED: &str = ", expected ";
const UNKNOWN_VARIANT: &str = "unknown variant `";

/// The parser's `message` without names of types and of variants, and with the value that may have been meant.
pub(super) fn in_words(message: &str) -> String {
    number(message).or_else(|| variant(message)).unwrap_or_else(|| message.to_owned())
}

/// `trials: found the text "three", expected a whole number from 0 to 65535 at line 3 column 9`.
fn number(message: &str) -> Option<String> {
    let (before, after) = message.rsplit_once(EXPECTED)?;
    let (kind, rest) = after.split_once(' ').map_or((after, String::new()), |(kind, rest)| (kind, format!(" {rest}")));
    let (_, words) = NUMBERS.iter().find(|(name, _)| *name == kind)?;
    let mut before = before.to_owned();
    if let Some((of_parser, of_people)) = FOUND.iter().find(|(of_parser, _)| before.contains(of_parser)) {
        before = before.replacen(of_parser, of_people, 1);
    }
    Some(format!("{before}{EXPECTED}{words}{rest}"))
}

/// `kind: unknown value `simulatd`, expected one of `openai`, `simulated` at line 4 column 9; did you mean "simulated"?`.
fn variant(message: &str) -> Option<String> {
    let (place, rest) = message.split_once(UNKNOWN_VARIANT)?;
    let (wanted, rest) = rest.split_once('`')?;
    let end = rest.rfind('`')? + 1;
    let (known, position) = rest.split_at(end);
    let meant = did_you_mean(wanted, known.split('`').skip(1).step_by(2));
    Some(format!("{place}unknown value `{wanted}`{known}{position}{meant}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_said_in_words() {
        let said = "trials: invalid type: string \"three\", expected u16 at line 3 column 9";
        let words = "trials: found the text \"three\", expected a whole number from 0 to 65535 at line 3 column 9";
        assert_eq!(in_words(said), words);
        let said = "trials: invalid value: integer `-7`, expected u16 at line 3 column 9";
        assert_eq!(in_words(said), "trials: found `-7`, expected a whole number from 0 to 65535 at line 3 column 9");
        assert_eq!(in_words("invalid type: map, expected f64"), "invalid type: map, expected a number");
    }

    #[test]
    fn an_unknown_value_comes_with_the_one_that_may_have_been_meant() {
        let said =
            "endpoints.a.kind: unknown variant `simulatd`, expected one of `openai`, `simulated` at line 4 column 9";
        let words = "endpoints.a.kind: unknown value `simulatd`, expected one of `openai`, `simulated` at line 4 \
                     column 9; did you mean \"simulated\"?";
        assert_eq!(in_words(said), words);
        assert_eq!(in_words("unknown variant `zzz`, expected `go`"), "unknown value `zzz`, expected `go`");
    }

    #[test]
    fn other_messages_are_as_they_are() {
        for message in ["trials: unknown field `x`, expected one of `a`, `b`", "duplicate entry with key \"a\""] {
            assert_eq!(in_words(message), message);
        }
    }
}
