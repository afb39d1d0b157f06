//! Bounds what the aliases of a YAML document expand to.
//!
//! A parser copies the node that an alias names: a text of 60 KB that 30,000 aliases repeat is 1.8 GB in memory, from a document of less than
//! a megabyte. So the expanded document is weighed before it is read into anything; the parser that weighs it lends its texts.

use std::cell::Cell;
use std::fmt;

use serde::de::{self, DeserializeSeed, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};

/// Bytes that aliases may add to what a document of the same length without any weighs at most.
const ADDED_MAX: usize = 16 << 20;
/// Weight of a node beside its text, in bytes.
const NODE: usize = 64;
/// Fewest bytes of a document that a node takes: a character and what parts it from the next.
const NODE_BYTES_MIN: usize = 2;

/// Refuses a document whose aliases expand to much more than a document of its length without any.
///
/// # Errors
/// Too large an expansion, with the size allowed. A document that cannot be read is not refused here: the error of whoever reads it says where.
pub(super) fn check(text: &str) -> Result<(), String> {
    if !text.contains('*') {
        return Ok(()); // without an alias
    }
    let most = text.len() / NODE_BYTES_MIN * (NODE + NODE_BYTES_MIN) + ADDED_MAX;
    let left = Cell::new(Some(most));
    let _ = Weighed(&left).deserialize(serde_yaml_ng::Deserializer::from_str(text));
    if left.get().is_none() {
        return Err(format!(
            "the aliases (`*name`) repeat so much that the document would take more than {} MiB; write it out, or repeat less",
            most >> 20
        ));
    }
    Ok(())
}

/// Takes the weight of everything that is read off what is left; `None` once that is exceeded, which ends the reading.
#[derive(Clone, Copy)]
struct Weighed<'l>(&'l Cell<Option<usize>>);

impl Weighed<'_> {
    fn weigh<E: de::Error>(self, text: usize) -> Result<(), E> {
        self.0.set(self.0.get().and_then(|left| left.checked_sub(NODE + text)));
        self.0.get().map(|_| ()).ok_or_else(|| E::custom("too heavy"))
    }
}

impl<'de> DeserializeSeed<'de> for Weighed<'_> {
    type Value = ();

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Weighed<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any node")
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<(), E> {
        self.weigh(0)
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<(), E> {
        self.weigh(0)
    }

    fn visit_i128<E: de::Error>(self, _: i128) -> Result<(), E> {
        self.weigh(0)
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<(), E> {
        self.weigh(0)
    }

    fn visit_u128<E: de::Error>(self, _: u128) -> Result<(), E> {
        self.weigh(0)
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<(), E> {
        self.weigh(0)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<(), E> {
        self.weigh(text.len())
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        self.weigh(0)
    }

    fn visit_none<E: de::Error>(self) -> Result<(), E> {
        self.weigh(0)
    }

    fn visit_some<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_newtype_struct<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut nodes: A) -> Result<(), A::Error> {
        self.weigh(0)?;
        while nodes.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        self.weigh(0)?;
        while entries.next_key_seed(self)?.is_some() {
            entries.next_value_seed(self)?;
        }
        Ok(())
    }

    /// A node with a tag.
    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<(), A::Error> {
        let ((), content) = tagged.variant_seed(self)?;
        content.newtype_variant_seed(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeated(anchored: &str, aliases: usize) -> String {
        format!("anchored: &long {anchored}\nall: [{}]\n", vec!["*long"; aliases].join(", "))
    }

    #[test]
    fn a_long_text_may_not_be_repeated_until_memory_ends() {
        let text = "x".repeat(60_000);
        assert_eq!(check(&repeated(&text, 100)), Ok(()));
        let refused = check(&repeated(&text, 30_000)).unwrap_err();
        assert!(
            refused.starts_with("the aliases (`*name`) repeat so much that the document would take more than 2"),
            "{refused}"
        );
        check(&repeated(&format!("{{ a: !tagged [\"{text}\"] }}"), 30_000)).unwrap_err();
    }

    #[test]
    fn what_has_no_aliases_is_never_refused() {
        for node in ["1", "''", "~", "a", "[]"] {
            let many = format!("[{}] # *", vec![node; 400_000].join(","));
            assert_eq!(check(&many), Ok(()), "{node}");
        }
    }

    #[test]
    fn a_document_that_cannot_be_read_is_left_to_its_reader() {
        assert_eq!(check("a: *unknown"), Ok(()));
        assert_eq!(check("a: [*"), Ok(()));
    }
}
