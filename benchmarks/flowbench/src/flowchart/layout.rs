//! Layout of a drawing: one row for each number of steps from the start, nodes of a row ordered by their predecessors.

use petgraph::Direction;
use petgraph::graph::NodeIndex;

use super::graph::Flowchart;

/// Greatest number of characters in a line of a node.
const LINE_CHARS: usize = 34;
/// Greatest number of lines of a node; a longer text ends with an ellipsis and is complete in the tooltip.
const LINES_MAX: usize = 9;
/// Pixels.
pub(super) const NODE_WIDTH: usize = 240;
const LINE_HEIGHT: usize = 16;
const NODE_PADDING: usize = 12;
const GAP_ACROSS: usize = 50;
const GAP_DOWN: usize = 80;
const MARGIN: usize = 40;

/// A node's rectangle and the lines in it, in pixels.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) height: usize,
    pub(super) row: usize,
    pub(super) lines: Vec<String>,
}

/// Geometry of a drawing.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// Rectangles by node index.
    pub(super) places: Vec<Place>,
    pub(super) width: usize,
    pub(super) height: usize,
}

/// Computes the position of every node; deterministic.
pub(super) fn layout(chart: &Flowchart) -> Layout {
    let depths = chart.depths();
    let last = depths.iter().flatten().max().copied().unwrap_or(0);
    let mut rows: Vec<Vec<NodeIndex>> = vec![Vec::new(); last + 1];
    for index in chart.graph.node_indices() {
        // Unreachable nodes get a row of their own at the bottom.
        let row = depths[index.index()].unwrap_or(last + 1);
        if row == rows.len() {
            rows.push(Vec::new());
        }
        rows[row].push(index);
    }
    order_below_predecessors(chart, &mut rows);
    let widest = rows.iter().map(Vec::len).max().unwrap_or(1);
    let inner = widest * (NODE_WIDTH + GAP_ACROSS) - GAP_ACROSS;
    let mut places: Vec<Option<Place>> = vec![None; chart.graph.node_count()];
    let mut y = MARGIN;
    for (number, row) in rows.iter().enumerate() {
        let texts: Vec<Vec<String>> = row.iter().map(|&index| lines(chart, index)).collect();
        let taken = row.len() * (NODE_WIDTH + GAP_ACROSS) - GAP_ACROSS.min(row.len() * GAP_ACROSS);
        let mut x = MARGIN + (inner - taken) / 2;
        let tallest = texts.iter().map(|lines| height_of(lines)).max().unwrap_or(0);
        for (&index, lines) in row.iter().zip(texts) {
            let height = height_of(&lines);
            places[index.index()] = Some(Place { x, y, height, row: number, lines });
            x += NODE_WIDTH + GAP_ACROSS;
        }
        y += tallest + GAP_DOWN;
    }
    // Space at the right for edges that lead back.
    let width = inner + 2 * MARGIN + GAP_ACROSS * 2;
    Layout { places: places.into_iter().flatten().collect(), width, height: y - GAP_DOWN + MARGIN }
}

/// One pass of the barycentre heuristic: a node is placed by the mean position of its predecessors in the row above;
/// ties keep the order of the source.
fn order_below_predecessors(chart: &Flowchart, rows: &mut [Vec<NodeIndex>]) {
    let mut position = vec![0.5; chart.graph.node_count()];
    for row in rows.iter_mut() {
        let mean = |index: NodeIndex, position: &[f64]| {
            let above: Vec<f64> = chart
                .graph
                .neighbors_directed(index, Direction::Incoming)
                .filter(|before| position[before.index()].is_finite())
                .map(|before| position[before.index()])
                .collect();
            #[expect(clippy::cast_precision_loss, reason = "a few dozen nodes")]
            let count = above.len().max(1) as f64;
            above.iter().sum::<f64>() / count
        };
        let mut keyed: Vec<(f64, NodeIndex)> = row.iter().map(|&index| (mean(index, &position), index)).collect();
        keyed.sort_by(|(a, i), (b, j)| a.total_cmp(b).then(i.cmp(j)));
        *row = keyed.into_iter().map(|(_, index)| index).collect();
        for (place, index) in row.iter().enumerate() {
            #[expect(clippy::cast_precision_loss, reason = "a few dozen nodes")]
            let middle = (place as f64 + 0.5) / row.len() as f64;
            position[index.index()] = middle;
        }
    }
}

fn height_of(lines: &[String]) -> usize {
    // One more line for the id.
    (lines.len() + 1) * LINE_HEIGHT + NODE_PADDING
}

fn lines(chart: &Flowchart, index: NodeIndex) -> Vec<String> {
    let mut lines: Vec<String> = chart.graph[index].text.lines().flat_map(|line| wrap(line, LINE_CHARS)).collect();
    if lines.len() > LINES_MAX {
        lines.truncate(LINES_MAX);
        if let Some(last) = lines.last_mut() {
            last.push('…');
        }
    }
    lines
}

/// Wraps a line between words; a word longer than a line is broken.
pub(super) fn wrap(line: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut current = String::new();
    let mut length = 0;
    for word in line.split_whitespace() {
        let letters: Vec<char> = word.chars().collect();
        for piece in letters.chunks(width) {
            if length > 0 && length + 1 + piece.len() > width {
                lines.push(std::mem::take(&mut current));
                length = 0;
            }
            if length > 0 {
                current.push(' ');
                length += 1;
            }
            current.extend(piece);
            length += piece.len();
        }
    }
    if !current.is_empty() {
        lines.push(current);
    }
    lines
}
