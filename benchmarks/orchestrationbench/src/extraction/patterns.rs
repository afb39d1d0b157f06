//! First matches of the official patterns, found without backtracking.

use regatta_pycompat::{decimal_digit, is_space};

/// Beginning of a workflow's key in JSON.
const KEY: &str = "\"workflow_";

const FENCE: &str = "```";

/// ```` ```json\s*(\{.*?\})\s*``` ````: the object of the first fence, up to the first brace that the end of a fence follows.
pub(super) fn json_fence(text: &str) -> Option<&str> {
    let object = after_each(text, "```json").map(skip_space).find(|rest| rest.starts_with('{'))?;
    let ends = |at: usize| object.get(at + 1..).is_some_and(|rest| skip_space(rest).starts_with(FENCE));
    let (end, _) = object.match_indices('}').find(|(at, _)| ends(*at))?;
    object.get(..=end)
}

/// `(\{[^}]*"workflow_[^}]*\}(?:\s*,\s*\{[^}]*"workflow_[^}]*\})*)`: objects without objects in them, each with a key of a
/// workflow, separated by commas.
pub(super) fn flat_objects(text: &str) -> Option<&str> {
    let mut segment_start = 0;
    for (close, _) in text.match_indices('}') {
        let segment = text.get(segment_start..close)?;
        if let Some(open) = segment.find('{').filter(|open| has_key(segment, *open)) {
            let start = segment_start + open;
            return text.get(start..start + flat_length(text.get(start..)?)?);
        }
        segment_start = close + 1;
    }
    None
}

/// Returns `true` if a workflow's key follows the brace.
fn has_key(segment: &str, open: usize) -> bool {
    segment.rfind(KEY).is_some_and(|key| key > open)
}

/// Returns the length of the run of flat objects at the start of the text.
fn flat_length(text: &str) -> Option<usize> {
    let mut length = text.find('}')? + 1;
    while let Some(next) = text.get(length..).map(skip_space).and_then(|rest| rest.strip_prefix(',')).map(skip_space) {
        let Some(close) = next.find('}').filter(|_| next.starts_with('{')) else { break };
        if !next.get(..close).is_some_and(|object| object.contains(KEY)) {
            break;
        }
        length = text.len() - next.len() + close + 1;
    }
    Some(length)
}

/// The object that opens last before the first key of a workflow, up to where its braces balance, quotes or not. Only where
/// `"(workflow_\d+)":\s*\{[^}]*\}` occurs somewhere.
pub(super) fn embedded_object(text: &str) -> Option<&str> {
    let last_close = text.rfind('}')?;
    let has_workflow = after_each(text, KEY).any(|rest| {
        let value = rest.trim_start_matches(|c| decimal_digit(c).is_some());
        let object = (value.len() < rest.len()).then(|| value.strip_prefix("\":")).flatten().map(skip_space);
        object.is_some_and(|object| object.starts_with('{') && text.len() - object.len() < last_close)
    });
    if !has_workflow {
        return None;
    }
    let start = text.get(..text.find(KEY)?)?.rfind('{')?;
    let object = text.get(start..)?;
    let mut depth = 0_usize;
    for (at, brace) in object.match_indices(['{', '}']) {
        depth = if brace == "{" { depth + 1 } else { depth.saturating_sub(1) };
        if depth == 0 {
            return object.get(..=at);
        }
    }
    None
}

/// ```` ```yaml\s*(workflow_.*?)\s*``` ````: the lines of the first fence that begins with a workflow.
pub(super) fn yaml_fence(text: &str) -> Option<&str> {
    let lines = after_each(text, "```yaml").map(skip_space).find(|rest| rest.starts_with(super::KEY_PREFIX))?;
    let end = lines.find(FENCE)?;
    Some(lines.get(..end)?.trim_end_matches(is_space))
}

/// Returns the rest of the text after each occurrence of `marker`.
fn after_each<'t>(text: &'t str, marker: &'t str) -> impl Iterator<Item = &'t str> {
    text.match_indices(marker).filter_map(|(at, _)| text.get(at + marker.len()..))
}

fn skip_space(text: &str) -> &str {
    text.trim_start_matches(is_space)
}
