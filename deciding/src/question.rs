//! What a sweep is to decide, about contestants by position.

/// The question of one benchmark and setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// The order of every two.
    Ranking,
    /// The best one.
    Best,
    /// The order of each other one and this.
    Against(usize),
    /// The value of each, to within the margin.
    Interval,
}

/// What the items that are run stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// All items like these: draws are independent, and the answer is about new items too.
    NewItems,
    /// These items and trials alone: the answer is what the whole grid would show.
    Grid,
}
