//! Documents of counts and amounts that others wrote: read only if no sum of their numbers overflows.

use std::fmt;

use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// Most that the whole numbers of a document come to together, without their signs: any sum over parts of it, and over several such sums,
/// fits into 64 bits, so that no reader has to look after each addition. In nano-dollars it is a billion dollars.
const SUM_MAX: u64 = 1_000_000_000_000_000_000;

/// Reads a JSON document of counts and amounts that somebody else may have written.
///
/// # Errors
/// When the bytes are not the JSON of a `T`, or when its whole numbers come to more than 10^18 together; the error names the field.
pub fn read_untrusted_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    let document = serde_json::from_slice(bytes)?;
    let mut left = SUM_MAX;
    Numbers { left: &mut left, place: &Place::Document }
        .deserialize(&mut serde_json::Deserializer::from_slice(bytes))?;
    Ok(document)
}

/// A value whose whole numbers are counted off.
struct Numbers<'n> {
    /// Amount that the rest of the document may come to.
    left: &'n mut u64,
    place: &'n Place<'n>,
}

/// Position of a value, as in `rows[2].sessions.total`.
enum Place<'p> {
    Document,
    Field(&'p Place<'p>, &'p str),
    Entry(&'p Place<'p>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Document => f.write_str("the document"),
            Self::Field(Self::Document, name) => f.write_str(name),
            Self::Field(within, name) => write!(f, "{within}.{name}"),
            Self::Entry(within, at) => write!(f, "{within}[{at}]"),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Numbers<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Numbers<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<(), E> {
        match self.left.checked_sub(number) {
            Some(left) => {
                *self.left = left;
                Ok(())
            }
            None => Err(E::custom(format!(
                "{} is {number}, which is too much: whole numbers of a document come to at most {SUM_MAX} together",
                self.place
            ))),
        }
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<(), E> {
        self.visit_u64(number.unsigned_abs())
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let mut at = 0;
        loop {
            let place = Place::Entry(self.place, at);
            let entry = Numbers { left: &mut *self.left, place: &place };
            if entries.next_element_seed(entry)?.is_none() {
                return Ok(());
            }
            at += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(name) = fields.next_key::<String>()? {
            let place = Place::Field(self.place, &name);
            fields.next_value_seed(Numbers { left: &mut *self.left, place: &place })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(document: &Value) -> Result<Value, String> {
        read_untrusted_json(document.to_string().as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_number_with_which_a_sum_could_overflow_is_refused_with_its_field() {
        insta::assert_snapshot!(
            read(&json!({ "v": 1, "rows": [{ "total": 60 }, { "total": u64::MAX }] })).unwrap_err(),
            @"rows[1].total is 18446744073709551615, which is too much: whole numbers of a document come to at most 1000000000000000000 together at line 1 column 57"
        );
        insta::assert_snapshot!(
            read(&json!([-1, i64::MIN])).unwrap_err(),
            @"the document[1] is 9223372036854775808, which is too much: whole numbers of a document come to at most 1000000000000000000 together at line 1 column 24"
        );
    }

    #[test]
    fn numbers_are_bounded_together_and_not_one_by_one() {
        let half = SUM_MAX / 2;
        let whole = json!({ "one": half, "other": [half], "name": "x", "is": true, "of": null, "seconds": 1e300 });
        assert_eq!(read(&whole).unwrap(), whole);
        assert!(read(&json!({ "one": half, "other": [half], "more": 1 })).unwrap_err().starts_with("more is 1, "));
    }

    #[test]
    fn a_text_that_is_no_such_document_is_refused_as_ever() {
        let error = read_untrusted_json::<Vec<u64>>(b"[1, 2").unwrap_err();
        assert_eq!(error.to_string(), serde_json::from_slice::<Vec<u64>>(b"[1, 2").unwrap_err().to_string());
        assert!(read_untrusted_json::<Vec<u64>>(b"[1] 2").is_err());
    }
}
