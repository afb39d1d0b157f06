//! Questions, verdicts, and sessions that wait for them.

use std::collections::HashMap;

use futures::future::join_all;
use regatta_backends::ledger::AwaitingSession;
use regatta_backends::{Claimed, Judged, Ledger, LedgerError, Quota, Settlement, SettlementResult};
use regatta_proto::{AskedQuestion, Cause, CellIndex, CostSum, Digest, ItemId, Money, Outcome, Question, SweepId};
use serde_json::{Value, json};

use crate::world::{
    HERE, World, answerer, cost, judge, judged, key, question, questions, record, scored, unmeasured, usage, verdict,
    waiting,
};

async fn waiting_for(ledger: &Ledger, sweep: &SweepId, texts: &[&str]) -> Vec<(u32, u32)> {
    let sessions = ledger.awaiting(sweep, &judge(), &questions(texts)).await.unwrap();
    sessions.into_iter().map(|session| (session.key.cell.0, session.key.item.0)).collect()
}

pub(crate) async fn the_first_verdict_stays(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let ledger = &world.ledger;
    ledger.save_judged(vec![judged(&sweep, "w-1", &[("a", 1), ("b", 2), ("a", 3)])]).await.unwrap();
    let more = vec![judged(&sweep, "w-2", &[("b", 4), ("c", 5)]), judged(&sweep, "w-3", &[("c", 6), ("d", 7)])];
    ledger.save_judged(more).await.unwrap();
    let verdicts = ledger.verdicts(answerer(HERE), &questions(&["a", "b", "c", "d", "e"])).await.unwrap();
    let expected = [("a", 1), ("b", 2), ("c", 5), ("d", 7)];
    assert_eq!(verdicts, HashMap::from(expected.map(|(text, micro)| (question(text), verdict(micro)))));
}

pub(crate) async fn verdicts_of_different_judges_are_apart(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let other = "judges/other".parse().unwrap();
    // The same name in another spec, for another endpoint.
    let namesake = answerer("http://elsewhere/v1");
    let save = |id: &str, answerer, micro| Judged { answerer, ..judged(&sweep, id, &[("a", micro)]) };
    world.ledger.save_judged(vec![save("w-1", answerer(HERE), 1)]).await.unwrap();
    assert!(world.ledger.verdicts(namesake, &questions(&["a"])).await.unwrap().is_empty());
    world.ledger.save_judged(vec![save("w-2", namesake, 2)]).await.unwrap();
    for (answerer, micro) in [(answerer(HERE), 1), (namesake, 2)] {
        let verdicts = world.ledger.verdicts(answerer, &questions(&["a"])).await.unwrap();
        assert_eq!(verdicts, HashMap::from([(question("a"), verdict(micro))]));
    }
    world.ledger.claim_questions(&sweep, &judge(), answerer(HERE), &questions(&["b"])).await.unwrap();
    let claimed =
        world.ledger.claim_questions(&sweep, &other, answerer(HERE), &questions(&["b"])).await.unwrap().questions;
    assert_eq!(claimed, questions(&["b"]));
}

pub(crate) async fn a_question_is_claimed_once(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let other = world.sweep("other", 1, 1).await;
    let claim = async |sweep, texts| {
        world.ledger.claim_questions(sweep, &judge(), answerer(HERE), &questions(texts)).await.unwrap().questions
    };
    assert_eq!(claim(&sweep, &["c", "a", "c"]).await, questions(&["c", "a"]));
    assert_eq!(claim(&sweep, &["d", "a", "b", "c"]).await, questions(&["d", "b"]));
    assert_eq!(claim(&other, &["a"]).await, questions(&["a"]));
}

