//! Verdicts of the simulated judge.

use regatta_benchmarks::Persona;
use regatta_proto::SessionSeed;

use super::super::judge::reply;

fn verdict(prompt: &str) -> Option<String> {
    reply(prompt, Persona::Oracle, SessionSeed(1))
}

/// Reading of a verdict by both official ways of counting: words for wrong first, with brackets where they are demanded.
fn is_right(verdict: &str) -> bool {
    let lower = verdict.to_lowercase();
    let wrong = ["wrong", "incorrect", "not completed"].iter().any(|word| lower.contains(word));
    let right = lower.contains("right");
    assert_ne!(wrong, right, "{verdict}");
    assert_eq!((lower.contains("<wrong>"), lower.contains("<right>")), (wrong, right));
    right
}

fn slots(gold: &str, intent: &str, echoed: &str) -> bool {
    let result = format!(
        r#"{{"code":"SUCCESS","data":{{"query":{{"intent":"{intent}","slots":{echoed}}},"response":"x"}},"msg":"y"}}"#
    );
    is_right(&verdict(&format!("The golden slot is :{{{gold}}}. The result is {result}")).unwrap())
}

#[test]
fn the_same_slots_are_right_and_none_are_too() {
    assert!(slots("", "lists_query", "{}"));
    assert!(slots("'date :2025-05-29', 'person : tom'", "calendar_set", r#"{"person":"Tom","date":"2025-05-29"}"#));
    assert!(!slots("'date :2025-05-29'", "calendar_set", r#"{"date":"2025-05-30"}"#));
    assert!(!slots("'date :2025-05-29'", "calendar_set", "{}"));
    assert!(!slots("", "lists_query", r#"{"item_name":"milk"}"#));
}

#[test]
fn a_time_is_the_same_in_the_morning_and_in_the_evening() {
    assert!(slots("'time:06:00 am'", "alarm_set", r#"{"time":"06:00"}"#));
    assert!(slots("'time:06:00 am'", "alarm_set", r#"{"time":"18:00"}"#));
    assert!(!slots("'time:06:00 am'", "alarm_set", r#"{"time":"07:00"}"#));
    assert!(!slots("'time:recent'", "alarm_set", r#"{"time":"10:00"}"#));
}

#[test]
fn names_of_events_and_lists_may_differ_or_be_missing() {
    assert!(slots("'event_name : haircut'", "calendar_remove", "{}"));
    assert!(slots("'list_name : shopping'", "lists_query", r#"{"list_name":"groceries"}"#));
    assert!(!slots("'item_name : milk'", "lists_query", r#"{"item_name":"eggs"}"#));
}

#[test]
fn only_the_descriptor_all_may_be_ignored() {
    assert!(slots("'descriptor:all'", "lists_query", "{}"));
    assert!(!slots("'descriptor:default'", "alarm_query", "{}"));
}

#[test]
fn persons_are_persons_and_a_song_needs_no_name() {
    assert!(slots("'from_person : sarah'", "email_query", r#"{"person":"sarah"}"#));
    assert!(slots("'query:song name'", "music_query", "{}"));
    assert!(!slots("'change_to : fifty'", "iot_hue_lightdim", r#"{"change_amount":"fifty"}"#));
}

#[test]
fn a_place_may_be_completed_and_the_day_of_a_time_query_left_out() {
    assert!(slots("'place_name : dallas'", "datetime_query", r#"{"place_name":"Dallas, Texas"}"#));
    assert!(!slots("'place_name : dallas texas'", "datetime_query", r#"{"place_name":"Dallas"}"#));
    assert!(slots("'date :2025-05-28'", "datetime_query", "{}"));
    assert!(slots("", "datetime_query", r#"{"date":"2025-05-28"}"#));
    assert!(!slots("'date :2025-05-28'", "calendar_query", "{}"));
}

fn task(log: &str) -> bool {
    is_right(&verdict(&format!("the task is it. The annotation is 'a:b'\n{log}\nyour answer is :")).unwrap())
}

fn answer(response: &str) -> String {
    format!(
        r#"{{"code":"SUCCESS","data":{{"query":{{"intent":"i","slots":{{}}}},"response":"{response}"}},"msg":"success"}}"#
    )
}

#[test]
fn a_task_is_finished_when_a_server_did_it_or_asks_for_more() {
    assert!(task(&answer("operated successfully")));
    assert!(task(&answer("what time do you want to set the event?")));
    assert!(!task("nothing came of it"));
}

#[test]
fn a_server_that_does_not_know_the_intent_or_the_format_has_not_done_it() {
    for refused in ["not supporting intent", "unsupported intent.", "date format not right", "time format not right"] {
        assert!(!task(&answer(refused)), "{refused}");
    }
    assert!(
        task(&format!("{}\n{}", answer("unsupported intent"), answer("operated successfully"))),
        "in the end it did"
    );
}

#[test]
fn a_service_must_have_answered_and_the_reply_must_tell_what() {
    let body = r#"{"data":{"GBP":0.74}}"#;
    assert!(task(&format!("{body}\n\none dollar is 0.74 pounds")));
    assert!(!task(&format!("{body}\n\nI do not know.")));
    assert!(!task("one dollar is 0.74 pounds"));
    let found = r#"{"request":{"success":true},"organic_results":[{"snippet":"The sextant was made in 1731."}]}"#;
    assert!(task(&format!("{found}\n\nIt measures angles; 1731.")));
    assert!(!task(&format!("{found}\n\nNext speaker: Request")));
}

#[test]
fn small_talk_needs_a_sentence_and_no_service() {
    assert!(task("domain:qa,intent:general_quirky,content:are you happy\n\nI am always glad to talk with you."));
    assert!(!task("domain:qa,intent:general_quirky,content:are you happy"));
}

#[test]
fn what_is_no_judgement_gets_no_verdict() {
    for prompt in ["", "Which is better?", "The golden slot is :{", "the task is x. The annotation is y"] {
        assert_eq!(verdict(prompt), None, "{prompt}");
    }
}

#[test]
fn a_noisy_judge_says_the_opposite_as_often_as_it_is_noisy() {
    let prompt = format!("The golden slot is :{{}}. The result is {}", answer("x"));
    let said = |persona, seed| is_right(&reply(&prompt, persona, SessionSeed(seed)).unwrap());
    assert!((0..50).all(|seed| said(Persona::Oracle, seed) && !said(Persona::Noisy(1.0), seed)));
    let wrong = (0..1000).filter(|&seed| !said(Persona::Noisy(0.3), seed)).count();
    assert!((240..360).contains(&wrong), "{wrong}");
}

proptest::proptest! {
    #[test]
    fn any_message_is_judged_or_not(
        gold in ".{0,80}", log in "(\\PC|\n|\\{\"code\":\"SUCCESS\"|\"data\"|general_|'|\\{|\\[|:){0,40}", seed in proptest::prelude::any::<u64>(),
    ) {
        for prompt in [
            log.clone(),
            format!("The golden slot is :{{{gold}}}. The result is {log}"),
            format!("the task is {gold}. The annotation is {gold}\n{log}\nyour answer is :"),
        ] {
            if let Some(verdict) = reply(&prompt, Persona::Noisy(0.5), SessionSeed(seed)) {
                is_right(&verdict);
            }
        }
    }
}
