//! From a cron expression and a time zone to moments.
//!
//! Where clocks are put forward, a time that does not exist (`30 2 * * *`) comes right after the gap, and what repeats (`*/5 * * * *`) leaves
//! out the gap. Where they are put back, a time comes once, at its first occurrence, and what repeats comes in both hours. No moment comes twice.

use std::collections::VecDeque;

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::PlanError;

/// Newest ticks of a span that are told one by one; no policy makes up for more.
const KEPT: usize = 1000;
/// Ticks of a span that are counted; each takes a few microseconds.
const COUNTED: u32 = 200_000;
/// Span before the end that is searched where more have elapsed, so that the last ones are found all the same.
const LOOKED_BACK: SignedDuration = SignedDuration::from_hours(3 * 24);

/// The moments at which a schedule wants sweeps.
#[derive(Debug, Clone)]
pub(crate) struct Ticks {
    cron: Cron,
    zone: TimeZone,
}

/// Ticks of a span of time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Elapsed {
    /// Number of them; where there are very many, of those that were counted.
    pub(crate) count: u32,
    /// The first of them.
    pub(crate) first: Option<Timestamp>,
    /// The last of them, oldest first.
    pub(crate) newest: VecDeque<Timestamp>,
}

impl Ticks {
    /// Reads an expression and a zone.
    ///
    /// # Errors
    /// When one of them cannot be read, or the expression names no moment.
    pub(crate) fn parse(cron: &str, zone: &str) -> Result<Self, PlanError> {
        let problem = |field: &str, problem: String| PlanError::Field { field: field.to_owned(), problem };
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let cron_of = || parser.parse(cron).map_err(|error| problem("cron", format!("{cron:?}: {error}")));
        let zone_of = || {
            TimeZone::get(zone).map_err(|_| {
                problem("time_zone", format!("{zone:?} is no time zone; write an IANA name as Europe/Berlin, or UTC"))
            })
        };
        let ticks = Self { cron: cron_of()?, zone: zone_of()? };
        match ticks.after(Timestamp::UNIX_EPOCH) {
            Some(_) => Ok(ticks),
            None => Err(problem("cron", format!("{cron:?} names no moment that ever comes"))),
        }
    }

    /// The zone that days and months are counted in.
    pub(crate) const fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// The first tick after `moment`; `None` when there is none.
    pub(crate) fn after(&self, moment: Timestamp) -> Option<Timestamp> {
        let mut from = moment.to_zoned(self.zone.clone());
        loop {
            let next = self.cron.find_next_occurrence(&from, false).ok()?;
            if next.timestamp() > moment {
                return Some(next.timestamp());
            }
            // Never the case of a correct search; a clock that stands still would be worse than a skipped moment.
            from = from.checked_add(SignedDuration::from_secs(60)).ok()?;
        }
    }

    /// The ticks after `from` up to and including `until`.
    pub(crate) fn between(&self, from: Timestamp, until: Timestamp) -> Elapsed {
        let elapsed = self.counted(from, until);
        if elapsed.count < COUNTED {
            return elapsed;
        }
        let tail = self.counted(from.max(until - LOOKED_BACK), until);
        Elapsed { newest: tail.newest, ..elapsed }
    }

