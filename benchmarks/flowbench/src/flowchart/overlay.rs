//! Drawings of a conversation over the flowcharts that it visited.

use std::collections::BTreeMap;

use super::draw::{Overlay, draw};
use super::graph::Flowchart;
use super::path::{Finding, Visit, parts, path_check};

/// A flowchart with the path of a conversation on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LaidOver {
    /// Index of the flowchart.
    pub(crate) chart: usize,
    /// The drawing as an SVG element.
    pub(crate) svg: String,
    /// Description in words: the visited nodes, and the first departure.
    pub(crate) words: String,
}

/// Draws the flowcharts, in the order of `charts`, with the nodes in `visits` and the first departure from each;
/// flowcharts that were not visited are left out. A node of no flowchart is shown on the first one.
pub(crate) fn lay_over(charts: &[&Flowchart], visits: &[Visit<'_>]) -> Vec<LaidOver> {
    draw_all(charts, visits, path_check(charts, visits))
}

/// Draws an incomplete list of visits, which cannot show departures.
pub(crate) fn mark(charts: &[&Flowchart], visits: &[Visit<'_>]) -> Vec<LaidOver> {
    draw_all(charts, visits, Vec::new())
}

fn draw_all(charts: &[&Flowchart], visits: &[Visit<'_>], findings: Vec<Finding>) -> Vec<LaidOver> {
    let chart_of = |id: &str| charts.iter().position(|chart| chart.by_id.contains_key(id));
    let mut overlays: BTreeMap<usize, Overlay> = BTreeMap::new();
    let mut ways: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for id in visits.iter().filter_map(|visit| visit.current).flat_map(parts) {
        if let Some(number) = chart_of(id) {
            overlays.entry(number).or_default().visited.insert(id.into());
            let way = ways.entry(number).or_default();
            if way.last() != Some(&id) {
                way.push(id);
            }
        }
    }
    for finding in findings {
        let overlay = overlays.entry(chart_of(&finding.to).unwrap_or(0)).or_default();
        overlay.departure.get_or_insert(finding);
    }
    let laid_over = |(&number, overlay): (&usize, &Overlay)| {
        let chart = charts.get(number)?;
        let mut words = match ways.get(&number) {
            Some(way) => format!("Way: {}.", way.join(" → ")),
            None => "No node of it was named.".to_owned(),
        };
        if let Some(departure) = overlay.departure_in_words(chart) {
            words.push(' ');
            words.push_str(&departure);
        }
        Some(LaidOver { chart: number, svg: draw(chart, overlay), words })
    };
    overlays.iter().filter_map(laid_over).collect()
}
