//! Drawing of a flowchart as SVG, with the path of a conversation on it.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use petgraph::Direction;
use petgraph::graph::{EdgeReference, NodeIndex};
use petgraph::visit::EdgeRef;
use regatta_benchmarks::markup_text;

use super::graph::{Flowchart, Shape};
use super::layout::{Layout, NODE_WIDTH, Place, layout, wrap};
use super::path::Finding;

/// Characters in a line of an edge's label.
const LABEL_CHARS: usize = 26;
const LABEL_HEIGHT: usize = 13;
/// Approximate greatest width of a character, in pixels.
const WORD_WIDTH: usize = 7;

/// Path of a conversation to be drawn over the flowchart. Ids that the flowchart lacks are ignored.
#[derive(Debug, Clone, Default)]
pub(crate) struct Overlay {
    /// Nodes that the conversation visited.
    pub(crate) visited: BTreeSet<Arc<str>>,
    /// First departure from the flowchart: the nodes before it, and the node that it went to.
    pub(crate) departure: Option<Finding>,
}

impl Overlay {
    /// Describes the departure, if there is one, with the nodes that could have followed instead.
    pub(super) fn departure_in_words(&self, chart: &Flowchart) -> Option<String> {
        let finding = self.departure.as_ref()?;
        let mut words =
            format!("Agent turn {} goes to {}: {}.", finding.visit + 1, finding.to, finding.departure.words());
        for from in &finding.from {
            for next in chart.next_nodes(from) {
                // Writing to a String cannot fail.
                let _ = write!(words, " {from} leads to {}", next.node.id);
                let _ = next.intent.map_or(Ok(()), |intent| write!(words, " ({intent})"));
                words.push(';');
            }
        }
        words.truncate(words.trim_end_matches(';').len());
        Some(words)
    }
}

/// Draws the flowchart as a self-contained SVG element. Rows go downwards whatever direction the source asks for.
pub(crate) fn draw(chart: &Flowchart, overlay: &Overlay) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = Drawing { chart, layout: layout(chart), overlay }.write(&mut out);
    out
}

struct Drawing<'d> {
    chart: &'d Flowchart,
    layout: Layout,
    overlay: &'d Overlay,
}

