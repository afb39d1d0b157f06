//! The values of single scalars.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::super::text::lower;
use super::{Date, DateTime, YamlError};

/// True or false; any other text is a `KeyError`.
pub(super) fn boolean(text: &str) -> Result<bool, YamlError> {
    match lower(text).as_str() {
        "yes" | "true" | "on" => Ok(true),
        "no" | "false" | "off" => Ok(false),
        _ => Err(YamlError::Exception { kind: "KeyError" }),
    }
}

/// A day or a moment.
#[derive(Debug, Clone, Copy)]
pub(super) enum Timestamp {
    /// Without a time of day.
    Date(Date),
    /// With one.
    DateTime(DateTime),
}

static TIMESTAMP: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"^(?<year>[0-9]{4})-(?<month>[0-9]{1,2})-(?<day>[0-9]{1,2})(?:(?:[Tt]|[ \t]+)(?<hour>[0-9]{1,2})",
        r":(?<minute>[0-9]{2}):(?<second>[0-9]{2})(?:\.(?<fraction>[0-9]*))?",
        r"(?:[ \t]*(?<zone>Z|(?<sign>[-+])(?<zone_hour>[0-9]{1,2})(?::(?<zone_minute>[0-9]{2}))?))?)?$",
    ))
    .ok()
});

/// The day or moment that a text names.
pub(super) fn timestamp(text: &str) -> Result<Timestamp, YamlError> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let parts = TIMESTAMP.as_ref().and_then(|regex| regex.captures(text));
    // Python's code uses the match without looking whether there is one.
    let parts = parts.ok_or(YamlError::Exception { kind: "AttributeError" })?;
    moment(&parts).ok_or(YamlError::Exception { kind: "ValueError" })
}

fn moment(parts: &Captures<'_>) -> Option<Timestamp> {
    let number = |name: &str| parts.name(name).map(|part| part.as_str().parse::<u16>().unwrap_or(u16::MAX));
    let small = |name: &str| number(name).and_then(|number| u8::try_from(number).ok());
    let date = Date::new(number("year")?, small("month")?, small("day")?);
    let Some(hour) = small("hour") else { return date.map(Timestamp::Date) };
    let fraction: String = parts.name("fraction").map_or("", |part| part.as_str()).chars().take(6).collect();
    let microsecond = format!("{fraction:0<6}").parse().ok()?;
    let offset = if let Some(sign) = parts.name("sign") {
        let minutes = number("zone_hour")? * 60 + number("zone_minute").unwrap_or(0);
        // Python's time zones are less than a day away.
        let minutes = i16::try_from(minutes).ok().filter(|minutes| *minutes < 24 * 60)?;
        Some(if sign.as_str() == "-" { -minutes } else { minutes })
    } else {
        parts.name("zone").map(|_| 0)
    };
    let (minute, second) = (small("minute")?, small("second")?);
    (hour < 24 && minute < 60 && second < 60).then_some(())?;
    Some(Timestamp::DateTime(DateTime { date: date?, hour, minute, second, microsecond, offset }))
}

/// Bytes in base 64, read as leniently as Python does: what is no digit of it is passed over. `None` for a wrong number of
/// digits, and for a text that is not ASCII.
pub(super) fn binary(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() {
        return None;
    }
    let (mut bytes, mut digits, mut left, mut pads) = (Vec::new(), 0_u8, 0_u8, 0_u8);
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => {
                if digits >= 2 {
                    pads += 1;
                    if digits + pads >= 4 {
                        return Some(bytes);
                    }
                }
                continue;
            }
            _ => continue,
        };
        pads = 0;
        match digits {
            0 => {}
            1 => bytes.push(left << 2 | value >> 4),
            2 => bytes.push(left << 4 | value >> 2),
            _ => bytes.push(left << 6 | value),
        }
        left = match digits {
            1 => value & 0xf,
            2 => value & 0x3,
            _ => value,
        };
        digits = (digits + 1) % 4;
    }
    (digits == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_64_is_read_leniently() {
        assert_eq!(binary("aGV\nsbG8=").as_deref(), Some(b"hello".as_slice()));
        assert_eq!(binary("aG V*sbG8=rest").as_deref(), Some(b"hello".as_slice()));
        assert_eq!(binary("=").as_deref(), Some(b"".as_slice()));
        assert!(["a", "aG", "aGV", "aG=", "é"].into_iter().all(|text| binary(text).is_none()));
    }
}
