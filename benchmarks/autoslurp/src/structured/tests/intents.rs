use super::*;

fn accuracy(intent: &str, slots: &str, said: &str) -> (Option<String>, bool, bool) {
    let detail = score(&utterance(intent, slots), WEDNESDAY, &run(Vec::new(), said)).detail;
    let agent = &detail["intent_agent"];
    let truth = |name: &str| agent[name].as_bool().unwrap();
    (agent["pred_intent"].as_str().map(str::to_owned), truth("strict"), truth("ignore_slot_names"))
}

#[test]
fn an_intent_is_read_from_text_and_from_json() {
    let right = (Some("calendar_set".to_owned()), true, true);
    for said in [
        "domain:calendar, iid:7, intent:calendar_set, time:two pm,person:Ann",
        "domain:calendar\nintent:calendar_set\nperson : ann\ntime : two pm",
        r#"{"domain": "calendar", "intent": "calendar_set", "slots": {"person": "ann", "time": "two pm"}}"#,
        "```json\n{\"intent\": \"calendar_set\", \"slots\": {\"time\": \"two pm\", \"person\": \"ann\"}}\n```",
        r#"{"intent": "calendar_set", "domain": "calendar", "time": "two pm", "person": "ann"}"#,
        r#"{"intent": "calendar_set", "slots": "none", "time": "two pm", "person": "ann"}"#,
    ] {
        assert_eq!(accuracy("calendar_set", "['time : two pm', 'person : ann']", said), right, "{said}");
    }
}

#[test]
fn wrong_names_are_right_values_and_a_wrong_intent_is_all_wrong() {
    let gold = "['date : tomorrow', 'event_name : meeting']";
    let accuracy = |said: &str| accuracy("calendar_set", gold, said);
    let (_, strict, values) = accuracy("intent:calendar_set,day:tomorrow,event:meeting");
    assert_eq!((strict, values), (false, true));
    let (_, strict, values) = accuracy("intent:calendar_query,date:tomorrow,event_name:meeting");
    assert_eq!((strict, values), (false, false));
    let (_, strict, values) = accuracy("intent:calendar_set,date:tomorrow");
    assert_eq!((strict, values), (false, false));
    assert_eq!(accuracy("this is small talk"), (None, false, false));
    assert_eq!(accuracy(r#"{"slots": {}}"#), (None, false, false));
}

#[test]
fn an_intent_without_slots_is_right_where_the_gold_has_none() {
    assert!(accuracy("play_music", "[]", r#"{"intent": "play_music"}"#).1);
    assert!(accuracy("play_radio", "[]", "domain:radio\nintent:play_radio,").1);
}
