//! Ends of external agents, for a reader who wonders why a cell has no scores, or low ones.

use std::collections::BTreeSet;

use regatta_backends::AgentEnd;
use regatta_benchmarks::delegated;
use regatta_proto::{ErrorClass, Event, FailedCall, HowEnded, Role, Transcript};

/// Most bytes of standard error that are quoted: its end, where programs say why they gave up.
const ERRORS_BYTES_MAX: usize = 400;
/// Refused fields of one session that are named.
const FIELDS_NAMED: usize = 5;
/// Bytes of the longest field that is looked for in an endpoint's message.
const LONGEST_NAME: usize = 64;
/// Stands behind a route in the refusal of one that is not served.
const NOT_SERVED: &str = " is not served";

/// Names for which requests of a session's external agent were refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RefusedNames {
    /// Fields and routes for which requests were refused without having been sent.
    pub here: BTreeSet<String>,
    /// Fields that were passed on, and for which the endpoint refused requests.
    pub there: BTreeSet<String>,
}

/// End of the session's last agent; `None` where there was none, or where it ended well and nothing that it asked was refused. In a conversation it
/// has asked what it asked in any of its turns.
#[must_use]
pub fn agent_end(transcript: &Transcript) -> Option<AgentEnd> {
    let events = transcript.events.as_slice();
    let (at, ended) = events.iter().enumerate().rev().find_map(|(at, event)| match event {
        Event::Ended(ended) => Some((at, ended)),
        Event::Call(_)
        | Event::Failed(_)
        | Event::Recorded(_)
        | Event::Started(_)
        | Event::Exchange(_)
        | Event::BenchmarkFailed(_) => None,
    })?;
    let before = events.get(..at).unwrap_or_default();
    let started = before.iter().rposition(|event| matches!(event, Event::Started(_))).unwrap_or(0);
    // What others of a conversation say between the turns is not the agent's.
    let last = before.get(started..).unwrap_or_default();
    let turns = delegated::turns(transcript);
    let own: Vec<&Event> = turns.iter().flat_map(|turn| turn.events).chain(last).collect();
    let has_asked = own.iter().any(|event| matches!(event, Event::Call(_) | Event::Failed(_)));
    let has_begun = last.iter().any(|event| matches!(event, Event::Call(_) | Event::Failed(_) | Event::Exchange(_)));
    let end = |how: String, errors: &str| AgentEnd { how, errors: end_of(errors).to_owned() };
    let how = match ended.how {
        HowEnded::Exited(0) | HowEnded::Exited(200..=299) if has_asked => {
            return Some(end(
                format!("ended well, with requests refused {}", RefusedNames::among(&own).in_words()?),
                "",
            ));
        }
        HowEnded::Exited(0) | HowEnded::Exited(200..=299) => "ended well".to_owned(),
        HowEnded::Exited(code) => format!("exited {code}"),
        HowEnded::Killed(0) => "lost their connection".to_owned(),
        HowEnded::Killed(signal) => format!("were killed by signal {signal}"),
        // Its deadline begins with its first request.
        HowEnded::Deadline if !has_begun => {
            return Some(end("sent no request within startup_s".to_owned(), &ended.errors));
        }
        HowEnded::Deadline => "hit the deadline".to_owned(),
        HowEnded::TooMuchOutput => "wrote too much".to_owned(),
        HowEnded::OutOfMemory => "used more memory than they may".to_owned(),
        HowEnded::NotStarted => "could not be started or reached".to_owned(),
        HowEnded::Interrupted => return None,
    };
    let how = if has_asked || ended.how == HowEnded::NotStarted { how } else { format!("{how} and asked nothing") };
    Some(end(how, &ended.errors))
}

impl RefusedNames {
    /// Refused names of all of its starts; none of a session without an external agent.
    #[must_use]
    pub fn of(transcript: &Transcript) -> Self {
        let events: Vec<&Event> = transcript.events.iter().collect();
        let is_external = events.iter().any(|event| matches!(event, Event::Started(_)));
        if is_external { Self::among(&events) } else { Self::default() }
    }

    fn among(events: &[&Event]) -> Self {
        let mut names = Self::default();
        for event in events {
            let Event::Failed(FailedCall { role: Role::Agent, tries, request, asked, .. }) = event else { continue };
            let refusals = tries.iter().filter(|last| last.class == ErrorClass::BadRequest);
            if asked.is_none() {
                names.here.extend(refusals.filter_map(|refusal| refused_name(&refusal.detail)).map(str::to_owned));
            } else if let Some(passed) = request.as_ref().and_then(|request| request.passed.as_deref()) {
                let told = refusals.flat_map(|refusal| words(&refusal.detail));
                names.there.extend(told.filter(|word| passed.fields.contains_key(*word)).map(str::to_owned));
            }
        }
        names
    }

