//! Limit on the work of a search in counted units instead of time, so that the same plans always get the same numbers.

/// Greatest number of units of one search. A unit is a visited cell of an assignment matrix or a visited edge: a
/// nanosecond or two. Real plans take thousands; searches of some ten seconds in the official code stay below.
pub(super) const UNITS_MAX: u64 = 200_000_000;

/// Greatest number of nodes of both graphs together; the assignment matrix has the square of it. The official code
/// raises a `RecursionError` for a graph of about this size, and so drops the run; here such a plan gets the greatest
/// distance and is marked as bounded.
pub(super) const NODES_MAX: usize = 1_000;

/// Greatest number of edges of both graphs together; every point of a search holds the edges that it has not used up.
pub(super) const EDGES_MAX: usize = 2_000;

/// The search has reached its limit.
#[derive(Debug)]
pub(super) struct Exhausted;

/// Remaining work of a search.
#[derive(Debug)]
pub(super) struct Work {
    left: u64,
}

impl Work {
    /// Makes a limit of this many units.
    pub(super) const fn new(units: u64) -> Self {
        Self { left: units }
    }

    /// Takes `units` off the remaining work.
    pub(super) fn spend(&mut self, units: usize) -> Result<(), Exhausted> {
        self.left = self.left.checked_sub(units as u64).ok_or(Exhausted)?;
        Ok(())
    }
}
