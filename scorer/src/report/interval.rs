//! Values of a table's column as points with their intervals, on one axis for all its rows.

use std::fmt::Write as _;

use regatta_benchmarks::Unit;

use super::axis::Axis;
use super::content::{Field, Sheet};
use crate::statistics::Estimate;

/// Size of a drawn interval, in pixels.
const BAR: (f64, f64) = (150.0, 18.0);
/// Height of the ticks' numbers above a column, in pixels.
const NUMBERS: f64 = 14.0;
/// Space left and right of the axis for a point, or half a number, in pixels.
const MARGIN: f64 = 14.0;

/// The axis of all values of `unit` in `sheet`: within the unit's scale, and no longer than the values and intervals that are shown.
pub(super) fn axis(sheet: &Sheet, unit: Unit) -> Option<Axis> {
    let estimates = sheet.rows.iter().flatten().filter_map(|field| match field {
        Field::Estimate(estimate, of) if *of == unit => Some(estimate),
        Field::Name(_)
        | Field::Simulated(_)
        | Field::Number(_)
        | Field::Estimate(..)
        | Field::Measured(..)
        | Field::Tags(_)
        | Field::Strong(_)
        | Field::Significant(_) => None,
    });
    let drawn = estimates.filter(|estimate| estimate.shown().is_some());
    let ends = drawn.flat_map(|estimate| [estimate.value, estimate.low, estimate.high]).flatten();
    let (from, to) = unit.scale().unwrap_or((0.0, f64::INFINITY));
    Axis::fitting(ends.map(|end| end * unit.factor()), (from * unit.factor(), to * unit.factor()))
}

fn x(place: f64) -> f64 {
    MARGIN + place * (BAR.0 - 2.0 * MARGIN)
}

/// The numbers of the ticks.
pub(super) fn scale(axis: &Axis) -> String {
    let mut out = format!("<svg class=\"ticks\" width=\"{}\" height=\"{NUMBERS}\" aria-hidden=\"true\">", BAR.0);
    for (place, number) in axis.ticks() {
        // Writing to a String cannot fail.
        let _ = write!(out, "<text x=\"{:.1}\" y=\"11\">{number}</text>", x(place));
    }
    out + "</svg>"
}

/// A value as a point and its interval as a bar; empty where the value is not shown. The text beside it says the same.
pub(super) fn bar(estimate: &Estimate, unit: Unit, axis: &Axis) -> String {
    let (width, height) = BAR;
    let middle = height / 2.0;
    let at = |value: f64| x(axis.place(value * unit.factor()));
    let mut out = format!("<svg class=\"bar\" width=\"{width}\" height=\"{height}\" aria-hidden=\"true\">");
    for (place, _) in axis.ticks() {
        let tick = x(place);
        let _ = write!(out, "<path class=\"grid\" d=\"M{tick:.1} 0V{height}\"/>");
    }
    if let Some(value) = estimate.shown() {
        if let (Some(low), Some(high)) = (estimate.low, estimate.high) {
            let (low, high) = (at(low), at(high));
            let _ = write!(
                out,
                "<rect class=\"range\" x=\"{low:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"6\" rx=\"3\"/>",
                middle - 3.0,
                (high - low).max(1.0)
            );
        }
        let _ = write!(out, "<circle class=\"point\" cx=\"{:.1}\" cy=\"{middle}\" r=\"3.5\"/>", at(value));
    }
    out + "</svg>"
}
