//! The question that a sweep is to decide, about contestants by position.

/// The question of one benchmark and setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// The order of every pair.
    Ranking,
    /// The best one.
    Best,
    /// The order of every other contestant and this one.
    Against(usize),
    /// The mean of each contestant, to within the margin.
    Interval,
}

/// The population that the items of a sweep are drawn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// All items like these: draws are independent, and the answer is about new items too.
    NewItems,
    /// These items and trials alone: the answer is the one that the whole grid would give.
    Grid,
}
