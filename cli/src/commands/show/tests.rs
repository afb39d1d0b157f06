use regatta_proto::Transcript;
use serde_json::{Value, json};

use super::*;

fn call(role: &str, messages: &[(&str, &str)], text: &str, more: &Value) -> Value {
    let messages: Vec<Value> =
        messages.iter().map(|(role, content)| json!({ "role": role, "content": content })).collect();
    let mut call = json!({
        "role": role,
        "attempt": 1,
        "model": "openai/gpt-5",
        "request": { "messages": messages, "sampling": {} },
        "reply": { "text": text, "finish": "stop" },
        "usage": { "input": 120, "output": 30 },
        "cost": 2_500_000,
        "latency_us": 1_250_000,
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        call[key] = value.clone();
    }
    json!({ "call": call })
}

/// A user, an agent whose endpoint stumbled once and who writes what must not reach a terminal or a page as it is, and a call that was
/// given up.
fn transcript() -> Transcript {
    let first = [("system", "You sell <bicycles>."), ("user", "A blue one & cheap")];
    let second = [&first[..], &[("assistant", "Which \"size\"?\u{1b}[2J"), ("user", "Medium")]].concat();
    let stumbled =
        json!({ "tries": [{ "class": "rate_limited", "status": 429, "detail": "slow <down>", "latency_us": 9 }] });
    let events = [
        call(
            "user",
            &[("system", "You play a user.")],
            "User: A blue one & cheap",
            &json!({ "served": { "simulated": true } }),
        ),
        call("agent", &first, "Which \"size\"?\u{1b}[2J", &stumbled),
        call("user", &[("user", "History: …")], "Medium", &json!({ "cost": null, "from_cache": true })),
        call("agent", &second, "Here it is.", &json!({})),
        json!({ "failed": {
            "role": "user", "attempt": 1, "model": "openai/gpt-5",
            "tries": [{ "class": "timeout", "detail": "no answer in 60 s", "latency_us": 60_000_000 }],
        } }),
    ];
    serde_json::from_value(json!({ "events": events })).unwrap()
}

fn shown() -> Shown {
    let transcript = transcript();
    Shown {
        title: "shop session, openai/gpt-5, trial 0, item <s-1>".to_owned(),
        ending: "not_measured (timeout)".to_owned(),
        scores: serde_json::from_value(json!({ "paper": { "progress": 0.333_333_33, "success": 0.0 } })).unwrap(),
        parts: parts(&transcript),
        pictures: vec![Picture {
            title: "Sell & repair".to_owned(),
            svg: "<svg></svg>\n".to_owned(),
            text: "Way: AB001 → AB002.".to_owned(),
        }],
    }
}

#[test]
fn a_session_reads_like_a_conversation() {
    insta::assert_snapshot!(crate::output::printable(&text::text(&shown())));
}

#[test]
fn a_page_is_complete_and_everything_in_it_is_escaped() {
    let html = page::html(&shown());
    assert!(!html.contains("<script") && !html.contains("<down>") && !html.contains('\u{1b}'));
    assert!(!html.contains("http:") && !html.contains("https:") && !html.contains("src="), "it loads nothing");
    let (head, style) = html.split_once("<style>").unwrap();
    let body = style.split_once("</style>").unwrap().1;
    insta::assert_snapshot!(format!("{head}<style>…</style>{body}"));
}

#[test]
fn what_others_said_is_not_told_again() {
    let told: Vec<usize> = parts(&transcript()).iter().map(|part| part.told.len()).collect();
    assert_eq!(told, [1, 1, 1, 0, 0]);
}

#[test]
fn what_an_external_agent_did_reads_like_a_story() {
    let of_member = |member: &str, text: &str| {
        let request =
            json!({ "member": member, "messages": [{ "role": "user", "content": "Play jazz" }], "sampling": {} });
        call("agent", &[], text, &json!({ "request": request }))
    };
    let events = [
        json!({ "started": { "agent": "mine", "attempt": 1 } }),
        of_member("intent", "play_music"),
        json!({ "ended": { "how": { "killed": 9 }, "output": "", "errors": "Traceback\n" } }),
        json!({ "started": { "agent": "mine", "attempt": 2 } }),
        of_member("intent", "play_music"),
        json!({ "exchange": {
            "method": "POST", "url": "http://127.0.0.1:3000/play", "body": "{\"genre\": \"jazz\"}", "status": 200, "response": "ok",
        } }),
        of_member("response", "It plays."),
        json!({ "ended": { "how": "too_much_output", "output": "It plays. It", "is_cut": true } }),
    ];
    let transcript: Transcript = serde_json::from_value(json!({ "events": events })).unwrap();
    let shown = Shown { parts: parts(&transcript), pictures: Vec::new(), ..shown() };
    insta::assert_snapshot!(text::text(&shown));
}

fn words(words: &[&str]) -> anyhow::Result<Asked> {
    let items: Vec<ItemId> = ["wikihow_1", "wikihow_2", "7"].map(|id| id.parse().unwrap()).to_vec();
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    asked(&words, &items.iter().collect(), 3)
}

#[test]
fn a_word_is_an_item_in_all_cells_or_a_cell_and_two_words_are_one_session() {
    let id = |id: &str| id.parse::<ItemId>().unwrap();
    assert_eq!(words(&[]).unwrap(), Asked::List { cell: None, item: None });
    assert_eq!(words(&["wikihow_2"]).unwrap(), Asked::List { cell: None, item: Some(id("wikihow_2")) });
    assert_eq!(words(&["2"]).unwrap(), Asked::List { cell: Some(2), item: None });
    assert_eq!(words(&["7"]).unwrap(), Asked::List { cell: None, item: Some(id("7")) });
    assert_eq!(words(&["1", "5"]).unwrap(), Asked::One { cell: 1, item: Which::Position(5) });
    assert_eq!(words(&["1", "wikihow_1"]).unwrap(), Asked::One { cell: 1, item: Which::Id(id("wikihow_1")) });
}

#[test]
fn an_item_that_there_is_not_is_told_with_the_one_that_may_have_been_meant() {
    let error = |given: &[&str]| words(given).unwrap_err().to_string();
    assert_eq!(
        error(&["wikihw_2"]),
        "no session of the run is about an item \"wikihw_2\"; did you mean \"wikihow_2\"?"
    );
    assert_eq!(error(&["9", "wikihow_1"]), "there is no cell \"9\"; the run has cells 0 to 2");
}
