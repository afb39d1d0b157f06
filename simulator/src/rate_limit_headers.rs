//! Headers of providers about their limits per minute, which every answer has.

use std::fmt::Write as _;
use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use jiff::{SignedDuration, Timestamp};

use crate::limits::{Meter, Standing};

/// OpenAI: `x-ratelimit-limit-requests`, `-remaining-requests` and `-reset-requests`, and the same for tokens. A reset is the time until
/// the whole limit is available again, as in `1s` or `6m0s` ("Rate limits" in OpenAI's guides).
pub(crate) fn tell_like_openai(headers: &mut HeaderMap, standing: &Standing) {
    let mut tell = |[limit, remaining, reset]: [&'static str; 3], meter: Option<Meter>| {
        if let Some(meter) = meter {
            headers.insert(HeaderName::from_static(limit), meter.limit.into());
            headers.insert(HeaderName::from_static(remaining), meter.remaining.into());
            if let Ok(value) = HeaderValue::try_from(duration(meter.reset)) {
                headers.insert(HeaderName::from_static(reset), value);
            }
        }
    };
    let requests = ["x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"];
    let tokens = ["x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"];
    tell(requests, standing.requests);
    tell(tokens, standing.tokens);
}

/// Anthropic: `anthropic-ratelimit-requests-limit`, `-remaining` and `-reset`, and the same for tokens. A reset is the moment at which the
/// whole limit is available again, in RFC 3339 ("Rate limits" in Anthropic's API reference).
pub(crate) fn tell_like_anthropic(headers: &mut HeaderMap, standing: &Standing, now: Timestamp) {
    let mut tell = |[limit, remaining, reset]: [&'static str; 3], meter: Option<Meter>| {
        if let Some(meter) = meter {
            headers.insert(HeaderName::from_static(limit), meter.limit.into());
            headers.insert(HeaderName::from_static(remaining), meter.remaining.into());
            if let Some(value) = moment(now, meter.reset).and_then(|text| HeaderValue::try_from(text).ok()) {
                headers.insert(HeaderName::from_static(reset), value);
            }
        }
    };
    let requests = [
        "anthropic-ratelimit-requests-limit",
        "anthropic-ratelimit-requests-remaining",
        "anthropic-ratelimit-requests-reset",
    ];
    let tokens = [
        "anthropic-ratelimit-tokens-limit",
        "anthropic-ratelimit-tokens-remaining",
        "anthropic-ratelimit-tokens-reset",
    ];
    tell(requests, standing.requests);
    tell(tokens, standing.tokens);
}

/// The moment after `wait`, rounded up to a second.
fn moment(now: Timestamp, wait: Duration) -> Option<String> {
    let end = now.checked_add(SignedDuration::try_from(wait).ok()?).ok()?;
    let second = end.as_second() + i64::from(end.subsec_nanosecond() > 0);
    Timestamp::from_second(second).ok().map(|moment| moment.to_string())
}

/// A duration, rounded up to a millisecond, in minutes, seconds and milliseconds as OpenAI writes it.
fn duration(duration: Duration) -> String {
    let milliseconds = duration.as_nanos().div_ceil(1_000_000);
    let (minutes, rest) = (milliseconds / 60_000, milliseconds % 60_000);
    if minutes == 0 && rest < 1000 {
        return format!("{rest}ms");
    }
    let mut text = if minutes > 0 { format!("{minutes}m") } else { String::new() };
    let fraction = format!("{:03}", rest % 1000);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    // Writing into a String cannot fail.
    let _ = write!(text, "{}{point}{fraction}s", rest / 1000);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_openai_does() {
        let written = [0, 12, 999, 1_000, 1_500, 59_940, 60_000, 360_000].map(|ms| duration(Duration::from_millis(ms)));
        assert_eq!(written, ["0ms", "12ms", "999ms", "1s", "1.5s", "59.94s", "1m0s", "6m0s"]);
        assert_eq!(duration(Duration::from_micros(999_001)), "1s");
    }

    #[test]
    fn moments_are_whole_seconds() {
        let at = |milliseconds| moment(Timestamp::UNIX_EPOCH, Duration::from_millis(milliseconds)).unwrap();
        assert_eq!([at(2_000), at(2_001)], ["1970-01-01T00:00:02Z", "1970-01-01T00:00:03Z"]);
    }
}