pub(crate) async fn of_several_who_claim_a_question_at_once_one_does(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let other = world.open().await;
    let texts: Vec<String> = (0..200).map(|n| format!("question {n}")).collect();
    let forth: Vec<_> = texts.iter().map(|text| question(text)).collect();
    let back: Vec<_> = forth.iter().rev().copied().collect();
    let judge = judge();
    let claims = join_all([
        world.ledger.claim_questions(&sweep, &judge, answerer(HERE), &forth),
        other.claim_questions(&sweep, &judge, answerer(HERE), &back),
        world.ledger.claim_questions(&sweep, &judge, answerer(HERE), &back),
        other.claim_questions(&sweep, &judge, answerer(HERE), &forth),
    ])
    .await;
    let mut claimed: Vec<_> = claims.into_iter().flat_map(|claimed| claimed.unwrap().questions).collect();
    claimed.sort_unstable();
    let mut expected = forth;
    expected.sort_unstable();
    assert_eq!(claimed, expected);
}

pub(crate) async fn a_question_without_an_answer_may_be_claimed_again_and_an_answered_one_not(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let ledger = &world.ledger;
    let hard = Question::Similarity { left: vec!["x".to_owned()], right: vec![] };
    let hard = AskedQuestion { digest: hard.digest(), question: hard };
    let all = [question("a"), question("b"), hard.digest];
    let claim = async || ledger.claim_questions(&sweep, &judge(), answerer(HERE), &all).await.unwrap().questions;
    claim().await;
    let mut report = judged(&sweep, "w-1", &[("a", 1)]);
    report.outcome.unanswered = vec![(hard.clone(), "too hard".to_owned())];
    assert_eq!(ledger.save_judged(vec![report.clone()]).await.unwrap(), 1);
    assert_eq!(claim().await, [hard.digest]);
    // A repeated report does not release questions that were claimed since.
    assert_eq!(ledger.save_judged(vec![report]).await.unwrap(), 0);
    assert_eq!(claim().await, []);
    let elsewhere = answerer("http://elsewhere/v1");
    let claimed = ledger.claim_questions(&sweep, &judge(), elsewhere, &[question("a")]).await.unwrap().questions;
    assert_eq!(claimed, [question("a")], "the answer of another is none");
}

/// As when a scorer has looked for answers, and then claims what it found none of.
pub(crate) async fn a_question_that_is_answered_while_others_claim_it_is_not_asked_again(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let other = world.open().await;
    let texts: Vec<String> = (0..200).map(|n| format!("question-{n}")).collect();
    let forth: Vec<_> = texts.iter().map(|text| question(text)).collect();
    let back: Vec<_> = forth.iter().rev().copied().collect();
    let (judge, here) = (judge(), answerer(HERE));
    assert_eq!(other.claim_questions(&sweep, &judge, here, &forth).await.unwrap().questions, forth);
    let save = async |texts: &[String]| {
        let answered: Vec<_> = texts.iter().map(|text| (text.as_str(), 1)).collect();
        world.ledger.save_judged(vec![judged(&sweep, &texts[0], &answered)]).await.unwrap();
    };
    let claim = async |questions: &[Digest]| {
        let claimed = other.claim_questions(&sweep, &judge, here, questions).await.unwrap();
        assert_eq!(claimed.questions, []);
    };
    futures::join!(
        save(&texts[..70]),
        claim(&forth),
        claim(&back),
        save(&texts[70..130]),
        claim(&forth[60..140]),
        save(&texts[130..]),
        claim(&back),
    );
    claim(&forth).await;
}

