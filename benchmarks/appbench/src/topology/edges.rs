//! Dependencies between calls, as the official code reads them from the texts of calls (docs/benchmarks/appbench.md §5.4).

use std::collections::HashSet;

use regatta_pycompat::{is_space, is_word, strip};

/// Error that the official code raises for a call that it cannot read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// There is no equals sign.
    NothingReturned,
    /// The text after the first equals sign does not begin with a word and a parenthesis.
    NoCall,
}

impl Unreadable {
    /// Python's name of the error.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::NothingReturned => "ValueError",
            Self::NoCall => "AttributeError",
        }
    }
}

/// A call, as far as edges need it.
#[derive(Debug, Clone)]
pub(super) struct Call<'t> {
    returned: HashSet<&'t str>,
    needed: Vec<&'t str>,
}

impl<'t> Call<'t> {
    pub(super) fn read(text: &'t str) -> Result<Self, Unreadable> {
        let (returned, call) = text.split_once('=').ok_or(Unreadable::NothingReturned)?;
        let call = call.trim_start_matches(is_space);
        let arguments = call.trim_start_matches(is_word);
        if arguments.len() == call.len() || !arguments.starts_with('(') {
            return Err(Unreadable::NoCall);
        }
        Ok(Self { returned: returned.split(',').map(strip).collect(), needed: unquoted_values(arguments) })
    }
}

/// The values that `#(\w+)=(\w+)` finds once `#(\w+)='[^']*'` has consumed what is quoted.
fn unquoted_values(text: &str) -> Vec<&str> {
    let mut values = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('#') {
        rest = after;
        let value = after.trim_start_matches(is_word);
        let Some(value) = value.strip_prefix('=').filter(|_| value.len() < after.len()) else { continue };
        if let Some((_, behind)) = value.strip_prefix('\'').and_then(|quoted| quoted.split_once('\'')) {
            rest = behind;
        } else {
            rest = value.trim_start_matches(is_word);
            values.extend(value.strip_suffix(rest).filter(|value| !value.is_empty()));
        }
    }
    values
}

/// Producer and consumer of each edge, ascending. The first call never needs anything, and the last one never gives anything: so the
/// official loops run. Order in the plan does not matter otherwise, and all producers of a name count.
pub(super) fn between(calls: &[Call<'_>]) -> Vec<(usize, usize)> {
    let mut edges = Vec::new();
    for (from, producer) in calls.iter().enumerate().take(calls.len().saturating_sub(1)) {
        for (to, consumer) in calls.iter().enumerate().skip(1) {
            if from != to && consumer.needed.iter().any(|name| producer.returned.contains(name)) {
                edges.push((from, to));
            }
        }
    }
    edges
}
