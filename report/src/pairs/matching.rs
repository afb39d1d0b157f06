//! Two contestants' samples, item by item.

use std::borrow::Cow;
use std::collections::HashMap;

use regatta_proto::ItemIndex;

use crate::statistics::{Paired, Trials};
use crate::tabulation::GroupResult;

/// Samples of the items that both have, in the order of the first.
pub(crate) struct Matched<'g> {
    ours: Cow<'g, [Trials]>,
    theirs: Cow<'g, [Trials]>,
    clusters: Cow<'g, [u32]>,
}

impl Matched<'_> {
    pub(crate) fn paired(&self) -> Paired<'_> {
        Paired { ours: &self.ours, theirs: &self.theirs, clusters: &self.clusters }
    }
}

/// The samples of the metrics at `our_key` and `their_key`. Settings may select different items: only those of both are kept. `None`
/// without any.
pub(crate) fn matched<'g>(
    ours: &'g GroupResult,
    theirs: &'g GroupResult,
    our_key: usize,
    their_key: usize,
) -> Option<Matched<'g>> {
    let (our_samples, their_samples) = (ours.samples.get(our_key)?, theirs.samples.get(their_key)?);
    if ours.selected == theirs.selected {
        let clusters = Cow::Borrowed(ours.clusters.as_slice());
        return Some(Matched { ours: Cow::Borrowed(our_samples), theirs: Cow::Borrowed(their_samples), clusters });
    }
    let places: HashMap<ItemIndex, usize> = theirs.selected.iter().copied().zip(0..).collect();
    let both: Vec<(usize, usize)> =
        (0..).zip(&ours.selected).filter_map(|(at, item)| Some((at, *places.get(item)?))).collect();
    if both.is_empty() {
        return None;
    }
    let at = |samples: &[Trials], place: fn(&(usize, usize)) -> usize| -> Vec<Trials> {
        let of_trial = |trial: &Vec<_>| both.iter().filter_map(|both| trial.get(place(both)).copied()).collect();
        samples.iter().map(|trials| trials.iter().map(of_trial).collect()).collect()
    };
    Some(Matched {
        ours: Cow::Owned(at(our_samples, |both| both.0)),
        theirs: Cow::Owned(at(their_samples, |both| both.1)),
        clusters: Cow::Owned(both.iter().map(|(at, _)| ours.clusters[*at]).collect()),
    })
}
