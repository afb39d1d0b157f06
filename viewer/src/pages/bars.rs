//! Bars beside values: the part of the best that each is.

use maud::{Markup, html};

/// `one` as a part of the larger `other`, 0..=1. Of two that are equal it is the whole, whatever their sign.
pub(crate) fn part(one: f64, other: f64) -> f64 {
    match (one == other, other > 0.0) {
        (true, _) => 1.0,
        (false, true) => (one / other).clamp(0.0, 1.0),
        (false, false) => 0.0,
    }
}

/// A bar of a part, 0..=1.
pub(crate) fn bar(part: f64) -> Markup {
    html! { meter min="0" max="1" value=(format!("{part:.3}")) { (format!("{:.0} %", part * 100.0)) } }
}
