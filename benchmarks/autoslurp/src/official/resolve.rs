//! Slots of the gold as the judges see them: words for days, times and places become values (docs/benchmarks/autoslurp.md §4.1 and §5.3).
//!
//! The official code cuts the text at positions that it finds one after the other, and where it finds nothing it goes on with −1. This
//! follows it step by step, on characters, with Python's slices. Time and size are linear in the text.

use jiff::Span;
use jiff::civil::Date;
use regatta_proto::Script;
use regatta_pycompat::is_space;

/// Slots of a row after they are resolved on the day `today`, in the copy of the official code that came with `script`.
pub(crate) fn resolve(script: Option<Script>, slots: &str, today: Date) -> String {
    let mut text = Text(slots.trim_matches(['[', ']']).chars().collect());
    let is_old_camelai = script == Some(Script::Camelai);
    place(&mut text);
    date(&mut text, today);
    let part_of_day = part_of_day(&mut text, is_old_camelai);
    let clock = Clock { part_of_day: part_of_day.as_deref(), all_numbers: !is_old_camelai };
    time(&mut text, &clock, script);
    if !is_old_camelai {
        second_time(&mut text, &clock);
    }
    text.0.iter().collect()
}

/// A place that only the person knows.
fn place(text: &mut Text) {
    let Some(at) = text.find("place_name") else { return };
    let field = text.field(at);
    if field.value == "my city" {
        text.replace_value(&field, "new york");
    }
}

/// The first date, be it within another word.
fn date(text: &mut Text, today: Date) {
    let Some(at) = text.find("date") else { return };
    let field = text.field(at);
    let day = |days: i64| today.saturating_add(Span::new().days(days)).to_string();
    // Sunday is 0: on a Sunday, this week is the one that begins tomorrow.
    let weekday = i64::from(today.weekday().to_sunday_zero_offset());
    let (date, second) = match field.value.as_str() {
        "today" => (day(0), None),
        "tomorrow" => (day(1), None),
        "this week" => (day(1 - weekday), Some(day(7 - weekday))),
        "last week" => (day(-weekday - 6), Some(day(-weekday))),
        "this weekend" => (day(6 - weekday), Some(day(7 - weekday))),
        "sunday" => (day(7 - weekday), None),
        "august fifteenth" => (format!("{}-08-15", today.year()), None),
        other => (other.to_owned(), None),
    };
    text.replace_value(&field, &date);
    if let Some(second) = second {
        text.push(&format!(",'date2:{second}'"));
    }
}

/// Takes the part of the day out of the text, and gives it.
fn part_of_day(text: &mut Text, is_old_camelai: bool) -> Option<String> {
    let at = text.find("timeofday")?;
    let field = text.field(at);
    let from_here = text.slice(index(at), None);
    // The offset counts from the key, and is used as if it counted from the start of the text.
    let kept = match last_comma(from_here) {
        Some(offset) => offset,
        None if is_old_camelai => at,
        None => last_comma(text.slice(0, Some(index(at)))).unwrap_or(at),
    };
    *text = Text([text.slice(0, Some(index(kept))), text.slice(field.end + 1, None)].concat());
    Some(field.value)
}

/// The first time, or what an afternoon without one means.
fn time(text: &mut Text, clock: &Clock<'_>, script: Option<Script>) {
    if let Some(at) = text.find("time:").or_else(|| text.find("time :")) {
        let field = text.field(at);
        let value = clock.read(&field.value);
        if script == Some(Script::Camelai) {
            text.replace_value(&field, &value);
        } else {
            text.rewrite(at, &field, &format!("time:{value}"));
        }
    } else if clock.is_afternoon() {
        let is_camelai = matches!(script, Some(Script::Camelai | Script::CamelaiDeepseek));
        text.push(if is_camelai { ",'time:'15:00" } else { ",'from_time:12:00','to_time:17:00'" });
    }
}

/// The second time is the end of a span that the first one begins.
fn second_time(text: &mut Text, clock: &Clock<'_>) {
    let Some(at) = text.find("time2:").or_else(|| text.find("time2 :")) else { return };
    let field = text.field(at);
    let value = clock.read(&field.value);
    text.rewrite(at, &field, &format!("to_time:{value}"));
    let renamed = text.0.iter().collect::<String>().replace("'time:", "'from_time:");
    *text = Text(renamed.chars().collect());
}

/// Rules by which words for times are read.
struct Clock<'t> {
    part_of_day: Option<&'t str>,
    all_numbers: bool,
}