pub(crate) async fn a_released_question_may_be_claimed_again(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let unrelated = world.sweep("other", 1, 1).await;
    let other: regatta_proto::ModelRef = "judges/other".parse().unwrap();
    let ledger = &world.ledger;
    let all = questions(&["a", "b", "c"]);
    let mut of_sweep = None;
    for (sweep, judge) in [(&unrelated, judge()), (&sweep, other.clone()), (&sweep, judge())] {
        let claimed = ledger.claim_questions(sweep, &judge, answerer(HERE), &all).await.unwrap();
        assert_eq!(claimed.questions, all);
        of_sweep = Some(claimed);
    }
    let of_sweep = of_sweep.unwrap();
    let claimed = |texts| Claimed { questions: questions(texts), ..of_sweep };
    ledger.release_questions(&sweep, &judge(), &claimed(&["c", "a", "never claimed"])).await.unwrap();
    ledger.release_questions(&sweep, &judge(), &claimed(&[])).await.unwrap();
    assert_eq!(
        ledger.claim_questions(&sweep, &judge(), answerer(HERE), &all).await.unwrap().questions,
        questions(&["a", "c"])
    );
    assert_eq!(ledger.claim_questions(&sweep, &other, answerer(HERE), &all).await.unwrap().questions, []);
    assert_eq!(ledger.claim_questions(&unrelated, &judge(), answerer(HERE), &all).await.unwrap().questions, []);
    let nobody = SweepId::new("nobody").unwrap();
    let error = ledger.release_questions(&nobody, &judge(), &claimed(&["a"])).await.unwrap_err();
    assert!(matches!(error, LedgerError::UnknownSweep { .. }), "{error}");
}

pub(crate) async fn judges_costs_are_counted_once_an_attempt(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let other = world.sweep("other", 1, 1).await;
    let ledger = &world.ledger;
    let mut changed = judged(&sweep, "w-1", &[]);
    changed.outcome.usage = usage(100);
    ledger.save_judged(vec![judged(&sweep, "w-1", &[]), changed.clone(), judged(&sweep, "w-2", &[])]).await.unwrap();
    ledger.save_judged(vec![changed, judged(&other, "w-3", &[])]).await.unwrap();
    let two = (usage(10), CostSum { known: Money(10), unknown_calls: 2 });
    assert_eq!(ledger.judge_costs(&sweep).await.unwrap(), two);
    assert_eq!(ledger.judge_costs(&other).await.unwrap(), (usage(5), cost(5)));
}

pub(crate) async fn each_judge_has_its_own_costs(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let ledger = &world.ledger;
    assert_eq!(ledger.costs_by_judge(&sweep).await.unwrap(), []);
    let mut of_another = judged(&sweep, "w-3", &[]);
    of_another.outcome.judge = "judges/other".parse().unwrap();
    let mut newer = judged(&sweep, "w-2", &[]);
    newer.outcome.served = "a newer one".to_owned();
    ledger.save_judged(vec![judged(&sweep, "w-1", &[]), newer, of_another]).await.unwrap();
    let two = CostSum { known: Money(10), unknown_calls: 2 };
    let mut expected = vec![(judge(), usage(10), two), ("judges/other".parse().unwrap(), usage(5), cost(5))];
    expected.sort_by_key(|(judge, ..)| judge.to_string());
    let found = ledger.costs_by_judge(&sweep).await.unwrap();
    let served: Vec<_> = found.iter().find(|of| of.judge == judge()).unwrap().served.clone();
    assert_eq!((served.len(), served[0].as_str()), (2, "a newer one"), "{served:?}");
    assert_eq!(found.into_iter().map(|of| (of.judge, of.usage, of.cost)).collect::<Vec<_>>(), expected);
}

pub(crate) async fn of_two_scorers_with_the_same_judge_report_one_counts(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let other = world.open().await;
    for round in 0..20 {
        let texts: Vec<String> = (0..10).map(|n| format!("{round}/{n}")).collect();
        let verdicts: Vec<(&str, i32)> = texts.iter().map(|text| (text.as_str(), 1)).collect();
        let mut back = verdicts.clone();
        back.reverse();
        let one = vec![judged(&sweep, &format!("w-{round}"), &verdicts), judged(&sweep, &format!("v-{round}"), &back)];
        let mut two = one.clone();
        two.reverse();
        let (one, two) = tokio::join!(world.ledger.save_judged(one), other.save_judged(two));
        one.unwrap();
        two.unwrap();
    }
    assert_eq!(
        world.ledger.judge_costs(&sweep).await.unwrap(),
        (usage(200), CostSum { known: Money(200), unknown_calls: 40 })
    );
}

