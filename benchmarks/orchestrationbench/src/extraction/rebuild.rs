//! Re-indentation of lines that are almost YAML.

use regatta_pycompat::strip;

use super::KEY_PREFIX;

/// The lines with the indentation that a plan has, if the first begins with a workflow.
///
/// The line of a workflow gets another `:`, whether it has one or not, so that its key may end with one.
pub(super) fn rebuild(text: &str) -> Option<String> {
    let text = strip(text);
    if !text.starts_with(KEY_PREFIX) {
        return None;
    }
    Some(text.split('\n').map(rebuilt).collect())
}

/// A line with its new indentation and its end, which even the last one gets.
fn rebuilt(line: &str) -> String {
    let stripped = strip(line);
    let is_entry = stripped.starts_with('-');
    if stripped.starts_with(KEY_PREFIX) {
        format!("{line}:\n")
    } else if line.contains(':') && !is_entry {
        format!("  {stripped}\n")
    } else if is_entry {
        format!("    {stripped}\n")
    } else {
        format!("      {stripped}\n")
    }
}
