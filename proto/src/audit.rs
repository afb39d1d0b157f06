//! Audits: an expensive judge checks a cheap one on a random part of the items.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Digest, EndpointName, Judge, Margin, ModelRef, json_bytes};

/// A second judge that is asked the same questions about a random part of the items. Estimates are corrected by how the two differ there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Audit {
    /// The judge whose scores are estimated, usually a better and more expensive one: `endpoint/model`, a mapping with parameters, or a
    /// panel.
    pub judge: Judge,
    /// Part of the items that it judges, above 0 and below 1, but at least 30 items. They are drawn by the sweep's seed: the same for all
    /// models and trials.
    pub share: f64,
    /// Half of the interval at which a corrected value on leaderboards is known well enough, in percentage points of its scale: `2pp`. Where one
    /// is wider, `regatta run` makes larger audits once the run is complete, and those of fewer than 50 items are made larger from the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub until: Option<Margin>,
    /// Largest part of the items that such an audit judges, from `share` to 1, but at least 30 items. Default: 1, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
}

impl Audit {
    /// Fewest items of a setting that are audited, as far as it has so many. Intervals over fewer cover too rarely where judges differ in a
    /// few items alone.
    pub const ITEMS_MIN: usize = 30;
    /// Fewest items of an audit that is the first of several: fewer tell too little of how many it takes.
    pub const FIRST_ITEMS_MIN: usize = 50;

    /// Number of items that are audited of so many.
    #[must_use]
    pub fn items_of(&self, items: usize) -> usize {
        let part = |share: f64| (share * items as f64).ceil() as usize;
        let least = match (self.until, self.at_most) {
            (None, _) => Self::ITEMS_MIN,
            (Some(_), None) => Self::FIRST_ITEMS_MIN,
            (Some(_), Some(most)) => part(most).clamp(Self::ITEMS_MIN, Self::FIRST_ITEMS_MIN),
        };
        part(self.share).max(least).min(items)
    }

    /// The name under which audited sessions wait for verdicts of both `judge` and the audit's judge.
    #[must_use]
    pub fn name_with(&self, judge: &Judge) -> ModelRef {
        let model = format!("audited-{}", Digest::of(&json_bytes(&(judge, &self.judge))).short());
        ModelRef { endpoint: EndpointName::of_panels(), model }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(yaml: &str) -> Result<Audit, String> {
        serde_yaml_ng::from_str(yaml).map_err(|error| error.to_string())
    }

    #[test]
    fn a_share_of_the_items_is_audited_but_never_so_few_that_nothing_follows() {
        let audit = read("{ judge: a/b, share: 0.1 }").unwrap();
        let audited = [0, 20, 30, 200, 301, 1000].map(|items| audit.items_of(items));
        assert_eq!(audited, [0, 20, 30, 30, 31, 100]);
        let first = read("{ judge: a/b, share: 0.1, until: 2pp, at_most: 0.5 }").unwrap();
        let audited = [0, 20, 30, 200, 301, 1000].map(|items| first.items_of(items));
        assert_eq!(audited, [0, 20, 30, 50, 50, 100], "others follow, by how well these are known");
    }

    #[test]
    fn the_first_of_several_audits_is_no_larger_than_the_largest_that_is_allowed() {
        let audit = read("{ judge: a/b, share: 0.1, until: 2pp, at_most: 0.2 }").unwrap();
        let audited = [20, 100, 200, 300, 1000].map(|items| audit.items_of(items));
        assert_eq!(audited, [20, 30, 40, 50, 100], "of 200 items 40 may be audited");
    }

    #[test]
    fn an_audit_without_an_end_is_written_as_it_was_before_there_were_such() {
        let audit = read("{ judge: a/b, share: 0.1 }").unwrap();
        assert_eq!(serde_json::to_string(&audit).unwrap(), r#"{"judge":"a/b","share":0.1}"#);
        let audit = read("{ judge: a/b, share: 0.1, until: 2pp, at_most: 0.5 }").unwrap();
        let written = serde_json::to_string(&audit).unwrap();
        assert_eq!(written, r#"{"judge":"a/b","share":0.1,"until":"2pp","at_most":0.5}"#);
        assert_eq!(serde_json::from_str::<Audit>(&written).unwrap(), audit);
    }

    #[test]
    fn audited_sessions_wait_under_a_name_of_their_own() {
        let (one, other): (Judge, Judge) = (Judge::Plain("a/b".parse().unwrap()), Judge::Plain("c/d".parse().unwrap()));
        let audit = read("{ judge: { panel: [e/f, g/h], rule: mean }, share: 0.1 }").unwrap();
        let names = [audit.name_with(&one), audit.name_with(&other), audit.judge.name()];
        assert!(names[0] != names[1] && names[1] != names[2] && names[0] != names[2], "{names:?}");
    }

    #[test]
    fn unknown_fields_of_an_audit_are_refused() {
        assert!(read("{ judge: a/b, share: 0.1, till: 2pp }").unwrap_err().contains("till"));
        assert!(read("{ judge: a/b, share: 0.1, until: 5% }").unwrap_err().contains("as 2pp"));
        assert!(read("{ judge: a/b }").unwrap_err().contains("share"));
    }
}
