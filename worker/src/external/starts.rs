//! Counts of an agent's starts in its turn (of one answer, in its session), and of those that came to nothing.

use std::collections::HashSet;

use regatta_benchmarks::delegated::start_of_turn;
use regatta_proto::{Event, HowEnded, Transcript};

use super::recorded::key;

/// Number of starts of the agent in the turn that is under way, over all attempts.
pub(super) fn times_started(transcript: &Transcript) -> usize {
    of_turn(transcript).filter(|event| matches!(event, Event::Started(_))).count()
}

/// Events of the turn that is under way. What an agent did in its earlier turns is done.
fn of_turn(transcript: &Transcript) -> impl Iterator<Item = &Event> {
    transcript.events.iter().skip(start_of_turn(transcript))
}

/// Number of starts in the turn that is under way, over all attempts, that came to nothing: the agent was killed, or it was interrupted and had
/// made no call that an earlier start had not made, so that the next start pays for everything again.
pub(super) fn times_lost(transcript: &Transcript) -> usize {
    let (mut earlier, mut own) = (HashSet::new(), HashSet::new());
    let mut lost = 0;
    for event in of_turn(transcript) {
        match event {
            Event::Started(_) => earlier.extend(own.drain()),
            Event::Call(call) => {
                own.insert(key(&call.request).0);
            }
            Event::Ended(ended) => {
                let is_lost = match ended.how {
                    HowEnded::Killed(_) => true,
                    HowEnded::Interrupted => !earlier.is_empty() && !own.is_empty() && own.is_disjoint(&earlier),
                    HowEnded::Exited(_)
                    | HowEnded::Deadline
                    | HowEnded::TooMuchOutput
                    | HowEnded::OutOfMemory
                    | HowEnded::NotStarted => false,
                };
                lost += usize::from(is_lost);
            }
            Event::Failed(_) | Event::Recorded(_) | Event::Exchange(_) | Event::BenchmarkFailed(_) => {}
        }
    }
    lost
}

#[cfg(test)]
mod tests {
    use regatta_proto::{Ended, Started};
    use serde_json::json;

    use super::*;

    fn start(asked: &[&str], how: HowEnded) -> Vec<Event> {
        let call = |text: &&str| {
            let request = json!({"messages": [{"role": "user", "content": *text}]});
            let call = json!({
                "role": "agent", "attempt": 1, "model": "sim/a", "request": request,
                "reply": {"text": "x", "finish": "stop"}, "usage": {"input": 0, "output": 0}, "cost": null, "latency_us": 0,
            });
            Event::Call(Box::new(serde_json::from_value(call).unwrap()))
        };
        let started = Event::Started(Started { agent: "mine".parse().unwrap(), attempt: 1 });
        let ended = Ended { how, output: "".into(), is_cut: false, errors: "".into() };
        [started].into_iter().chain(asked.iter().map(call)).chain([Event::Ended(Box::new(ended))]).collect()
    }

    #[test]
    fn a_start_that_was_interrupted_and_knew_nothing_again_is_lost() {
        let lost = |starts: &[&[&str]]| {
            let events = starts.iter().flat_map(|asked| start(asked, HowEnded::Interrupted)).collect();
            times_lost(&Transcript { events })
        };
        assert_eq!(lost(&[&["a"]]), 0);
        assert_eq!(lost(&[&["a"], &["a", "b"], &["b"], &[]]), 0);
        assert_eq!(lost(&[&["it is ten"], &["it is eleven"], &["it is twelve"]]), 2);
    }

    #[test]
    fn a_start_that_was_killed_is_lost() {
        let events = [start(&["a"], HowEnded::Killed(9)), start(&["a"], HowEnded::Killed(9))].concat();
        assert_eq!(times_lost(&Transcript { events }), 2);
    }

    #[test]
    fn starts_of_earlier_turns_count_no_more() {
        let first = [start(&["a"], HowEnded::Killed(9)), start(&["a"], HowEnded::Exited(0))].concat();
        let counted = |events: Vec<Event>| {
            let transcript = Transcript { events };
            (times_started(&transcript), times_lost(&transcript))
        };
        assert_eq!(counted(first.clone()), (0, 0));
        assert_eq!(counted([first, start(&["b"], HowEnded::Killed(9))].concat()), (1, 1));
    }
}
