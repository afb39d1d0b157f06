//! An axis that is fitted to what is drawn on it, with round ticks.

/// An axis. Values outside of it are drawn at its ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Axis {
    from: f64,
    to: f64,
    step: f64,
}

/// Intervals between ticks that are aimed at.
const STEPS: f64 = 4.0;
/// Room at both ends, as a part of the axis.
const ROOM: f64 = 0.05;

impl Axis {
    /// An axis that holds `values` with a little room at its ends, but does not go on beyond `limits`. `None` without any finite value.
    pub(crate) fn fitting(values: impl Iterator<Item = f64>, limits: (f64, f64)) -> Option<Self> {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite()) {
            (least, most) = (least.min(value), most.max(value));
        }
        if least > most {
            return None;
        }
        if most - least <= 1e-9 * most.abs() {
            // A single value stands in the middle of something.
            let around = if most == 0.0 { 0.5 } else { most.abs() / 4.0 };
            (least, most) = (least - around, most + around);
        }
        let size = most - least;
        let (from, to) = (least - ROOM * size, most + ROOM * size);
        let (first, last) = limits;
        Some(Self { from: from.max(first.min(least)), to: to.min(last.max(most)), step: round_step(size / STEPS) })
    }

    /// Place of `value`, 0..=1.
    pub(crate) fn place(&self, value: f64) -> f64 {
        ((value - self.from) / (self.to - self.from)).clamp(0.0, 1.0)
    }

    /// Ticks with their places and texts.
    pub(crate) fn ticks(&self) -> Vec<(f64, String)> {
        let decimals = (-self.step.log10().floor()).clamp(0.0, 9.0) as usize;
        let first = (self.from / self.step - 1e-6).ceil();
        let all = (0..).map(|at| (first + f64::from(at)) * self.step);
        let shown = all.take_while(|tick| *tick <= self.to + self.step * 1e-6);
        shown.map(|tick| (self.place(tick), text(tick, decimals))).collect()
    }
}

/// A zero has no sign.
fn text(tick: f64, decimals: usize) -> String {
    let tick = if tick.abs() < 1e-12 { 0.0 } else { tick };
    format!("{tick:.decimals$}")
}

/// 1, 2 or 5 times a power of ten, not much smaller than `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let steps = [1.0, 2.0, 5.0].map(|factor| factor * power);
    steps.into_iter().find(|round| *round >= step * 0.9).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

    fn ticks(values: &[f64], limits: (f64, f64)) -> String {
        let axis = Axis::fitting(values.iter().copied(), limits).unwrap();
        axis.ticks().into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn an_axis_is_zoomed_to_what_is_on_it_and_stays_on_the_scale() {
        assert_eq!(ticks(&[0.91, 0.97], (0.0, 1.0)), "0.92 0.94 0.96");
        assert_eq!(ticks(&[0.12, 0.998], (0.0, 1.0)), "0.2 0.4 0.6 0.8 1.0");
        assert_eq!(ticks(&[0.000_31, 0.001], FREE), "0.0004 0.0006 0.0008 0.0010");
        assert_eq!(ticks(&[-0.1, 0.1], FREE), "-0.10 -0.05 0.00 0.05 0.10");
        assert_eq!(ticks(&[0.0, 12.0], (0.0, f64::INFINITY)), "0 5 10");
    }

    #[test]
    fn there_are_two_to_six_ticks_whatever_the_values() {
        for values in [[0.0, 0.0], [1.0, 1.0], [0.03, 12_345.0], [99.0, 99.5], [1e-7, 3e-7], [0.5, 0.500_01]] {
            let axis = Axis::fitting(values.into_iter(), FREE).unwrap();
            let count = axis.ticks().len();
            assert!((2..=6).contains(&count), "{values:?}: {axis:?}");
            assert!(values.iter().all(|value| (0.0..=1.0).contains(&axis.place(*value))));
        }
    }

    #[test]
    fn nothing_has_no_axis() {
        assert_eq!(Axis::fitting([f64::NAN].into_iter(), FREE), None);
    }
}
