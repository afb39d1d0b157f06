//! A scatter plot as inline SVG: points with error bars and names, on axes that begin at zero.

use std::fmt::Write as _;

use regatta_benchmarks::markup_text;

use super::content::{Plot, Point};

/// Size of the drawing, in pixels.
const SIZE: (f64, f64) = (720.0, 320.0);
/// Room left of, above, right of and below the axes, in pixels; names stand to the right of their points.
const ROOM: (f64, f64, f64, f64) = (56.0, 14.0, 190.0, 46.0);
/// Least distance between the lines of two names, in pixels.
const LINE: f64 = 15.0;

/// Draws `plot`; empty when it has no points.
pub(crate) fn svg(plot: &Plot) -> String {
    if plot.points.is_empty() {
        return String::new();
    }
    let (width, height) = SIZE;
    let (left, top, right, bottom) = (ROOM.0, ROOM.1, width - ROOM.2, height - ROOM.3);
    let (x_step, x_end) = scale(plot.points.iter().map(|point| point.x));
    let (y_step, y_end) = scale(plot.points.iter().map(|point| point.y_range.map_or(point.y, |(_, high)| high)));
    let x = |value: f64| left + (right - left) * value / x_end;
    let y = |value: f64| bottom - (bottom - top) * value / y_end;
    let mut out = format!(
        "<svg class=\"plot\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"{}\">",
        markup_text(&plot.caption)
    );
    for (step, end, is_x) in [(x_step, x_end, true), (y_step, y_end, false)] {
        for tick in ticks(step, end) {
            let text = number(tick, step);
            let _ = if is_x {
                let at = x(tick);
                write!(
                    out,
                    "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{top}\" y2=\"{bottom}\"/><text class=\"tick\" \
                     x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
                    bottom + 16.0
                )
            } else {
                let at = y(tick);
                write!(
                    out,
                    "<line class=\"grid\" x1=\"{left}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/><text class=\"tick\" \
                     x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                    left - 6.0,
                    at + 4.0
                )
            };
        }
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
    let heights: Vec<f64> = plot.points.iter().map(|point| y(point.y)).collect();
    for (point, label) in plot.points.iter().zip(apart(&heights)) {
        push_point(&mut out, point, (x(point.x), label + 4.0), &y);
    }
    out += "</svg>";
    out
}

fn push_point(out: &mut String, point: &Point, (x, label): (f64, f64), y: &dyn Fn(f64) -> f64) {
    if let Some((low, high)) = point.y_range {
        let _ = write!(
            out,
            "<line class=\"error\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/>",
            y(low),
            y(high)
        );
    }
    let _ = write!(
        out,
        "<circle class=\"point\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"4.5\"/><text class=\"name\" x=\"{:.1}\" y=\"{label:.1}\">{}</text>",
        y(point.y),
        x + 9.0,
        markup_text(&point.name)
    );
}

/// A step of 1, 2 or 5 times a power of ten, and a multiple of it that holds all `values` (none is negative).
fn scale(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let most = values.fold(0.0, f64::max);
    if most <= 0.0 {
        return (0.5, 1.0);
    }
    let power = 10f64.powf((most / 4.0).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = steps.into_iter().find(|step| most / step <= 5.0).unwrap_or(10.0 * power);
    (step, (most / step).ceil().max(1.0) * step)
}

fn ticks(step: f64, end: f64) -> impl Iterator<Item = f64> {
    (0..=(end / step).round() as u32).map(move |at| f64::from(at) * step)
}

/// `value` with the decimals that tell multiples of `step` apart.
fn number(value: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{value:.decimals$}")
}

/// `heights` moved so that no two are closer than a line, in the given order.
fn apart(heights: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..heights.len()).collect();
    order.sort_by(|one, other| heights[*one].total_cmp(&heights[*other]));
    let mut moved = heights.to_vec();
    let mut last = f64::NEG_INFINITY;
    for at in order {
        moved[at] = moved[at].max(last + LINE);
        last = moved[at];
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_begins_at_zero_and_has_three_to_six_round_ticks() {
        for most in [0.000_31, 0.01, 0.7, 1.0, 3.0, 99.0, 12_345.0] {
            let (step, end) = scale([most, most / 2.0].into_iter());
            let count = ticks(step, end).count();
            assert!(end >= most && (3..=6).contains(&count), "{most}: {step} to {end}, {count} ticks");
        }
    }

    #[test]
    fn names_of_points_at_one_height_do_not_cover_each_other() {
        assert_eq!(apart(&[50.0, 50.0, 10.0]), [50.0, 65.0, 10.0]);
    }

    #[test]
    fn a_plot_without_points_is_nothing_and_names_are_escaped() {
        let mut plot = Plot { caption: "c".into(), x_label: "x".into(), y_label: "y".into(), points: Vec::new() };
        assert_eq!(svg(&plot), "");
        plot.points.push(Point { name: "<b>".into(), x: 0.0, y: 0.0, y_range: None });
        assert!(svg(&plot).contains("&lt;b&gt;"));
    }
}
