//! Groups of horizontal bars as inline SVG, on an axis that begins at zero.

use std::fmt::Write as _;

use regatta_benchmarks::markup_text;

use super::content::Bars;
use super::numbers::score_with;

/// Width of the longest bar and of the values at its right, in pixels.
const WIDTH: (f64, f64) = (396.0, 64.0);
/// Least and largest width of the names at the left, and of one of their letters, in pixels.
const NAMES: (f64, f64, f64) = (100.0, 460.0, 6.4);
/// Height of a bar, of the gap below a group and of the line of the legend, in pixels.
const HEIGHT: (f64, f64, f64) = (12.0, 8.0, 22.0);
/// Opacity of the bars of each series, from 0 to 1; the last is as light as still shows on white.
const SHADES: [f64; 6] = [1.0, 0.75, 0.55, 0.4, 0.28, 0.2];

/// Draws `bars`; groups and series without any value have a dash.
pub(crate) fn svg(bars: &Bars) -> String {
    let (thick, gap, legend) = HEIGHT;
    let letters = |text: &str| text.chars().count() as f64 * NAMES.2;
    let longest = bars.groups.iter().map(|(name, _)| letters(name)).fold(0.0, f64::max);
    let left = (longest + 16.0).clamp(NAMES.0, NAMES.1);
    let entry = |name: &String| letters(name) + 32.0;
    let width = left + (WIDTH.0 + WIDTH.1).max(bars.series.iter().map(entry).sum());
    let values = bars.groups.iter().flat_map(|(_, values)| values);
    let drawn = values.flat_map(|measured| [measured.value, measured.high]).flatten();
    let most = bars.unit.scale().map_or(0.0, |(_, most)| most);
    let most = drawn.filter(|value| value.is_finite()).fold(most, f64::max);
    let each = thick * bars.series.len() as f64 + gap;
    let height = legend + each * bars.groups.len() as f64;
    let x = |value: f64| left + WIDTH.0 * (value / most.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    let mut out = format!(
        "<svg class=\"plot bars\" viewBox=\"0 0 {width:.0} {height}\" width=\"{width:.0}\" height=\"{height}\" role=\"img\" aria-label=\"{}\">",
        markup_text(&bars.caption)
    );
    let mut from = left;
    for (at, name) in bars.series.iter().enumerate() {
        let _ = write!(
            out,
            "<rect class=\"fill\" x=\"{from:.1}\" y=\"4\" width=\"10\" height=\"10\" opacity=\"{}\"/><text class=\"tick\" x=\"{:.1}\" \
             y=\"13\">{}</text>",
            shade(at),
            from + 14.0,
            markup_text(name)
        );
        from += entry(name);
    }
    for (group, (name, values)) in bars.groups.iter().enumerate() {
        let top = legend + each * group as f64;
        let _ = write!(
            out,
            "<text class=\"name\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left - 8.0,
            top + (each - gap) / 2.0 + 4.0,
            markup_text(name)
        );
        for (at, measured) in values.iter().enumerate() {
            let y = top + at as f64 * thick;
            let end = measured.value.map_or(left, x);
            let _ = write!(
                out,
                "<rect class=\"fill\" x=\"{left:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" opacity=\"{}\"/>",
                (end - left).max(0.0),
                thick - 2.0,
                shade(at)
            );
            let mut text = end;
            if let (Some(low), Some(high)) = (measured.low, measured.high) {
                text = text.max(x(high));
                let _ = write!(
                    out,
                    "<line class=\"error\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/>",
                    x(low),
                    x(high),
                    y + thick / 2.0 - 1.0,
                    y + thick / 2.0 - 1.0
                );
            }
            let _ = write!(
                out,
                "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                text + 5.0,
                y + thick - 2.0,
                score_with(measured.value, bars.unit, bars.decimals)
            );
        }
    }
    out += "</svg>";
    out
}

fn shade(series: usize) -> f64 {
    SHADES[series.min(SHADES.len() - 1)]
}

#[cfg(test)]
mod tests {
    use regatta_benchmarks::{Measured, Unit};

    use super::*;

    fn one(value: Option<f64>) -> String {
        let value = Measured { value, ..Measured::default() };
        svg(&Bars {
            caption: "c".into(),
            series: vec!["<b>".into()],
            unit: Unit::Turns,
            decimals: 1,
            groups: vec![("g".into(), vec![value])],
        })
    }

    #[test]
    fn the_longest_bar_ends_before_the_numbers_and_names_are_escaped() {
        let drawn = one(Some(12.0));
        assert!(drawn.contains("width=\"396.0\"") && drawn.contains(">12.0</text>") && drawn.contains("&lt;b&gt;"));
    }

    #[test]
    fn nothing_is_a_dash_and_no_bar() {
        let drawn = one(None);
        assert!(drawn.contains(">–</text>") && drawn.contains("width=\"0.0\""));
    }
}
