//! Memory that JSON takes once it is parsed, from its text alone.

use std::io;

/// Bytes of an array that has elements: room for the first four.
const ARRAY: u64 = 320;
/// Bytes of an object that has members: its table, and room for the first four.
const OBJECT: u64 = 560;
/// Bytes of each further element: its place in a list that doubles when it is full, and is copied then.
const ELEMENT: u64 = 144;
/// Bytes of each further member: such a place, which holds a key and a hash too; one in a table that doubles as well; and the piece of
/// memory of its key, which is not smaller for a key of one letter.
const MEMBER: u64 = 272;

/// Depth at which `serde_json` reads no further.
const DEPTH_MAX: u32 = 128;

/// Bytes that `text` takes as a `serde_json::Value`, with its texts, while it is parsed and after: an upper bound that small values come
/// near to, and about the length of `text` where it is one long string. Any bytes may be given; of what is no JSON it counts no more than
/// what comes before the place where that shows.
#[must_use]
pub fn parsed_bytes(text: &[u8]) -> u64 {
    let mut counted = ParsedBytes::default();
    counted.read(text);
    counted.total()
}

/// The same of a text that comes in pieces, and need not be in memory as a whole.
#[derive(Debug, Default)]
pub struct ParsedBytes {
    text: u64,
    values: u64,
    place: Place,
    depth: u32,
    /// Lists that are open, the innermost as the last bit: 1 for an object.
    objects: u128,
    /// Room of the list that has just begun; of one that ends at once nothing is taken.
    opened: u64,
}

/// Place in a text up to which it was read.
#[derive(Debug, Default)]
enum Place {
    #[default]
    Values,
    String,
    /// After a backslash in a string.
    Escape,
    /// Behind what no parser reads.
    Beyond,
}

impl ParsedBytes {
    /// Goes on with the next `piece`.
    pub fn read(&mut self, piece: &[u8]) {
        self.text += piece.len() as u64;
        let mut rest = piece.iter();
        loop {
            let next = match self.place {
                Place::String => rest.find(|byte| matches!(byte, b'"' | b'\\')),
                Place::Values | Place::Escape => rest.next(),
                Place::Beyond => return,
            };
            let Some(byte) = next else { return };
            self.step(*byte);
        }
    }

    /// Bytes of the text so far.
    #[must_use]
    pub const fn text(&self) -> u64 {
        self.text
    }

    /// Bytes that it takes once it is parsed, those of the text included.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.text + self.values
    }

    fn step(&mut self, byte: u8) {
        match self.place {
            Place::Values => self.step_in_values(byte),
            Place::String if byte == b'\\' => self.place = Place::Escape,
            Place::String => self.place = Place::Values,
            Place::Escape => self.place = Place::String,
            Place::Beyond => {}
        }
    }

    fn step_in_values(&mut self, byte: u8) {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => return,
            b'[' | b'{' => {
                self.depth += 1;
                if self.depth > DEPTH_MAX {
                    self.place = Place::Beyond;
                    return;
                }
                let is_object = byte == b'{';
                self.objects = self.objects << 1 | u128::from(is_object);
                self.opened = if is_object { OBJECT } else { ARRAY };
                self.values += self.opened;
                return;
            }
            b']' | b'}' => {
                let Some(less) = self.depth.checked_sub(1) else {
                    self.place = Place::Beyond;
                    return;
                };
                self.depth = less;
                self.objects >>= 1;
                self.values -= self.opened;
            }
            b'"' => self.place = Place::String,
            b',' => self.values += if self.objects & 1 == 1 { MEMBER } else { ELEMENT },
            _ => {}
        }
        self.opened = 0;
    }
}

impl io::Write for ParsedBytes {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.read(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_takes_its_length_whatever_it_says() {
        for text in [&br#""a, [b], {c} \" \\""#[..], b"12345", b"[]", b"{ }", b"]]", b"", b"\"open", b"\"\\", b"[}"] {
            assert_eq!(parsed_bytes(text), text.len() as u64, "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn small_values_take_many_times_their_text() {
        assert_eq!(parsed_bytes(b"[[],[]]"), 7 + ARRAY + ELEMENT);
        assert_eq!(parsed_bytes(br#"{"a":[1],"b":{}}"#), 16 + OBJECT + ARRAY + MEMBER);
        assert_eq!(parsed_bytes(br#"[{"a":[1,2]},3,{}]"#), 18 + ARRAY + OBJECT + ARRAY + 3 * ELEMENT);
    }

    #[test]
    fn what_is_nested_too_deeply_to_be_parsed_takes_no_more_than_what_is_read() {
        assert_eq!(parsed_bytes("[".repeat(200_000).as_bytes()), 200_000 + u64::from(DEPTH_MAX) * ARRAY);
    }

    proptest! {
        #[test]
        fn a_text_takes_the_same_wherever_it_is_cut(text in r#"[\[\]{}",:\\ 1x]{0,60}"#, cut in 0_usize..60) {
            let (before, after) = text.as_bytes().split_at(cut.min(text.len()));
            let mut counted = ParsedBytes::default();
            counted.read(before);
            counted.read(after);
            prop_assert_eq!(counted.total(), parsed_bytes(text.as_bytes()));
            prop_assert_eq!(counted.text(), text.len() as u64);
        }
    }
}
