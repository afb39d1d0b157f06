//! The level of every interval, said once.

/// Probability with which an interval covers what it is about.
pub(crate) const LEVEL: f64 = 0.95;
/// Probability below the upper end of an interval with equal tails.
pub(super) const UPPER: f64 = (1.0 + LEVEL) / 2.0;

/// The level as people read it, as `95 %`.
pub(crate) fn level() -> String {
    // Adding half a hundredth of a percent before cutting keeps 0.95 from being read as 94.99.
    let percent = (LEVEL * 1e4).round() / 100.0;
    format!("{percent} %")
}
