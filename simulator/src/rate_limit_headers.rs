//! What providers tell of their limits per minute with every answer.

use std::fmt::Write as _;
use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};

use crate::limits::{Meter, Standing};

/// OpenAI: `x-ratelimit-limit-requests`, `-remaining-requests` and `-reset-requests`, and the same of tokens. A reset is the time until
/// the limit is whole again, as `1s` or `6m0s` ("Rate limits" in OpenAI's guides).
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

/// A duration to the millisecond, rounded up, in minutes, seconds and milliseconds as OpenAI writes them.
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
    // Writing into a text cannot fail.
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
}
