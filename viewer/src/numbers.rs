//! Numbers as people read them.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use regatta_proto::{CostSum, Money, Usage};

/// Shown in place of a missing value.
pub(crate) const NOTHING: &str = "–";

/// A count with a thin space between thousands.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// A count with its noun: `1 item`, `12 items`.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// A value with at most three decimals; never a negative zero.
pub(crate) fn score(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// A score that may be missing.
pub(crate) fn maybe(value: Option<f64>) -> String {
    value.map_or_else(|| NOTHING.to_owned(), score)
}

/// Part of a whole in percent; 100 only for the whole.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return NOTHING.to_owned();
    }
    // Only all is 100 and only nothing is 0, as in reports.
    let tenths = (u128::from(part) * 2000 / u128::from(whole)).div_ceil(2);
    let tenths = if part == 0 || part >= whole { tenths } else { tenths.clamp(1, 999) };
    match tenths % 10 {
        0 => format!("{}\u{202f}%", tenths / 10),
        tenth => format!("{}.{tenth}\u{202f}%", tenths / 10),
    }
}

/// A duration in seconds, in the unit that fits.
pub(crate) fn seconds(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return NOTHING.to_owned();
    }
    match seconds {
        s if s < 1.0 => format!("{:.0}\u{202f}ms", s * 1000.0),
        s if s < 10.0 => format!("{s:.1}\u{202f}s"),
        s if s < 120.0 => format!("{s:.0}\u{202f}s"),
        s if s < 7200.0 => format!("{:.0}\u{202f}min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1}\u{202f}h", s / 3600.0),
        s => format!("{:.1}\u{202f}days", s / 86_400.0),
    }
}

/// A duration in microseconds, in the unit that fits.
pub(crate) fn micros(microseconds: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let as_seconds = microseconds as f64 / 1e6;
    seconds(as_seconds)
}

/// Money, and the number of calls without a known price.
pub(crate) fn cost(cost: CostSum) -> String {
    let unknown = || counted(cost.unknown_calls, "call", "calls");
    match (cost.known, cost.unknown_calls) {
        (known, 0) => known.to_string(),
        (Money::ZERO, _) => format!("unknown ({})", unknown()),
        (known, _) => format!("{known} and {} of unknown price", unknown()),
    }
}

/// Tokens in and out, as lower bounds where those of a call are unknown.
pub(crate) fn tokens(usage: Usage) -> String {
    format!("{} in, {} out", usage.shown(usage.input, count), usage.shown(usage.output, count))
}

/// A moment in UTC, to the second.
pub(crate) fn moment(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_at_a_glance() {
        assert_eq!(count(0), "0");
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(score(0.5), "0.5");
        assert_eq!(score(-0.0001), "0");
        assert_eq!(percent(9_999, 10_000), "99.9\u{202f}%");
        assert_eq!(percent(1, 10_000), "0.1\u{202f}%");
        assert_eq!(
            [percent(95, 200), percent(1, 3), percent(2, 3)],
            ["47.5\u{202f}%", "33.3\u{202f}%", "66.7\u{202f}%"]
        );
        assert_eq!(percent(1, 0), NOTHING);
        assert_eq!(seconds(0.0123), "12\u{202f}ms");
        assert_eq!(seconds(3700.0), "62\u{202f}min");
        assert_eq!(seconds(f64::INFINITY), NOTHING);
        assert_eq!([counted(1, "item", "items"), counted(1_200, "item", "items")], ["1 item", "1\u{202f}200 items"]);
    }

    #[test]
    fn an_unknown_price_is_no_zero() {
        let of = |known, unknown_calls| cost(CostSum { known: Money(known), unknown_calls });
        assert_eq!(of(0, 0), "$0");
        assert_eq!(of(0, 1), "unknown (1 call)");
        assert_eq!(of(2_000_000_000, 2), "$2.00 and 2 calls of unknown price");
    }
}
