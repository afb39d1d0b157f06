//! A workflow that is being got wrong: nodes and edges are changed one by one.

use rand::Rng;
use rand::seq::IndexedRandom;

use super::parse_official;

/// Position of START; nodes follow from 1.
const START: usize = 0;
/// Stands for END, whatever the number of nodes.
const END: usize = usize::MAX;

/// Words that a model might use for others.
const OTHER_WORDS: [(&str, &str); 18] = [
    ("find", "locate"),
    ("search", "look"),
    ("take", "pick up"),
    ("put", "place"),
    ("open", "unlatch"),
    ("go", "walk"),
    ("get", "fetch"),
    ("check", "verify"),
    ("list", "enumerate"),
    ("count", "tally"),
    ("create", "make"),
    ("remove", "delete"),
    ("buy", "purchase"),
    ("choose", "select"),
    ("send", "submit"),
    ("show", "display"),
    ("all", "every"),
    ("use", "apply"),
];

/// Ways to begin a step.
const OPENINGS: [&str; 4] = ["Next, ", "Then ", "First of all, ", "After that, "];

/// Steps that say nothing.
const VAGUE: [&str; 3] = ["carry on as planned", "do what is left", "think about the goal"];

/// Nodes in the order written, and edges between their positions (1-based), [`START`] and [`END`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Draft {
    nodes: Vec<String>,
    edges: Vec<(usize, usize)>,
}

/// A mistake with a node.
#[derive(Debug, Clone, Copy)]
enum Slip {
    Drop,
    Repeat,
    Swap,
    Reword,
}

/// A mistake with an edge.
#[derive(Debug, Clone, Copy)]
enum Miss {
    Drop,
    Add,
    Redirect,
}

impl Draft {
    /// The workflow in a gold text, if there is one.
    pub(crate) fn of(gold: &str) -> Option<Self> {
        let workflow = parse_official::parse(gold)?;
        let end = workflow.nodes.len() - 1;
        let nodes = workflow.nodes[1..end].iter().map(|&text| text.to_owned()).collect();
        let edges = workflow.edges.iter().map(|&(from, to)| (from, if to == end { END } else { to })).collect();
        Some(Self { nodes, edges })
    }

    /// Gets each node wrong with `probability`. Returns whether anything was.
    pub(crate) fn disturb_nodes(&mut self, probability: f64, rng: &mut impl Rng) -> bool {
        let slips = [Slip::Drop, Slip::Repeat, Slip::Swap, Slip::Reword, Slip::Reword];
        let drawn: Vec<Option<Slip>> = (0..self.nodes.len())
            .map(|_| if rng.random::<f64>() < probability { slips.choose(rng).copied() } else { None })
            .collect();
        // Backwards, so that the positions still to come stay what they are.
        for (index, slip) in drawn.iter().enumerate().rev() {
            match slip {
                Some(Slip::Drop) if self.nodes.len() > 1 => self.drop_node(index),
                Some(Slip::Repeat) => self.repeat_node(index),
                Some(Slip::Swap) if index + 1 < self.nodes.len() => self.nodes.swap(index, index + 1),
                Some(_) => self.nodes[index] = reworded(&self.nodes[index], rng),
                None => {}
            }
        }
        drawn.iter().any(Option::is_some)
    }

    /// Gets each edge wrong with `probability`. Returns whether anything was.
    pub(crate) fn disturb_edges(&mut self, probability: f64, rng: &mut impl Rng) -> bool {
        let misses = [Miss::Drop, Miss::Add, Miss::Redirect];
        let mut changed = false;
        let mut edges = Vec::new();
        for &(from, to) in &self.edges {
            let miss = if rng.random::<f64>() < probability { misses.choose(rng).copied() } else { None };
            changed |= miss.is_some();
            let anywhere = rng.random_range(1..=self.nodes.len().max(1));
            match miss {
                None => edges.push((from, to)),
                Some(Miss::Drop) => {}
                Some(Miss::Add) => edges.extend([(from, to), (from, anywhere)]),
                Some(Miss::Redirect) => edges.push((from, anywhere)),
            }
        }
        self.edges = edges;
        changed
    }

    /// The workflow as a model would write it.
    pub(crate) fn written(&self) -> String {
        let nodes: String = self.nodes.iter().enumerate().map(|(at, text)| format!("{}: {text}\n", at + 1)).collect();
        let edges: Vec<String> =
            self.edges.iter().map(|&(from, to)| format!("({},{})", name(from), name(to))).collect();
        format!("Node:\n{nodes}Edge: {}", edges.join(" "))
    }

    /// Removes a node; edges through it become edges from each of its predecessors to each of its successors.
    fn drop_node(&mut self, index: usize) {
        let gone = index + 1;
        let before: Vec<usize> = self.edges.iter().filter(|edge| edge.1 == gone).map(|edge| edge.0).collect();
        let after: Vec<usize> = self.edges.iter().filter(|edge| edge.0 == gone).map(|edge| edge.1).collect();
        self.edges.retain(|edge| edge.0 != gone && edge.1 != gone);
        for from in before {
            for &to in &after {
                if from != to && from != gone && to != gone && !self.edges.contains(&(from, to)) {
                    self.edges.push((from, to));
                }
            }
        }
        self.nodes.remove(index);
        self.renumber(|position| if position > gone { position - 1 } else { position });
    }

    /// The copy comes right after the node and leads to what followed it.
    fn repeat_node(&mut self, index: usize) {
        let (first, copy) = (index + 1, index + 2);
        self.nodes.insert(copy - 1, self.nodes[index].clone());
        self.renumber(|position| if position >= copy { position + 1 } else { position });
        for edge in self.edges.iter_mut().filter(|edge| edge.0 == first) {
            edge.0 = copy;
        }
        self.edges.push((first, copy));
    }

    fn renumber(&mut self, new: impl Fn(usize) -> usize) {
        // START is before every node; END has no number.
        for end in self.edges.iter_mut().flat_map(|(from, to)| [from, to]).filter(|end| **end != END) {
            *end = new(*end);
        }
    }
}

fn name(position: usize) -> String {
    match position {
        START => "START".to_owned(),
        END => "END".to_owned(),
        number => number.to_string(),
    }
}

/// The text in other words: mostly alike, sometimes with words missing, now and then saying nothing.
fn reworded(text: &str, rng: &mut impl Rng) -> String {
    let opening = OPENINGS.choose(rng).copied().unwrap_or_default();
    match rng.random_range(0..10) {
        0..6 => {
            let words: Vec<&str> = text.split(' ').map(other_word).collect();
            format!("{opening}{}", words.join(" "))
        }
        6..9 => {
            let kept: Vec<&str> = text.split(' ').filter(|_| rng.random::<f64>() < 0.6).collect();
            format!("{opening}{}", kept.join(" "))
        }
        _ => VAGUE.choose(rng).copied().unwrap_or_default().to_owned(),
    }
}

fn other_word(word: &str) -> &str {
    let lower = word.to_lowercase();
    OTHER_WORDS.iter().find(|(from, _)| *from == lower).map_or(word, |(_, to)| to)
}
