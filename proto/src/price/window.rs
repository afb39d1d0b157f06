//! Prices that apply at certain times only, such as off-peak discounts.

use jiff::civil::{DateTime, Time, Weekday};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Rates;

/// A day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Day {
    /// Monday.
    Mon,
    /// Tuesday.
    Tue,
    /// Wednesday.
    Wed,
    /// Thursday.
    Thu,
    /// Friday.
    Fri,
    /// Saturday.
    Sat,
    /// Sunday.
    Sun,
}

impl Day {
    /// The whole week, beginning with Monday as in ISO 8601.
    pub const WEEK: [Self; 7] = [Self::Mon, Self::Tue, Self::Wed, Self::Thu, Self::Fri, Self::Sat, Self::Sun];
}

impl From<Weekday> for Day {
    fn from(day: Weekday) -> Self {
        match day {
            Weekday::Monday => Self::Mon,
            Weekday::Tuesday => Self::Tue,
            Weekday::Wednesday => Self::Wed,
            Weekday::Thursday => Self::Thu,
            Weekday::Friday => Self::Fri,
            Weekday::Saturday => Self::Sat,
            Weekday::Sunday => Self::Sun,
        }
    }
}

/// Rates for a part of the day, every day or on some days of the week.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PriceWindow {
    /// Start of the window, a time of day in UTC, as in `16:30:00`.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub from: Time,
    /// End of the window, a time of day in UTC, exclusive; earlier than `from` if the window spans midnight, equal to it for the whole day.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub to: Time,
    /// Days, in UTC, on which the request begins; every day if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub days: Vec<Day>,
    /// Rates of requests that begin within the window.
    pub rates: Rates,
}

impl PriceWindow {
    /// `true` if the window contains `at`, in UTC.
    #[must_use]
    pub fn holds(&self, at: DateTime) -> bool {
        let time = at.time();
        let on_the_day = self.days.is_empty() || self.days.contains(&Day::from(at.weekday()));
        on_the_day
            && if self.from < self.to {
                self.from <= time && time < self.to
            } else {
                time >= self.from || time < self.to
            }
    }
}
