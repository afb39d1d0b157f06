//! Days and times of the clock, as the gold says them and as requests hold them (docs/benchmarks/autoslurp.md §7.3).

use std::sync::LazyLock;

use jiff::Span;
use jiff::civil::Date;
use regex::Regex;

use super::tokens::tokens;

/// The clock's face has no morning and no afternoon.
const HALF_DAY: u32 = 12 * 60;

/// A time that is nothing but a time.
static CLOCK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)^\s*([0-9]{1,2}):([0-9]{2})(?::[0-9]{2})?\s*(a\.?\s?m\.?|p\.?\s?m\.?)?\s*$").ok()
});
/// A time somewhere in a text: servers look at its beginning alone, and take dates before it.
static CLOCK_WITHIN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)([0-9]{1,2}):([0-9]{2})(?::[0-9]{2})?\s*(am|pm)?").ok());

const HOURS: [&str; 12] =
    ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
const TEENS: [&str; 10] =
    ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"];
const TENS: [&str; 4] = ["twenty", "thirty", "forty", "fifty"];

/// Minutes since midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clock(u32);

impl Clock {
    /// A time as people say or write it, and nothing else: `10:00`, `9`, `nine am`, `three thirty pm`.
    pub(super) fn said(text: &str) -> Option<Self> {
        digits(CLOCK.as_ref(), text).or_else(|| words(text))
    }

    /// A time as a request holds it: the same, or the first one in the text that is written with a colon.
    pub(super) fn requested(text: &str) -> Option<Self> {
        Self::said(text).or_else(|| digits(CLOCK_WITHIN.as_ref(), text))
    }

    /// True if both show the same on a clock's face.
    pub(super) fn same_face(self, other: Self) -> bool {
        self.0 % HALF_DAY == other.0 % HALF_DAY
    }
}

fn digits(pattern: Option<&Regex>, text: &str) -> Option<Clock> {
    let found = pattern?.captures(text)?;
    let number = |at: usize| found.get(at)?.as_str().parse::<u32>().ok();
    let half = found.get(3).and_then(|half| half.as_str().chars().next());
    Some(clock(number(1)?, number(2)?, half))
}

fn words(text: &str) -> Option<Clock> {
    let tokens = tokens(text);
    let mut words: Vec<&str> = tokens.iter().map(String::as_str).collect();
    let mut half = None;
    match words.as_slice() {
        [.., "am" | "pm"] => half = words.pop().and_then(|word| word.chars().next()),
        [.., "a" | "p", "m"] => {
            words.pop();
            half = words.pop().and_then(|word| word.chars().next());
        }
        [.., "oclock"] => {
            words.pop();
        }
        _ => {}
    }
    let (hour, minutes) = words.split_first()?;
    let minutes = match minutes {
        [] => 0,
        ["oh" | "o" | "zero", unit] => at(&HOURS, unit).filter(|minute| *minute < 9)? + 1,
        [ten, unit] => 20 + 10 * at(&TENS, ten)? + at(&HOURS, unit).filter(|minute| *minute < 9)? + 1,
        [word] => match (at(&TEENS, word), at(&TENS, word)) {
            (Some(teen), _) => 10 + teen,
            (_, Some(ten)) => 20 + 10 * ten,
            _ => word.parse().ok().filter(|minute| word.len() == 2 && *minute < 60)?,
        },
        _ => return None,
    };
    let hour = match at(&HOURS, hour) {
        Some(hour) => hour + 1,
        None => hour.parse().ok().filter(|number| hour.len() <= 2 && *number <= 24)?,
    };
    Some(clock(hour, minutes, half))
}

fn at(words: &[&str], word: &str) -> Option<u32> {
    u32::try_from(words.iter().position(|known| *known == word)?).ok()
}

fn clock(hour: u32, minute: u32, half: Option<char>) -> Clock {
    let hour = match half.map(|half| half.to_ascii_lowercase()) {
        Some('a') if hour == 12 => 0,
        Some('p') if hour < 12 => hour + 12,
        _ => hour,
    };
    Clock(hour * 60 + minute)
}

/// True if a request's time is in a part of the day, or the part of the day is unknown.
pub(super) fn is_in_part_of_day(part: &str, requested: &str) -> bool {
    let hours = match part.trim().to_ascii_lowercase().as_str() {
        "morning" => 5..12,
        "afternoon" => 12..18,
        "evening" | "tonight" | "night" => 17..24,
        _ => return true,
    };
    Clock::requested(requested).is_some_and(|clock| hours.contains(&(clock.0 / 60)))
}

/// The days that the gold means, first and last: those words that the official resolver knows (docs/benchmarks/autoslurp.md §4.1, step 2).
/// Any other words mean whatever day.
pub(super) fn days(said: &str, today: Date) -> Option<(Date, Date)> {
    let week_day = i32::from(today.weekday().to_sunday_zero_offset());
    let day = |days: i32| today.saturating_add(Span::new().days(days));
    Some(match said.trim() {
        "today" => (today, today),
        "tomorrow" => (day(1), day(1)),
        "this week" => (day(1 - week_day), day(7 - week_day)),
        "last week" => (day(-week_day - 6), day(-week_day)),
        "this weekend" => (day(6 - week_day), day(7 - week_day)),
        "sunday" => (day(7 - week_day), day(7 - week_day)),
        "august fifteenth" => {
            let day = Date::new(today.year(), 8, 15).ok()?;
            (day, day)
        }
        _ => return None,
    })
}

/// The day that a request's date begins with, as servers look at it.
pub(super) fn day(requested: &str) -> Option<Date> {
    requested.get(..10)?.parse().ok()
}