    /// Both, for a sentence; `None` if there are none.
    fn in_words(&self) -> Option<String> {
        match (in_words(&self.here), in_words(&self.there)) {
            (None, None) => None,
            (Some(here), None) => Some(format!("for {here}")),
            (None, Some(there)) => Some(format!("by the endpoint for {there}")),
            (Some(here), Some(there)) => Some(format!("for {here}, and by the endpoint for {there}")),
        }
    }
}

/// The words of a message that may be names of fields.
fn words(message: &str) -> impl Iterator<Item = &str> {
    let is_apart = |letter: char| !(letter.is_ascii_alphanumeric() || letter == '_');
    message.split(is_apart).filter(|word| (1..=LONGEST_NAME).contains(&word.len()))
}

/// The first of `names`, and the number of the others; `None` if there are none.
fn in_words(names: &BTreeSet<String>) -> Option<String> {
    let named = names.iter().take(FIELDS_NAMED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => None,
        all if all > FIELDS_NAMED => Some(format!("{named} and {} more", all - FIELDS_NAMED)),
        _ => Some(named),
    }
}

/// The field of the request, without its place in that, or the route that a refusal begins with.
fn refused_name(detail: &str) -> Option<&str> {
    if let Some((path, _)) = detail.strip_prefix('`').and_then(|rest| rest.split_once('`')) {
        return path.split(['.', '[']).next();
    }
    detail.split_once(NOT_SERVED).map(|(route, _)| route)
}

/// The last bytes of `text`, from the beginning of a character.
fn end_of(text: &str) -> &str {
    let text = text.trim_end();
    let from = text.len().saturating_sub(ERRORS_BYTES_MAX);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    &text[from..]
}

#[cfg(test)]
mod tests {
    use regatta_benchmark_testing::answered;
    use regatta_proto::{ChatRequest, ClientFormat, Digest, Ended, Finish, ModelRef, Passed, Reply, Started, Try};

    use super::*;

    fn end(how: HowEnded, asks: bool, errors: &str) -> Option<AgentEnd> {
        let mut events = vec![Event::Started(Started { agent: "mine".parse().unwrap(), attempt: 1 })];
        let reply = Reply::of_text(Some("yes"), Finish::Stop);
        events.extend(asks.then(|| answered(Role::Agent, ChatRequest::default(), reply)));
        let ended = Ended { how, output: "".into(), is_cut: false, errors: errors.into() };
        events.push(Event::Ended(Box::new(ended)));
        agent_end(&Transcript { events })
    }

    #[test]
    fn an_end_says_how_and_whether_the_agent_had_asked_anything() {
        let how = |how, asks| end(how, asks, "").map(|end| end.how);
        assert_eq!(how(HowEnded::Exited(0), true), None);
        assert_eq!(how(HowEnded::Exited(0), false).as_deref(), Some("ended well and asked nothing"));
        assert_eq!(how(HowEnded::Exited(1), false).as_deref(), Some("exited 1 and asked nothing"));
        assert_eq!(how(HowEnded::Deadline, false).as_deref(), Some("sent no request within startup_s"));
        assert_eq!(how(HowEnded::Deadline, true).as_deref(), Some("hit the deadline"));
        assert_eq!(how(HowEnded::NotStarted, false).as_deref(), Some("could not be started or reached"));
        assert_eq!(agent_end(&Transcript::of_recorded(Some("no agent"))), None);
    }

    #[test]
    fn an_agent_that_ended_well_is_told_of_where_what_it_asked_was_refused() {
        let model: ModelRef = "sim/any".parse().unwrap();
        let failed = |detail: &str, asked| {
            let tries = vec![Try::not_sent(ErrorClass::BadRequest, detail.to_owned())];
            Event::Failed(FailedCall {
                role: Role::Agent,
                attempt: 1,
                model: model.clone(),
                tries,
                request: None,
                asked,
            })
        };
        let end = |refusals: Vec<Event>| {
            let reply = Reply::of_text(Some("yes"), Finish::Stop);
            let mut events = vec![Event::Started(Started { agent: "mine".parse().unwrap(), attempt: 1 })];
            events.extend(refusals);
            events.push(answered(Role::Agent, ChatRequest::default(), reply));
            let ended = Ended { how: HowEnded::Exited(0), output: "".into(), is_cut: false, errors: "".into() };
            events.push(Event::Ended(Box::new(ended)));
            agent_end(&Transcript { events }).map(|end| end.how)
        };
        let refusals = vec![
            failed("`tools[0].type` is run by the provider", None),
            failed("`n` asks for several answers", None),
            failed("`n` asks for several answers", None),
            failed("POST /v1/embeddings is not served to agents: only calls of chat models are", None),
        ];
        let expected = "ended well, with requests refused for `POST /v1/embeddings`, `n`, `tools`";
        assert_eq!(end(refusals).as_deref(), Some(expected));
        let many = ["a", "b", "c", "d", "e", "f", "g"].map(|name| failed(&format!("`{name}` is"), None));
        let expected = "ended well, with requests refused for `a`, `b`, `c`, `d`, `e` and 2 more";
        assert_eq!(end(many.to_vec()).as_deref(), Some(expected));
        let of_provider = failed("`x` is wrong, says the provider", Some(Digest::of(b"request")));
        assert_eq!(end(vec![of_provider]), None, "what an endpoint refused otherwise is the agent's own affair");
    }

