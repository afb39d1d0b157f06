//! The compact form of transcripts: each message is written once, everything comes back, and what cannot be written out is refused.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use jiff::Timestamp;
use proptest::prelude::*;
use regatta_proto::wire::{compacted_bytes, decode, encode};
use regatta_proto::{
    Attempt, BatchJob, Call, CellIndex, ChatMessage, ChatRole, Compact, Digest, Event, FailedCall, ItemIndex, Job,
    JudgeJob, Outcome, Reply, Report, Role, SessionJob, SessionKey, SessionOutcome, Transcript,
};
use serde_json::{Value, json};

fn call(role: Role, messages: Vec<ChatMessage>) -> Event {
    let mut call: Call = serde_json::from_value(json!({
        "role": "agent", "attempt": 1, "model": "sim/m", "request": { "messages": [] },
        "reply": { "text": "an answer", "finish": "stop" },
        "usage": { "input": 1, "output": 1 }, "cost": null, "latency_us": 1
    }))
    .unwrap();
    call.role = role;
    call.request.messages = messages;
    Event::Call(Box::new(call))
}

fn failed(messages: Option<Vec<ChatMessage>>) -> Event {
    let mut failed: FailedCall =
        serde_json::from_value(json!({ "role": "agent", "attempt": 1, "model": "sim/m", "tries": [] })).unwrap();
    failed.request = messages.map(|messages| Box::new(regatta_proto::ChatRequest::new(messages, Default::default())));
    Event::Failed(failed)
}

fn user(text: &str) -> ChatMessage {
    ChatMessage::new(ChatRole::User, text)
}

/// A session in which each turn asks with everything that was said before.
fn conversation(turns: usize) -> Transcript {
    let mut said = vec![ChatMessage::new(ChatRole::System, "Be brief.")];
    let events = (0..turns).map(|turn| {
        said.push(user(&format!("question {turn:06}")));
        let event = call(Role::Agent, said.clone());
        said.push(ChatMessage::new(ChatRole::Assistant, "an answer"));
        event
    });
    Transcript { events: events.collect() }
}

fn written(transcript: &Transcript) -> String {
    serde_json::to_string(&Compact(transcript)).unwrap()
}

/// Messages of its request, if it has one.
fn asked(event: &Event) -> &[ChatMessage] {
    match event {
        Event::Call(call) => &call.request.messages,
        Event::Failed(FailedCall { request: Some(request), .. }) => &request.messages,
        _ => &[],
    }
}

fn messages_of(event: &Event) -> &[ChatMessage] {
    let Event::Call(call) = event else { panic!("{event:?} is no call") };
    &call.request.messages
}

#[test]
fn a_session_of_n_turns_costs_n_and_not_the_square_of_n() {
    let bytes = |turns| written(&conversation(turns)).len();
    // Beside what is said in it, a turn has two numbers, which have more digits in a longer session.
    let of_a_turn = bytes(2) - bytes(1) + 8;
    for turns in [10, 100, 400] {
        assert!(bytes(turns) <= bytes(1) + (turns - 1) * of_a_turn, "{turns} turns have {} bytes", bytes(turns));
    }
    let in_full = serde_json::to_string(&conversation(400)).unwrap().len();
    assert!(in_full > 20 * bytes(400), "{in_full} bytes in full, {} in the compact form", bytes(400));
}

#[test]
fn each_message_is_written_once() {
    let text = written(&conversation(50));
    for turn in 0..50 {
        assert_eq!(text.matches(&format!("question {turn:06}")).count(), 1, "turn {turn}");
    }
}

#[test]
fn conversations_that_take_turns_each_go_on_from_their_own_last_request() {
    let of_user = |turn: usize| (0..=turn).map(|n| user(&format!("as the user {n}"))).collect();
    let Transcript { events } = conversation(6);
    let events = events.into_iter().enumerate().flat_map(|(turn, event)| [event, call(Role::User, of_user(turn))]);
    let transcript = Transcript { events: events.collect() };
    let document: Value = serde_json::from_str(&written(&transcript)).unwrap();
    let prefixes: Vec<&Value> = document["events"].as_array().unwrap().iter().map(|event| &event["prefix"]).collect();
    assert_eq!(prefixes[..2], [&Value::Null, &Value::Null]);
    assert_eq!(prefixes[10..], [&json!({ "event": 8, "count": 10 }), &json!({ "event": 9, "count": 5 })]);
}

