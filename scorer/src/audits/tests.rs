use std::collections::BTreeMap;

use regatta_benchmarks::Score;
use regatta_proto::Evaluator;
use serde_json::{Value, json};

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
