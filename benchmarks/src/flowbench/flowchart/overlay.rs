//! A conversation laid over the flowcharts that it touched.

use std::collections::BTreeMap;

use super::draw::{Overlay, draw};
use super::graph::Flowchart;
use super::path::{Visit, parts, path_check};

/// The flowcharts with the nodes that `visits` name and the first step that left each, as SVG, in the order of `charts`; those that the
/// conversation never touched are left out. A node of no flowchart is shown on the first one.
pub(crate) fn lay_over(charts: &[&Flowchart], visits: &[Visit<'_>]) -> Vec<String> {
    let chart_of = |id: &str| charts.iter().position(|chart| chart.by_id.contains_key(id));
    let mut overlays: BTreeMap<usize, Overlay> = BTreeMap::new();
    for id in visits.iter().filter_map(|visit| visit.current).flat_map(parts) {
        if let Some(number) = chart_of(id) {
            overlays.entry(number).or_default().visited.insert(id.into());
        }
    }
    for finding in path_check(charts, visits) {
        let overlay = overlays.entry(chart_of(&finding.to).unwrap_or(0)).or_default();
        overlay.departure.get_or_insert(finding);
    }
    overlays.iter().filter_map(|(&number, overlay)| Some(draw(charts.get(number)?, overlay))).collect()
}
