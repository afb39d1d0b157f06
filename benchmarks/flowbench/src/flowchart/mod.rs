//! Flowcharts in the data's subset of Mermaid (docs/benchmarks/flowbench.md §2.7): parsing, traversal, comparison
//! with a conversation, drawing.

mod draw;
mod graph;
mod layout;
mod overlay;
mod parse;
mod path;

#[cfg(test)]
mod tests;

pub(crate) use self::graph::Flowchart;
pub(crate) use self::overlay::{LaidOver, lay_over, mark};
pub(crate) use self::parse::parse;
pub(crate) use self::path::{Finding, Visit, path_check};
