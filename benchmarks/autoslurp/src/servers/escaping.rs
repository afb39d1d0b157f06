//! Characters that a URL cannot hold.

/// A part of a URL with everything escaped that must be. Percent signs are taken for escapes when all of them can be, else for themselves.
pub(super) fn escape(part: &str) -> String {
    let bytes = part.as_bytes();
    let is_escape =
        |at: usize| bytes.get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    let are_escapes = bytes.iter().enumerate().all(|(at, byte)| *byte != b'%' || is_escape(at));
    let mut escaped = String::with_capacity(part.len());
    for c in part.chars() {
        match c {
            '%' if !are_escapes => escaped.push_str("%25"),
            '!'..='~' => escaped.push(c),
            c => escaped.extend(c.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("%{byte:02X}"))),
        }
    }
    escaped
}
