//! Graphs as SVG: each row is one step further from the start, each node stands below the mean of its predecessors.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use regatta_benchmarks::{Drawing, DrawnNode, Presence, markup_text};

/// Most nodes that are drawn; a page has no room for more.
const NODES_MAX: usize = 200;
/// Most characters in a line of a node.
const LINE_CHARS: usize = 30;
const LINES_MAX: usize = 6;
/// Pixels.
const WIDTH: usize = 250;
const LINE_HEIGHT: usize = 16;
const PADDING: usize = 10;
const GAP_ACROSS: usize = 26;
const GAP_DOWN: usize = 46;
const MARGIN: usize = 8;

struct Place {
    x: usize,
    y: usize,
    height: usize,
    lines: Vec<String>,
}

/// The drawing as an SVG element with a description in words; `None` if it has no nodes, or too many.
pub(crate) fn svg(drawing: &Drawing) -> Option<String> {
    if drawing.nodes.is_empty() || drawing.nodes.len() > NODES_MAX {
        return None;
    }
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_svg(&mut out, drawing, &layout(drawing));
    Some(out)
}

/// Counts of matched, missing and extra parts, for people who cannot see the drawing.
pub(crate) fn in_words(drawing: &Drawing) -> String {
    let count = |all: &mut dyn Iterator<Item = Presence>| {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        all.for_each(|presence| *counts.entry(presence.as_str()).or_default() += 1);
        let words: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
        if words.is_empty() { "none".to_owned() } else { words.join(", ") }
    };
    let nodes = count(&mut drawing.nodes.iter().map(|node| node.presence));
    let edges = count(&mut drawing.edges.iter().map(|edge| edge.presence));
    format!("nodes: {nodes}; edges: {edges}")
}

/// Row of each node: its steps from a node without predecessors. Nodes that only a cycle leads to stand below all others.
fn rows(drawing: &Drawing) -> Vec<usize> {
    let count = drawing.nodes.len();
    let edges: Vec<(usize, usize)> = drawing
        .edges
        .iter()
        .map(|edge| (edge.from, edge.to))
        .filter(|(from, to)| from != to && *from < count && *to < count)
        .collect();
    let mut left: Vec<usize> = (0..count).map(|node| edges.iter().filter(|(_, to)| *to == node).count()).collect();
    let mut rows = vec![0; count];
    let mut is_placed = vec![false; count];
    let mut ready: Vec<usize> = (0..count).filter(|node| left[*node] == 0).collect();
    let mut placed = 0;
    while placed < count {
        let Some(node) = ready.pop() else {
            // A cycle: it is entered at its first node.
            let Some(first) = (0..count).find(|node| !is_placed[*node]) else { break };
            left[first] = 0;
            ready.push(first);
            continue;
        };
        if std::mem::replace(&mut is_placed[node], true) {
            continue;
        }
        placed += 1;
        for &(_, to) in edges.iter().filter(|(from, to)| *from == node && !is_placed[*to]) {
            rows[to] = rows[to].max(rows[node] + 1);
            left[to] = left[to].saturating_sub(1);
            if left[to] == 0 {
                ready.push(to);
            }
        }
    }
    rows
}

