//! Frequency and kinds of mistakes in the pieces, and sessions that go on in spite of them.

use jiff::civil::Date;
use proptest::prelude::*;
use regatta_benchmarks::Persona;
use regatta_proto::SessionSeed;

use super::super::{Gold, Heard};
use super::{TODAY, all, is_carried_out, row, session};
use crate::data::Utterance;

const ALWAYS_WRONG: Persona = Persona::Noisy(1.0);

#[test]
fn every_piece_can_go_wrong_and_only_its_own_member_says_so() {
    for row in &all() {
        let gold = Gold::of(row, TODAY);
        for seed in (0..40).map(SessionSeed) {
            let wrong = gold.clone().perturbed(ALWAYS_WRONG, seed);
            assert_ne!(wrong.intent_text(), gold.intent_text());
            // What others have said is right: the request is wrong by itself.
            if gold.next_url(&[]).is_some() {
                assert_ne!(wrong.next_url(&[]), gold.next_url(&[]), "{row:?}");
            }
            if gold.time_text().contains(':') {
                assert_ne!(wrong.time_text(), gold.time_text(), "{row:?}");
            }
            if gold.needs_location() {
                assert_ne!(wrong.location_text(), gold.location_text(), "{row:?}");
            }
            assert_ne!(wrong.answer(&[]), gold.answer(&[]));
        }
    }
}

#[test]
fn a_wrong_intent_agent_spoils_the_request_of_a_right_one_who_listens() {
    let (mut sessions, mut carried) = (0, 0);
    for row in &all() {
        let gold = Gold::of(row, TODAY);
        if !is_carried_out(row, &session(&gold)) {
            continue;
        }
        for seed in (0..20).map(SessionSeed) {
            let said = gold.clone().perturbed(ALWAYS_WRONG, seed).intent_text();
            let run = session(&gold.clone().heard(&Heard { intent: Some(&said), ..Heard::default() }));
            sessions += 1;
            carried += usize::from(is_carried_out(row, &run));
        }
    }
    // Names of events and lists may be wrong, and one question to a search is as good as another.
    assert!(carried * 4 < sessions, "{carried} of {sessions}");
}

#[test]
fn pieces_go_wrong_as_often_as_the_persona_says_and_independently() {
    let gold = Gold::of(&row("alarm_set", "['time : six']"), TODAY);
    let (mut intents, mut times, mut both) = (0, 0, 0);
    for seed in (0..2000).map(SessionSeed) {
        let noisy = gold.clone().perturbed(Persona::Noisy(0.3), seed);
        let intent = noisy.intent_text() != gold.intent_text();
        let time = noisy.time_text() != gold.time_text();
        intents += usize::from(intent);
        times += usize::from(time);
        both += usize::from(intent && time);
    }
    assert!((540..660).contains(&intents) && (540..660).contains(&times), "{intents} {times}");
    assert!((130..230).contains(&both), "{both}");
}

#[test]
fn an_oracle_never_slips_and_steps_of_a_session_slip_alike() {
    let gold = Gold::of(&row("alarm_set", "[]"), TODAY);
    assert!((0..100).all(|seed| !gold.clone().perturbed(Persona::Oracle, SessionSeed(seed)).slips("next/3")));
    let noisy = gold.perturbed(Persona::Noisy(0.5), SessionSeed(7));
    let first: Vec<bool> = (0..20).map(|step| noisy.slips(&format!("next/{step}"))).collect();
    let again: Vec<bool> = (0..20).map(|step| noisy.slips(&format!("next/{step}"))).collect();
    assert_eq!(first, again);
    assert!(first.contains(&true) && first.contains(&false));
}

proptest! {
    #[test]
    fn no_row_and_no_answer_stops_anybody(
        intent in prop_oneof![
            any::<String>(), Just("calendar_set".to_owned()), Just("weather_query".to_owned()), Just("qa_stock".to_owned()),
            Just("qa_currency".to_owned()), Just("news_query".to_owned()), Just("qa_factoid".to_owned()),
        ],
        slots in prop_oneof![
            any::<String>(),
            "\\[?(['\"]?(date|time|time2|timeofday|place_name|currency_name|event_name) ?: ?[a-z0-9:' -]{0,12}['\"]?,? ?){0,4}\\]?",
        ],
        text in any::<String>(), domain in any::<String>(),
        answers in proptest::collection::vec(prop_oneof![
            any::<String>(), Just(r#"{"results":[{"latitude":1e300,"longitude":{}}]}"#.to_owned()),
            Just(r#"{"results":[{"latitude":1e300,"longitude":0}]}"#.to_owned()), Just("[".repeat(500)), Just("{\"a\":".repeat(500)),
        ], 0..4),
        probability in prop_oneof![Just(0.0), Just(1.0), Just(f64::NAN), any::<f64>()],
        seed in any::<u64>(),
        day in (-9999_i16..=9999, 1_i8..=12, 1_i8..=28),
    ) {
        let today = Date::new(day.0, day.1, day.2).unwrap();
        let utterance = Utterance { iid: "1".to_owned(), text, intent, slots, domain };
        let answers: Vec<&str> = answers.iter().map(String::as_str).collect();
        let gold = Gold::of(&utterance, today).perturbed(Persona::Noisy(probability), SessionSeed(seed));
        let other = answers.first().copied();
        let heard = gold.clone().heard(&Heard { intent: other, time: other, location: other });
        for gold in [gold, heard] {
            let said = [gold.intent_text(), gold.time_text(), gold.location_text(), gold.answer(&answers)];
            prop_assert!(said.iter().all(|text| !text.is_empty()));
            if let Some(url) = gold.next_url(&answers) {
                prop_assert!(url.starts_with("http") && url.is_ascii() && !url.contains(' ') || url.contains("127.0.0.1"));
            }
            if let Some((_, body)) = gold.next_post(&answers) {
                prop_assert!(serde_json::from_str::<serde_json::Value>(&body).unwrap().is_object());
            }
        }
    }
}