pub(crate) async fn sessions_wait_for_their_questions(world: World) {
    let sweep = world.sweep("s", 2, 3).await;
    let ledger = &world.ledger;
    let records = vec![
        waiting(key(&sweep, 1, 0), "w-1", &["b", "a", "b"]),
        waiting(key(&sweep, 0, 2), "w-2", &["a"]),
        waiting(key(&sweep, 0, 1), "w-3", &["c"]),
        record(key(&sweep, 0, 0), "w-4"),
        // An attempt that is waste does not make its session wait for more.
        waiting(key(&sweep, 0, 0), "w-5", &["a"]),
        waiting(key(&sweep, 0, 1), "w-6", &["a"]),
    ];
    ledger.record(records).await.unwrap();
    assert_eq!(waiting_for(ledger, &sweep, &["a"]).await, [(0, 2), (1, 0)]);
    assert_eq!(waiting_for(ledger, &sweep, &["a", "b"]).await, [(0, 2), (1, 0)]);
    assert_eq!(waiting_for(ledger, &sweep, &["c", "d"]).await, [(0, 1)]);
    assert_eq!(ledger.awaiting(&sweep, &"judges/other".parse().unwrap(), &questions(&["a"])).await.unwrap(), []);
    let all = ledger.awaiting_after(&sweep, None, u32::MAX).await.unwrap();
    assert_eq!(all.len(), 3);
    let first = ledger.awaiting_after(&sweep, None, 1).await.unwrap();
    let place = |session: &AwaitingSession| (session.key.cell, session.key.item);
    let rest = ledger.awaiting_after(&sweep, Some(place(&first[0])), 5).await.unwrap();
    assert_eq!([first, rest].concat(), all);
    assert_eq!(ledger.awaiting_after(&sweep, Some(place(&all[2])), 5).await.unwrap(), []);
    assert_eq!(
        all[2],
        AwaitingSession {
            key: key(&sweep, 1, 0),
            item_id: ItemId::new("item 0").unwrap(),
            outcome: Outcome::Measured,
            questions: questions(&["b", "a", "b"]),
            transcript: "transcript of s/c1/i0 by w-1".into(),
        }
    );
    let cell = world.cell(&sweep, 0).await;
    assert_eq!((cell.recorded, cell.settled, cell.measured), (3, 1, 1));
}

pub(crate) async fn a_session_is_settled_once(world: World) {
    let sweep = world.sweep("s", 1, 3).await;
    let ledger = &world.ledger;
    let other = world.open().await;
    let records = (0..3).map(|item| waiting(key(&sweep, 0, item), &format!("w-{item}"), &["a"])).collect();
    ledger.record(records).await.unwrap();
    let twice = vec![scored(key(&sweep, 0, 0), 1), scored(key(&sweep, 0, 0), 2)];
    assert_eq!(ledger.settle(twice).await.unwrap(), 1);
    let late = vec![unmeasured(key(&sweep, 0, 0), Cause::JudgeUnavailable), scored(key(&sweep, 0, 9), 3)];
    assert_eq!(ledger.settle(late).await.unwrap(), 0);
    let error = ledger.settle(vec![scored(key(&sweep, 7, 0), 3)]).await.unwrap_err();
    assert!(matches!(error, LedgerError::UnknownCell { cell: CellIndex(7), .. }), "{error}");
    let rest = || vec![scored(key(&sweep, 0, 1), 4), scored(key(&sweep, 0, 2), 5)];
    let (one, two) = tokio::join!(ledger.settle(rest()), other.settle(rest()));
    assert_eq!(one.unwrap() + two.unwrap(), 2);
    let scores: Vec<Value> =
        ledger.sessions(&sweep, CellIndex(0)).await.unwrap().into_iter().map(|session| session.scores).collect();
    assert_eq!(scores, [json!({"score": 1}), json!({"score": 4}), json!({"score": 5})]);
    let cell = world.cell(&sweep, 0).await;
    assert_eq!((cell.recorded, cell.settled, cell.measured, cell.not_measured), (3, 3, 3, 0));
    assert_eq!(waiting_for(ledger, &sweep, &["a"]).await, []);
}

