//! Numbers as people read them.

use regatta_benchmarks::{Measured, Unit};
use regatta_proto::{CostSum, Money};

use crate::statistics::{Difference, Estimate, Gaps};
use crate::summary::{Percentiles, Spending, Standing, Summary};

/// Sign in place of a value that does not exist.
pub(crate) const NOTHING: &str = "–";

/// Word in the place of a value that too few sessions stand behind.
pub(crate) const WITHHELD: &str = "withheld";

/// A value as people read it, without its unit.
pub(crate) fn score(value: Option<f64>, unit: Unit) -> String {
    score_with(value, unit, decimals(unit))
}

/// The same with so many `decimals`.
pub(crate) fn score_with(value: Option<f64>, unit: Unit, decimals: u8) -> String {
    value.map_or_else(|| NOTHING.to_owned(), |value| read(value, unit, decimals))
}

/// A value with its interval, if it has one; or, where too little was measured for that, its bounds.
pub(crate) fn shown(estimate: &Estimate, unit: Unit) -> String {
    if estimate.withheld {
        let measured =
            format!("withheld: {} of {} measured", grouped(estimate.scored.into()), grouped(estimate.total.into()));
        let read = |value: f64| read(value, unit, decimals(unit));
        return match (estimate.bound_low, estimate.bound_high) {
            (Some(low), Some(high)) => format!("{measured}, {} to {}", read(low), read(high)),
            (low, high) => {
                let ends = [
                    low.map(|low| format!(", {} or more", read(low))),
                    high.map(|high| format!(", {} or less", read(high))),
                ];
                measured + &ends.into_iter().flatten().collect::<String>()
            }
        };
    }
    measured(&Measured { sd: None, ..Measured::from(estimate) }, unit, decimals(unit))
}

/// A value alone, or a word in its place.
pub(crate) fn brief(estimate: &Estimate, unit: Unit) -> String {
    if estimate.withheld { WITHHELD.to_owned() } else { score(estimate.value, unit) }
}

/// A value with its interval and its deviation over trials, as far as there are any.
pub(crate) fn measured(measured: &Measured, unit: Unit, decimals: u8) -> String {
    let Some(value) = measured.value else { return NOTHING.to_owned() };
    let read = |value: f64| read(value, unit, decimals);
    let mut text = read(value);
    if let (Some(low), Some(high)) = (measured.low, measured.high) {
        text += &format!(" [{}, {}]", read(low), read(high));
    }
    if let Some(sd) = measured.sd {
        text += &format!(" ± {}", read(sd));
    }
    text
}

/// An interval alone.
pub(crate) fn interval(low: f64, high: f64, unit: Unit) -> String {
    let read = |value: f64| read(value, unit, decimals(unit));
    format!("[{}, {}]", read(low), read(high))
}

/// Items behind a value and the independent clusters that they form, as `120 / 40`.
pub(crate) fn behind(estimate: &Estimate) -> String {
    format!("{} / {}", grouped(estimate.n.into()), grouped(estimate.clusters.into()))
}

/// A difference with its sign and interval, as `+0.012 [-0.003, +0.027]`.
pub(crate) fn signed(difference: &Difference, unit: Unit) -> String {
    match (difference.low, difference.high) {
        (Some(low), Some(high)) => signed_interval((difference.value, low, high), unit),
        _ => with_sign(difference.value, unit),
    }
}

/// The same of a value with the ends of its interval.
pub(crate) fn signed_interval((value, low, high): (f64, f64, f64), unit: Unit) -> String {
    let [value, low, high] = [value, low, high].map(|value| with_sign(value, unit));
    format!("{value} [{low}, {high}]")
}

fn with_sign(value: f64, unit: Unit) -> String {
    let decimals = usize::from(decimals(unit));
    unsigned_zero(format!("{:+.decimals$}", value * unit.factor()))
}

/// The difference if all that is missing had been wrong, and right, as `-0.100 to +0.200`.
pub(crate) fn bounds(of: &Gaps, unit: Unit) -> String {
    let read = |value: f64| with_sign(value, unit);
    match (of.bound_low, of.bound_high) {
        (Some(low), Some(high)) => format!("{} to {}", read(low), read(high)),
        (Some(low), None) => format!("{} or more", read(low)),
        (None, Some(high)) => format!("{} or less", read(high)),
        (None, None) => "anything".to_owned(),
    }
}

/// The size of a value, without its sign.
pub(crate) fn magnitude(value: f64, unit: Unit) -> String {
    read(value.abs(), unit, decimals(unit))
}

/// A p-value; what is too small to matter is not spelled out.
pub(crate) fn p_value(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}

/// A metric's or column's name with its unit, where the number does not tell it.
pub(crate) fn heading(name: &str, unit: Unit) -> String {
    match unit {
        Unit::Plain | Unit::Turns => name.to_owned(),
        Unit::Percent => format!("{name}, %"),
        Unit::OutOfTen => format!("{name}, 0–10"),
        Unit::Money => format!("{name}, $"),
    }
}

