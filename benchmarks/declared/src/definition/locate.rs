//! The line of a place in a YAML document, for errors that are found after it was read.

use std::fmt;

use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserializer, de};

/// Line of the value at `path` in `text`, counted from 1. A path has keys and positions, as `prompt.turns[0].user`. The line of its
/// parent where it is not there itself; `None` where the text is no YAML.
pub(crate) fn line_of(text: &str, path: &str) -> Option<usize> {
    let steps = steps(path);
    // From the whole path to shorter ones, until one leads somewhere.
    (0..=steps.len()).rev().find_map(|length| {
        let seek = Seek(&steps[..length]);
        let error = seek.deserialize(serde_yaml_ng::Deserializer::from_str(text)).err()?;
        Some(error.location()?.line())
    })
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    Position(usize),
}

fn steps(path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for part in path.split('.').filter(|part| !part.is_empty()) {
        let mut pieces = part.split('[');
        steps.extend(pieces.next().filter(|key| !key.is_empty()).map(|key| Step::Key(key.to_owned())));
        let positions = pieces.filter_map(|piece| piece.trim_end_matches(']').parse().ok());
        steps.extend(positions.map(Step::Position));
    }
    steps
}

/// Follows a path and fails at its end, on purpose: the error of the reader has the line there.
#[derive(Clone, Copy)]
struct Seek<'p>(&'p [Step]);

impl<'de> DeserializeSeed<'de> for Seek<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Seek<'_> {
    fn at_a_leaf<E: de::Error>(self) -> Result<(), E> {
        if self.0.is_empty() { Err(E::custom("here")) } else { Ok(()) }
    }
}

impl<'de> Visitor<'de> for Seek<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((first, rest)) = self.0.split_first() else { return Err(A::Error::custom("here")) };
        while let Some(key) = map.next_key::<serde_yaml_ng::Value>()? {
            if matches!(first, Step::Key(wanted) if key.as_str() == Some(wanted)) {
                map.next_value_seed(Seek(rest))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Some((first, rest)) = self.0.split_first() else { return Err(A::Error::custom("here")) };
        let mut at = 0;
        loop {
            let found = if *first == Step::Position(at) {
                seq.next_element_seed(Seek(rest))?.is_some()
            } else {
                seq.next_element::<IgnoredAny>()?.is_some()
            };
            if !found {
                return Ok(());
            }
            at += 1;
        }
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<(), E> {
        self.at_a_leaf()
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<(), E> {
        self.at_a_leaf()
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<(), E> {
        self.at_a_leaf()
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<(), E> {
        self.at_a_leaf()
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<(), E> {
        self.at_a_leaf()
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        self.at_a_leaf()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "v: 1\nprompt:\n  system: hello\n  turns:\n    - user: |\n        one\n        two\n    - { user: three }\n";

    #[test]
    fn a_path_leads_to_its_line_and_one_that_is_not_there_to_its_parent() {
        let found =
            ["v", "prompt.system", "prompt.turns[0].user", "prompt.turns[1].user", "prompt.turns[7]", "nowhere"]
                .map(|path| line_of(TEXT, path));
        assert_eq!(found, [Some(1), Some(3), Some(5), Some(8), Some(5), Some(1)]);
    }
}
