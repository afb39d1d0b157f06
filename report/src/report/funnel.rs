//! A funnel as inline SVG: the ends of a sequence over the clusters of items bought, with the margin as a band.

use std::fmt::Write as _;

use regatta_benchmarks::{Unit, markup_text};
use regatta_proto::Margin;

use super::axis::Axis;
use super::content::Funnel;
use crate::decided::{DecidedContest, DecidedSequence};

/// Size of the drawing, in pixels.
const SIZE: (f64, f64) = (340.0, 190.0);
/// Room left of, above, right of and below the axes, in pixels.
const ROOM: (f64, f64, f64, f64) = (50.0, 10.0, 12.0, 38.0);
/// Most pictures.
const FUNNELS_MAX: usize = 24;

/// A picture of each sequence that was looked at.
pub(crate) fn funnels(contests: &[&DecidedContest], margin: Margin) -> Vec<Funnel> {
    let all = contests.iter().flat_map(|contest| contest.sequences.iter().map(move |of| (*contest, of)));
    all.filter(|(_, of)| !of.points.is_empty())
        .take(FUNNELS_MAX)
        .map(|(contest, of)| funnel(margin, contests.len(), contest, of))
        .collect()
}

fn funnel(margin: Margin, contests: usize, contest: &DecidedContest, of: &DecidedSequence) -> Funnel {
    let (from, to) = contest.range;
    let is_share = matches!(contest.unit, Unit::Plain | Unit::Percent) && contest.range == (0.0, 1.0);
    let (factor, unit) = if is_share { (100.0, ", pp") } else { (contest.unit.factor(), "") };
    let name = match &of.other {
        Some(other) => format!("{} − {other}{unit}", of.one),
        None => format!("{}{unit}", of.one),
    };
    // Of a metric of which less is better, positive differences are still better ones.
    let place = if contests > 1 { format!("{} · {} · ", contest.benchmark, contest.setting) } else { String::new() };
    Funnel {
        caption: format!("{place}{name}"),
        points: of.points.iter().map(|point| (point.units as f64, point.low * factor, point.high * factor)).collect(),
        margin: of.other.as_ref().map(|_| margin.part() * (to - from) * factor),
    }
}

/// Draws `funnel`; empty without points.
pub(crate) fn svg(funnel: &Funnel) -> String {
    let ends = funnel.points.iter().flat_map(|(_, low, high)| [*low, *high]).chain(funnel.margin.map(|_| 0.0));
    let x_axis = Axis::fitting(funnel.points.iter().map(|point| point.0).chain([0.0]), (0.0, f64::INFINITY));
    let y_axis = Axis::fitting(ends, (f64::NEG_INFINITY, f64::INFINITY));
    let (Some(x_axis), Some(y_axis)) = (x_axis, y_axis) else { return String::new() };
    let (width, height) = SIZE;
    let (left, top, right, bottom) = (ROOM.0, ROOM.1, width - ROOM.2, height - ROOM.3);
    let x = |value: f64| left + (right - left) * x_axis.place(value);
    let y = |value: f64| bottom - (bottom - top) * y_axis.place(value);
    let mut out = format!(
        "<svg class=\"plot\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">",
        markup_text(&funnel.caption)
    );
    // Writing to a String cannot fail.
    for (place, number) in y_axis.ticks() {
        let at = bottom - (bottom - top) * place;
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{left} {at:.1}H{right}\"/><text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{number}</text>",
            left - 6.0,
            at + 4.0
        );
    }
    for (place, number) in x_axis.ticks() {
        let at = left + (right - left) * place;
        let _ = write!(
            out,
            "<text class=\"tick\" x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{number}</text>",
            bottom + 16.0
        );
    }
    if let Some(margin) = funnel.margin {
        let (from, to) = (y(margin), y(-margin));
        let _ = write!(
            out,
            "<rect class=\"margin\" x=\"{left}\" y=\"{from:.1}\" width=\"{:.1}\" height=\"{:.1}\"/><path class=\"zero\" d=\"M{left} {:.1}H{right}\"/>",
            right - left,
            (to - from).max(0.0),
            y(0.0)
        );
    }
    let line = |end: fn(&(f64, f64, f64)) -> f64| {
        let points = funnel.points.iter().map(|point| format!("{:.1},{:.1}", x(point.0), y(end(point))));
        points.collect::<Vec<_>>().join(" ")
    };
    let _ = write!(
        out,
        "<polyline class=\"funnel\" points=\"{}\"/><polyline class=\"funnel\" points=\"{}\"/><text class=\"axis\" x=\"{:.1}\" y=\"{:.1}\" \
         text-anchor=\"middle\">clusters of items bought</text></svg>",
        line(|point| point.2),
        line(|point| point.1),
        f64::midpoint(left, right),
        height - 6.0
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_drawn_over_what_was_bought_with_the_margin_around_zero() {
        let funnel = Funnel {
            caption: "a − b".to_owned(),
            points: vec![(10.0, -20.0, 30.0), (40.0, 1.0, 9.0)],
            margin: Some(2.0),
        };
        let drawn = svg(&funnel);
        assert_eq!(drawn.matches("<polyline").count(), 2);
        assert!(drawn.contains("class=\"margin\"") && drawn.contains("class=\"zero\""), "{drawn}");
    }
}
