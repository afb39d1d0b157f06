//! Flowcharts in the data's subset of Mermaid (SPEC 3.6): parsing, walking, comparing a conversation with them, drawing.

mod draw;
mod graph;
mod layout;
mod parse;
mod path;

#[cfg(test)]
mod tests;

pub(crate) use self::draw::{Overlay, draw};
pub(crate) use self::graph::{Flowchart, Next, Node, Shape};
pub(crate) use self::parse::{FlowchartError, parse};
pub(crate) use self::path::{Departure, Finding, Visit, path_check};
