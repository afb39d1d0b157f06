//! Executed calls counted against the true ones.

use std::collections::{BTreeMap, HashMap};

use super::world::{Executed, comparable};
use crate::data::Gold;

/// Two multisets of calls, compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    /// Calls in both.
    pub(super) hit: usize,
    /// Executed calls.
    pub(super) pred: usize,
    /// True calls.
    pub(super) gold: usize,
}

impl Counts {
    /// Compares executed calls with the true ones.
    pub(super) fn of<'a>(executed: impl Iterator<Item = &'a Executed>, gold: &Gold) -> Self {
        let truth: Vec<_> = gold.used_app.iter().zip(&gold.used_api).collect();
        let mut open: HashMap<(&str, &str, String), usize> = HashMap::new();
        for (app, call) in &truth {
            let inputs: BTreeMap<&str, &str> = call.inputs.iter().map(|(key, value)| (&**key, &**value)).collect();
            *open.entry((&***app, &*call.api, comparable(inputs))).or_default() += 1;
        }
        let (mut hit, mut pred) = (0, 0);
        for call in executed {
            pred += 1;
            let (app, api, inputs) = call.identity();
            if let Some(left) = open.get_mut(&(app, api, inputs.to_owned())).filter(|left| **left > 0) {
                *left -= 1;
                hit += 1;
            }
        }
        Self { hit, pred, gold: truth.len() }
    }

    /// True if the executed calls are exactly the true ones.
    pub(super) const fn all_hit(&self) -> bool {
        self.hit == self.pred && self.hit == self.gold
    }
}
