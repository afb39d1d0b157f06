use super::super::tokens::tokens;
use super::*;

#[test]
fn texts_are_compared_by_words_in_one_form() {
    assert_eq!(tokens("The DAVID-Bowie’s  list"), ["david", "bowies", "list"]);
    assert_eq!(tokens("ﬁne １２ café"), ["fine", "12", "café"]);
}

#[test]
fn leading_articles_go_but_never_the_last_word() {
    assert_eq!(tokens("the my list"), ["list"]);
    assert_eq!(tokens("the a"), ["a"]);
    assert_eq!(tokens("play the list"), ["play", "the", "list"]);
    assert!(tokens(" .,! ").is_empty());
}

#[test]
fn clocks_are_read_as_people_say_them() {
    let same = |a: &str, b: &str| {
        let (a, b) = (moment::Clock::said(a), moment::Clock::said(b));
        a.zip(b).is_some_and(|(a, b)| a.same_face(b))
    };
    for (said, written) in [
        ("nine am", "09:00"),
        ("9", "21:00"),
        ("three thirty pm", "15:30"),
        ("three thirty pm", "3:30 am"),
        ("six forty five", "06:45"),
        ("two oh five p. m.", "14:05"),
        ("twelve pm", "00:00"),
        ("ten fifteen", "10:15"),
    ] {
        assert!(same(said, written), "{said}");
    }
    assert!(!same("two thirty pm", "02:00"));
    for vague in ["an hour", "one hour before", "in future", "four hundred", "fifteen minutes", "noontime", "", "am"] {
        assert_eq!(moment::Clock::said(vague), None, "{vague}");
    }
    assert_eq!(moment::Clock::requested("2025-05-28 10:00"), moment::Clock::said("ten"));
    assert_eq!(moment::Clock::requested("soon"), None);
}

#[test]
fn words_for_days_are_those_of_the_official_resolver() {
    let span = |said: &str, today: Date| moment::days(said, today).map(|(a, b)| (a.to_string(), b.to_string()));
    let days = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
    assert_eq!(span("this week", WEDNESDAY), days("2025-05-26", "2025-06-01"));
    assert_eq!(span("last week", WEDNESDAY), days("2025-05-19", "2025-05-25"));
    assert_eq!(span("this weekend", WEDNESDAY), days("2025-05-31", "2025-06-01"));
    assert_eq!(span("sunday", WEDNESDAY), days("2025-06-01", "2025-06-01"));
    assert_eq!(span("august fifteenth", WEDNESDAY), days("2025-08-15", "2025-08-15"));
    assert_eq!(span("this week", SUNDAY), days("2025-06-02", "2025-06-08"), "to it a Sunday begins the week");
    assert_eq!(span("last week", SUNDAY), days("2025-05-26", "2025-06-01"));
    assert_eq!(span("sunday", SUNDAY), days("2025-06-08", "2025-06-08"));
    assert_eq!(span("Today", WEDNESDAY), None, "letters count");
    assert_eq!(span("next friday", WEDNESDAY), None);
    assert_eq!(span("tomorrow", Date::MAX), days("9999-12-31", "9999-12-31"));
}
