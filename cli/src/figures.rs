//! Rates, times and counts as people read them.

use std::time::Duration;

/// `1234567` as `1.23M`.
pub(crate) fn thousands(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{:.1}k", count as f64 / 1e3),
        _ => format!("{:.2}M", count as f64 / 1e6),
    }
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things each second, in the unit in which there is at least one: `31/s`, `2.4/min`, `0.5/h`.
pub(crate) fn rate(per_second: f64) -> String {
    let (count, unit) = match per_second {
        of if of >= 1.0 => (of, "s"),
        of if of * 60.0 >= 1.0 => (of * 60.0, "min"),
        of => (of * 3600.0, "h"),
    };
    if count >= 9.95 { format!("{}/{unit}", grouped(count.round() as u64)) } else { format!("{count:.1}/{unit}") }
}

/// A time in its two largest units: `45 s`, `4 min`, `3 h 12 min`, `2 d 4 h`.
pub(crate) fn time(of: Duration) -> String {
    let seconds = of.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    if days > 0 {
        format!("{days} d {} h", hours % 24)
    } else if hours > 0 {
        format!("{hours} h {} min", minutes % 60)
    } else if minutes >= 10 {
        format!("{minutes} min")
    } else if minutes > 0 {
        format!("{minutes} min {} s", seconds % 60)
    } else {
        format!("{seconds} s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_in_the_unit_in_which_there_is_at_least_one() {
        assert_eq!([31.044_909_474_8, 9.94, 1.0, 1234.5].map(rate), ["31/s", "9.9/s", "1.0/s", "1,235/s"]);
        assert_eq!([0.5, 0.02, 0.001, 0.0].map(rate), ["30/min", "1.2/min", "3.6/h", "0.0/h"]);
    }

    #[test]
    fn a_time_has_its_two_largest_units() {
        let times = [0, 59, 61, 600, 3599, 11_520, 187_200].map(|seconds| time(Duration::from_secs(seconds)));
        assert_eq!(times, ["0 s", "59 s", "1 min 1 s", "10 min", "59 min", "3 h 12 min", "2 d 4 h"]);
    }

    #[test]
    fn large_counts_are_read_in_groups_of_digits() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