#[test]
fn a_request_that_was_read_shares_its_texts_with_those_before_it() {
    let Transcript { events } = serde_json::from_str(&written(&conversation(3))).unwrap();
    for event in &events[1..] {
        assert!(Arc::ptr_eq(&messages_of(&events[0])[0].content, &messages_of(event)[0].content));
    }
}

#[test]
fn a_build_that_knows_no_prefixes_refuses_them_by_name() {
    let mut document: Value = serde_json::from_str(&written(&conversation(2))).unwrap();
    // An event by itself has none, as all had none.
    let error = serde_json::from_value::<Vec<Event>>(document["events"].take()).unwrap_err().to_string();
    assert!(error.contains("map with a single key") || error.contains("unknown variant `prefix`"), "{error}");
    let text = written(&conversation(2));
    let events = text.strip_prefix(r#"{"events":"#).unwrap().strip_suffix('}').unwrap();
    let error = serde_json::from_str::<Vec<Event>>(events).unwrap_err().to_string();
    assert!(error.starts_with("unknown variant `prefix`, expected one of `call`"), "{error}");
}

fn key() -> SessionKey {
    SessionKey { sweep: "nightly-0a1b2c3d".parse().unwrap(), cell: CellIndex(3), item: ItemIndex(41) }
}

fn report(transcript: Transcript) -> Report {
    Report::Session(Box::new(SessionOutcome {
        key: key(),
        lock: Digest::of(b"lock"),
        attempt: Attempt {
            id: "w1-77".parse().unwrap(),
            number: 2,
            worker: "w1".parse().unwrap(),
            started_at: Timestamp::UNIX_EPOCH,
            ended_at: Timestamp::UNIX_EPOCH,
        },
        outcome: Outcome::Measured,
        transcript,
    }))
}

fn jobs(transcript: &Transcript) -> [Job; 5] {
    let transcript = transcript.clone();
    let session = SessionJob { key: key(), lock: Digest::of(b"lock"), attempt: 2, generation: 0, transcript };
    let batch = BatchJob {
        sweep: key().sweep,
        lock: Digest::of(b"lock"),
        model: "sim/m".parse().unwrap(),
        id: "0123456789abcdef0123".into(),
        provider_id: None,
        intended_at: Timestamp::UNIX_EPOCH,
        since: None,
        sessions: vec![session.clone(), SessionJob { attempt: 3, ..session.clone() }],
    };
    let since = Some(Timestamp::UNIX_EPOCH);
    let submitted = BatchJob { provider_id: Some("batch_1".into()), since, ..batch.clone() };
    let judge = JudgeJob {
        sweep: key().sweep,
        lock: Digest::of(b"lock"),
        judge: "openai/gpt-4o".parse().unwrap(),
        questions: Vec::new(),
        generation: Some(1),
    };
    [
        Job::Session(Box::new(session.clone())),
        Job::Session(Box::new(SessionJob { generation: 4, ..session })),
        Job::Batch(Box::new(batch)),
        Job::Batch(Box::new(submitted)),
        Job::Judge(judge),
    ]
}

#[test]
fn reports_and_jobs_come_back_from_the_compact_form() {
    let conversation = conversation(30);
    let told = report(conversation.clone());
    let encoded = told.encode_compact().unwrap();
    assert_eq!(decode::<Report>(&encoded).unwrap(), told);
    assert_eq!(compacted_bytes(&encoded), conversation.compacted_bytes());
    for job in jobs(&conversation) {
        let encoded = job.encode_compact().unwrap();
        assert_eq!(decode::<Job>(&encoded).unwrap(), job);
        assert_eq!(compacted_bytes(&encoded) > 0, !matches!(job, Job::Judge(_)));
    }
}

#[test]
fn what_has_no_prefixes_is_written_as_ever() {
    let transcript = conversation(1);
    let told = report(transcript.clone());
    assert_eq!(told.encode_compact().unwrap(), encode(&told).unwrap());
    for job in jobs(&transcript) {
        assert_eq!(job.encode_compact().unwrap(), encode(&job).unwrap());
    }
}

#[test]
fn events_of_every_kind_are_read() {
    /// Fails to compile when there is a further kind, which is to be among the events below.
    fn kind(event: &Event) -> u8 {
        match event {
            Event::Call(_) => 0,
            Event::Failed(_) => 1,
            Event::Recorded(_) => 2,
            Event::Started(_) => 3,
            Event::Exchange(_) => 4,
            Event::Ended(_) => 5,
            Event::BenchmarkFailed(_) => 6,
        }
    }
    let others = json!([
        { "recorded": { "text": null, "finish": "other" } },
        { "started": { "agent": "mine", "attempt": 1 } },
        { "exchange": { "method": "GET", "url": "http://tool/", "status": 200, "response": "yes" } },
        { "ended": { "how": { "exited": 0 }, "output": "done" } },
        { "benchmark_failed": { "why": "it does not know" } },
    ]);
    let mut events = vec![call(Role::Agent, vec![user("a")]), failed(Some(vec![user("a"), user("b")]))];
    events.extend(serde_json::from_value::<Vec<Event>>(others).unwrap());
    assert!(events.iter().map(kind).eq(0..7));
    let transcript = Transcript { events };
    for text in [written(&transcript), serde_json::to_string(&transcript).unwrap()] {
        assert_eq!(serde_json::from_str::<Transcript>(&text).unwrap(), transcript, "{text}");
    }
}

#[test]
fn references_to_images_come_back_as_they_were_also_where_their_digest_alone_is_equal() {
    let shown = |format: &str, bytes: u64| -> ChatMessage {
        let image = json!({ "format": format, "digest": Digest::of(b"an image"), "bytes": bytes });
        serde_json::from_value(json!({ "role": "user", "content": "what?", "images": [image] })).unwrap()
    };
    let asked = [shown("png", 8), shown("png", 9), shown("gif", 9), shown("gif", 9)];
    let transcript = Transcript { events: asked.map(|message| call(Role::Agent, vec![message])).into() };
    let text = written(&transcript);
    assert_eq!(text.matches("prefix").count(), 1, "{text}");
    let read: Transcript = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), serde_json::to_value(&transcript).unwrap());
}

