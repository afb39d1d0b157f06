//! Addresses of pages. They hold names that people and data sets chose, so each part is encoded.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use regatta_proto::{CellIndex, ItemIndex};

/// Characters that are not encoded in a part.
const PART: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A part of a path, or a value of a query.
pub(crate) fn part(text: &str) -> String {
    utf8_percent_encode(text, PART).to_string()
}

/// The page of a run.
pub(crate) fn run(name: &str) -> String {
    format!("/ui/runs/{}", part(name))
}

/// The page of a session.
pub(crate) fn session(run_name: &str, cell: CellIndex, item: ItemIndex) -> String {
    format!("{}/sessions/{}/{}", run(run_name), cell.0, item.0)
}

/// A query of names and values; values that are empty are left out.
pub(crate) fn query(pairs: &[(&str, &str)]) -> String {
    let pairs = pairs.iter().filter(|(_, value)| !value.is_empty());
    let pairs: Vec<String> = pairs.map(|(name, value)| format!("{}={}", part(name), part(value))).collect();
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_name_holds_is_one_part_of_an_address() {
        assert_eq!(run("a/b ?#%\u{202e}"), "/ui/runs/a%2Fb%20%3F%23%25%E2%80%AE");
        assert_eq!(query(&[("a", "x&y=z"), ("b", ""), ("c", "ü")]), "?a=x%26y%3Dz&c=%C3%BC");
        assert_eq!(query(&[("a", "")]), "");
    }
}
