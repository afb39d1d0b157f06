//! Characters as Python's `re` and `str` class them; Rust differs in the details.

use std::sync::LazyLock;

/// First of each run of ten decimal digits (category Nd) of Unicode 15, as CPython 3.12 knows them. (3.11, by which all but
/// `OrchestrationBench` go, lacks the digits of Kawi and Nag Mundari.)
const ZEROS: [u32; 68] = [
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0,
    0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620,
    0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0,
    0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x11f50,
    0x16a60, 0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e4f0, 0x1e950,
    0x1fbf0,
];

/// `\s` and `str.isspace`: Unicode White_Space and the four information separators U+001C to U+001F.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// `str.strip`.
pub fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Offset of the characters that stand for lone surrogates. Python keeps them; Rust texts cannot, so each becomes its own character of a
/// plane for private use.
const SURROGATE_HOME: u32 = 0x10_0000;

/// The character that stands for a lone surrogate, `0xd800..=0xdfff`.
pub(crate) fn of_surrogate(code: u32) -> Option<char> {
    char::from_u32(SURROGATE_HOME + code)
}

/// `true` if the character stands for a lone surrogate.
pub(crate) fn is_surrogate(c: char) -> bool {
    (0xd800..0xe000).contains(&u32::from(c).wrapping_sub(SURROGATE_HOME))
}

/// The members of the class `\d`, for an engine whose own class knows digits that Python does not.
pub fn digit_class() -> &'static str {
    static CLASS: LazyLock<String> =
        LazyLock::new(|| ZEROS.iter().map(|zero| format!(r"\x{{{zero:x}}}-\x{{{:x}}}", zero + 9)).collect());
    &CLASS
}

/// The value of a character that `\d` matches and `int` accepts.
pub fn decimal_digit(c: char) -> Option<u8> {
    if c.is_ascii() {
        return c.is_ascii_digit().then(|| c as u8 - b'0');
    }
    let code = u32::from(c);
    let run = ZEROS.partition_point(|&zero| zero <= code);
    let value = code - ZEROS[run.checked_sub(1)?];
    u8::try_from(value).ok().filter(|&value| value < 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_includes_the_information_separators() {
        assert!(['\u{1c}', '\u{1f}', '\u{85}', '\u{a0}', '\u{3000}', '\u{b}'].into_iter().all(is_space));
        assert!(!['\u{1b}', '\u{200b}', '\u{feff}', 'x'].into_iter().any(is_space));
        assert_eq!(strip(" \u{1f}a b\u{1c}\r"), "a b");
    }

    #[test]
    fn decimal_digits_of_any_script_have_a_value() {
        assert_eq!("09٣９𝟗".chars().map(decimal_digit).collect::<Option<Vec<_>>>(), Some(vec![0, 9, 3, 9, 9]));
        assert!("a²½Ⅷ〇:/\u{660a}".chars().all(|c| decimal_digit(c).is_none()));
        assert_eq!(decimal_digit('\u{11f51}'), Some(1), "Unicode 15");
        assert_eq!(decimal_digit('\u{10d41}'), None, "Unicode 16");
    }

    #[test]
    fn digit_runs_are_sorted_for_the_search() {
        assert!(ZEROS.windows(2).all(|pair| pair[0] + 10 <= pair[1]));
    }
}
