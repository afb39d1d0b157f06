//! A scatter plot as inline SVG: points with their intervals and names, on axes that are fitted to them, and the Pareto front.

use std::fmt::Write as _;

use regatta_benchmarks::markup_text;

use super::axis::Axis;
use super::content::{Plot, Point};

/// Size of the drawing, in pixels.
const SIZE: (f64, f64) = (440.0, 290.0);
/// Room left of, above, right of and below the axes, in pixels.
const ROOM: (f64, f64, f64, f64) = (58.0, 12.0, 14.0, 46.0);
/// Least distance between the lines of two names, in pixels.
const LINE: f64 = 15.0;
/// Longest name that is written out, in characters.
const NAME_MAX: usize = 30;

/// Draws `plot`; empty when it has no points.
pub(crate) fn svg(plot: &Plot) -> String {
    let factor = plot.unit.factor();
    let y_ends = plot.points.iter().flat_map(|point| {
        let (low, high) = point.y_range.unwrap_or((point.y, point.y));
        [low, point.y, high].map(|end| end * factor)
    });
    let (from, to) = plot.unit.scale().unwrap_or((0.0, f64::INFINITY));
    let x_axis = Axis::fitting(plot.points.iter().map(|point| point.x), (0.0, f64::INFINITY));
    let (Some(x_axis), Some(y_axis)) = (x_axis, Axis::fitting(y_ends, (from * factor, to * factor))) else {
        return String::new();
    };
    let (width, height) = SIZE;
    let (left, top, right, bottom) = (ROOM.0, ROOM.1, width - ROOM.2, height - ROOM.3);
    let x = |place: f64| left + (right - left) * place;
    let y = |place: f64| bottom - (bottom - top) * place;
    let mut out = format!(
        "<svg class=\"plot\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">",
        markup_text(&plot.caption)
    );
    // Writing to a String cannot fail.
    for (place, number) in x_axis.ticks() {
        let at = x(place);
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{at:.1} {top}V{bottom}\"/><text class=\"tick\" x=\"{at:.1}\" y=\"{:.1}\" \
             text-anchor=\"middle\">{number}</text>",
            bottom + 17.0
        );
    }
    for (place, number) in y_axis.ticks() {
        let at = y(place);
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{left} {at:.1}H{right}\"/><text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" \
             text-anchor=\"end\">{number}</text>",
            left - 6.0,
            at + 4.0
        );
    }
    let _ = write!(
        out,
        "<text class=\"axis\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text><text class=\"axis\" x=\"14\" y=\"{:.1}\" \
         text-anchor=\"middle\" transform=\"rotate(-90 14 {:.1})\">{}</text>",
        (left + right) / 2.0,
        height - 8.0,
        markup_text(&plot.x_label),
        (top + bottom) / 2.0,
        (top + bottom) / 2.0,
        markup_text(&plot.y_label),
    );
    let places: Vec<(f64, f64)> =
        plot.points.iter().map(|point| (x(x_axis.place(point.x)), y(y_axis.place(point.y * factor)))).collect();
    let front = front(&plot.points, plot.is_higher_better);
    push_front(&mut out, &front, &places);
    let middle = (left + right) / 2.0;
    for (at, label) in labels(&places, middle).into_iter().enumerate() {
        let (point, (px, py)) = (&plot.points[at], places[at]);
        if let Some((low, high)) = point.y_range {
            let (low, high) = (y(y_axis.place(low * factor)), y(y_axis.place(high * factor)));
            let _ = write!(out, "<path class=\"error\" d=\"M{px:.1} {low:.1}V{high:.1}\"/>");
        }
        let class = if front.contains(&at) { "point" } else { "point beaten" };
        let (anchor, aside) = if px > middle { ("end", -9.0) } else { ("start", 9.0) };
        let _ = write!(
            out,
            "<circle class=\"{class}\" cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"4.5\"/><text class=\"name\" x=\"{:.1}\" y=\"{:.1}\" \
             text-anchor=\"{anchor}\">{}</text>",
            px + aside,
            label + 4.0,
            markup_text(&shortened(&point.name))
        );
    }
    out += "</svg>";
    out
}

/// Points that no other beats in both directions, from the cheapest to the best.
fn front(points: &[Point], is_higher_better: bool) -> Vec<usize> {
    let goodness = |at: usize| if is_higher_better { points[at].y } else { -points[at].y };
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|one, other| {
        points[*one].x.total_cmp(&points[*other].x).then(goodness(*other).total_cmp(&goodness(*one)))
    });
    let mut best = f64::NEG_INFINITY;
    order.retain(|at| {
        let leads = goodness(*at) > best;
        best = best.max(goodness(*at));
        leads
    });
    order
}

/// A stair along the front: up to its next point, what one has is the best that there is.
fn push_front(out: &mut String, front: &[usize], places: &[(f64, f64)]) {
    let [first, rest @ ..] = front else { return };
    if rest.is_empty() {
        return;
    }
    let (x, y) = places[*first];
    let _ = write!(out, "<path class=\"front\" d=\"M{x:.1} {y:.1}");
    for at in rest {
        let _ = write!(out, "H{:.1}V{:.1}", places[*at].0, places[*at].1);
    }
    *out += "\"/>";
}

/// Heights of the names of points at `places`, so that no two at one side of `middle` are closer than a line.
fn labels(places: &[(f64, f64)], middle: f64) -> Vec<f64> {
    let mut moved: Vec<f64> = places.iter().map(|(_, y)| *y).collect();
    for is_right in [false, true] {
        let mut side: Vec<usize> = (0..places.len()).filter(|at| (places[*at].0 > middle) == is_right).collect();
        side.sort_by(|one, other| places[*one].1.total_cmp(&places[*other].1));
        let mut last = f64::NEG_INFINITY;
        for at in side {
            moved[at] = moved[at].max(last + LINE);
            last = moved[at];
        }
    }
    moved
}

fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME_MAX) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use regatta_benchmarks::Unit;

    use super::*;

    fn plot(points: &[(&str, f64, f64)]) -> Plot {
        let point = |(name, x, y): &(&str, f64, f64)| Point { name: (*name).into(), x: *x, y: *y, y_range: None };
        Plot {
            caption: "c".into(),
            x_label: "x".into(),
            y_label: "y".into(),
            unit: Unit::Plain,
            is_higher_better: true,
            points: points.iter().map(point).collect(),
        }
    }

    #[test]
    fn the_front_has_those_that_nobody_beats_in_both_directions() {
        let points = plot(&[("dear", 3.0, 0.9), ("cheap", 1.0, 0.5), ("beaten", 2.0, 0.4), ("twin", 1.0, 0.5)]).points;
        assert_eq!(front(&points, true), [1, 0]);
        assert_eq!(front(&points, false), [1, 2], "a low value is good");
    }

    #[test]
    fn names_of_points_at_one_height_do_not_cover_each_other() {
        assert_eq!(labels(&[(10.0, 50.0), (12.0, 50.0), (14.0, 10.0), (90.0, 50.0)], 60.0), [50.0, 65.0, 10.0, 50.0]);
    }

    #[test]
    fn a_plot_without_points_is_nothing_and_names_are_escaped() {
        assert_eq!(svg(&plot(&[])), "");
        assert!(svg(&plot(&[("<b>", 0.0, 0.0)])).contains("&lt;b&gt;"));
    }
}
