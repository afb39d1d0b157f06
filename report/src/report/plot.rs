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
/// Width of a letter, distance of a name from its point, and room around a point, in pixels.
const LETTER: f64 = 6.6;
const ASIDE: f64 = 9.0;
const POINT: f64 = 5.0;
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
    let names: Vec<String> = plot.points.iter().map(|point| shortened(&point.name)).collect();
    let boxes = labels(&places, &names, (left, right));
    for (at, label) in boxes.iter().enumerate() {
        let (point, (px, py)) = (&plot.points[at], places[at]);
        if let Some((low, high)) = point.y_range {
            let (low, high) = (y(y_axis.place(low * factor)), y(y_axis.place(high * factor)));
            let _ = write!(out, "<path class=\"error\" d=\"M{px:.1} {low:.1}V{high:.1}\"/>");
        }
        if label.y != py {
            let end = if label.x > px { label.x - 2.0 } else { label.x + label.width + 2.0 };
            let _ = write!(out, "<path class=\"leader\" d=\"M{px:.1} {py:.1}L{end:.1} {:.1}\"/>", label.y);
        }
        let class = if front.contains(&at) { "point" } else { "point beaten" };
        let _ = write!(
            out,
            "<circle class=\"{class}\" cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"4.5\"/><text class=\"name\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            label.x,
            label.y + 4.0,
            markup_text(&names[at])
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

/// Place of a written name: left end and middle of its line, and its width.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Label {
    x: f64,
    y: f64,
    width: f64,
}

impl Label {
    fn covers(&self, other: &Self) -> bool {
        self.x < other.x + other.width && other.x < self.x + self.width && (self.y - other.y).abs() < LINE
    }

    fn covers_point(&self, (x, y): (f64, f64)) -> bool {
        (self.x - POINT..self.x + self.width + POINT).contains(&x) && (self.y - y).abs() < LINE / 2.0 + POINT
    }
}

/// Names beside their points, between the `ends` of the drawing: as near as they can be without covering another name or point.
fn labels(places: &[(f64, f64)], names: &[String], (left, right): (f64, f64)) -> Vec<Label> {
    let mut placed: Vec<Label> = Vec::new();
    for (at, ((x, y), name)) in places.iter().zip(names).enumerate() {
        let width = name.chars().count() as f64 * LETTER;
        let after = Label { x: x + ASIDE, y: *y, width };
        let before = Label { x: x - ASIDE - width, ..after };
        let sides = if *x > (left + right) / 2.0 { [before, after] } else { [after, before] };
        let rows = [0.0, -1.0, 1.0, -2.0, 2.0, -3.0, 3.0].map(|row| row * LINE);
        let choices = rows.iter().flat_map(|row| sides.map(|side| Label { y: side.y + row, ..side }));
        let is_free = |label: &Label| {
            let others = places.iter().enumerate().filter(|(other, _)| *other != at);
            label.x >= left
                && label.x + label.width <= right
                && !placed.iter().any(|other| label.covers(other))
                && !others.into_iter().any(|(_, point)| label.covers_point(*point))
        };
        let label = choices.into_iter().find(is_free).unwrap_or(sides[0]);
        placed.push(label);
    }
    placed
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
    fn names_cover_neither_each_other_nor_points_of_others() {
        let places = [(100.0, 50.0), (112.0, 50.0), (118.0, 52.0), (380.0, 50.0)];
        let names = ["one", "two", "three", "four"].map(str::to_owned);
        let found = labels(&places, &names, (50.0, 400.0));
        for (at, label) in found.iter().enumerate() {
            assert!(!found[at + 1..].iter().any(|other| label.covers(other)), "{found:?}");
            let points = places.iter().enumerate().filter(|(other, _)| *other != at);
            assert!(!points.into_iter().any(|(_, point)| label.covers_point(*point)), "{found:?}");
            assert!(label.x >= 50.0 && label.x + label.width <= 400.0, "{label:?}");
        }
    }

    #[test]
    fn a_plot_without_points_is_nothing_and_names_are_escaped() {
        assert_eq!(svg(&plot(&[])), "");
        assert!(svg(&plot(&[("<b>", 0.0, 0.0)])).contains("&lt;b&gt;"));
    }
}
