//! Checks of audits.

use super::{SpecError, cast};
use crate::{BenchmarkSpec, SweepSpec};

/// Checks that an audit has a judge to audit, and is by another one.
pub(super) fn check_audit(place: &str, benchmark: &BenchmarkSpec, spec: &SweepSpec) -> Result<(), SpecError> {
    let Some(audit) = &benchmark.audit else { return Ok(()) };
    let place = format!("{place}.audit");
    let field = |field: String, problem: String| Err(SpecError::Field { field, problem });
    let Some(judge) = &benchmark.judge else {
        return field(place, "has no `judge` of the benchmark to audit; name the cheap one there".into());
    };
    if !(audit.share > 0.0 && audit.share < 1.0) {
        return field(
            format!("{place}.share"),
            format!("must be above 0 and below 1, is {}; to judge everything, name the judge as `judge`", audit.share),
        );
    }
    if audit.until.is_some_and(|until| until.part() <= 0.0) {
        return field(format!("{place}.until"), "must be above 0pp: no number of audits makes a value exact".into());
    }
    if let Some(most) = audit.at_most {
        let place = format!("{place}.at_most");
        if audit.until.is_none() {
            return field(place, "is of audits that grow, and this one does not; write `until` too, as 2pp".into());
        }
        if !(audit.share..=1.0).contains(&most) {
            return field(place, format!("must be {} (share) to 1, is {most}", audit.share));
        }
    }
    if audit.judge.ids() == judge.ids() && audit.judge.repeats() == judge.repeats() {
        return field(format!("{place}.judge"), format!("is the judge that it audits, {judge}; name another one"));
    }
    if spec.decide.is_some() {
        return field(
            place,
            "does not go with `decide`, which compares the scores of the benchmark's judge; leave out one of them"
                .into(),
        );
    }
    cast::check_members(&format!("{place}.judge"), &audit.judge, &spec.endpoints)
}