    #[test]
    fn fields_that_were_passed_on_and_that_the_endpoint_refused_are_named() {
        let refused = |detail: &str, asked: Option<Digest>| {
            let fields = ["top_k", "min_p"].map(|name| (name.to_owned(), serde_json::json!(1)));
            let passed = Passed { format: ClientFormat::Chat, fields: fields.into() };
            let request = ChatRequest { passed: Some(passed.into()), ..ChatRequest::default() };
            Event::Failed(FailedCall {
                role: Role::Agent,
                attempt: 1,
                model: "sim/any".parse().unwrap(),
                tries: vec![Try::not_sent(ErrorClass::BadRequest, detail.to_owned())],
                request: asked.is_some().then(|| Box::new(request)),
                asked,
            })
        };
        let how = |refusals: &[Event]| {
            let mut events = vec![Event::Started(Started { agent: "mine".parse().unwrap(), attempt: 1 })];
            events.extend_from_slice(refusals);
            let ended = Ended { how: HowEnded::Exited(0), output: "".into(), is_cut: false, errors: "".into() };
            events.push(Event::Ended(Box::new(ended)));
            agent_end(&Transcript { events }).map(|end| end.how)
        };
        let there = refused("Unknown parameter: 'top_k'.", Some(Digest::of(b"request")));
        let expected = "ended well, with requests refused by the endpoint for `top_k`";
        assert_eq!(how(std::slice::from_ref(&there)).as_deref(), Some(expected));
        let here = refused("`n` asks for several answers", None);
        let expected = "ended well, with requests refused for `n`, and by the endpoint for `top_k`";
        assert_eq!(how(&[here.clone(), there.clone()]).as_deref(), Some(expected));
        let alone = Transcript { events: vec![here, there] };
        assert_eq!(RefusedNames::of(&alone), RefusedNames::default(), "no agent was started");
        assert_eq!(how(&[refused("the stop_k is too long", Some(Digest::of(b"other")))]), None);
    }

    #[test]
    fn in_a_conversation_an_agent_has_asked_what_it_asked_in_any_turn_and_nothing_that_others_said() {
        let started = || Event::Started(Started { agent: "mine".parse().unwrap(), attempt: 1 });
        let said = |role| answered(role, ChatRequest::default(), Reply::of_text(Some("yes"), Finish::Stop));
        let ended = || {
            let ended = Ended { how: HowEnded::Exited(0), output: "yes".into(), is_cut: false, errors: "".into() };
            Event::Ended(Box::new(ended))
        };
        let how = |events| agent_end(&Transcript { events }).map(|end| end.how);
        let silent = vec![said(Role::User), started(), ended(), said(Role::User)];
        assert_eq!(how(silent).as_deref(), Some("ended well and asked nothing"), "the user has said the rest");
        let refusal = Event::Failed(FailedCall {
            role: Role::Agent,
            attempt: 1,
            model: "sim/any".parse().unwrap(),
            tries: vec![Try::not_sent(ErrorClass::BadRequest, "`n` asks for several answers".to_owned())],
            request: None,
            asked: None,
        });
        let first = vec![started(), refusal, said(Role::Agent), ended(), said(Role::User), started(), ended()];
        assert_eq!(how(first).as_deref(), Some("ended well, with requests refused for `n`"));
        assert_eq!(how(vec![started(), said(Role::Agent), ended(), said(Role::User), started(), ended()]), None);
    }

    #[test]
    fn of_standard_error_the_end_is_kept_in_whole_characters() {
        let found = end(HowEnded::Exited(1), false, &format!("{}é!\n", "é".repeat(300))).unwrap();
        assert!(found.errors.len() <= ERRORS_BYTES_MAX && found.errors.ends_with("éé!"), "{}", found.errors);
    }
}
