//! Counters of call and rejection (docs/benchmarks/orchestrationbench.md §5.4).

use std::ops::{Add, AddAssign};

use serde_json::{Value, json};

use super::class::Class;

/// How often what was decided for what was right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Confusion {
    /// Rejected, rightly.
    pub(crate) tp_reject: u32,
    /// Called, rightly: the same as `tp_fc`.
    pub(crate) tn_reject: u32,
    /// Rejected what could be called: the same as `fn_fc`.
    pub(crate) fp_reject: u32,
    /// Called what was to be rejected: the same as `fp_fc`.
    pub(crate) fn_reject: u32,
    /// Rejected rightly, as another kind; part of `tp_reject`.
    pub(crate) type_mismatch: u32,
}

impl Confusion {
    /// Of one step.
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

    /// As the golden files write it.
    pub(crate) fn to_json(self) -> Value {
        json!({
            "tp_reject": self.tp_reject, "tn_reject": self.tn_reject,
            "fp_reject": self.fp_reject, "fn_reject": self.fn_reject,
            "tp_fc": self.tn_reject, "fp_fc": self.fn_reject, "fn_fc": self.fp_reject, "tn_fc": self.tp_reject,
            "type_mismatch": self.type_mismatch,
            // The official code knows answers that failed, but no answer can get there.
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