/// Decimals of a unit where a table does not set them.
const fn decimals(unit: Unit) -> u8 {
    match unit {
        Unit::Plain => 3,
        Unit::Percent | Unit::Turns => 1,
        Unit::OutOfTen => 2,
        Unit::Money => 4,
    }
}

fn read(value: f64, unit: Unit, decimals: u8) -> String {
    unsigned_zero(format!("{:.*}", usize::from(decimals), value * unit.factor()))
}

/// A number as it is, but for the sign of what is rounded to zero, which means nothing to a reader.
fn unsigned_zero(number: String) -> String {
    match number.strip_prefix(['-', '+']) {
        Some(digits) if digits.chars().all(|c| matches!(c, '0' | '.')) => digits.to_owned(),
        _ => number,
    }
}

/// A share in 0..=1; only everything is 100 %, and only nothing is 0 %.
pub(crate) fn percent(share: f64) -> String {
    let rounded = (share * 1000.0).round() / 10.0;
    match share {
        _ if share >= 1.0 => "100 %".to_owned(),
        _ if share > 0.0 => format!("{:.1} %", rounded.clamp(0.1, 99.9)),
        _ => "0 %".to_owned(),
    }
}

/// A count with separators between thousands.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count in at most five characters, as `1.23M`.
pub(crate) fn compact(count: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(1_000_000_000_000, "T"), (1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    for (size, unit) in UNITS {
        // From 999.5 on, three digits round up to the next unit.
        if count >= size - size / 2000 {
            let scaled = count as f64 / size as f64;
            let decimals = if scaled < 9.995 { 2 } else { usize::from(scaled < 99.95) };
            return format!("{scaled:.decimals$}{unit}");
        }
    }
    count.to_string()
}

/// A duration in seconds.
pub(crate) fn duration(seconds: f64) -> String {
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// The same in milliseconds below a second, and with three digits below ten.
pub(crate) fn short_seconds(seconds: f64) -> String {
    match seconds {
        _ if seconds < 0.9995 => format!("{:.0} ms", seconds * 1000.0),
        _ if seconds < 9.995 => format!("{seconds:.2} s"),
        _ => duration(seconds),
    }
}

/// `1 call`, `1,200 calls`: as [`regatta_proto::counted`], with large numbers grouped.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// Median seconds of a model's sessions, with how many of those that have a score were measured where these are not all.
pub(crate) fn session_median(of: &Standing) -> String {
    let scored = of.sessions.scored();
    match of.session_seconds {
        None if of.cached > 0 => "cached".to_owned(),
        None => NOTHING.to_owned(),
        Some(Percentiles { p50, n: Some(n), .. }) if n < scored => {
            format!("{} ({} of {})", short_seconds(p50), grouped(n), grouped(scored))
        }
        Some(Percentiles { p50, .. }) => short_seconds(p50),
    }
}

/// Median seconds of what `of` is about, as of a model's calls.
pub(crate) fn median(of: Option<Percentiles>) -> String {
    of.map_or_else(|| NOTHING.to_owned(), |seconds| short_seconds(seconds.p50))
}

/// Money of one of a model's sessions, with how many of the `scored` ones it is over where some were cut off; `None` where it is absent.
pub(crate) fn per_session(money: Option<Money>, cut_off: u64, scored: u64) -> Option<String> {
    let money = money?;
    Some(match cut_off {
        0 => money.to_string(),
        _ => format!("{money} ({} of {})", grouped(scored.saturating_sub(cut_off)), grouped(scored)),
    })
}

/// Cost of a session, or of a success, or the word for its absence: answers of the response cache, no session that was answered, and an unknown
/// price are told apart.
pub(crate) fn each_cost(money: Option<String>, cached: u64, of: CostSum) -> String {
    match money {
        Some(money) => money,
        // What was not paid now says nothing of the model.
        None if cached > 0 => "cached".to_owned(),
        None if of.unknown_calls > 0 => "unknown".to_owned(),
        None => NOTHING.to_owned(),
    }
}

/// Most that can have been billed in all, where that is more than what is known, with what the rest is reserved for.
pub(crate) fn at_most(summary: &Summary, most: Money) -> String {
    format!(
        "{}, judges included: {} more than is known, reserved for {}",
        summary.cost().bounded(most),
        summary.in_doubt(),
        summary.reserved_for()
    )
}

/// Money and attempts that were wasted (lost, or surplus to the one that counts), and money of `failed` tries, as one phrase.
pub(crate) fn waste(spent: &Spending, failed: CostSum) -> String {
    let attempts = counted(spent.wasted_attempts, "attempt", "attempts");
    let mut text = format!("{} ({attempts} of {})", spent.wasted, grouped(spent.attempts));
    if failed != CostSum::default() {
        text += &format!(", and {failed} for failed tries, as of answers that could not be used");
    }
    if spent.lost_calls_at_most.0 > 0 {
        text += &format!(", and up to {} more for calls that a lost worker had in flight", spent.lost_calls_at_most);
    }
    if spent.lost_unpriced > 0 {
        text += &format!(
            ", and what calls without a known price cost that {} lost with their workers had in flight",
            counted(spent.lost_unpriced, "attempt", "attempts")
        );
    }
    if spent.maybe_spent.0 > 0 {
        // A broken answer rarely says what was billed for it; silence would read as nothing.
        text += &format!(
            ", and up to {} more for failed tries of which the provider did not tell whether they are billed",
            spent.maybe_spent
        );
    }
    match spent.retries {
        0 => {}
        1 => text += "; 1 retry in all",
        retries => text += &format!("; {} retries in all", grouped(retries)),
    }
    text
}

#[cfg(test)]
mod tests {
    use regatta_proto::{CostSum, Money};

    use super::*;

    #[test]
    fn only_everything_is_100_percent_and_only_nothing_is_0() {
        assert_eq!([1.0, 0.9999, 0.5, 0.0001, 0.0].map(percent), ["100 %", "99.9 %", "50.0 %", "0.1 %", "0 %"]);
    }

    #[test]
    fn answers_that_were_billed_and_could_not_be_used_were_paid_for_nothing() {
        let failed = CostSum { known: Money(2_223_000), unknown_calls: 0 };
        let spent = Spending { attempts: 640, ..Spending::default() };
        assert_eq!(
            waste(&spent, failed),
            "$0 (0 attempts of 640), and $0.002223 for failed tries, as of answers that could not be used"
        );
    }

    #[test]
    fn retries_are_named_beside_what_was_wasted_for_certain() {
        let spent = Spending { attempts: 1400, retries: 198, maybe_spent: Money(2_000_000_000), ..Spending::default() };
        assert_eq!(
            waste(&spent, CostSum::default()),
            "$0 (0 attempts of 1,400), and up to $2.00 more for failed tries of which the provider did not tell whether they are \
             billed; 198 retries in all"
        );
    }

    #[test]
    fn counts_are_grouped_and_shortened() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        let counts = [999, 1000, 12_345, 999_949, 999_500, 1_234_567, 2_000_000_000].map(compact);
        assert_eq!(counts, ["999", "1.00k", "12.3k", "1.00M", "1.00M", "1.23M", "2.00G"]);
    }

    #[test]
    fn a_missing_value_is_a_dash_and_never_zero() {
        assert_eq!(shown(&Estimate::default(), Unit::Plain), "–");
        assert_eq!(measured(&Measured::default(), Unit::Percent, 2), "–");
    }

    #[test]
    fn a_value_that_is_withheld_is_not_told_but_its_bounds_are() {
        let found = Estimate { value: Some(1.0), scored: 8, total: 35, withheld: true, ..Estimate::default() };
        assert_eq!(shown(&found, Unit::Plain), "withheld: 8 of 35 measured");
        let bounded = Estimate { bound_low: Some(0.229), bound_high: Some(1.0), ..found };
        assert_eq!(shown(&bounded, Unit::Percent), "withheld: 8 of 35 measured, 22.9 to 100.0");
        let half = Estimate { bound_low: Some(6.0), ..found };
        assert_eq!(shown(&half, Unit::Turns), "withheld: 8 of 35 measured, 6.0 or more");
    }

    #[test]
    fn a_share_is_read_in_percent_and_a_zero_has_no_sign() {
        let of = Measured { value: Some(0.8344), low: Some(0.5), high: Some(1.0), sd: Some(0.0123) };
        assert_eq!(measured(&of, Unit::Percent, 1), "83.4 [50.0, 100.0] ± 1.2");
        assert_eq!(score(Some(-0.0), Unit::Percent), "0.0");
        let difference = Difference {
            value: -0.0125,
            low: Some(-0.03),
            high: Some(0.005),
            n: 3,
            clusters: 3,
            p: None,
            test: None,
            missing: None,
            withheld: false,
        };
        assert_eq!(signed(&difference, Unit::Percent), "-1.2 [-3.0, +0.5]");
        assert_eq!(signed(&difference, Unit::Plain), "-0.013 [-0.030, +0.005]");
    }

    #[test]
    fn what_is_rounded_to_zero_has_no_sign() {
        assert_eq!(score(Some(-0.0002), Unit::Plain), "0.000");
        let difference = Difference {
            value: -0.0,
            low: Some(-0.0004),
            high: Some(0.0004),
            n: 3,
            clusters: 3,
            p: None,
            test: None,
            missing: None,
            withheld: false,
        };
        assert_eq!(signed(&difference, Unit::Plain), "0.000 [0.000, 0.000]");
        let seen = Difference { low: Some(-0.0006), ..difference };
        assert_eq!(signed(&seen, Unit::Plain), "0.000 [-0.001, 0.000]");
    }

    #[test]
    fn durations_keep_the_two_largest_units() {
        assert_eq!([0.04, 59.94, 61.2, 3725.0].map(duration), ["0.0 s", "59.9 s", "1 min 1 s", "1 h 2 min"]);
        let short = [0.0413, 0.9999, 9.994, 9.996, 61.2].map(short_seconds);
        assert_eq!(short, ["41 ms", "1.00 s", "9.99 s", "10.0 s", "1 min 1 s"]);
    }
}
