use super::*;

fn slots(field: &str) -> Vec<(String, String)> {
    slots::gold(field)
}

fn pair(name: &str, value: &str) -> Slot {
    (name.to_owned(), value.to_owned())
}

#[test]
fn blanks_around_colons_do_not_matter() {
    assert_eq!(
        slots("['date : today', 'time: ten am','person:ann']"),
        [pair("date", "today"), pair("time", "ten am"), pair("person", "ann")]
    );
}

#[test]
fn what_is_no_python_list_is_read_all_the_same() {
    assert_eq!(slots("[content:knock knock']"), [pair("content", "knock knock")]);
    assert_eq!(slots("[''content:where am i']"), [pair("content", "where am i")]);
    assert_eq!(slots("['descriptor':'satellite radio']"), [pair("descriptor", "satellite radio")]);
    assert_eq!(slots(r#"["content : i'm on leave"]"#), [pair("content", "i'm on leave")]);
    assert_eq!(slots("['content: I'm on leave']"), [pair("content", "I'm on leave")]);
}

#[test]
fn two_lists_and_two_slots_in_one_text_are_two_slots() {
    assert_eq!(
        slots("['music_genre : jazz'],['music_genre:disco']"),
        [pair("music_genre", "jazz"), pair("music_genre", "disco")]
    );
    assert_eq!(
        slots("['setting: archive, descriptor: read messages']"),
        [pair("setting", "archive"), pair("descriptor", "read messages")]
    );
}

#[test]
fn what_has_no_name_is_nothing() {
    assert!(slots("[]").is_empty() && slots("").is_empty() && slots("['red']").is_empty());
    assert_eq!(slots("['time : 10:30']"), [pair("time", "10:30")], "a number is no name");
}
