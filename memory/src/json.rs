//! Memory that JSON takes once it is parsed, from its text alone.

/// Bytes of an array that has elements: room for the first four.
const ARRAY: u64 = 320;
/// Bytes of an object that has members: its table, and room for the first four.
const OBJECT: u64 = 560;
/// Bytes of each further element or member: its place in a list that doubles when it is full, and is copied then.
const ELEMENT: u64 = 144;

/// Depth at which `serde_json` reads no further.
const DEPTH_MAX: u32 = 128;

/// Bytes that `text` takes as a `serde_json::Value`, with its texts, while it is parsed and after: an upper bound that small values come
/// near to, and about the length of `text` where it is one long string. Any bytes may be given; of what is no JSON it counts no more than
/// what comes before the place where that shows.
#[must_use]
pub fn parsed_bytes(text: &[u8]) -> u64 {
    let mut bytes = text.len() as u64;
    let mut rest = text.iter();
    // Room of the list that has just begun; of one that ends at once nothing is taken.
    let (mut depth, mut opened) = (0_u32, 0);
    while let Some(byte) = rest.next() {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => continue,
            b'"' => {
                while let Some(byte) = rest.next() {
                    match byte {
                        b'\\' => drop(rest.next()),
                        b'"' => break,
                        _ => {}
                    }
                }
                opened = 0;
            }
            b'[' | b'{' => {
                depth += 1;
                if depth > DEPTH_MAX {
                    break;
                }
                opened = if *byte == b'[' { ARRAY } else { OBJECT };
                bytes += opened;
            }
            b']' | b'}' => {
                let Some(less) = depth.checked_sub(1) else { break };
                depth = less;
                bytes -= std::mem::take(&mut opened);
            }
            b',' => {
                bytes += ELEMENT;
                opened = 0;
            }
            _ => opened = 0,
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
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
        assert_eq!(parsed_bytes(br#"{"a":[1],"b":{}}"#), 16 + OBJECT + ARRAY + ELEMENT);
    }

    #[test]
    fn what_is_nested_too_deeply_to_be_parsed_takes_no_more_than_what_is_read() {
        assert_eq!(parsed_bytes("[".repeat(200_000).as_bytes()), 200_000 + u64::from(DEPTH_MAX) * ARRAY);
    }
}
