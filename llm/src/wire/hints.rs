//! Reads the headers about rate limits that are used up.
//!
//! Names from the references of OpenAI (also Azure, Groq, LiteLLM), Anthropic and OpenRouter. The reset of a limit comes in every form: as
//! a duration (`6m0s`, `20ms`), in seconds, or as a moment (RFC 3339, seconds or milliseconds since 1970).

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use regatta_proto::Clock;
use reqwest::header::HeaderMap;

use super::Hints;
use crate::retry_after::now_of;

/// Headers with the rest of a limit, and with the time of its reset.
const LIMITS: [(&str, &str); 9] = [
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
    ("ratelimit-remaining", "ratelimit-reset"),
    ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
    ("anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"),
    ("anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"),
    ("x-tokenlimit-remaining", "x-tokenlimit-reset"),
];
/// Longest wait that is believed: limits count by the minute, the hour or the day.
const WAIT_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// Number from which a value is a moment in seconds since 1970 and no duration: as a moment it is in 2001, as a duration 31 years.
const MOMENTS_FROM: f64 = 1e9;
/// Number from which a value is a moment in milliseconds.
const MILLIS_FROM: f64 = 1e11;

/// Reads the headers of an answer.
pub(crate) fn of(headers: &HeaderMap, clock: &dyn Clock) -> Hints {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let is_used_up = |name: &str| text(name).and_then(|left| left.parse::<f64>().ok()).is_some_and(|left| left <= 0.0);
    let waits = LIMITS.iter().filter(|(remaining, _)| is_used_up(remaining));
    let exhausted_for = waits.filter_map(|(_, reset)| wait(text(reset)?, || now_of(headers, clock))).max();
    Hints { exhausted_for: exhausted_for.filter(|wait| !wait.is_zero()).map(|wait| wait.min(WAIT_MAX)) }
}

fn wait(reset: &str, now: impl Fn() -> Timestamp) -> Option<Duration> {
    let until = |moment: Timestamp| Duration::try_from(moment.duration_since(now())).unwrap_or(Duration::ZERO);
    if let Ok(number) = reset.parse::<f64>() {
        let since_1970 = match number {
            MILLIS_FROM.. => number / 1e3,
            MOMENTS_FROM.. => number,
            _ => return Duration::try_from_secs_f64(number).ok(),
        };
        let since_1970 = SignedDuration::try_from_secs_f64(since_1970).ok()?;
        return Timestamp::from_duration(since_1970).ok().map(until);
    }
    duration(reset).or_else(|| reset.parse().ok().map(until))
}

/// Parses Go's notation of durations: `1h2m3.5s`, `20ms`.
fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut sum = Duration::ZERO;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit() && c != '.')?);
        let unit_end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let seconds = match unit {
            "d" => 86_400.0,
            "h" => 3_600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        sum = sum.checked_add(Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()?)?;
        rest = after;
    }
    (!text.is_empty()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regatta_proto::ManualClock;

    use super::*;

    fn hint(headers: &[(&str, &str)]) -> Option<Duration> {
        let headers = headers
            .iter()
            .filter_map(|(name, value)| Some((name.parse().ok()?, value.parse().ok()?)))
            .collect::<Vec<(reqwest::header::HeaderName, reqwest::header::HeaderValue)>>();
        of(&headers.into_iter().collect(), &ManualClock::at("2026-01-01T00:00:00Z".parse().unwrap())).exhausted_for
    }

    fn reset(text: &str) -> Option<f64> {
        let wait = hint(&[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", text)]);
        wait.map(|wait| wait.as_secs_f64())
    }

    #[test]
    fn a_reset_is_a_duration_a_number_or_a_moment() {
        for (text, seconds) in [
            ("1s", 1.0),
            ("6m0s", 360.0),
            ("20ms", 0.02),
            ("1h2m3.5s", 3723.5),
            ("2m59.56s", 179.56),
            ("1d", 86_400.0),
            ("7", 7.0),
            ("0.5", 0.5),
            ("2026-01-01T00:00:30Z", 30.0),
            ("2026-01-01T01:00:30+01:00", 30.0),
            ("1767225605", 5.0),
            ("1767225605250", 5.25),
        ] {
            assert_eq!(reset(text), Some(seconds), "{text}");
        }
    }

    #[test]
    fn a_limit_that_is_whole_again_or_makes_no_sense_is_no_hint() {
        for text in ["0s", "", "2025-12-31T23:59:59Z", "soon", "-1", "5 apples", "1", ".", "s", "NaN"] {
            assert_eq!(reset(text).filter(|seconds| *seconds != 1.0), None, "{text}");
        }
    }

    #[test]
    fn what_is_not_used_up_is_no_hint() {
        assert_eq!(hint(&[("x-ratelimit-remaining-tokens", "1"), ("x-ratelimit-reset-tokens", "1s")]), None);
        assert_eq!(hint(&[("x-ratelimit-reset-tokens", "1s")]), None);
        assert_eq!(hint(&[("x-ratelimit-remaining-tokens", "0")]), None);
    }

    #[test]
    fn the_limit_that_takes_longest_counts_and_a_day_at_most() {
        let headers = [
            ("anthropic-ratelimit-input-tokens-remaining", "0"),
            ("anthropic-ratelimit-input-tokens-reset", "2026-01-01T00:00:09Z"),
            ("anthropic-ratelimit-requests-remaining", "0"),
            ("anthropic-ratelimit-requests-reset", "2026-01-01T00:00:02Z"),
            ("anthropic-ratelimit-output-tokens-remaining", "5000"),
            ("anthropic-ratelimit-output-tokens-reset", "2026-01-01T00:00:59Z"),
        ];
        assert_eq!(hint(&headers), Some(Duration::from_secs(9)));
        assert_eq!(reset("99h"), Some(86_400.0));
    }

    #[test]
    fn a_moment_counts_from_the_answers_own_date() {
        let headers = [
            ("date", "Wed, 31 Dec 2025 23:59:50 GMT"),
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "2026-01-01T00:00:00Z"),
        ];
        assert_eq!(hint(&headers), Some(Duration::from_secs(10)));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_fail(text in "[0-9a-zµ.:+TZ-]{0,24}") {
            reset(&text);
        }
    }
}
