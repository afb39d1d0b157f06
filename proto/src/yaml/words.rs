//! Messages of parsers in the words of those who write the documents.

use crate::did_you_mean;

/// Values that are expected, as parsers name them, and as people do.
const EXPECTED: [(&str, &str); 20] = [
    ("usize", "a whole number that is not negative"),
    ("isize", "a whole number"),
    ("u128", "a whole number that is not negative"),
    ("u8", "a whole number from 0 to 255"),
    ("u16", "a whole number from 0 to 65535"),
    ("u32", "a whole number from 0 to 4294967295"),
    ("u64", "a whole number that is not negative"),
    ("i16", "a whole number"),
    ("i32", "a whole number"),
    ("i64", "a whole number"),
    ("f32", "a number"),
    ("f64", "a number"),
    ("a nonzero u32", "a whole number from 1 to 4294967295"),
    ("a boolean", "true or false"),
    ("a string", "a text"),
    ("a sequence", "a list"),
    ("a map", "a mapping of keys to values"),
    ("string or map", "a name, or a mapping with one key"),
    ("variant identifier", "a name"),
    ("unit", "nothing"),
];
/// Beginnings of further ones, which end with the name of a type.
const EXPECTED_OF_TYPE: [(&str, &str); 2] = [("struct ", "a mapping of keys to values"), ("enum ", "a name")];
/// Values that are found, as parsers name them, and as people do.
const FOUND: [(&str, &str); 5] = [
    ("sequence", "a list"),
    ("map", "a mapping of keys to values"),
    ("unit value", "nothing"),
    ("null", "nothing"),
    ("enum", "a value with a tag"),
];
/// Beginnings of further ones, which end with the value itself.
const FOUND_WITH_VALUE: [(&str, &str); 4] =
    [("string ", "the text "), ("integer ", ""), ("floating point ", ""), ("boolean ", "")];
/// Beginnings of messages about a value that is another one than it should be.
const MISMATCHES: [&str; 2] = ["invalid type: ", "invalid value: "];
const BUT_EXPECTED: &str = ", expected ";
/// Messages about a name that is none of those there are, as parsers begin them, and as people do.
const UNKNOWN: [(&str, &str); 2] = [("unknown variant `", "unknown value `"), ("unknown field `", "unknown field `")];
/// Start of a guess ([`did_you_mean`]).
const MEANT: &str = "; did you mean ";
/// Start of the place in the document with which messages end.
const PLACE: &str = " at line ";

/// The message of a parser without names of types, and with the name that may have been meant.
#[must_use]
pub fn plain_message(message: &str) -> String {
    let plain = mismatch(message).or_else(|| unknown(message));
    plain.or_else(|| guess(message)).unwrap_or_else(|| message.to_owned())
}

/// `trials: found the text "three", expected a whole number from 0 to 65535 at line 3 column 9`.
fn mismatch(message: &str) -> Option<String> {
    let (field, rest) = MISMATCHES.iter().find_map(|kind| message.split_once(kind))?;
    let (found, rest) = rest.rsplit_once(BUT_EXPECTED)?;
    let (expected, place) = rest.split_at(rest.rfind(PLACE).unwrap_or(rest.len()));
    let found = named(found, &FOUND).or_else(|| FOUND_WITH_VALUE.iter().find_map(|kind| with_value(found, *kind)));
    let known = named(expected, &EXPECTED);
    let of_type = || EXPECTED_OF_TYPE.iter().find(|(kind, _)| expected.starts_with(kind)).map(|(_, words)| *words);
    let expected = known.as_deref().or_else(of_type).unwrap_or(expected);
    Some(format!("{field}found {}{BUT_EXPECTED}{expected}{place}", found?))
}

fn named(name: &str, names: &[(&str, &str)]) -> Option<String> {
    names.iter().find(|(of_parser, _)| *of_parser == name).map(|(_, words)| (*words).to_owned())
}

fn with_value(found: &str, (of_parser, words): (&str, &str)) -> Option<String> {
    found.strip_prefix(of_parser).map(|value| format!("{words}{value}"))
}

