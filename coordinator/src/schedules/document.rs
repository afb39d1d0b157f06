//! A schedule as people declare it, and what is wrong with one.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use regatta_proto::{Digest, Money, ScheduleName, SweepId, SweepSpec, plain_message};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::choices::{Baseline, CatchUp};
use super::ticks::Ticks;
use crate::PlanError;

/// Longest name, in bytes: sweeps are named after it, with the tick and a digest.
const NAME_BYTES_MAX: usize = 64;
/// Longest cron expression, in bytes.
const CRON_BYTES_MAX: usize = 200;
/// Longest gate policy and overrides, in bytes.
const DOCUMENT_BYTES_MAX: usize = 64 << 10;
/// Most channels that a schedule notifies.
const CHANNELS_MAX: usize = 16;
/// Most ticks that are made up for.
const CATCH_UP_MAX: u32 = 1000;
/// Longest delay at which a tick still counts as on time, in seconds.
const LATE_WITHIN_S_MAX: u32 = 7 * 86_400;

/// A schedule: when a sweep is wanted, which, what it may cost, what it is held against, and who is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleSpec {
    /// Name; sweeps are named after it.
    pub name: ScheduleName,
    /// Five fields (minute, hour, day of month, month, day of week), or a nickname as `@daily`.
    pub cron: String,
    /// IANA name of the zone that the expression is read in.
    #[serde(default = "utc")]
    pub time_zone: String,
    /// Changes of the sweep's spec, as a JSON merge patch.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub overrides: Map<String, Value>,
    /// The run that each night is compared with.
    #[serde(default)]
    pub baseline: Baseline,
    /// Text of a policy of `regatta gate`; nights are not judged without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    /// Most money to spend, in dollars.
    #[serde(default, skip_serializing_if = "ScheduleBudget::is_none")]
    pub budget_usd: ScheduleBudget,
    /// Rule for ticks that passed while no coordinator led, or while the sweep before still ran.
    #[serde(default)]
    pub catch_up: CatchUp,
    /// Delay up to which a tick still counts as on time, in seconds.
    #[serde(default = "five_minutes")]
    pub late_within_s: u32,
    /// Channels that are notified, by event.
    #[serde(default, skip_serializing_if = "Notify::is_none")]
    pub notify: Notify,
    /// Retention of its sweeps by `regatta gc`; everything is kept when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<Retention>,
}

/// Budgets of a schedule, in dollars.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScheduleBudget {
    /// Most dollars of each night.
    pub night: Option<f64>,
    /// Most dollars of all nights of a calendar month in the schedule's zone.
    pub month: Option<f64>,
}

impl ScheduleBudget {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Channels that are notified, by event.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Notify {
    /// Events that are told; all when empty. (Not `on`: YAML 1.1, and so Helm, reads that as true.)
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub events: BTreeSet<NightEvent>,
    /// Webhooks, by their names in the coordinator's policy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub webhooks: Vec<String>,
    /// Commands, by their names in the coordinator's policy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
}

impl Notify {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Channels that are notified of `event`.
    pub(crate) fn channels(&self, event: NightEvent) -> Vec<String> {
        if !self.events.is_empty() && !self.events.contains(&event) {
            return Vec::new();
        }
        self.all_channels()
    }

    /// All channels, as `webhook/ci` and `command/page`.
    pub(crate) fn all_channels(&self) -> Vec<String> {
        let of = |kind: &str, names: &[String]| -> Vec<String> {
            names.iter().map(|name| format!("{kind}/{name}")).collect()
        };
        [of("webhook", &self.webhooks), of("command", &self.commands)].concat()
    }
}

/// An event in the life of a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NightEvent {
    /// The sweep ended, and the gate says GO.
    Go,
    /// The sweep ended, and the gate says NO-GO.
    NoGo,
    /// The sweep ended, and the gate says INCONCLUSIVE.
    Inconclusive,
    /// The sweep ended without a verdict.
    Ended,
    /// It went by.
    Missed,
    /// The sweep could not be planned or paid for.
    Refused,
}

/// Retention of a schedule's sweeps; baselines and running sweeps are always kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Retention {
    /// Sweeps that ended within so many days are kept; all when absent.
    pub days: Option<u32>,
    /// At least so many of the last nights are kept, however old.
    pub nights: u32,
    /// Transcripts of sweeps that ended within so many days are kept; as long as their sweep when absent.
    pub transcripts_days: Option<u32>,
}

/// A schedule as it is kept: its submission lies in Blobs, by digest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stored {
    pub(crate) spec: ScheduleSpec,
    pub(crate) submission: Digest,
}

fn utc() -> String {
    "UTC".to_owned()
}

const fn five_minutes() -> u32 {
    300
}

fn refuse<T>(field: &str, problem: impl Into<String>) -> Result<T, PlanError> {
    Err(PlanError::Field { field: field.to_owned(), problem: problem.into() })
}

impl ScheduleSpec {
    /// Reads a schedule from JSON or YAML.
    ///
    /// # Errors
    /// With the field and the reason.
    pub fn from_value(value: Value) -> Result<Self, String> {
        serde_json::from_value(value).map_err(|error| plain_message(&error.to_string()))
    }

