//! Values of a table's column as points with their intervals, on one axis for all its rows.

use std::fmt::Write as _;

use regatta_benchmarks::Unit;

use super::axis::Axis;
use super::content::{Field, Sheet};
use crate::statistics::Estimate;

/// Width of a drawn interval, and of one among several of a row, in pixels.
const WIDTH: f64 = 150.0;
const WIDTH_BRIEF: f64 = 96.0;
/// Height of a drawn interval, and of the ticks' numbers above a column, in pixels.
const HEIGHT: f64 = 18.0;
const NUMBERS: f64 = 14.0;
/// Space left and right of the axis for a point, or half a number, in pixels.
const MARGIN: f64 = 12.0;

/// An axis for the values of a column, drawn in so many pixels.
#[derive(Clone, Copy)]
pub(super) struct Column {
    axis: Axis,
    width: f64,
}

/// The axis of column `at` of `sheet`, which columns of the same unit share: within the unit's scale, and no longer than the values and
/// intervals that are shown. `None` for a column without any.
pub(super) fn column(sheet: &Sheet, at: usize) -> Option<Column> {
    let (_, unit, is_brief) = sheet.rows.iter().find_map(|row| estimate(row.get(at)?))?;
    let estimates = sheet.rows.iter().flatten().filter_map(estimate).filter(|(_, of, _)| *of == unit);
    let drawn = estimates.map(|(estimate, ..)| estimate).filter(|estimate| estimate.shown().is_some());
    let ends = drawn.flat_map(|estimate| [estimate.value, estimate.low, estimate.high]).flatten();
    let (from, to) = unit.scale().unwrap_or((0.0, f64::INFINITY));
    let axis = Axis::fitting(ends.map(|end| end * unit.factor()), (from * unit.factor(), to * unit.factor()))?;
    Some(Column { axis, width: if is_brief { WIDTH_BRIEF } else { WIDTH } })
}

const fn estimate(field: &Field) -> Option<(&Estimate, Unit, bool)> {
    match field {
        Field::Estimate(estimate, unit) => Some((estimate, *unit, false)),
        Field::Brief(estimate, unit) => Some((estimate, *unit, true)),
        Field::Name(_)
        | Field::Simulated(_)
        | Field::Number(_)
        | Field::Measured(..)
        | Field::Tags(_)
        | Field::Strong(_)
        | Field::Significant(_) => None,
    }
}

impl Column {
    fn x(&self, place: f64) -> f64 {
        MARGIN + place * (self.width - 2.0 * MARGIN)
    }

    /// The numbers of the ticks.
    pub(super) fn ticks(&self) -> String {
        let mut out =
            format!("<svg class=\"ticks\" width=\"{}\" height=\"{NUMBERS}\" aria-hidden=\"true\">", self.width);
        let ticks = self.axis.ticks();
        // In little room, every other number is enough.
        let every = if self.width < WIDTH && ticks.len() > 3 { 2 } else { 1 };
        for (place, number) in ticks.into_iter().step_by(every) {
            // Writing to a String cannot fail.
            let _ = write!(out, "<text x=\"{:.1}\" y=\"11\">{number}</text>", self.x(place));
        }
        out + "</svg>"
    }

    /// A value as a point and its interval as a bar; empty where the value is not shown. The text beside it says the same.
    pub(super) fn bar(&self, estimate: &Estimate, unit: Unit) -> String {
        let Some(value) = estimate.shown() else { return String::new() };
        let middle = HEIGHT / 2.0;
        let at = |value: f64| self.x(self.axis.place(value * unit.factor()));
        let mut out = format!(
            "<svg class=\"bar\" width=\"{}\" height=\"{HEIGHT}\" aria-hidden=\"true\"><path class=\"grid\" d=\"",
            self.width
        );
        for (place, _) in self.axis.ticks() {
            let _ = write!(out, "M{:.1} 0v{HEIGHT}", self.x(place));
        }
        out += "\"/>";
        if let (Some(low), Some(high)) = (estimate.low, estimate.high) {
            let (low, high) = (at(low), at(high));
            let _ = write!(
                out,
                "<rect class=\"range\" x=\"{low:.1}\" y=\"{}\" width=\"{:.1}\" height=\"6\" rx=\"3\"/>",
                middle - 3.0,
                (high - low).max(1.0)
            );
        }
        let _ = write!(out, "<circle class=\"point\" cx=\"{:.1}\" cy=\"{middle}\" r=\"3.5\"/>", at(value));
        out + "</svg>"
    }
}