/// Error of a transcript of `events`.
fn refused(events: Value) -> String {
    serde_json::from_value::<Transcript>(json!({ "events": events })).unwrap_err().to_string()
}

/// `call` with a prefix.
fn with_prefix(event: &Event, of: usize, count: usize) -> Value {
    let mut event = serde_json::to_value(event).unwrap();
    event["prefix"] = json!({ "event": of, "count": count });
    event
}

#[test]
fn a_prefix_that_cannot_be_written_out_is_refused() {
    let first = call(Role::Agent, vec![user("a"), user("b")]);
    let (next, recorded) = (call(Role::Agent, Vec::new()), Event::Recorded(Reply::said("x")));
    let of_itself = refused(json!([first, with_prefix(&next, 1, 1)]));
    assert_eq!(of_itself, "event 1 takes its first messages from event 1, which is not an earlier one");
    let of_a_later_one = refused(json!([first, with_prefix(&next, 2, 1), first]));
    assert_eq!(of_a_later_one, "event 1 takes its first messages from event 2, which is not an earlier one");
    let of_more = refused(json!([first, with_prefix(&next, 0, 3)]));
    assert_eq!(of_more, "event 1 takes 3 messages from event 0, which has 2");
    let of_far_more = refused(json!([first, with_prefix(&next, 0, usize::MAX)]));
    assert!(of_far_more.ends_with("messages from event 0, which has 2"), "{of_far_more}");
    let of_no_request = refused(json!([recorded, with_prefix(&next, 0, 0)]));
    assert_eq!(of_no_request, "event 0 has no request, and only requests share messages");
    let no_request = refused(json!([first, with_prefix(&recorded, 0, 1)]));
    assert_eq!(no_request, "event 1 has no request, and only requests share messages");
    let no_failed_request = refused(json!([first, with_prefix(&failed(None), 0, 1)]));
    assert_eq!(no_failed_request, "event 1 has no request, and only requests share messages");
}

