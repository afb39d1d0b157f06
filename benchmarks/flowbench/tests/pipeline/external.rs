//! Turns that an external agent does: it is asked what a model is asked, and scored as a model is.

use regatta_benchmark_testing::{drive, drive_with, ended, session_of_agent};
use regatta_benchmarks::{Persona, Scoring, Step, Suite};
use regatta_proto::{Evaluator, Event, ItemIndex, Reply, Transcript};
use serde_json::json;

use crate::harness::{miniature, setting};
use crate::simulated::score;

fn written(output: &str) -> Transcript {
    session_of_agent(&[ended(output)])
}

fn assert_alike(suite: &dyn Suite, item: ItemIndex, (name, session): (&str, &Transcript), native: (&str, &Transcript)) {
    let ((external, by_agent), (native, by_model)) = ((setting(name), session), (setting(native.0), native.1));
    assert_eq!(score(suite, item, by_agent), score(suite, item, by_model), "{item}");
    let is_invalid = [(&external, by_agent), (&native, by_model)].map(|(of, by)| suite.is_invalid_format(item, of, by));
    assert_eq!(is_invalid[0], is_invalid[1], "{item}");
    let drawn = [(&external, by_agent), (&native, by_model)].map(|(of, by)| suite.pictures(item, of, by));
    assert_eq!(drawn[0], drawn[1], "{item}");
}

#[test]
fn an_agent_is_given_the_messages_of_its_turn_and_what_it_writes_is_scored_like_a_reply() {
    let suite = miniature();
    for (name, native) in
        [("external/mine", "turn/single/flowchart"), ("external/mine/turn/cross/text", "turn/cross/text")]
    {
        let items = suite.select(&setting(native), &[], None).unwrap();
        assert_eq!(suite.select(&setting(name), &[], None).unwrap(), items);
        for item in items {
            let by_model = drive(&*suite, item, &setting(native), Persona::Noisy(0.3), 1);
            let Some(Event::Call(call)) = by_model.events.first() else { panic!("nothing was asked") };
            let Step::Delegate(task) = suite.next(item, &setting(name), &Transcript::default()) else {
                panic!("{item}")
            };
            assert_eq!((task.agent.as_str(), &task.input["messages"]), ("mine", &json!(call.request.messages)));
            let by_agent = written(&json!({"answer": call.reply.text}).to_string());
            assert_eq!(suite.next(item, &setting(name), &by_agent), Step::Done);
            assert_alike(&*suite, item, (name, &by_agent), (native, &by_model));
        }
    }
}

#[test]
fn an_agent_is_not_asked_again_and_scored_as_if_it_had_said_the_same_each_time() {
    let suite = miniature();
    let (name, native) = ("external/mine", "turn/single/flowchart");
    let item = suite.select(&setting(native), &[], Some(1)).unwrap()[0];
    for words in ["I would rather not.", "Action:x\nAction Input: {}"] {
        let by_model = drive_with(&*suite, item, &setting(native), |_, _| Reply::said(words));
        assert!(by_model.events.len() > 1, "{words}");
        let values = |transcript: &Transcript| score(&*suite, item, transcript);
        assert_eq!(values(&written(words)), values(&by_model), "{words}");
        assert_eq!(suite.next(item, &setting(name), &written(words)), Step::Done);
    }
}

#[test]
fn a_turn_whose_agent_has_not_ended_is_given_to_it_again_and_not_scored() {
    let suite = miniature();
    let name = setting("external/mine");
    let item = suite.select(&name, &[], Some(1)).unwrap()[0];
    for begun in [session_of_agent(&[]), session_of_agent(&[json!({"ended": {"how": {"killed": 9}, "output": "x"}})])] {
        assert!(matches!(suite.next(item, &name, &begun), Step::Delegate(_)));
        let nobody = regatta_benchmarks::RecordedVerdicts::default();
        let scoring = suite.score(item, &[Evaluator::OfficialFixed], &begun, &nobody);
        assert_eq!(scoring, Scoring::Unfit("the session is not at its end".to_owned()));
    }
}
