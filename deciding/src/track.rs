//! The state of one estimand from round to round: a mean, or a difference of two means.

use crate::interval::Interval;

/// Width below which bounds are exact; only a population that was drawn as a whole gives such.
const EXACT: f64 = 1e-9;

/// The quantity that is estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimand {
    /// The mean of a contestant, 0 to 1.
    Mean(usize),
    /// The mean of the first contestant minus that of the second, −1 to 1.
    Difference(usize, usize),
}

/// The relation that a sequence has shown so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// Nothing that answers the question.
    Open,
    /// The first one is larger.
    Greater,
    /// The first one is smaller.
    Less,
    /// They differ by the margin at most.
    Equivalent,
    /// The mean is known to within the margin.
    Narrow,
}

/// The interval of a sequence after a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Closing {
    /// Number of the round, from 1.
    pub round: usize,
    /// The sequence, running intersection included.
    pub interval: Interval,
}

/// An estimand with its sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct Track {
    /// The quantity that the sequence bounds.
    pub estimand: Estimand,
    /// Estimate over the units of the last round that evaluated it; `None` before the first.
    pub value: Option<f64>,
    /// The sequence after the last round.
    pub interval: Interval,
    /// Bounds that the best is decided by, narrower than `interval`: an error about the best takes a wrong bound on one side alone, so each of
    /// these has the error that both ends of `interval` have together. The same as `interval` for other questions.
    pub decisive: Interval,
    /// The relation that the sequence shows.
    pub relation: Relation,
    /// Round in which the relation was found; `None` while it is open.
    pub settled_in: Option<usize>,
    /// The sequence after each round that evaluated it.
    pub closing: Vec<Closing>,
    /// Units of the last round that evaluated it.
    pub units: usize,
}

/// Results of one look at the units of a sequence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Look {
    /// Number of the round, from 1.
    pub(crate) round: usize,
    /// Estimate.
    pub(crate) value: f64,
    /// Bounds of this look alone.
    pub(crate) bounds: Interval,
    /// Bounds of this look that the best is decided by.
    pub(crate) decisive: Interval,
    /// Units that were looked at.
    pub(crate) units: usize,
}

impl Track {
    pub(crate) fn new(estimand: Estimand) -> Self {
        let low = match estimand {
            Estimand::Mean(_) => 0.0,
            Estimand::Difference(..) => -1.0,
        };
        let interval = Interval { low, high: 1.0 };
        Self {
            estimand,
            value: None,
            interval,
            decisive: interval,
            relation: Relation::Open,
            settled_in: None,
            closing: Vec::new(),
            units: 0,
        }
    }

    /// Adds the results of a look.
    pub(crate) fn look(&mut self, look: &Look, margin: f64) {
        // An exactly known value replaces the interval, even where an earlier look has missed it.
        let narrowed = |all: Interval, now: Interval| if now.width() < EXACT { now } else { all.and(now) };
        self.interval = narrowed(self.interval, look.bounds);
        self.decisive = narrowed(self.decisive, look.decisive);
        self.value = Some(look.value.clamp(self.interval.low, self.interval.high));
        self.units = look.units;
        self.closing.push(Closing { round: look.round, interval: self.interval });
        if self.relation == Relation::Open {
            self.relation = self.shown(margin);
            self.settled_in = (self.relation != Relation::Open).then_some(look.round);
        }
    }

    /// The relation that the sequence shows with this margin.
    fn shown(&self, margin: f64) -> Relation {
        let Interval { low, high } = self.interval;
        match self.estimand {
            Estimand::Mean(_) if high - low <= 2.0 * margin => Relation::Narrow,
            Estimand::Mean(_) => Relation::Open,
            Estimand::Difference(..) if low > 0.0 => Relation::Greater,
            Estimand::Difference(..) if high < 0.0 => Relation::Less,
            Estimand::Difference(..) if low >= -margin && high <= margin => Relation::Equivalent,
            Estimand::Difference(..) => Relation::Open,
        }
    }

    /// `true` if the estimand involves the contestant `one`.
    pub(crate) fn is_about_one(&self, one: usize) -> bool {
        match self.estimand {
            Estimand::Mean(of) => of == one,
            Estimand::Difference(first, second) => first == one || second == one,
        }
    }

    /// `true` if all contestants of the estimand are in `live`.
    pub(crate) fn is_about(&self, live: &[usize]) -> bool {
        match self.estimand {
            Estimand::Mean(one) => live.contains(&one),
            Estimand::Difference(one, other) => live.contains(&one) && live.contains(&other),
        }
    }
}
