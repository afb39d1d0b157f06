//! When the official evaluators take two values of an argument for the same (docs/benchmarks/appbench.md §5.1).

use regatta_pycompat::lower;

/// Short names of places, and what predictions that use them mean.
const ALIASES: [(&str, &str); 7] = [
    ("la", "los angeles"),
    ("lax", "los angeles"),
    ("ciudad de mexico", "mexico city"),
    ("nyc", "new york"),
    ("sd", "san diego"),
    ("sfo", "san francisco"),
    ("chi-town", "chicago"),
];

/// A predicted value in lower case; an alias is replaced by what it means, in quotes.
pub(super) fn predicted(value: &str) -> String {
    let value = lower(value);
    let bare = value.trim_matches('\'');
    match ALIASES.iter().find(|(alias, _)| *alias == bare) {
        Some((_, meant)) => format!("'{meant}'"),
        None => value,
    }
}

/// True if one of the values is a part of the other, case and outer apostrophes aside. So an empty one is the same as any.
pub(super) fn same(one: &str, other: &str) -> bool {
    let (one, other) = (lower(one), lower(other));
    let (one, other) = (one.trim_matches('\''), other.trim_matches('\''));
    one.contains(other) || other.contains(one)
}

/// Values that were found to be right, in order; later arguments of the same key may repeat the first.
#[derive(Debug, Default)]
pub(super) struct Past<'k>(Vec<(&'k str, String)>);

impl<'k> Past<'k> {
    pub(super) fn push(&mut self, key: &'k str, value: String) {
        self.0.push((key, value));
    }

    /// True if the first value of `key` is the same as this one.
    pub(super) fn repeats(&self, key: &str, value: &str) -> bool {
        self.0.iter().find(|(of, _)| *of == key).is_some_and(|(_, first)| same(first, value))
    }
}
