//! Ends of edges as the published parser, which is written in Python, finds them.

use regatta_pycompat::is_space;

/// An end of an edge, `(START|digits|END)`, in either evaluator's reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End<'a> {
    /// `START` on the left, `END` on the right.
    Marker,
    /// One or more digits, as written.
    Digits(&'a str),
}

/// All matches, left to right, of `\(\s*(\d+|START)\s*,\s*(\d+|END)\s*\)` with the digits that `is_digit` accepts.
pub(crate) fn edge_ends<'a>(
    text: &'a str,
    is_digit: impl Fn(char) -> bool,
) -> impl Iterator<Item = (End<'a>, End<'a>)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            rest = &rest[rest.find('(')? + 1..];
            // No match can contain another bracket, so a failed attempt costs only the text up to the next one.
            if let Some((ends, after)) = edge_after_bracket(rest, &is_digit) {
                rest = after;
                return Some(ends);
            }
        }
    })
}

fn edge_after_bracket<'a>(text: &'a str, is_digit: &impl Fn(char) -> bool) -> Option<((End<'a>, End<'a>), &'a str)> {
    let (from, text) = end(text, "START", is_digit)?;
    let (to, text) = end(text.strip_prefix(',')?, "END", is_digit)?;
    Some(((from, to), text.strip_prefix(')')?))
}

/// One end with the white space around it.
fn end<'a>(text: &'a str, marker: &str, is_digit: &impl Fn(char) -> bool) -> Option<(End<'a>, &'a str)> {
    let text = text.trim_start_matches(is_space);
    let (end, after) = match text.strip_prefix(marker) {
        Some(after) => (End::Marker, after),
        None => {
            let digits = text.find(|c| !is_digit(c)).unwrap_or(text.len());
            if digits == 0 {
                return None;
            }
            (End::Digits(&text[..digits]), &text[digits..])
        }
    };
    Some((end, after.trim_start_matches(is_space)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_need_round_brackets_and_markers_on_their_side() {
        let count = |text| edge_ends(text, |c| c.is_ascii_digit()).count();
        for text in
            ["(END,1)", "(1,START)", "(start,1)", "[1,2]", "(\"1\",\"2\")", "(1,2,3)", "（1，2）", "(1,2", "(,1)", "()"]
        {
            assert_eq!(count(text), 0, "{text}");
        }
        assert_eq!(count("((1,2) ( START\n,\u{1c}END )(3 (4,5)"), 3);
    }
}
