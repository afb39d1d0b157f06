//! Ends of external agents, for a reader who wonders why a cell has no scores, or low ones.

use regatta_backends::AgentEnd;
use regatta_proto::{Event, HowEnded, Transcript};

/// Most bytes of standard error that are quoted: its end, where programs say why they gave up.
const ERRORS_BYTES_MAX: usize = 400;

/// End of the session's last agent; `None` where there was none, or where it ended well.
pub(crate) fn agent_end(transcript: &Transcript) -> Option<AgentEnd> {
    let events = &transcript.events;
    let ended = events.iter().rev().find_map(|event| match event {
        Event::Ended(ended) => Some(ended),
        Event::Call(_)
        | Event::Failed(_)
        | Event::Recorded(_)
        | Event::Started(_)
        | Event::Exchange(_)
        | Event::BenchmarkFailed(_) => None,
    })?;
    let started = events.iter().rposition(|event| matches!(event, Event::Started(_))).unwrap_or(0);
    let has_asked = events[started..].iter().any(|event| matches!(event, Event::Call(_) | Event::Failed(_)));
    let has_begun = has_asked || events[started..].iter().any(|event| matches!(event, Event::Exchange(_)));
    let end = |how: String, errors: &str| AgentEnd { how, errors: end_of(errors).to_owned() };
    let how = match ended.how {
        HowEnded::Exited(0) | HowEnded::Exited(200..=299) if has_asked => return None,
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
    use regatta_proto::{ChatRequest, Ended, Finish, Reply, Role, Started};

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
    fn of_standard_error_the_end_is_kept_in_whole_characters() {
        let found = end(HowEnded::Exited(1), false, &format!("{}é!\n", "é".repeat(300))).unwrap();
        assert!(found.errors.len() <= ERRORS_BYTES_MAX && found.errors.ends_with("éé!"), "{}", found.errors);
    }
}
