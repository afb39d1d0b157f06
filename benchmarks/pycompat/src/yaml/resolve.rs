//! Types of nodes: by the tag, or by the text of a plain scalar.

use std::sync::LazyLock;

use regex::Regex;

/// A type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    /// Nothing.
    Null,
    /// True or false.
    Bool,
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// Bytes in base 64.
    Binary,
    /// A day or a moment.
    Timestamp,
    /// A list of single entries.
    Omap,
    /// The same.
    Pairs,
    /// A set.
    Set,
    /// A text.
    Str,
    /// A list.
    Seq,
    /// A dict.
    Map,
    /// `<<`
    Merge,
    /// `=`
    Value,
    /// Any other: no value can be made of it.
    Unknown,
}

impl Tag {
    /// The type of a tag in full.
    pub(super) fn named(tag: &str) -> Self {
        match tag.strip_prefix("tag:yaml.org,2002:") {
            Some("null") => Self::Null,
            Some("bool") => Self::Bool,
            Some("int") => Self::Int,
            Some("float") => Self::Float,
            Some("binary") => Self::Binary,
            Some("timestamp") => Self::Timestamp,
            Some("omap") => Self::Omap,
            Some("pairs") => Self::Pairs,
            Some("set") => Self::Set,
            Some("str") => Self::Str,
            Some("seq") => Self::Seq,
            Some("map") => Self::Map,
            Some("merge") => Self::Merge,
            Some("value") => Self::Value,
            _ => Self::Unknown,
        }
    }
}

static INT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        "^(?:[-+]?0b[01_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+",
        "|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)$",
    ))
    .ok()
});

static FLOAT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?",
        r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
    ))
    .ok()
});

static TIMESTAMP: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"^(?:[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}",
        r"(?:\.[0-9]*)?(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?)$",
    ))
    .ok()
});

/// The type of a scalar that has neither tag nor quotes.
pub(super) fn resolve(text: &str) -> Tag {
    let matches = |regex: &LazyLock<Option<Regex>>, text: &str| {
        LazyLock::force(regex).as_ref().is_some_and(|regex| regex.is_match(text))
    };
    // A `$` of Python also stands before a last end of line.
    let ended = text.strip_suffix('\n').filter(|text| !text.is_empty());
    match ended.unwrap_or(text) {
        "" | "~" | "null" | "Null" | "NULL" => Tag::Null,
        "yes" | "Yes" | "YES" | "no" | "No" | "NO" | "true" | "True" | "TRUE" | "false" | "False" | "FALSE" | "on"
        | "On" | "ON" | "off" | "Off" | "OFF" => Tag::Bool,
        "<<" => Tag::Merge,
        "=" => Tag::Value,
        "!" | "&" | "*" => Tag::Unknown,
        text if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) => Tag::Str,
        text if matches(&FLOAT, text) => Tag::Float,
        text if matches(&INT, text) => Tag::Int,
        text if matches(&TIMESTAMP, text) => Tag::Timestamp,
        _ => Tag::Str,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_plain_scalar_decides_its_type() {
        let all = |tag: Tag, texts: &[&str]| texts.iter().for_each(|text| assert_eq!(resolve(text), tag, "{text:?}"));
        all(Tag::Null, &["", "~", "null", "NULL", "~\n"]);
        all(Tag::Bool, &["yes", "No", "ON", "off", "True"]);
        all(Tag::Int, &["0", "-7", "+1_000", "012", "0x_F", "0b1", "0_", "1:30", "190:20:30"]);
        all(Tag::Float, &["1.", "1.5e+3", ".5", "1_0.5", "1:30.5", "-.inf", ".NaN", "09.5"]);
        all(Tag::Timestamp, &["2025-08-01", "2025-13-99", "2025-8-1 1:02:03.4 +9:30", "2025-08-01T00:00:00Z"]);
        all(
            Tag::Str,
            &["y", "yEs", "08", "0o7", "1e5", "1.5e3", "+.nan", "1:60", "2025-8-1", "\n", "-", "+", ".", "_1"],
        );
    }
}