pub(crate) async fn a_session_may_wait_for_more_than_it_did_at_first(world: World) {
    let sweep = world.sweep("s", 1, 3).await;
    let ledger = &world.ledger;
    let records = (0..2).map(|item| waiting(key(&sweep, 0, item), &format!("w-{item}"), &["a"])).collect();
    ledger.record(records).await.unwrap();
    let more = |item| {
        let result = SettlementResult::Waits(questions(&["a", "b"]));
        Settlement { key: key(&sweep, 0, item), result }
    };
    assert_eq!(ledger.settle(vec![more(0)]).await.unwrap(), 0);
    assert_eq!(waiting_for(ledger, &sweep, &["a"]).await, [(0, 0), (0, 1)]);
    assert_eq!(waiting_for(ledger, &sweep, &["b"]).await, [(0, 0)]);
    let cell = world.cell(&sweep, 0).await;
    assert_eq!((cell.recorded, cell.settled), (2, 0));
    assert_eq!(ledger.settle(vec![scored(key(&sweep, 0, 0), 1), more(0), more(7)]).await.unwrap(), 1);
    assert_eq!(waiting_for(ledger, &sweep, &["a", "b"]).await, [(0, 1)]);
}

pub(crate) async fn settling_keeps_the_outcome_or_says_why_not(world: World) {
    let sweep = world.sweep("s", 1, 3).await;
    let failure = Outcome::ModelFailure { cause: Cause::ContextLength };
    let mut failed = waiting(key(&sweep, 0, 0), "w-1", &["a"]);
    failed.outcome = failure.clone();
    let others = [waiting(key(&sweep, 0, 1), "w-2", &["a"]), waiting(key(&sweep, 0, 2), "w-3", &["a"])];
    world.ledger.record([vec![failed], others.to_vec()].concat()).await.unwrap();
    let settlements = vec![
        scored(key(&sweep, 0, 0), 1),
        unmeasured(key(&sweep, 0, 1), Cause::JudgeUnavailable),
        unmeasured(key(&sweep, 0, 2), Cause::Internal),
    ];
    assert_eq!(world.ledger.settle(settlements).await.unwrap(), 3);
    let sessions = world.ledger.sessions(&sweep, CellIndex(0)).await.unwrap();
    let results: Vec<_> = sessions.into_iter().map(|session| (session.outcome, session.scores)).collect();
    assert_eq!(
        results,
        [
            (failure, json!({"score": 1})),
            (Outcome::NotMeasured { cause: Cause::JudgeUnavailable }, Value::Null),
            (Outcome::NotMeasured { cause: Cause::Internal }, Value::Null),
        ]
    );
    let cell = world.cell(&sweep, 0).await;
    assert_eq!((cell.settled, cell.measured, cell.model_failures, cell.not_measured), (3, 0, 1, 2));
    // What the attempt itself reported stays.
    assert_eq!(world.ledger.attempts(&sweep).await.unwrap()[1].outcome, Some(Outcome::Measured));
}

pub(crate) async fn the_transcript_is_kept_only_for_an_unavailable_judge(world: World) {
    let sweep = world.sweep("s", 1, 3).await;
    let ledger = &world.ledger;
    let records = (0..3).map(|item| waiting(key(&sweep, 0, item), &format!("w-{item}"), &["a"])).collect();
    ledger.record(records).await.unwrap();
    let settlements = vec![
        scored(key(&sweep, 0, 0), 1),
        unmeasured(key(&sweep, 0, 1), Cause::JudgeUnavailable),
        unmeasured(key(&sweep, 0, 2), Cause::Cancelled),
    ];
    ledger.settle(settlements).await.unwrap();
    assert_eq!(ledger.awaiting_after(&sweep, None, u32::MAX).await.unwrap(), []);
    let reopened = ledger.reopen_unmeasured(&sweep, Quota::default()).await.unwrap();
    assert_eq!((reopened.to_judge, reopened.to_run), (1, 1));
    assert_eq!(waiting_for(ledger, &sweep, &["a"]).await, [(0, 1)]);
}
