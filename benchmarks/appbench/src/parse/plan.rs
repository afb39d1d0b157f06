//! The lines of a plan (docs/benchmarks/appbench.md §4.1).

use regatta_pycompat::strip;

use super::scan::{skip_space, word};

/// A line that looks like a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line<'t> {
    /// Text before the colon; may be empty.
    pub(crate) app: &'t str,
    /// Text after the colon, without brackets; may be empty.
    pub(crate) call: String,
}

/// The lines of `text` that yield something, in order.
pub(crate) fn lines(text: &str) -> Vec<Line<'_>> {
    text.split('\n').filter_map(line).collect()
}

/// The apps of a plan: those of its lines that name one.
pub(crate) fn apps<'t>(lines: &[Line<'t>]) -> Vec<&'t str> {
    lines.iter().map(|line| line.app).filter(|app| !app.is_empty()).collect()
}

fn line(line: &str) -> Option<Line<'_>> {
    let (app, call) = demanded(line).or_else(|| tolerated(line))?;
    let call: String = call.chars().filter(|c| !matches!(c, '[' | ']')).collect();
    Some(Line { app, call: strip(&call).to_owned() })
}

/// `(\w+):\s*\n*(\[.*\])` at the first character: what follows the last bracket is cut off.
fn demanded(line: &str) -> Option<(&str, &str)> {
    let (app, rest) = word(line);
    let call = skip_space(rest.strip_prefix(':')?);
    let call = call.get(..=call.rfind(']')?)?;
    (!app.is_empty() && call.starts_with('[')).then_some((app, call))
}

/// Any line with a colon and brackets, wherever they are.
fn tolerated(line: &str) -> Option<(&str, &str)> {
    let (app, call) = line.split_once(':')?;
    (line.contains('[') && line.contains(']')).then(|| (strip(app), call))
}
