//! Parser of the data's subset of Mermaid.
//!
//! ```text
//! chart     = [ "：" ] "flowchart" ( "TD" | "TB" | "LR" ) statement* [ notes ]
//! statement = source ( "&" source )* ( "-->" | "--" label "-->" ) id [ shape ] end of line
//! source    = id [ "(Start)" ]
//! shape     = "[" text "]" | ">" text "]" | ">[" text "]" | '["' text '"]'
//! ```
//!
//! A text may span lines and ends at the first `]` at the end of a line; brackets before that belong to it. Spaces
//! are allowed between all parts. Notes are a paragraph after the statements that does not begin like one.

use std::collections::{BTreeMap, btree_map::Entry};
use std::sync::Arc;

use petgraph::graph::{DiGraph, NodeIndex};

use super::graph::{Flowchart, Node, Shape};

/// Reason why a text could not be parsed, with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column} of the flowchart: {problem}")]
pub(crate) struct FlowchartError {
    /// Line, from 1.
    pub(crate) line: usize,
    /// Column in characters, from 1.
    pub(crate) column: usize,
    /// Description of the problem.
    pub(crate) problem: String,
}

/// Parses a flowchart.
///
/// # Errors
/// With line and column of the first syntax error.
pub(crate) fn parse(text: &str) -> Result<Flowchart, FlowchartError> {
    let mut scanner = Scanner { text, at: 0 };
    scanner.skip_blanks_and_lines();
    if scanner.eat("：") {
        scanner.skip_blanks_and_lines();
    }
    if !scanner.eat("flowchart") {
        return Err(scanner.problem("expected `flowchart TD` or `flowchart LR`"));
    }
    scanner.skip_blanks();
    if !["TD", "TB", "LR"].into_iter().any(|direction| scanner.eat(direction)) {
        return Err(scanner.problem("expected the direction TD, TB or LR"));
    }
    scanner.end_of_line()?;
    let mut building = Building::default();
    let mut notes = None;
    loop {
        let paragraph = scanner.skip_blanks_and_lines() > 1;
        if scanner.rest().is_empty() {
            break;
        }
        if scanner.peek_id().is_some() {
            building.statement(&mut scanner)?;
        } else if paragraph && building.graph.node_count() > 0 {
            notes = Some(scanner.rest().trim_end().into());
            break;
        } else {
            return Err(scanner.problem("expected a node: two capital letters and three digits"));
        }
    }
    building.finish(&scanner, notes)
}

/// Position of the parser in the text.
struct Scanner<'t> {
    text: &'t str,
    /// Offset in bytes, always at a character boundary.
    at: usize,
}

impl<'t> Scanner<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches(is_blank).len();
    }

    /// Skips spaces and line ends and returns the number of line ends.
    fn skip_blanks_and_lines(&mut self) -> usize {
        let rest = self.rest();
        let skipped = rest.len() - rest.trim_start_matches(|c| is_blank(c) || c == '\n').len();
        self.at += skipped;
        rest.get(..skipped).unwrap_or("").matches('\n').count()
    }

    /// Checks that only spaces follow in this line. The line end itself is not consumed.
    fn end_of_line(&mut self) -> Result<(), FlowchartError> {
        self.skip_blanks();
        if self.rest().is_empty() || self.rest().starts_with('\n') {
            return Ok(());
        }
        Err(self.problem("expected the end of the line"))
    }

    fn peek_id(&self) -> Option<&'t str> {
        let id = self.rest().get(..5)?;
        let (letters, digits) = id.split_at_checked(2)?;
        let fits = letters.bytes().all(|b| b.is_ascii_uppercase()) && digits.bytes().all(|b| b.is_ascii_digit());
        fits.then_some(id)
    }

    fn id(&mut self) -> Result<&'t str, FlowchartError> {
        let id = self.peek_id().ok_or_else(|| self.problem("expected a node: two capital letters and three digits"))?;
        self.at += id.len();
        Ok(id)
    }

    /// Parses an arrow and returns its label, if it has one.
    fn arrow(&mut self) -> Result<Option<&'t str>, FlowchartError> {
        if self.eat("-->") {
            return Ok(None);
        }
        if !self.eat("--") {
            return Err(self.problem("expected an arrow: `-->` or `--label-->`"));
        }
        let line = self.rest().split('\n').next().unwrap_or("");
        let Some(length) = line.find("-->") else {
            return Err(self.problem("the label has no `-->` in this line"));
        };
        let label = line.get(..length).unwrap_or("").trim();
        self.at += length + "-->".len();
        Ok(Some(label).filter(|label| !label.is_empty()))
    }

    /// Parses the shape that follows a node, if there is one.
    fn shape(&mut self) -> Result<Option<(Shape, String)>, FlowchartError> {
        let opening = self.at;
        let shape = if self.eat(">") {
            self.eat("[");
            Shape::Flag
        } else if self.eat("[") {
            Shape::Box
        } else {
            return Ok(None);
        };
        let mut length = 0;
        for line in self.rest().split_inclusive('\n') {
            let code = line.trim_end();
            if let Some(last) = code.strip_suffix(']') {
                let text = self.rest().get(..length + last.len()).unwrap_or("").trim();
                let unquoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
                self.at += length + code.len();
                return Ok(Some((shape, unquoted.trim().to_owned())));
            }
            length += line.len();
        }
        self.at = opening;
        Err(self.problem("the node's text never ends: no line ends with `]`"))
    }

    fn problem(&self, problem: impl Into<String>) -> FlowchartError {
        self.problem_at(self.at, problem)
    }

    fn problem_at(&self, at: usize, problem: impl Into<String>) -> FlowchartError {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        FlowchartError { line, column, problem: problem.into() }
    }
}