    /// Checks the fields that can be checked without the sweep; returns the schedule's ticks.
    pub(crate) fn check(&self) -> Result<Ticks, PlanError> {
        if self.name.as_str().len() > NAME_BYTES_MAX {
            return refuse("name", format!("{} is longer than {NAME_BYTES_MAX} bytes", self.name));
        }
        if self.cron.len() > CRON_BYTES_MAX {
            return refuse("cron", format!("is longer than {CRON_BYTES_MAX} bytes"));
        }
        let ticks = Ticks::parse(&self.cron, &self.time_zone)?;
        for (field, budget) in
            [("budget_usd.night", self.budget_usd.night), ("budget_usd.month", self.budget_usd.month)]
        {
            if budget.is_some_and(|budget| Money::from_dollars(budget).is_none_or(|money| money == Money::ZERO)) {
                return refuse(field, "is not a positive number of dollars");
            }
        }
        if self.late_within_s > LATE_WITHIN_S_MAX {
            return refuse("late_within_s", format!("is {}, at most {LATE_WITHIN_S_MAX}", self.late_within_s));
        }
        if let CatchUp::All(count) = self.catch_up
            && !(1..=CATCH_UP_MAX).contains(&count)
        {
            return refuse(
                "catch_up",
                format!("makes up for {count} ticks; write all:N with N from 1 to {CATCH_UP_MAX}"),
            );
        }
        if self.gate.as_ref().is_some_and(|policy| policy.len() > DOCUMENT_BYTES_MAX) {
            return refuse("gate", format!("is longer than {DOCUMENT_BYTES_MAX} bytes"));
        }
        if Value::Object(self.overrides.clone()).to_string().len() > DOCUMENT_BYTES_MAX {
            return refuse("overrides", format!("are longer than {DOCUMENT_BYTES_MAX} bytes"));
        }
        if self.overrides.contains_key("name") {
            return refuse("overrides.name", "cannot be set: each sweep is named after the schedule and its tick");
        }
        if self.notify.all_channels().len() > CHANNELS_MAX {
            return refuse("notify", format!("names more than {CHANNELS_MAX} webhooks and commands"));
        }
        Ok(ticks)
    }

    /// Delay up to which a tick counts as on time.
    pub(crate) fn late_within(&self) -> SignedDuration {
        SignedDuration::from_secs(i64::from(self.late_within_s))
    }

    /// `spec` with the overrides, under `name`.
    pub(crate) fn overridden(&self, spec: &SweepSpec, name: SweepId) -> Result<SweepSpec, PlanError> {
        let problem = |error: serde_json::Error| PlanError::Field {
            field: "overrides".to_owned(),
            problem: format!("make no spec of a sweep: {}", plain_message(&error.to_string())),
        };
        let mut document = serde_json::to_value(spec).map_err(problem)?;
        merge(&mut document, &Value::Object(self.overrides.clone()));
        let overridden: SweepSpec = serde_json::from_value(document).map_err(problem)?;
        Ok(SweepSpec { name, ..overridden })
    }
}

/// JSON merge patch (RFC 7396): fields are replaced one by one, null removes one.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(found) = target else { return };
    for (name, value) in fields {
        if value.is_null() {
            found.shift_remove(name);
        } else {
            merge(found.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Result<ScheduleSpec, String> {
        let spec = ScheduleSpec::from_value(value)?;
        spec.check().map_err(|error| error.to_string())?;
        Ok(spec)
    }

    #[test]
    fn a_schedule_with_everything_is_written_as_it_was_read() {
        let document = json!({
            "name": "nightly", "cron": "0 2 * * *", "time_zone": "Europe/Berlin", "overrides": { "trials": 2 },
            "baseline": "best", "gate": "metrics: { f1: { margin: 2pp } }",
            "budget_usd": { "night": 5.0, "month": 100.0 }, "catch_up": "all:3", "late_within_s": 60,
            "notify": { "events": ["no_go", "missed"], "webhooks": ["ci"], "commands": ["page"] },
            "retention": { "days": 90, "nights": 30, "transcripts_days": 14 },
        });
        let spec = read(document.clone()).unwrap();
        assert_eq!(serde_json::to_value(&spec).unwrap(), document);
        assert_eq!(spec.notify.channels(NightEvent::NoGo), ["webhook/ci", "command/page"]);
        assert!(spec.notify.channels(NightEvent::Go).is_empty());
    }

    #[test]
    fn what_is_wrong_with_a_schedule_is_said_with_its_field() {
        let refused = |changes: Value| {
            let mut document = json!({ "name": "nightly", "cron": "0 2 * * *" });
            merge(&mut document, &changes);
            read(document).unwrap_err()
        };
        let errors = [
            refused(json!({ "cron": "0 2 * *" })),
            refused(json!({ "cron": "61 2 * * *" })),
            refused(json!({ "cron": "0 0 30 2 *" })),
            refused(json!({ "time_zone": "Europe/Atlantis" })),
            refused(json!({ "catch_up": "some" })),
            refused(json!({ "catch_up": "all:0" })),
            refused(json!({ "baseline": "../x" })),
            refused(json!({ "budget_usd": { "night": 0 } })),
            refused(json!({ "budget_usd": { "week": 1 } })),
            refused(json!({ "overrides": { "name": "x" } })),
            refused(json!({ "notify": { "events": ["everything"] } })),
            refused(json!({ "webhook": "https://evil.example" })),
            refused(json!({ "name": "x".repeat(65) })),
        ];
        insta::assert_snapshot!(errors.join("\n"));
    }

    #[test]
    fn overrides_change_single_fields_of_the_spec() {
        let mut document = json!({ "a": { "b": 1, "c": 2 }, "d": [1] });
        merge(&mut document, &json!({ "a": { "b": null, "e": 3 }, "d": [2, 3] }));
        assert_eq!(document, json!({ "a": { "c": 2, "e": 3 }, "d": [2, 3] }));
    }
}
