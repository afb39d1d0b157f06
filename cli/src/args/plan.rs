//! The command line of `regatta plan`.

use std::str::FromStr;

use clap::Args;

use super::{ClientArgs, SpecArgs};

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) spec: SpecArgs,
    /// The difference between two models that is to be seen: 2pp (percentage points), or a number in the metric's own scale
    #[arg(long, value_name = "DIFFERENCE")]
    pub(crate) detect: Effect,
    /// Directory of a run, or a sweep of a coordinator that has ended, whose variance and usage are taken; without one, careful assumptions
    /// are
    #[arg(long, value_name = "RUN")]
    pub(crate) pilot: Option<String>,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Probability that a true difference of this size is found
    #[arg(long, default_value = "0.8", value_parser = probability)]
    pub(crate) power: f64,
    /// Largest p-value that counts as a difference, after the correction for the number of pairs [default: what the spec's `level` leaves,
    /// usually 0.05]
    #[arg(long, value_parser = probability)]
    pub(crate) level: Option<f64>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A difference of two scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Effect {
    /// Hundredths of the metric's range.
    Points(f64),
    /// In the metric's own scale.
    Plain(f64),
}

impl Effect {
    /// In the scale of a metric with this least and largest value; `None` for points of a range without an end.
    pub(crate) fn within(self, range: (f64, f64)) -> Option<f64> {
        match self {
            Self::Points(points) => Some(points / 100.0 * (range.1 - range.0)).filter(|effect| effect.is_finite()),
            Self::Plain(effect) => Some(effect),
        }
    }
}

impl FromStr for Effect {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (digits, effect): (&str, fn(f64) -> Self) = match text.strip_suffix("pp") {
            Some(digits) => (digits.trim_end(), Self::Points),
            None => (text, Self::Plain),
        };
        let size = digits.parse::<f64>().ok().filter(|size| *size > 0.0 && size.is_finite());
        size.map(effect).ok_or_else(|| format!("{text:?} is no difference; write 2pp, or a number as 0.02"))
    }
}

fn probability(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| *value > 0.0 && *value < 1.0);
    value.ok_or_else(|| format!("{text:?} is no probability between 0 and 1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_hundredths_of_the_range_and_numbers_are_as_they_are() {
        let effect = |text: &str| text.parse::<Effect>();
        assert_eq!(effect("2pp").unwrap().within((0.0, 1.0)), Some(0.02));
        assert_eq!(effect("2.5 pp").unwrap().within((0.0, 10.0)), Some(0.25));
        assert_eq!(effect("0.02").unwrap().within((0.0, f64::INFINITY)), Some(0.02));
        assert_eq!(effect("2pp").unwrap().within((0.0, f64::INFINITY)), None);
        for bad in ["", "pp", "-1pp", "0", "2%", "inf"] {
            assert!(effect(bad).unwrap_err().contains("write 2pp"), "{bad}");
        }
    }
}
