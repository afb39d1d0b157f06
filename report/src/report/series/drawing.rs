//! A value over nights as inline SVG: points with their intervals, a line through them, and marks at nights at which something changed.

use std::fmt::Write as _;

use regatta_benchmarks::markup_text;

use super::{Series, SeriesValue};
use crate::report::axis::Axis;

/// Size of the drawing, in pixels.
const SIZE: (f64, f64) = (440.0, 220.0);
/// Room left of, above, right of and below the axes, in pixels.
const ROOM: (f64, f64, f64, f64) = (58.0, 26.0, 14.0, 28.0);
/// Most nights whose numbers are written below the axis; of more, some are left out.
const NUMBERED_MAX: usize = 12;

/// Draws `series`; empty when no night has a value.
pub(super) fn svg(series: &Series, marks: &[(usize, String)]) -> String {
    let ends = series.values.iter().flatten().flat_map(|SeriesValue { value, range }| {
        let (low, high) = range.unwrap_or((*value, *value));
        [low, *value, high]
    });
    let Some(axis) = Axis::fitting(ends, series.scale) else { return String::new() };
    let (width, height) = SIZE;
    let (left, top, right, bottom) = (ROOM.0, ROOM.1, width - ROOM.2, height - ROOM.3);
    let nights = series.values.len();
    // Half a night of room at both ends.
    let x = |night: usize| left + (right - left) * (night as f64 + 0.5) / nights as f64;
    let y = |value: f64| bottom - (bottom - top) * axis.place(value);
    let mut out = format!(
        "<svg class=\"plot\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">",
        markup_text(&series.caption)
    );
    // Writing to a String cannot fail.
    for (place, number) in axis.ticks() {
        let at = bottom - (bottom - top) * place;
        let (beside, below) = (left - 6.0, at + 4.0);
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{left} {at:.1}H{right}\"/><text class=\"tick\" x=\"{beside:.1}\" y=\"{below:.1}\" \
             text-anchor=\"end\">{number}</text>"
        );
    }
    for night in (0..nights).step_by(nights.div_ceil(NUMBERED_MAX).max(1)) {
        let (at, below, number) = (x(night), bottom + 17.0, night + 1);
        let _ =
            write!(out, "<text class=\"tick\" x=\"{at:.1}\" y=\"{below:.1}\" text-anchor=\"middle\">{number}</text>");
    }
    for (night, cause) in marks.iter().filter(|(night, _)| *night < nights) {
        // Between the two nights of which the later one is another.
        let at = x(*night) - (right - left) / nights as f64 / 2.0;
        let (above, cause) = (top - 6.0, markup_text(cause));
        let _ = write!(
            out,
            "<path class=\"mark\" d=\"M{at:.1} {top}V{bottom}\"/><text class=\"cause\" x=\"{at:.1}\" y=\"{above:.1}\" \
             text-anchor=\"middle\">{cause}</text>"
        );
    }
    push_line(&mut out, series, &x, &y);
    for (night, of) in series.values.iter().enumerate() {
        let Some(SeriesValue { value, range }) = of else { continue };
        let (at, height) = (x(night), y(*value));
        if let Some((low, high)) = range {
            let (low, high) = (y(*low), y(*high));
            let _ = write!(out, "<path class=\"error\" d=\"M{at:.1} {low:.1}V{high:.1}\"/>");
        }
        let _ = write!(out, "<circle class=\"point\" cx=\"{at:.1}\" cy=\"{height:.1}\" r=\"3.5\"/>");
    }
    out += "</svg>";
    out
}

/// A line through the values, with a gap where a night has none.
fn push_line(out: &mut String, series: &Series, x: &dyn Fn(usize) -> f64, y: &dyn Fn(f64) -> f64) {
    let mut path = String::new();
    let mut is_open = false;
    for (night, of) in series.values.iter().enumerate() {
        if let Some(SeriesValue { value, .. }) = of {
            let verb = if is_open { 'L' } else { 'M' };
            let _ = write!(path, "{verb}{:.1} {:.1}", x(night), y(*value));
        }
        is_open = of.is_some();
    }
    let _ = write!(out, "<path class=\"line\" d=\"{path}\"/>");
}