impl Clock<'_> {
    /// A time in figures, as far as the words are known; they are replaced within other words, too.
    fn read(&self, value: &str) -> String {
        const NUMBERS: [(&str, &str); 4] = [("five", "05:00"), ("six", "06:00"), ("nine", "09:00"), ("ten", "10:00")];
        const MORE_NUMBERS: [(&str, &str); 2] = [("three", "3:00"), ("one", "1:00")];
        let more = MORE_NUMBERS.iter().filter(|_| self.all_numbers);
        let mut value =
            NUMBERS.iter().chain(more).fold(value.to_owned(), |value, (word, time)| value.replace(word, time));
        if !value.ends_with("am") && !value.ends_with("pm") {
            if self.part_of_day == Some("morning") {
                value.push_str(" am");
            } else if self.part_of_day == Some("evening") || self.is_afternoon() {
                value.push_str(" pm");
            }
        }
        value
    }

    fn is_afternoon(&self) -> bool {
        self.part_of_day.is_some_and(|part| part.contains("afternoon"))
    }
}

/// A text by characters, as Python indexes it.
struct Text(Vec<char>);

/// Position of a slot in the text, or of something that looks like one.
struct Field {
    /// Position of its colon; the position before the slot if there is none.
    colon: isize,
    /// The quote that ends it; the position before the colon if there is none.
    end: isize,
    /// Text between colon and end, without white space around it.
    value: String,
}

impl Text {
    /// Position of the first `key`; `None` if there is none.
    fn find(&self, key: &str) -> Option<usize> {
        find(&self.0, key)
    }

    /// The slot whose name is at `at`.
    fn field(&self, at: usize) -> Field {
        let at = index(at);
        let colon = find(self.slice(at, None), ":").map_or(at - 1, |offset| at + index(offset));
        let end = find(self.slice(colon, None), "'").map_or(colon - 1, |offset| colon + index(offset));
        let value: String = self.slice(colon + 1, Some(end)).iter().collect();
        Field { colon, end, value: value.trim_matches(is_space).to_owned() }
    }

    /// Writes another value between colon and quote.
    fn replace_value(&mut self, field: &Field, value: &str) {
        let value: Vec<char> = value.chars().collect();
        self.0 = [self.slice(0, Some(field.colon + 1)), &value, self.slice(field.end, None)].concat();
    }

    /// Writes something in place of everything from `at` up to the quote.
    fn rewrite(&mut self, at: usize, field: &Field, slot: &str) {
        let slot: Vec<char> = slot.chars().collect();
        self.0 = [self.slice(0, Some(index(at))), &slot, self.slice(field.end, None)].concat();
    }

    fn push(&mut self, text: &str) {
        self.0.extend(text.chars());
    }

    /// `text[start:end]`: what is negative counts from the end, what is outside is cut off.
    fn slice(&self, start: isize, end: Option<isize>) -> &[char] {
        let bound = |at: isize| {
            let at = if at < 0 { at.saturating_add(index(self.0.len())) } else { at };
            usize::try_from(at).unwrap_or_default().min(self.0.len())
        };
        self.0.get(bound(start)..end.map_or(self.0.len(), bound)).unwrap_or_default()
    }
}

fn find(chars: &[char], key: &str) -> Option<usize> {
    let key: Vec<char> = key.chars().collect();
    chars.windows(key.len().max(1)).position(|window| window == key)
}

fn last_comma(chars: &[char]) -> Option<usize> {
    chars.iter().rposition(|c| *c == ',')
}

