//! Rules by which rounds are played. A sweep keeps those that it was planned by, whatever version goes on with it: by other rules the same
//! scores would ask for other sessions, and for another answer.

/// Rules of the rounds, in the order in which there were such.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// All bets have equal stakes. The best is decided by both ends of each sequence, and whoever may be the best is bought for.
    First,
    /// Bets in the middle have larger stakes. The best is decided by one end of each sequence, and candidates within the margin wait.
    Second,
}

impl Rules {
    /// Rules of sweeps that are planned now.
    pub const NOW: Self = Self::Second;

    /// The rules with this number; `None` for those of a later version.
    #[must_use]
    pub const fn of(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::First),
            2 => Some(Self::Second),
            _ => None,
        }
    }

    /// Number in locks.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::First => 1,
            Self::Second => 2,
        }
    }
}
