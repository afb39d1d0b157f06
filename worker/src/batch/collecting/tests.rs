use regatta_proto::{
    Cause, CellIndex, ChatMessage, ChatRequest, ChatRole, Digest, ErrorClass, Finish, ItemIndex, Lane, Reply, Role,
    Sampling, Served, SessionKey, Usage,
};

use super::*;

/// Sessions of as many calls.
struct Turns(usize);

impl Sessions for Turns {
    fn next(&self, _: ItemIndex, _: &Setting, transcript: &Transcript) -> Asking {
        if transcript.calls().any(|call| call.role != Role::Agent) {
            return Asking::Unfit("nobody else is asked".to_owned());
        }
        if transcript.calls().count() < self.0 { Asking::Ask(Role::Agent, request()) } else { Asking::Done }
    }
}

fn request() -> ChatRequest {
    ChatRequest::new(vec![ChatMessage::new(ChatRole::User, "hi")], Sampling::default())
}

fn answered() -> Result<Call, FailedCall> {
    Ok(Call {
        role: Role::Agent,
        attempt: 1,
        model: "a/m".parse().unwrap(),
        request: request(),
        reply: Reply::of_text(Some("hello"), Finish::Stop),
        tries: Vec::new(),
        usage: Usage::default(),
        raw_usage: None,
        cost: None,
        reported_cost: None,
        served: Served::default(),
        latency_us: 0,
        first_token_us: None,
        waited_us: 0,
        at: None,
        lane: Lane::Batch,
        from_cache: false,
        saved: None,
    })
}

fn failed(class: ErrorClass) -> Result<Call, FailedCall> {
    let one = Try::not_sent(class, String::new());
    let (model, tries) = ("a/m".parse().unwrap(), vec![one]);
    Err(FailedCall { role: Role::Agent, attempt: 1, model, tries, request: None, asked: None })
}

/// Outcome of a session of two calls after `lines`, one batch each, with at most three tries at a call; `None` if the session is not over.
fn after(lines: Vec<Result<Call, FailedCall>>) -> Option<Outcome> {
    let key = SessionKey { sweep: "s".parse().unwrap(), cell: CellIndex(0), item: ItemIndex(0) };
    let mut session =
        SessionJob { key, lock: Digest::of(b""), attempt: 1, generation: 0, transcript: Transcript::default() };
    let setting = "any".parse().unwrap();
    let count = lines.len();
    for (batch, line) in lines.into_iter().enumerate() {
        let end = match line {
            Ok(call) => super::answered((&Turns(2), &setting), &session, call),
            Err(failed) => super::not_answered(&request(), &session, failed, 3, Filtered::Missing),
        };
        match end {
            Ok(end) => {
                assert_eq!(batch + 1, count, "it went on after its end");
                return Some(end.outcome);
            }
            Err(Onward { transcript, has_failed, .. }) => {
                assert_eq!(has_failed, matches!(transcript.events.last(), Some(Event::Failed(_))));
                session.transcript = transcript;
            }
        }
    }
    None
}

#[test]
fn a_session_of_two_calls_is_over_after_two_batches() {
    assert_eq!(after(vec![answered()]), None);
    assert_eq!(after(vec![answered(), answered()]), Some(Outcome::Measured));
}

#[test]
fn each_call_has_tries_of_its_own() {
    let passing = || failed(ErrorClass::Server);
    assert_eq!(
        after(vec![passing(), passing(), answered(), passing(), passing(), answered()]),
        Some(Outcome::Measured)
    );
    let given_up = Outcome::NotMeasured { cause: Cause::EndpointUnavailable };
    assert_eq!(after(vec![answered(), passing(), passing(), passing()]), Some(given_up));
}

#[test]
fn what_the_error_table_does_not_try_again_ends_the_session_at_once() {
    assert_eq!(
        after(vec![failed(ErrorClass::BadRequest)]),
        Some(Outcome::NotMeasured { cause: Cause::RequestRefused })
    );
    assert_eq!(
        after(vec![failed(ErrorClass::ContextLength)]),
        Some(Outcome::ModelFailure { cause: Cause::ContextLength })
    );
    assert_eq!(
        after(vec![answered(), failed(ErrorClass::ContentFilter)]),
        Some(Outcome::NotMeasured { cause: Cause::ContentFilter }),
        "as the sweep's `filtered` says"
    );
}

#[test]
fn a_session_whose_transcript_is_of_no_such_session_is_not_measured() {
    let stranger = answered().map(|call| Call { role: Role::User, ..call });
    assert_eq!(after(vec![stranger]), Some(Outcome::NotMeasured { cause: Cause::TranscriptUnfit }));
}