/// A position among those that may be negative. No text in memory is so long that it would not fit.
fn index(at: usize) -> isize {
    isize::try_from(at).unwrap_or(isize::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A Wednesday.
    const WEDNESDAY: Date = jiff::civil::date(2025, 5, 28);
    const SUNDAY: Date = jiff::civil::date(2025, 6, 1);

    fn official(slots: &str) -> String {
        resolve(None, slots, WEDNESDAY)
    }

    #[test]
    fn days_become_dates_right_behind_the_colon() {
        assert_eq!(official("['date : today', 'event_name : x']"), "'date :2025-05-28', 'event_name : x'");
        assert_eq!(official("['date : tomorrow']"), "'date :2025-05-29'");
        assert_eq!(official("['date: august fifteenth']"), "'date:2025-08-15'");
        assert_eq!(official("['date:  next friday ']"), "'date:next friday'");
        assert_eq!(official("['date : Today']"), "'date :Today'", "case counts");
        assert_eq!(official("['setting : update : today']"), "'setting : update :2025-05-28'", "within a word, too");
    }

    #[test]
    fn weeks_have_a_second_date_at_the_end() {
        assert_eq!(official("['date : this week', 'a:b']"), "'date :2025-05-26', 'a:b','date2:2025-06-01'");
        assert_eq!(official("['date : last week']"), "'date :2025-05-19','date2:2025-05-25'");
        assert_eq!(official("['date : this weekend']"), "'date :2025-05-31','date2:2025-06-01'");
    }

    #[test]
    fn on_a_sunday_this_week_begins_tomorrow_and_sunday_is_in_seven_days() {
        let on_sunday = |slots| resolve(None, slots, SUNDAY);
        assert_eq!(on_sunday("'date : this week'"), "'date :2025-06-02','date2:2025-06-08'");
        assert_eq!(on_sunday("'date : last week'"), "'date :2025-05-26','date2:2025-06-01'");
        assert_eq!(on_sunday("'date : sunday'"), "'date :2025-06-08'");
    }

    #[test]
    fn only_my_city_is_new_york() {
        assert_eq!(official("['place_name : my city']"), "'place_name :new york'");
        assert_eq!(
            official("['to_place_name:my city','place_name:my city']"),
            "'to_place_name:new york','place_name:my city'"
        );
        assert_eq!(official("['place_name : my area']"), "'place_name : my area'");
    }

    #[test]
    fn times_are_replaced_within_words_and_get_the_part_of_the_day() {
        assert_eq!(official("['time : six', 'timeofday : morning']"), "'time:06:00 am'");
        assert_eq!(official("['from_time : phone']"), "'from_time:ph1:00'");
        assert_eq!(official("['time : one thirty', 'timeofday:evening']"), "'time:1:00 thirty pm'");
        assert_eq!(official("['time : nine am', 'timeofday:evening']"), "'time:09:00 am'");
        assert_eq!(official("['time : two']"), "'time:two'");
    }

    #[test]
    fn an_afternoon_without_a_time_is_five_hours_but_three_o_clock_in_camelai() {
        let slots = "['timeofday : this afternoon']";
        assert_eq!(official(slots), "','from_time:12:00','to_time:17:00'");
        assert_eq!(resolve(Some(Script::CamelaiDeepseek), slots, WEDNESDAY), "','time:'15:00");
    }

    #[test]
    fn the_part_of_the_day_is_cut_at_an_offset_that_counts_from_the_wrong_place() {
        assert_eq!(official("['timeofday:night','a:b']"), "'timeofday:night,'a:b'");
        assert_eq!(official("['a:b','timeofday:night','c:d']"), "'a:b','timeofday,'c:d'");
    }

    #[test]
    fn a_second_time_ends_a_span() {
        assert_eq!(official("['time : ten','time2 : six']"), "'from_time:10:00','to_time:06:00'");
    }

    #[test]
    fn camelai_keeps_the_spelling_and_knows_fewer_numbers() {
        let camelai = |slots| resolve(Some(Script::Camelai), slots, WEDNESDAY);
        assert_eq!(camelai("['time : three','time2:six']"), "'time :three','time2:six'");
        assert_eq!(camelai("['time : ten']"), "'time :10:00'");
        assert_eq!(camelai("['time : ten','timeofday : morning']"), "'time :10:00 am','");
    }

    #[test]
    fn brackets_are_stripped_from_both_ends_only() {
        assert_eq!(official("[[a]b]"), "a]b");
        assert_eq!(official("[]"), "");
    }

    /// Python's `find` without a match is −1, and slices go on with it.
    #[test]
    fn slots_without_colon_or_quote_are_cut_where_nothing_was_found() {
        assert_eq!(official("date"), "date", "all but two characters, and those two");
        assert_eq!(official("date:x"), "date:e:x");
    }

    proptest! {
        #[test]
        fn any_text_on_any_day_is_resolved(
            parts in proptest::collection::vec(prop_oneof![
                Just("date"), Just("time"), Just("time2"), Just("timeofday"), Just("place_name"), Just(":"), Just(" :"), Just("'"),
                Just(","), Just("today"), Just("this week"), Just("afternoon"), Just("one"), Just("é"), Just("["), Just(" "),
            ], 0..24),
            noise in any::<String>(),
            year in -9999_i16..=9999, month in 1_i8..=12, day in 1_i8..=28, script in 0_usize..=7,
        ) {
            let today = Date::new(year, month, day).unwrap();
            let script = Script::ALL.get(script).copied();
            for slots in [parts.concat(), noise.clone(), format!("{noise}{}", parts.concat())] {
                let resolved = resolve(script, &slots, today);
                prop_assert!(resolved.chars().count() <= 8 * slots.chars().count() + 64);
            }
        }
    }
}