fn layout(drawing: &Drawing) -> Vec<Place> {
    let rows = rows(drawing);
    let last = rows.iter().max().copied().unwrap_or(0);
    let mut by_row: Vec<Vec<usize>> = vec![Vec::new(); last + 1];
    rows.iter().enumerate().for_each(|(node, row)| by_row[*row].push(node));
    let mut middle = vec![0.5_f64; drawing.nodes.len()];
    for row in &mut by_row {
        let mean = |node: usize| {
            let above: Vec<f64> = drawing
                .edges
                .iter()
                .filter(|edge| edge.to == node && edge.from < middle.len())
                .map(|edge| middle[edge.from])
                .collect();
            #[expect(clippy::cast_precision_loss, reason = "at most a few hundred nodes")]
            let count = above.len().max(1) as f64;
            if above.is_empty() { 0.5 } else { above.iter().sum::<f64>() / count }
        };
        let mut keyed: Vec<(f64, usize)> = row.iter().map(|node| (mean(*node), *node)).collect();
        keyed.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        *row = keyed.into_iter().map(|(_, node)| node).collect();
        for (at, node) in row.iter().enumerate() {
            #[expect(clippy::cast_precision_loss, reason = "at most a few hundred nodes")]
            let place = (at as f64 + 0.5) / row.len() as f64;
            middle[*node] = place;
        }
    }
    let widest = by_row.iter().map(Vec::len).max().unwrap_or(1);
    let inner = widest * (WIDTH + GAP_ACROSS) - GAP_ACROSS;
    let mut places: Vec<Option<Place>> = drawing.nodes.iter().map(|_| None).collect();
    let mut y = MARGIN;
    for row in &by_row {
        let texts: Vec<Vec<String>> = row.iter().map(|node| lines_of(&drawing.nodes[*node])).collect();
        let tallest = texts.iter().map(Vec::len).max().unwrap_or(1);
        let taken = row.len() * (WIDTH + GAP_ACROSS) - GAP_ACROSS.min(row.len() * GAP_ACROSS);
        let mut x = MARGIN + (inner - taken) / 2;
        for (node, lines) in row.iter().zip(texts) {
            let height = lines.len().max(1) * LINE_HEIGHT + PADDING;
            places[*node] = Some(Place { x, y, height, lines });
            x += WIDTH + GAP_ACROSS;
        }
        y += tallest.max(1) * LINE_HEIGHT + PADDING + GAP_DOWN;
    }
    places.into_iter().flatten().collect()
}

/// A node's text, and the gold's where the two are not alike.
fn lines_of(node: &DrawnNode) -> Vec<String> {
    let mut lines = lines(&node.label);
    if node.presence == Presence::Changed {
        lines.extend(self::lines(&format!("gold: {}", node.detail)));
    }
    lines
}

/// Breaks the text into lines between words; a word that is longer than a line is cut.
fn lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_whitespace() {
        let letters: Vec<char> = word.chars().collect();
        for piece in letters.chunks(LINE_CHARS) {
            let full = lines.last().map_or(0, |line| line.chars().count());
            if full > 0 && full + 1 + piece.len() > LINE_CHARS {
                lines.push(String::new());
            }
            if lines.len() > LINES_MAX {
                lines.truncate(LINES_MAX);
                if let Some(last) = lines.last_mut() {
                    last.push('…');
                }
                return lines;
            }
            if let Some(line) = lines.last_mut() {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.extend(piece);
            }
        }
    }
    lines
}

const fn sign(presence: Presence) -> &'static str {
    match presence {
        Presence::Matched => "✓",
        Presence::Changed => "≠",
        Presence::Missing => "−",
        Presence::Extra => "+",
    }
}

fn write_svg(out: &mut String, drawing: &Drawing, places: &[Place]) -> fmt::Result {
    let width = places.iter().map(|place| place.x + WIDTH).max().unwrap_or(0) + MARGIN;
    let height = places.iter().map(|place| place.y + place.height).max().unwrap_or(0) + MARGIN;
    writeln!(
        out,
        "<svg class=\"graph\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{}: {}\">",
        markup_text(&drawing.title),
        in_words(drawing)
    )?;
    for edge in &drawing.edges {
        let (Some(from), Some(to)) = (places.get(edge.from), places.get(edge.to)) else { continue };
        write_edge(out, from, to, edge.presence)?;
    }
    for (node, place) in drawing.nodes.iter().zip(places) {
        write_node(out, node, place)?;
    }
    out.push_str("</svg>\n");
    Ok(())
}

fn write_edge(out: &mut String, from: &Place, to: &Place, presence: Presence) -> fmt::Result {
    let class = presence.as_str();
    let (x1, x2) = (from.x + WIDTH / 2, to.x + WIDTH / 2);
    let (y1, y2) = (from.y + from.height, to.y);
    if to.y > from.y {
        let bend = (y2 - y1) / 2;
        writeln!(
            out,
            "<path class=\"edge {class}\" d=\"M{x1} {y1}C{x1} {} {x2} {} {x2} {}\"/>",
            y1 + bend,
            y2 - bend,
            y2 - 6
        )?;
        return writeln!(
            out,
            "<path class=\"head {class}\" d=\"M{} {}L{x2} {y2}L{} {}Z\"/>",
            x2 - 4,
            y2 - 8,
            x2 + 4,
            y2 - 8
        );
    }
    // An edge back or to the side runs around the right of both nodes.
    let (x1, x2) = (from.x + WIDTH, to.x + WIDTH);
    let (y1, y2) = (from.y + from.height / 2, to.y + to.height / 2);
    let side = x1.max(x2) + GAP_ACROSS / 2;
    writeln!(out, "<path class=\"edge {class}\" d=\"M{x1} {y1}C{side} {y1} {side} {y2} {} {y2}\"/>", x2 + 6)?;
    writeln!(
        out,
        "<path class=\"head {class}\" d=\"M{} {}L{x2} {y2}L{} {}Z\"/>",
        x2 + 8,
        y2.saturating_sub(4),
        x2 + 8,
        y2 + 4
    )
}