impl Drawing<'_> {
    fn write(&self, out: &mut String) -> fmt::Result {
        let (width, height) = (self.layout.width, self.layout.height);
        writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             role=\"img\" class=\"flowchart\">"
        )?;
        if let Some(notes) = &self.chart.notes {
            writeln!(out, "<desc>{}</desc>", markup_text(notes))?;
        }
        out.push_str(HEAD);
        for edge in self.chart.graph.edge_references() {
            self.edge(out, edge)?;
        }
        self.departure(out)?;
        for index in self.chart.graph.node_indices() {
            self.node(out, index)?;
        }
        out.push_str("</svg>\n");
        Ok(())
    }

    fn place(&self, index: NodeIndex) -> Option<&Place> {
        self.layout.places.get(index.index())
    }

    fn node(&self, out: &mut String, index: NodeIndex) -> fmt::Result {
        let (node, Some(place)) = (&self.chart.graph[index], self.place(index)) else { return Ok(()) };
        let mut class = match node.shape {
            Shape::Start => "node start",
            Shape::Box => "node box",
            Shape::Flag => "node flag",
        }
        .to_owned();
        if self.overlay.visited.contains(&node.id) {
            class.push_str(" visited");
        }
        if let Some(finding) = &self.overlay.departure {
            if finding.from.contains(&node.id) {
                class.push_str(" left");
            }
            if finding.to == node.id {
                class.push_str(" wrong");
            }
        }
        let (x, y, height) = (place.x, place.y, place.height);
        writeln!(out, "<g class=\"{class}\"><title>{}\n{}</title>", markup_text(&node.id), markup_text(&node.text))?;
        if node.shape == Shape::Flag {
            let (right, bottom, notch) = (x + NODE_WIDTH, y + height, x.saturating_sub(14));
            let middle = y + height / 2;
            writeln!(out, "<path d=\"M{notch} {y}H{right}V{bottom}H{notch}L{x} {middle}Z\"/>")?;
        } else {
            let round = if node.shape == Shape::Start { 16 } else { 4 };
            writeln!(out, "<rect x=\"{x}\" y=\"{y}\" width=\"{NODE_WIDTH}\" height=\"{height}\" rx=\"{round}\"/>")?;
        }
        writeln!(out, "<text class=\"id\" x=\"{}\" y=\"{}\">{}</text>", x + 10, y + 17, markup_text(&node.id))?;
        for (number, line) in place.lines.iter().enumerate() {
            writeln!(out, "<text x=\"{}\" y=\"{}\">{}</text>", x + 10, y + 17 + 16 * (number + 1), markup_text(line))?;
        }
        out.push_str("</g>\n");
        Ok(())
    }

    fn edge(&self, out: &mut String, edge: EdgeReference<'_, Option<Arc<str>>>) -> fmt::Result {
        let (Some(from), Some(to)) = (self.place(edge.source()), self.place(edge.target())) else { return Ok(()) };
        // Edges that lead down leave a node side by side, and arrive side by side.
        let x1 = self.port(edge, from, self.chart.graph.edges(edge.source()));
        let x2 = self.port(edge, to, self.chart.graph.edges_directed(edge.target(), Direction::Incoming));
        let (y1, y2) = (from.y + from.height, to.y);
        let walked = [edge.source(), edge.target()]
            .iter()
            .all(|index| self.overlay.visited.contains(&self.chart.graph[*index].id));
        let class = if walked { "edge walked" } else { "edge" };
        let (path, label_x, label_y) = if to.row > from.row {
            let bend = (y2 - y1) / 2;
            let path = format!("M{x1} {y1}C{x1} {} {x2} {} {x2} {y2}", y1 + bend, y2 - bend);
            // Nearer to the source, where edges are still separate.
            (path, (2 * x1 + x2) / 3, y1 + 24)
        } else {
            // Edges that lead up, or stay in the row, go around the right side.
            let side = (from.x.max(to.x) + NODE_WIDTH + 30 + 6 * (edge.id().index() % 8)).min(self.layout.width - 4);
            let (start, end) = (from.y + from.height / 2, to.y + to.height / 2);
            let right = (from.x + NODE_WIDTH, to.x + NODE_WIDTH);
            let path = format!("M{} {start}C{side} {start} {side} {end} {} {end}", right.0, right.1);
            (path, side.saturating_sub(20), start.midpoint(end))
        };
        writeln!(out, "<path class=\"{class}\" d=\"{path}\" marker-end=\"url(#arrow)\"/>")?;
        let lines = edge.weight().as_deref().map(|label| wrap(label, LABEL_CHARS)).unwrap_or_default();
        for (number, line) in lines.iter().enumerate() {
            let y = label_y + LABEL_HEIGHT * number;
            writeln!(out, "<text class=\"label\" x=\"{label_x}\" y=\"{y}\">{}</text>", markup_text(line))?;
        }
        Ok(())
    }

    /// Position at which an edge that leads down meets the node at `place`, whose edges on that side are `siblings`.
    fn port<'c>(
        &'c self,
        edge: EdgeReference<'_, Option<Arc<str>>>,
        place: &Place,
        siblings: impl Iterator<Item = EdgeReference<'c, Option<Arc<str>>>>,
    ) -> usize {
        let row = |index| self.place(index).map_or(0, |place| place.row);
        let down = siblings.filter(|other| row(other.target()) > row(other.source()));
        let mut ids: Vec<_> = down.map(|other| other.id()).collect();
        ids.sort_unstable();
        let rank = ids.iter().position(|id| *id == edge.id()).unwrap_or(0);
        place.x + NODE_WIDTH * (rank + 1) / (ids.len() + 1)
    }

    /// Draws the departure as a dashed line, and in words with the nodes that could have followed instead.
    fn departure(&self, out: &mut String) -> fmt::Result {
        let Some(finding) = &self.overlay.departure else { return Ok(()) };
        let words = self.overlay.departure_in_words(self.chart).unwrap_or_default();
        for (number, line) in wrap(&words, self.layout.width / WORD_WIDTH).iter().take(2).enumerate() {
            writeln!(out, "<text class=\"left\" x=\"6\" y=\"{}\">{}</text>", 14 + 15 * number, markup_text(line))?;
        }
        let Some(to) = self.chart.by_id.get(&finding.to).and_then(|index| self.place(*index)) else { return Ok(()) };
        for from in finding.from.iter().filter_map(|id| self.place(*self.chart.by_id.get(id)?)) {
            // From border to border when one node is below the other, else from centre to centre behind the nodes.
            let ends = match from.row.cmp(&to.row) {
                Ordering::Less => (from.y + from.height, to.y),
                Ordering::Equal => (from.y + from.height / 2, to.y + to.height / 2),
                Ordering::Greater => (from.y, to.y + to.height),
            };
            let (x1, y1, x2, y2) = (from.x + NODE_WIDTH / 2, ends.0, to.x + NODE_WIDTH / 2, ends.1);
            writeln!(out, "<path class=\"departure\" d=\"M{x1} {y1}L{x2} {y2}\"/>")?;
        }
        Ok(())
    }
}

const HEAD: &str = "<style>
.flowchart text { font: 12px sans-serif; fill: #222 }
.flowchart .id { font-weight: bold; fill: #666 }
.flowchart .node rect, .flowchart .node path { fill: #fff; stroke: #888 }
.flowchart .flag path { fill: #f4f4fa }
.flowchart .visited rect, .flowchart .visited path { fill: #dff0df; stroke: #2a7a2a; stroke-width: 2 }
.flowchart .left rect, .flowchart .left path { stroke: #c02020; stroke-width: 3 }
.flowchart .wrong rect, .flowchart .wrong path { fill: #fbdcdc; stroke: #c02020; stroke-width: 3 }
.flowchart .edge { fill: none; stroke: #aaa }
.flowchart .walked { stroke: #2a7a2a; stroke-width: 2 }
.flowchart .departure { fill: none; stroke: #c02020; stroke-width: 3; stroke-dasharray: 7 5 }
.flowchart text.left { fill: #c02020 }
.flowchart .label { font-size: 11px; fill: #444; text-anchor: middle; paint-order: stroke; stroke: #fff; stroke-width: 4 }
</style>
<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\">\
<path d=\"M0 0L8 4L0 8Z\" fill=\"#888\"/></marker></defs>
";
