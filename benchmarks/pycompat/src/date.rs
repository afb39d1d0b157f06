//! Days and moments as Python's `datetime` keeps them.

use std::fmt;

/// A day of the proleptic Gregorian calendar (`datetime.date`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Date {
    /// From 1 to 9999.
    pub year: u16,
    /// From 1 to 12.
    pub month: u8,
    /// From 1 to the month's last.
    pub day: u8,
}

impl Date {
    /// The day, if there is one.
    pub fn new(year: u16, month: u8, day: u8) -> Option<Self> {
        let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let days = match month {
            2 => 28 + u8::from(leap),
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        ((1..=9999).contains(&year) && (1..=days).contains(&day)).then_some(Self { year, month, day })
    }

    /// Days since some day before the calendar's first.
    fn ordinal(self) -> i128 {
        // Years that begin in March, so that the leap day is the last.
        let (year, month) = match self.month {
            1 | 2 => (i128::from(self.year) - 1, i128::from(self.month) + 9),
            _ => (i128::from(self.year), i128::from(self.month) - 3),
        };
        365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + i128::from(self.day)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// A day and a time of day (`datetime.datetime`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateTime {
    /// The day.
    pub date: Date,
    /// From 0 to 23.
    pub hour: u8,
    /// From 0 to 59.
    pub minute: u8,
    /// From 0 to 59.
    pub second: u8,
    /// From 0 to 999,999.
    pub microsecond: u32,
    /// Minutes east of UTC, less than a day either way.
    pub offset: Option<i16>,
}

impl DateTime {
    /// Microseconds since some day, in UTC if there is an offset.
    pub fn instant(&self) -> i128 {
        let minutes = (self.date.ordinal() * 24 + i128::from(self.hour)) * 60 + i128::from(self.minute)
            - i128::from(self.offset.unwrap_or_default());
        (minutes * 60 + i128::from(self.second)) * 1_000_000 + i128::from(self.microsecond)
    }

    /// As `isoformat` writes it, with this separator.
    pub fn iso(&self, separator: char) -> String {
        let mut text = format!("{}{separator}{:02}:{:02}:{:02}", self.date, self.hour, self.minute, self.second);
        if self.microsecond > 0 {
            text.push_str(&format!(".{:06}", self.microsecond));
        }
        if let Some(offset) = self.offset {
            let (sign, minutes) = if offset < 0 { ('-', -offset) } else { ('+', offset) };
            text.push_str(&format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_days_are_none() {
        assert!(
            Date::new(2024, 2, 29).is_some() && Date::new(2000, 2, 29).is_some() && Date::new(9999, 12, 31).is_some()
        );
        for (year, month, day) in [(2025, 2, 29), (1900, 2, 29), (2025, 13, 1), (2025, 4, 31), (0, 1, 1), (2025, 1, 0)]
        {
            assert!(Date::new(year, month, day).is_none(), "{year}-{month}-{day}");
        }
    }

    #[test]
    fn moments_are_compared_in_utc() {
        let at = |day, hour, offset| DateTime {
            date: Date::new(2024, 3, day).unwrap(),
            hour,
            minute: 30,
            second: 1,
            microsecond: 20,
            offset,
        };
        assert_eq!(at(1, 1, Some(120)).instant(), at(1, 0, Some(60)).instant());
        assert_eq!(at(1, 1, Some(120)).instant() + 86_400_000_000, at(2, 1, Some(120)).instant());
        assert_eq!(at(1, 1, Some(-330)).iso(' '), "2024-03-01 01:30:01.000020-05:30");
    }
}
