//! Confusion counts of calls and rejections (docs/benchmarks/orchestrationbench.md §5.4).

use std::ops::{Add, AddAssign};

use serde_json::{Value, json};

use super::class::Class;

/// Confusion counts, with rejection as the positive class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Confusion {
    /// Correct rejections.
    pub(crate) tp_reject: u32,
    /// Correct calls; the same as `tp_fc`.
    pub(crate) tn_reject: u32,
    /// Rejections where a call is right; the same as `fn_fc`.
    pub(crate) fp_reject: u32,
    /// Calls where a rejection is right; the same as `fp_fc`.
    pub(crate) fn_reject: u32,
    /// Correct rejections of the wrong type; part of `tp_reject`.
    pub(crate) type_mismatch: u32,
}

impl Confusion {
    /// Counts of one step.
    pub(crate) fn of(actual: Class, decided: Class) -> Self {
        let mut one = Self::default();
        match (actual == Class::Call, decided == Class::Call) {
            (true, true) => one.tn_reject = 1,
            (true, false) => one.fp_reject = 1,
            (false, true) => one.fn_reject = 1,
            (false, false) => {
                one.tp_reject = 1;
                one.type_mismatch = u32::from(actual != decided);
            }
        }
        one
    }

    /// Serialises the counts as the golden files have them.
    pub(crate) fn to_json(self) -> Value {
        json!({
            "tp_reject": self.tp_reject, "tn_reject": self.tn_reject,
            "fp_reject": self.fp_reject, "fn_reject": self.fn_reject,
            "tp_fc": self.tn_reject, "fp_fc": self.fn_reject, "fn_fc": self.fp_reject, "tn_fc": self.tp_reject,
            "type_mismatch": self.type_mismatch,
            // The official code has a counter of failed answers that is never increased.
            "failed": 0,
        })
    }
}

impl Add for Confusion {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            tp_reject: self.tp_reject + other.tp_reject,
            tn_reject: self.tn_reject + other.tn_reject,
            fp_reject: self.fp_reject + other.fp_reject,
            fn_reject: self.fn_reject + other.fn_reject,
            type_mismatch: self.type_mismatch + other.type_mismatch,
        }
    }
}

impl AddAssign for Confusion {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
