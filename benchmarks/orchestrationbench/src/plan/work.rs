//! A bound on the work of a search, counted and not timed, so that the same plans always give the same numbers.

/// Most units that one search may spend. A unit is a cell of an assignment matrix or an edge that is looked at: a nanosecond or two.
/// Real plans take thousands; what takes the official search some ten seconds stays below.
pub(super) const UNITS_MAX: u64 = 200_000_000;

/// Most nodes of both graphs together that are searched at all; an assignment matrix has the square of it. The official code raises a
/// `RecursionError` for a graph with about as many, and so drops the run; here such a plan is as far away as can be, and reported.
pub(super) const NODES_MAX: usize = 1_000;

/// Most edges of both graphs together that are searched at all; every step of a search keeps the edges it has not yet seen.
pub(super) const EDGES_MAX: usize = 2_000;

/// The search has spent what it may.
#[derive(Debug)]
pub(super) struct Exhausted;

/// What a search may still spend.
#[derive(Debug)]
pub(super) struct Work {
    left: u64,
}

impl Work {
    /// This many units.
    pub(super) const fn new(units: u64) -> Self {
        Self { left: units }
    }

    /// Takes `units`.
    pub(super) fn spend(&mut self, units: usize) -> Result<(), Exhausted> {
        self.left = self.left.checked_sub(units as u64).ok_or(Exhausted)?;
        Ok(())
    }
}