#[test]
fn an_event_is_of_one_kind() {
    let nothing = refused(json!([{ "prefix": { "event": 0, "count": 0 } }]));
    assert_eq!(nothing, "event 0 is of no kind, or of several");
    let reply = json!({ "text": "x", "finish": "stop" });
    let two = refused(json!([{ "recorded": reply, "benchmark_failed": { "why": "x" } }]));
    assert_eq!(two, "event 0 is of no kind, or of several");
    let unknown = refused(json!([{ "thought": reply }]));
    assert!(unknown.contains("unknown field `thought`"), "{unknown}");
}

#[test]
fn a_small_file_that_stands_for_gigabytes_is_refused() {
    let first = call(Role::Agent, vec![user(&"x".repeat(1 << 20))]);
    let next = with_prefix(&call(Role::Agent, Vec::new()), 0, 1);
    let mut events = vec![serde_json::to_value(first).unwrap()];
    events.resize(4_000, next);
    assert_eq!(refused(Value::Array(events)), "the prefixes up to event 256 stand for more than 268435456 bytes");
}

#[test]
fn whatever_is_written_can_be_read() {
    // In full these requests have 280 MiB: the last ones are written in full, so that no reader refuses the others.
    let message = user(&"x".repeat(4 << 20));
    let transcript = Transcript { events: (0..70).map(|_| call(Role::Agent, vec![message.clone()])).collect() };
    let text = written(&transcript);
    assert!((6 << 22..8 << 22).contains(&text.len()), "{} bytes", text.len());
    assert!(serde_json::from_str::<Transcript>(&text).unwrap() == transcript);
}

#[test]
fn a_chain_of_prefixes_may_be_of_any_length() {
    let next = call(Role::Agent, Vec::new());
    let mut events = vec![serde_json::to_value(call(Role::Agent, vec![user("a")])).unwrap()];
    events.extend((0..5_000).map(|before| with_prefix(&next, before, 1)));
    let transcript: Transcript = serde_json::from_value(json!({ "events": events })).unwrap();
    assert_eq!(messages_of(transcript.events.last().unwrap()), [user("a")]);
}

/// Events of any kind with a request or none, whose messages are few, so that many begin alike.
fn transcripts() -> impl Strategy<Value = Transcript> {
    let letters = proptest::collection::vec(0..3_usize, 0..6);
    let event = (0..4_usize, letters).prop_map(|(kind, letters)| {
        let messages: Vec<ChatMessage> =
            letters.iter().map(|letter| user(["a", "\u{1F980}\n\"", ""][*letter])).collect();
        match kind {
            0 | 1 => call(Role::Agent, messages),
            2 => failed((messages.len() > 1).then_some(messages)),
            _ => Event::Recorded(Reply::said("x")),
        }
    });
    proptest::collection::vec(event, 0..12).prop_map(|events| Transcript { events })
}

proptest! {
    #[test]
    fn every_transcript_comes_back_from_either_form(transcript in transcripts()) {
        let (compact, whole) = (written(&transcript), serde_json::to_string(&transcript).unwrap());
        prop_assert_eq!(&serde_json::from_str::<Transcript>(&compact).unwrap(), &transcript);
        prop_assert_eq!(&serde_json::from_str::<Transcript>(&whole).unwrap(), &transcript);
        prop_assert_eq!(transcript.compacted_bytes() == 0, compact == whole);
    }

    #[test]
    fn a_request_begins_with_all_that_it_has_in_common_with_any_before_it(transcript in transcripts()) {
        let document: Value = serde_json::from_str(&written(&transcript)).unwrap();
        for (number, event) in transcript.events.iter().enumerate() {
            let common = |earlier| {
                let both = asked(earlier).iter().zip(asked(event));
                both.take_while(|(one, other)| one == other).count() as u64
            };
            let longest = transcript.events[..number].iter().map(common).max().unwrap_or(0);
            let prefix = &document["events"][number]["prefix"];
            prop_assert_eq!(prefix["count"].as_u64().unwrap_or(0), longest, "event {}", number);
        }
    }

    #[test]
    fn every_report_and_job_comes_back_from_the_compact_form(transcript in transcripts()) {
        for job in jobs(&transcript) {
            prop_assert_eq!(decode::<Job>(&job.encode_compact().unwrap()).unwrap(), job);
        }
        let told = report(transcript);
        prop_assert_eq!(decode::<Report>(&told.encode_compact().unwrap()).unwrap(), told);
    }
}
