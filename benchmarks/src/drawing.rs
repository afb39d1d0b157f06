//! Graphs of a session: the answer laid over the gold. A benchmark provides nodes and edges, and the caller draws them.

/// A graph. Nodes and edges are drawn in the order of these lists where the layout leaves the order open.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Drawing {
    /// Title of a few words.
    pub title: String,
    /// Nodes.
    pub nodes: Vec<DrawnNode>,
    /// Edges between them.
    pub edges: Vec<DrawnEdge>,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnNode {
    /// Text shown in the node.
    pub label: String,
    /// Details shown on request, in a tooltip for example; may be empty.
    pub detail: String,
    /// Shows if the node is in the answer, in the gold, or in both.
    pub presence: Presence,
}

/// An edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnEdge {
    /// Position of the node that it leaves.
    pub from: usize,
    /// Position of the node that it leads to.
    pub to: usize,
    /// Shows if the edge is in the answer, in the gold, or in both.
    pub presence: Presence,
}

/// Membership of a node or edge in the answer and in the gold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Presence {
    /// In both.
    Matched,
    /// In both, but with differences.
    Changed,
    /// In the gold alone.
    Missing,
    /// In the answer alone.
    Extra,
}

impl Presence {
    /// The same word in every output format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Matched => "matched",
            Self::Changed => "changed",
            Self::Missing => "missing",
            Self::Extra => "extra",
        }
    }
}

impl Drawing {
    /// Lays `answer` over `gold`, each given as labels of nodes and edges between their positions. `partner` maps
    /// each node of the answer to its gold node; no two share one. `is_same` tells if two partners are equal or
    /// changed.
    #[must_use]
    pub fn over(
        title: &str,
        answer: (&[String], &[(usize, usize)]),
        gold: (&[String], &[(usize, usize)]),
        partner: &[Option<usize>],
        is_same: impl Fn(usize, usize) -> bool,
    ) -> Self {
        let mut drawing = Self { title: title.to_owned(), ..Self::default() };
        let mut of_gold: Vec<Option<usize>> = vec![None; gold.0.len()];
        for (at, label) in answer.0.iter().enumerate() {
            let wanted = partner.get(at).copied().flatten().filter(|wanted| *wanted < gold.0.len());
            let (presence, detail) = match wanted {
                Some(wanted) if is_same(at, wanted) => (Presence::Matched, gold.0[wanted].clone()),
                Some(wanted) => (Presence::Changed, gold.0[wanted].clone()),
                None => (Presence::Extra, String::new()),
            };
            if let Some(wanted) = wanted {
                of_gold[wanted] = Some(at);
            }
            let detail = if detail == *label { String::new() } else { detail };
            drawing.nodes.push(DrawnNode { label: label.clone(), detail, presence });
        }
        let places: Vec<usize> = of_gold
            .into_iter()
            .zip(gold.0)
            .map(|(found, label)| {
                found.unwrap_or_else(|| {
                    let (label, presence) = (label.clone(), Presence::Missing);
                    drawing.nodes.push(DrawnNode { label, detail: String::new(), presence });
                    drawing.nodes.len() - 1
                })
            })
            .collect();
        let place = |at: &usize| places.get(*at).copied();
        let wanted: Vec<(usize, usize)> =
            gold.1.iter().filter_map(|(from, to)| Some((place(from)?, place(to)?))).collect();
        let is_node = |at: usize| at < answer.0.len();
        for &(from, to) in answer.1.iter().filter(|(from, to)| is_node(*from) && is_node(*to)) {
            let presence = if wanted.contains(&(from, to)) { Presence::Matched } else { Presence::Extra };
            drawing.edges.push(DrawnEdge { from, to, presence });
        }
        for (from, to) in wanted {
            if !answer.1.contains(&(from, to)) {
                drawing.edges.push(DrawnEdge { from, to, presence: Presence::Missing });
            }
        }
        drawing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn an_answer_over_its_gold_has_what_is_in_either_once() {
        let (answer, gold) = (texts(&["buy", "fly"]), texts(&["purchase", "pay", "go"]));
        let drawing =
            Drawing::over("plan", (&answer, &[(0, 1)]), (&gold, &[(0, 1), (1, 2)]), &[Some(0), None], |_, _| true);
        let nodes: Vec<(&str, &str, Presence)> =
            drawing.nodes.iter().map(|node| (&*node.label, &*node.detail, node.presence)).collect();
        assert_eq!(
            nodes,
            [
                ("buy", "purchase", Presence::Matched),
                ("fly", "", Presence::Extra),
                ("pay", "", Presence::Missing),
                ("go", "", Presence::Missing),
            ]
        );
        let edges: Vec<(usize, usize, Presence)> =
            drawing.edges.iter().map(|edge| (edge.from, edge.to, edge.presence)).collect();
        assert_eq!(edges, [(0, 1, Presence::Extra), (0, 2, Presence::Missing), (2, 3, Presence::Missing)]);
    }

    #[test]
    fn positions_that_there_are_not_are_left_out() {
        let one = texts(&["a"]);
        let drawing = Drawing::over("plan", (&one, &[(0, 9)]), (&one, &[(7, 0)]), &[Some(5)], |_, _| true);
        assert_eq!(drawing.nodes.len(), 2);
        assert!(drawing.edges.is_empty());
    }
}
