//! The time for which an endpoint asks not to be called: `retry-after-ms`, or `Retry-After` in seconds or as a date.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use regatta_proto::Clock;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// Dates end in `GMT`, an obsolete zone name that RFC 2822 still allows; the week day is not checked.
static HTTP_DATE: DateTimeParser = DateTimeParser::new().relaxed_weekday(true);

/// Reads the headers of an answer. A date is relative to the answer's own `Date`, so that wrong clocks do no harm, or to `clock` if there
/// is none. A moment in the past is no wait.
pub(crate) fn retry_after(headers: &HeaderMap, clock: &dyn Clock) -> Option<Duration> {
    if let Some(millis) = text(headers, "retry-after-ms").and_then(seconds) {
        return Some(millis / 1000);
    }
    let asked = text(headers, RETRY_AFTER.as_str())?;
    if let Some(wait) = seconds(asked) {
        return Some(wait);
    }
    let until = http_date(asked)?;
    Some(Duration::try_from(until.duration_since(now_of(headers, clock))).unwrap_or(Duration::ZERO))
}

/// The time of an answer, by its own clock if it has one.
pub(crate) fn now_of(headers: &HeaderMap, clock: &dyn Clock) -> Timestamp {
    text(headers, DATE.as_str()).and_then(http_date).unwrap_or_else(|| clock.now())
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// Some servers send fractions of a second.
fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}

fn http_date(text: &str) -> Option<Timestamp> {
    HTTP_DATE.parse_timestamp(text).ok()
}

#[cfg(test)]
mod tests {
    use regatta_proto::ManualClock;

    use super::*;

    fn wait(headers: &[(&'static str, &str)]) -> Option<Duration> {
        let map = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        retry_after(&map, &ManualClock::at("1994-11-06T08:49:00Z".parse().unwrap()))
    }

    #[test]
    fn seconds_are_read_whole_and_broken() {
        assert_eq!(wait(&[("retry-after", "7")]), Some(Duration::from_secs(7)));
        assert_eq!(wait(&[("retry-after", "0.25")]), Some(Duration::from_millis(250)));
    }

    #[test]
    fn milliseconds_are_more_precise_and_go_first() {
        assert_eq!(wait(&[("retry-after", "7"), ("retry-after-ms", "1500")]), Some(Duration::from_millis(1500)));
    }

    #[test]
    fn a_date_counts_from_the_clock() {
        assert_eq!(wait(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")]), Some(Duration::from_secs(37)));
    }

    #[test]
    fn a_date_counts_from_the_answers_own_date_where_there_is_one() {
        let date = ("date", "Sun, 06 Nov 1994 08:49:30 GMT");
        assert_eq!(wait(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), date]), Some(Duration::from_secs(7)));
    }

    #[test]
    fn a_date_that_has_passed_is_no_wait() {
        assert_eq!(wait(&[("retry-after", "Sun, 06 Nov 1994 08:48:37 GMT")]), Some(Duration::ZERO));
    }

    #[test]
    fn nonsense_is_no_request_to_wait() {
        for nonsense in ["", "soon", "-3", "NaN", "inf", "1e300", "31 Feb"] {
            assert_eq!(wait(&[("retry-after", nonsense)]), None, "{nonsense}");
        }
    }
}
