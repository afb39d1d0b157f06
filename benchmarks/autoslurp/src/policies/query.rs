//! Task of a team.

use jiff::civil::Date;

/// Task of a team.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Query<'a> {
    /// Column `id`.
    pub(crate) iid: &'a str,
    /// The person's request.
    pub(crate) text: &'a str,
    /// Answer of the date tool; it is 10:00 in New York (docs/benchmarks/autoslurp.md §3.2).
    pub(crate) today: Date,
}