fn write_node(out: &mut String, node: &DrawnNode, place: &Place) -> fmt::Result {
    let (class, sign) = (node.presence.as_str(), sign(node.presence));
    let Place { x, y, height, lines } = place;
    let told = if node.detail.is_empty() { String::new() } else { format!("\ngold: {}", node.detail) };
    writeln!(
        out,
        "<g class=\"node {class}\"><title>{}</title>",
        markup_text(&format!("{class}: {}{told}", node.label))
    )?;
    writeln!(out, "<rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{height}\" rx=\"6\"/>")?;
    writeln!(out, "<text class=\"sign\" x=\"{}\" y=\"{}\">{sign}</text>", x + 8, y + LINE_HEIGHT)?;
    for (at, line) in lines.iter().enumerate() {
        writeln!(out, "<text x=\"{}\" y=\"{}\">{}</text>", x + 22, y + LINE_HEIGHT * (at + 1), markup_text(line))?;
    }
    writeln!(out, "</g>")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regatta_benchmarks::DrawnEdge;

    use super::*;

    fn drawing(labels: &[&str], edges: &[(usize, usize, Presence)]) -> Drawing {
        let node =
            |label: &&str| DrawnNode { label: (*label).to_owned(), detail: String::new(), presence: Presence::Matched };
        let edge = |&(from, to, presence): &(usize, usize, Presence)| DrawnEdge { from, to, presence };
        Drawing {
            title: "Plan".to_owned(),
            nodes: labels.iter().map(node).collect(),
            edges: edges.iter().map(edge).collect(),
        }
    }

    #[test]
    fn a_graph_is_drawn_with_what_is_matched_missing_and_extra() {
        use Presence::{Extra, Matched, Missing};
        let drawing = drawing(&["find <b>", "heat", "taste"], &[(0, 1, Matched), (1, 2, Missing), (0, 2, Extra)]);
        let drawn = svg(&drawing).unwrap();
        assert!(
            drawn.contains("aria-label=\"Plan: nodes: 3 matched; edges: 1 extra, 1 matched, 1 missing\""),
            "{drawn}"
        );
        assert!(drawn.contains(">find &lt;b&gt;</text>") && !drawn.contains("<b>"), "{drawn}");
        for class in ["edge matched", "edge missing", "edge extra", "head extra", "node matched"] {
            assert!(drawn.contains(&format!("class=\"{class}\"")), "{class} is missing in {drawn}");
        }
        // Rows follow each other downwards.
        let y = |label: &str| {
            let before = drawn.split_once(&format!("{label}</text>")).unwrap().0;
            before.rsplit_once(" y=\"").unwrap().1.split_once('"').unwrap().0.parse::<u32>().unwrap()
        };
        assert!(y("b&gt;") < y("heat") && y("heat") < y("taste"));
    }

    #[test]
    fn what_a_page_is_no_place_for_is_not_drawn() {
        assert_eq!(svg(&Drawing::default()), None);
        assert_eq!(svg(&drawing(&["x"; NODES_MAX + 1], &[])), None);
    }

    proptest! {
        #[test]
        fn every_graph_is_drawn_cycles_and_all(
            labels in prop::collection::vec("[<&a \u{202e}]{0,80}", 1..12),
            edges in prop::collection::vec((0..14_usize, 0..14_usize), 0..30),
        ) {
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            let edges: Vec<_> = edges.into_iter().map(|(from, to)| (from, to, Presence::Extra)).collect();
            let drawn = svg(&drawing(&labels, &edges)).unwrap();
            prop_assert_eq!(drawn.matches("<rect").count(), labels.len());
            prop_assert!(!drawn.contains("<&"));
        }
    }
}
