//! Whole numbers and floats of YAML 1.1, and what Python's `int` and `float` say of other texts that are tagged as such.

use num_bigint::BigInt;

use super::super::character::{decimal_digit, is_space};
use super::super::json::{DIGITS_MAX, Int};
use super::super::text::lower;
use super::YamlError;

/// Most characters of a number that is not decimal; Python knows no such limit.
const CHARACTERS_MAX: usize = 10_000;

const fn exception<T>(kind: &'static str) -> Result<T, YamlError> {
    Err(YamlError::Exception { kind })
}

/// The integer of a text.
pub(super) fn int(text: &str) -> Result<Int, YamlError> {
    let text = text.replace('_', "");
    let (negative, digits) = sign(&text)?;
    if digits == "0" {
        return Ok(Int::from(0));
    }
    let number = if let Some(digits) = digits.strip_prefix("0b") {
        python_int(digits, 2)?
    } else if let Some(digits) = digits.strip_prefix("0x") {
        python_int(digits, 16)?
    } else if digits.starts_with('0') {
        python_int(digits, 8)?
    } else if digits.contains(':') {
        if digits.len() > CHARACTERS_MAX {
            return Err(YamlError::TooLarge);
        }
        let mut number = BigInt::ZERO;
        for part in digits.split(':') {
            number = number * 60 + python_int(part, 10)?;
        }
        number
    } else if digits.is_empty() {
        return exception("IndexError");
    } else {
        python_int(digits, 10)?
    };
    Ok(Int::from_json(&if negative { -number } else { number }.to_string()))
}

/// The sign that comes first, and the rest.
fn sign(text: &str) -> Result<(bool, &str), YamlError> {
    match text.chars().next() {
        None => exception("IndexError"),
        Some('-') => Ok((true, text.get(1..).unwrap_or_default())),
        Some('+') => Ok((false, text.get(1..).unwrap_or_default())),
        Some(_) => Ok((false, text)),
    }
}

/// `int(text, base)` of a text without underscores.
#[expect(clippy::expect_used, reason = "0 would be another number")]
fn python_int(text: &str, base: u32) -> Result<BigInt, YamlError> {
    let mut ascii = String::with_capacity(text.len());
    for c in text.trim_matches(is_space).chars() {
        ascii.push(decimal_digit(c).map_or(c, |digit| char::from(b'0' + digit)));
    }
    let (negative, mut digits) = match ascii.as_bytes().first() {
        Some(b'-') => (true, ascii.get(1..).unwrap_or_default()),
        Some(b'+') => (false, ascii.get(1..).unwrap_or_default()),
        _ => (false, ascii.as_str()),
    };
    let prefix = match base {
        2 => ["0b", "0B"],
        8 => ["0o", "0O"],
        16 => ["0x", "0X"],
        _ => ["\0", "\0"],
    };
    digits = prefix.iter().find_map(|prefix| digits.strip_prefix(prefix)).unwrap_or(digits);
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(base)) {
        return exception("ValueError");
    }
    if base == 10 && digits.len() > DIGITS_MAX {
        return exception("ValueError");
    }
    if digits.len() > CHARACTERS_MAX {
        return Err(YamlError::TooLarge);
    }
    let number = BigInt::parse_bytes(digits.as_bytes(), base).expect("every character is a digit of the base");
    Ok(if negative { -number } else { number })
}

/// The float of a text.
pub(super) fn float(text: &str) -> Result<f64, YamlError> {
    let text = lower(&text.replace('_', ""));
    let (negative, digits) = sign(&text)?;
    let number = match digits {
        ".inf" => f64::INFINITY,
        ".nan" => return Ok(f64::NAN),
        _ if digits.contains(':') => {
            let parts = digits.split(':').map(python_float).collect::<Result<Vec<_>, _>>()?;
            let (mut number, mut base) = (0.0, BigInt::from(1));
            for part in parts.into_iter().rev() {
                // Through its digits, so that it is rounded as Python rounds it.
                let factor: f64 = base.to_string().parse().unwrap_or(f64::INFINITY);
                if factor.is_infinite() {
                    return exception("OverflowError");
                }
                number += part * factor;
                base *= 60;
            }
            number
        }
        _ => python_float(digits)?,
    };
    Ok(if negative { -number } else { number })
}

/// `float(text)` of a text without underscores.
fn python_float(text: &str) -> Result<f64, YamlError> {
    let in_ascii = |c: char| decimal_digit(c).map_or(c, |digit| char::from(b'0' + digit));
    let text: String = text.trim_matches(is_space).chars().map(in_ascii).collect();
    text.parse().or(exception("ValueError"))
}