/// The graph under construction.
#[derive(Default)]
struct Building {
    graph: DiGraph<Node, Option<Arc<str>>>,
    by_id: BTreeMap<Arc<str>, NodeIndex>,
    /// Nodes without a text so far, with the byte offset of their first mention.
    bare: BTreeMap<NodeIndex, usize>,
    start: Option<NodeIndex>,
}

impl Building {
    fn statement(&mut self, scanner: &mut Scanner<'_>) -> Result<(), FlowchartError> {
        let mut sources = Vec::new();
        loop {
            sources.push(self.source(scanner)?);
            scanner.skip_blanks();
            if !scanner.eat("&") {
                break;
            }
            scanner.skip_blanks();
        }
        let label: Option<Arc<str>> = scanner.arrow()?.map(Into::into);
        scanner.skip_blanks();
        let target = self.mention(scanner)?;
        scanner.skip_blanks();
        if let Some((shape, text)) = scanner.shape()? {
            self.define(target, shape, &text);
        }
        scanner.end_of_line()?;
        for source in sources {
            self.graph.add_edge(source, target, label.clone());
        }
        Ok(())
    }

    fn source(&mut self, scanner: &mut Scanner<'_>) -> Result<NodeIndex, FlowchartError> {
        let place = scanner.at;
        let node = self.mention(scanner)?;
        if scanner.eat("(Start)") {
            if self.start.is_some_and(|start| start != node) {
                return Err(scanner.problem_at(place, "a second start node; there is one"));
            }
            self.start = Some(node);
            self.define(node, Shape::Start, "Start");
        }
        Ok(node)
    }

    fn mention(&mut self, scanner: &mut Scanner<'_>) -> Result<NodeIndex, FlowchartError> {
        let place = scanner.at;
        let id: Arc<str> = scanner.id()?.into();
        Ok(match self.by_id.entry(Arc::clone(&id)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(free) => {
                let index = self.graph.add_node(Node { id, shape: Shape::Box, text: "".into() });
                self.bare.insert(index, place);
                *free.insert(index)
            }
        })
    }

    /// Sets the text of a node. A later text replaces an earlier one, as in Mermaid: a real flowchart has two for one
    /// node.
    fn define(&mut self, index: NodeIndex, shape: Shape, text: &str) {
        self.bare.remove(&index);
        let node = &mut self.graph[index];
        node.shape = shape;
        node.text = text.into();
    }

    fn finish(self, scanner: &Scanner<'_>, notes: Option<Arc<str>>) -> Result<Flowchart, FlowchartError> {
        if let Some((&index, &place)) = self.bare.iter().min_by_key(|(_, place)| **place) {
            let problem = format!("the node {} gets no text anywhere", self.graph[index].id);
            return Err(scanner.problem_at(place, problem));
        }
        let start =
            self.start.ok_or_else(|| scanner.problem("no start node: one source must be followed by `(Start)`"))?;
        Ok(Flowchart { graph: self.graph, start, by_id: self.by_id, notes })
    }
}

fn is_blank(c: char) -> bool {
    c != '\n' && c.is_whitespace()
}