    fn counted(&self, from: Timestamp, until: Timestamp) -> Elapsed {
        let mut elapsed = Elapsed::default();
        let mut moment = from;
        while let Some(tick) = self.after(moment).filter(|tick| *tick <= until) {
            moment = tick;
            elapsed.count += 1;
            elapsed.first = elapsed.first.or(Some(tick));
            if elapsed.newest.len() == KEPT {
                elapsed.newest.pop_front();
            }
            elapsed.newest.push_back(tick);
            if elapsed.count == COUNTED {
                break;
            }
        }
        elapsed
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ticks(cron: &str, zone: &str) -> Ticks {
        Ticks::parse(cron, zone).unwrap()
    }

    fn moment(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// As wall clocks show them.
    fn shown(ticks: &Ticks, from: &str, until: &str) -> Vec<String> {
        let elapsed = ticks.between(moment(from), moment(until));
        elapsed.newest.iter().map(|at| at.to_zoned(ticks.zone.clone()).strftime("%d %H:%M%:z").to_string()).collect()
    }

    #[test]
    fn a_time_that_does_not_exist_comes_right_after_the_gap_and_only_that_day() {
        let nightly = ticks("30 2 * * *", "Europe/Berlin");
        let shown = shown(&nightly, "2027-03-27T00:00:00Z", "2027-03-30T00:00:00Z");
        assert_eq!(shown, ["27 02:30+01:00", "28 03:00+02:00", "29 02:30+02:00"]);
    }

    #[test]
    fn a_time_that_comes_twice_is_a_tick_once() {
        let nightly = ticks("30 2 * * *", "Europe/Berlin");
        let shown = shown(&nightly, "2026-10-24T00:00:00Z", "2026-10-26T23:00:00Z");
        assert_eq!(shown, ["24 02:30+02:00", "25 02:30+02:00", "26 02:30+01:00"]);
    }

    #[test]
    fn what_repeats_leaves_out_the_gap_and_comes_in_both_hours() {
        let hourly = ticks("0 * * * *", "America/New_York");
        let spring = shown(&hourly, "2027-03-14T05:30:00Z", "2027-03-14T08:00:00Z");
        assert_eq!(spring, ["14 01:00-05:00", "14 03:00-04:00", "14 04:00-04:00"]);
        let autumn = shown(&hourly, "2027-11-07T04:30:00Z", "2027-11-07T07:30:00Z");
        assert_eq!(autumn, ["07 01:00-04:00", "07 01:00-05:00", "07 02:00-05:00"]);
    }

    #[test]
    fn a_day_of_minutes_has_as_many_ticks_as_minutes() {
        let minutes = ticks("* * * * *", "Europe/Berlin");
        for (from, until, expected) in [
            ("2026-11-22T23:00:00Z", "2026-11-23T23:00:00Z", 1440),
            ("2027-03-27T23:00:00Z", "2027-03-28T22:00:00Z", 1380),
            ("2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z", 1500),
        ] {
            assert_eq!(minutes.between(moment(from), moment(until)).count, expected, "{from}");
        }
    }

    #[test]
    fn of_a_very_long_absence_the_last_ticks_are_found() {
        let minutes = ticks("* * * * *", "UTC");
        let elapsed = minutes.between(moment("2026-01-01T00:00:00Z"), moment("2027-01-01T00:00:00Z"));
        assert_eq!(elapsed.count, COUNTED);
        assert_eq!(elapsed.first, Some(moment("2026-01-01T00:01:00Z")));
        assert_eq!(elapsed.newest.back(), Some(&moment("2027-01-01T00:00:00Z")));
    }

    proptest! {
        #[test]
        fn any_expression_is_read_or_refused(
            cron in "[0-9*,/?LW#@a-zA-Z+ -]{0,24}|([0-9*LW?]{1,2}([,/#-][0-9L]{1,2})? ){4}[0-9*LW?]([,/#-][0-9L]{1,2})?",
            zone in "UTC|Europe/Berlin|[A-Za-z/_.-]{0,20}",
        ) {
            if let Ok(ticks) = Ticks::parse(&cron, &zone) {
                let moment = moment("2026-03-29T00:30:00Z");
                prop_assert!(ticks.after(moment).is_none_or(|next| next > moment));
            }
        }

        #[test]
        fn time_only_goes_forward(
            start in 1_700_000_000_i64..1_900_000_000,
            zone in prop::sample::select(&["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC", "Africa/Cairo"][..]),
            cron in prop::sample::select(&["* * * * *", "0 0 * * *", "30 2 * * *", "*/7 1-3 * * 0", "15 1,2 * 3,10,11 *"][..]),
        ) {
            let ticks = ticks(cron, zone);
            let mut at = Timestamp::from_second(start).unwrap();
            for _ in 0..50 {
                let next = ticks.after(at).unwrap();
                prop_assert!(next > at);
                // Asking from in between finds the same tick: nothing depends on when a coordinator looks.
                let between = at + (next.duration_since(at) / 2);
                prop_assert_eq!(ticks.after(between).unwrap(), next);
                at = next;
            }
        }
    }
}
