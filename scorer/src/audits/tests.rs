use regatta_proto::{Cause, Evaluator};
use serde_json::json;

use super::*;

fn judge(id: &str) -> Judge {
    Judge::Plain(id.parse().unwrap())
}

fn scores(value: f64) -> Scores {
    let score = Score { values: BTreeMap::from([("right".to_owned(), value)]), detail: Value::Null };
    Scores::from([(Evaluator::Paper, score)])
}

fn failed() -> Scoring {
    Scoring::Failed(BenchmarkFailed { why: "KeyError".to_owned(), errors: String::new() })
}

#[test]
fn verdicts_of_the_audit_that_give_no_score_take_none_from_the_session() {
    let (own, auditor) = (judge("cheap/judge"), judge("dear/judge"));
    for audit in [failed(), Scoring::Unfit("no such reply".to_owned())] {
        let together = SessionScoring::of((Some(&own), Scoring::Scored(scores(1.0))), Some((&auditor, audit)));
        let SessionScoring::Scored { scores: found, audited: None } = together else { panic!("not scored") };
        assert_eq!(found, scores(1.0));
    }
    let together = SessionScoring::of((Some(&own), Scoring::Needs(Vec::new())), Some((&auditor, failed())));
    assert!(matches!(together, SessionScoring::Needs(needed) if needed.len() == 1));
}

#[test]
fn a_program_that_fails_with_the_verdicts_of_the_judge_has_failed() {
    let (own, auditor) = (judge("cheap/judge"), judge("dear/judge"));
    let together = SessionScoring::of((Some(&own), failed()), Some((&auditor, Scoring::Scored(scores(1.0)))));
    assert!(matches!(together, SessionScoring::Failed(_)));
}

#[test]
fn only_scores_that_say_so_are_audited_and_failures_of_the_model_need_nobody() {
    let (own, audit) = (scores(1.0), scores(0.0));
    let kept = |outcome: &Outcome, audited| kept(outcome, &stored(&own, &Repeats::new(), audited).unwrap(), &own);
    assert_eq!(kept(&Outcome::Measured, Some(&audit)).unwrap(), Some(audit.clone()));
    assert_eq!(kept(&Outcome::Measured, None).unwrap(), None, "a scorer that knows no audits settled it");
    let failure = Outcome::ModelFailure { cause: Cause::ContextLength };
    assert_eq!(kept(&failure, None).unwrap(), Some(own.clone()));
    assert_eq!(kept(&Outcome::NotMeasured { cause: Cause::Timeout }, None).unwrap(), None);
    let by_one_evaluator = json!({ "paper": { "values": { "right": 1.0 }, "audited": { "right": 0.0 } } });
    let by_two = Scores::from([(Evaluator::Official, own[&Evaluator::Paper].clone())]).into_iter().chain(own.clone());
    assert_eq!(super::kept(&Outcome::Measured, &by_one_evaluator, &by_two.collect()).unwrap(), None);
}

#[test]
fn sessions_under_the_name_of_their_own_judge_wait_for_the_audits_too() {
    let lock: BenchmarkLock = serde_json::from_value(json!({
        "dataset": regatta_proto::Digest::of(b""), "settings": [], "tasks": [], "evaluators": [], "judge": "cheap/judge",
        "audit": { "judge": "dear/judge", "share": 0.1 }, "items": {},
    }))
    .unwrap();
    let names = names(&lock);
    let members: Vec<Vec<String>> =
        names.iter().map(|(_, members)| members.iter().map(ToString::to_string).collect()).collect();
    assert_eq!(names[0].0, judge("cheap/judge").name());
    assert_eq!(members, vec![vec!["cheap/judge".to_owned(), "dear/judge".to_owned()]; 2]);
}
