//! Sessions of the items that an audit draws: which of them its judge scored.

use std::collections::BTreeSet;

use crate::statistics::{Sample, Trials};

/// Trial and position of a session.
type Place = (usize, usize);

/// Measured sessions of the items that an audit draws.
#[derive(Default)]
pub(super) struct Sampled {
    audited: u64,
    unaudited: BTreeSet<Place>,
}

/// Numbers of measured sessions of the items that an audit draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SampledSessions {
    /// Sessions that its judge scored.
    pub(crate) audited: u64,
    /// Sessions that it did not.
    pub(crate) unaudited: u64,
    /// Audited sessions to which it gave no grade of a metric on leaderboards, and the other judge did.
    pub(crate) ungraded: u64,
}

impl Sampled {
    /// Adds the session at `place`.
    pub(super) fn add(&mut self, place: Place, is_audited: bool) {
        if is_audited {
            self.audited += 1;
        } else {
            self.unaudited.insert(place);
        }
    }

    /// The numbers of sessions, given the samples of every audited metric `by_both` judges.
    pub(super) fn sessions<'a>(
        &self,
        by_both: impl Iterator<Item = (&'a Vec<Trials>, &'a Vec<Trials>)>,
    ) -> SampledSessions {
        let mut lacking: BTreeSet<Place> = BTreeSet::new();
        for (samples, by_audit) in by_both {
            let (Some(samples), Some(by_audit)) = (samples.first(), by_audit.first()) else { continue };
            for (number, (trial, audited)) in samples.iter().zip(by_audit).enumerate() {
                let both = trial.iter().zip(audited).enumerate();
                let is_lacking = |(_, (one, other)): &(usize, (&Sample, &Sample))| {
                    one.parts().is_some() && **other != Sample::NotBought && other.parts().is_none()
                };
                lacking.extend(both.filter(is_lacking).map(|(position, _)| (number, position)));
            }
        }
        SampledSessions {
            audited: self.audited,
            unaudited: self.unaudited.len() as u64,
            ungraded: lacking.difference(&self.unaudited).count() as u64,
        }
    }
}

/// Positions of the items that an audit draws, from the samples by its judge.
pub(super) fn drawn(by_audit: &[Trials]) -> BTreeSet<usize> {
    let of_trial = |trial: &Vec<Sample>| {
        let drawn = trial.iter().enumerate().filter(|(_, sample)| **sample != Sample::NotBought);
        drawn.map(|(position, _)| position).collect::<Vec<_>>()
    };
    by_audit.first().into_iter().flatten().flat_map(of_trial).collect()
}