/// `kind: unknown value `simulatd`, expected one of `openai`, `simulated` at line 4 column 9; did you mean "simulated"?`.
fn unknown(message: &str) -> Option<String> {
    let split = |(of_parser, words): &(&str, &'static str)| Some((message.split_once(of_parser)?, *words));
    let ((field, rest), words) = UNKNOWN.iter().find_map(split)?;
    let (wanted, rest) = rest.split_once('`')?;
    // Without a last name there are none at all.
    let end = rest.rfind('`')? + 1;
    let (known, place) = rest.split_at(end);
    let meant = did_you_mean(wanted, known.split('`').skip(1).step_by(2));
    Some(format!("{field}{words}{wanted}`{known}{place}{meant}"))
}

/// `judge: unknown encoder "x" at line 4 column 9; did you mean "y"?`: parsers put the place behind what the type of a value has said.
fn guess(message: &str) -> Option<String> {
    let (said, place) = message.split_at(message.rfind(PLACE)?);
    let (problem, meant) = said.split_at(said.rfind(MEANT).filter(|_| said.ends_with('?'))?);
    Some(format!("{problem}{place}{meant}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_types_are_said_in_words() {
        for (of_parser, of_people) in [
            (
                "trials: invalid type: string \"three\", expected u16 at line 3 column 9",
                "trials: found the text \"three\", expected a whole number from 0 to 65535 at line 3 column 9",
            ),
            (
                "trials: invalid value: integer `-7`, expected u16 at line 3 column 9",
                "trials: found `-7`, expected a whole number from 0 to 65535 at line 3 column 9",
            ),
            ("invalid type: map, expected f64", "found a mapping of keys to values, expected a number"),
            (
                "invalid type: string \"hello\", expected struct SweepSpec",
                "found the text \"hello\", expected a mapping of keys to values",
            ),
            (
                "models: invalid type: string \"sim/oracle, expected x at line 1\", expected a sequence at line 4 column 9",
                "models: found the text \"sim/oracle, expected x at line 1\", expected a list at line 4 column 9",
            ),
            ("a: invalid type: boolean `true`, expected a string", "a: found `true`, expected a text"),
            (
                "trials: invalid type: unit value, expected u8",
                "trials: found nothing, expected a whole number from 0 to 255",
            ),
            (
                "models[0]: invalid type: sequence, expected `endpoint/model`, or a mapping with the field `id`",
                "models[0]: found a list, expected `endpoint/model`, or a mapping with the field `id`",
            ),
        ] {
            assert_eq!(plain_message(of_parser), of_people);
        }
    }

    #[test]
    fn an_unknown_name_comes_with_the_one_that_may_have_been_meant() {
        let said =
            "endpoints.a.kind: unknown variant `simulatd`, expected one of `openai`, `simulated` at line 4 column 9";
        let words = "endpoints.a.kind: unknown value `simulatd`, expected one of `openai`, `simulated` at line 4 \
                     column 9; did you mean \"simulated\"?";
        assert_eq!(plain_message(said), words);
        assert_eq!(plain_message("unknown variant `zzz`, expected `go`"), "unknown value `zzz`, expected `go`");
        assert_eq!(
            plain_message("unknown field `trails`, expected `name` or `trials` at line 2 column 1"),
            "unknown field `trails`, expected `name` or `trials` at line 2 column 1; did you mean \"trials\"?"
        );
    }

    #[test]
    fn a_guess_stands_behind_the_place() {
        let said =
            "benchmarks.a.evaluators: unknown evaluator \"offical\"; did you mean \"official\"? at line 2 column 4";
        let words =
            "benchmarks.a.evaluators: unknown evaluator \"offical\" at line 2 column 4; did you mean \"official\"?";
        assert_eq!(plain_message(said), words);
    }

    #[test]
    fn other_messages_are_as_they_are() {
        for message in [
            "trials: unknown field `x`, expected one of `a`, `b`",
            "unknown field `x`, there are no fields",
            "duplicate entry with key \"a\"",
            "invalid length 2, expected an array of length 3",
        ] {
            assert_eq!(plain_message(message), message);
        }
    }
}
