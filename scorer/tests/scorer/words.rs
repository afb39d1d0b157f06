//! Judgements in words: rounds of questions, and panels.

use std::collections::BTreeMap;
use std::sync::Arc;

use regatta_backends::{Queue, Quota};
use regatta_benchmarks::{
    Dataset, Evaluation, Item, Pictures, Predictions, Score, Scores, Scoring, SelectError, Sessions, Simulated, Step,
    Suite, Tables, Verdicts,
};
use regatta_catalog::Sweep;
use regatta_proto::{
    AskedQuestion, BenchmarkLock, Cause, CostSum, Digest, EndpointKind, EndpointSpec, Evaluator, ItemIndex, Job, Judge,
    JudgeOutcome, ModelRef, ModelSpec, Outcome, Question, Report, SessionOutcome, Setting, SweepLock, Transcript,
    Usage, Verdict,
};
use regatta_stage::benchmark_lock;
use serde_json::{Value, json};

use crate::stage::{Running, Stage, attempt, report, until};

/// Asks whether all was done, and if somebody says no, why.
struct Talk(Vec<Item>);

fn question(kind: &str, item: ItemIndex) -> Question {
    Question::Judgement {
        kind: kind.to_owned(),
        about: vec![item.0.to_string()],
        before: Vec::new(),
        prompt: format!("{kind} {}", item.0),
        swapped: None,
        accept: Vec::new(),
        replies_max: 3,
    }
}

/// Last reply of every member.
fn words(verdict: Verdict) -> Vec<String> {
    let last = |replies: Vec<String>| replies.into_iter().next_back().unwrap_or_default();
    match verdict {
        Verdict::Replies { replies } => vec![last(replies)],
        Verdict::Panel { members, .. } => members.into_iter().map(last).collect(),
        Verdict::Similarity { .. } => panic!("not in words"),
    }
}

impl Dataset for Talk {
    fn items(&self) -> &[Item] {
        &self.0
    }

    fn select(&self, _: &Setting, _: &[String], _: Option<u32>) -> Result<Vec<ItemIndex>, SelectError> {
        Ok((0..self.0.len() as u32).map(ItemIndex).collect())
    }
}

impl Sessions for Talk {
    fn next(&self, _: ItemIndex, _: &Setting, _: &Transcript) -> Step {
        Step::Done
    }
}

impl Evaluation for Talk {
    fn score(&self, item: ItemIndex, evaluators: &[Evaluator], said: &Transcript, known: &dyn Verdicts) -> Scoring {
        if *said == Transcript::default() {
            return Scoring::Unfit("nothing happened".to_owned());
        }
        let done = question("done", item);
        let Some(said) = known.answer(&done).map(words) else { return Scoring::Needs(vec![done]) };
        let mut detail = json!({ "done": said });
        if said.contains(&"no".to_owned()) {
            let why = question("why", item);
            let Some(said) = known.answer(&why).map(words) else { return Scoring::Needs(vec![why]) };
            detail["why"] = json!(said);
        }
        let yes = said.iter().filter(|word| *word == "yes").count() as f64 / said.len() as f64;
        let score = Score { values: BTreeMap::from([("yes".to_owned(), yes)]), detail };
        Scoring::Scored(evaluators.iter().map(|evaluator| (*evaluator, score.clone())).collect())
    }

    fn score_failure(&self, _: ItemIndex, _: &[Evaluator]) -> Scores {
        Scores::new()
    }

    fn is_judged(&self, _: Evaluator, _: &str) -> bool {
        true
    }
}

impl Tables for Talk {}
impl Predictions for Talk {}
impl Simulated for Talk {}
impl Pictures for Talk {}

/// A sweep of two sessions with this judge.
fn sweep(judge: &str, seed: u64) -> Sweep {
    audited_sweep(judge, None, seed)
}

/// The same whose sessions `audit` audits.
fn audited_sweep(judge: &str, audit: Option<&str>, seed: u64) -> Sweep {
    let item = |id: &str| Item { id: id.parse().unwrap(), task: "talk".into(), group: None };
    let suite: Arc<dyn Suite> = Arc::new(Talk(vec![item("tea"), item("coffee")]));
    let benchmark = BenchmarkLock {
        judge: Some(serde_json::from_str::<Judge>(judge).unwrap()),
        audit: audit.map(|audit| serde_json::from_str(audit).unwrap()),
        ..benchmark_lock(Digest::of(b"talk"), "talk", 2)
    };
    let endpoint = EndpointSpec::of_kind(EndpointKind::Simulated);
    let endpoints = BTreeMap::from(["one", "two"].map(|name| (name.parse().unwrap(), endpoint.clone())));
    let models = vec![ModelSpec::from("one/agent".parse::<ModelRef>().unwrap())];
    let lock = SweepLock { seed, ..regatta_stage::lock("talk", benchmark, models, endpoints) };
    Sweep::new(lock, BTreeMap::from([("talk".parse().unwrap(), suite)])).unwrap()
}

async fn stage(judge: &str) -> Stage {
    Stage::of(sweep(judge, 1)).await
}

fn session(stage: &Stage, item: usize) -> SessionOutcome {
    let key = stage.key(0, item);
    SessionOutcome {
        attempt: attempt(&key, 1),
        key,
        lock: stage.sweep.digest,
        outcome: Outcome::Measured,
        transcript: Transcript::of_recorded(Some("all done")),
    }
}

/// Questions that were sent to `judge` since the last call of this function, as they are asked.
async fn asked(stage: &Stage, judge: &str) -> Vec<AskedQuestion> {
    let judge: ModelRef = judge.parse().unwrap();
    let queue = stage.sweep.lock.endpoints[&judge.endpoint].queue(&judge.endpoint, &stage.sweep.id);
    let waiting = stage.queue.depth(&queue).await.unwrap();
    let mut consumer = stage.queue.consume_jobs(&queue, waiting as u32).await.unwrap();
    let mut asked = Vec::new();
    for _ in 0..waiting {
        let delivery = consumer.next().await.unwrap();
        delivery.receipt.ack().await;
        match delivery.message {
            Job::Judge(job) if job.judge == judge => asked.extend(job.questions),
            other => panic!("not for {judge}: {other:?}"),
        }
    }
    asked
}

fn kinds(asked: &[AskedQuestion]) -> Vec<&str> {
    let kind = |asked| match asked {
        &AskedQuestion { question: Question::Judgement { ref kind, .. }, .. } => kind.as_str(),
        other => panic!("{other:?}"),
    };
    asked.iter().map(kind).collect()
}

/// `judge` says `reply` to each of `asked`, or nothing.
fn says(stage: &Stage, name: &str, judge: &str, asked: &[AskedQuestion], reply: Option<&str>) -> Report {
    let said = reply.map(|reply| Verdict::Replies { replies: vec!["hm".to_owned(), reply.to_owned()] });
    let verdicts = asked.iter().filter_map(|asked| Some((asked.digest, said.clone()?)));
    let unanswered = asked.iter().filter(|_| reply.is_none()).map(|asked| (asked.clone(), "away".to_owned()));
    Report::Judge(JudgeOutcome {
        sweep: stage.sweep.id.clone(),
        lock: stage.sweep.digest,
        judge: judge.parse().unwrap(),
        served: judge.to_owned(),
        verdicts: verdicts.collect(),
        unanswered: unanswered.collect(),
        attempt: name.parse().unwrap(),
        usage: Usage::default(),
        cost: CostSum::default(),
    })
}

/// Details of the scores of the settled sessions under the official evaluator.
async fn found(stage: &Stage) -> Vec<Value> {
    let books = stage.books().await;
    books.sessions[0].iter().map(|row| row.scores["official"]["detail"].clone()).collect()
}

#[tokio::test]
async fn what_a_verdict_leads_to_is_asked_next_and_nothing_else() {
    let stage = stage(r#""one/judge""#).await;
    stage.score(vec![report(&session(&stage, 0)), report(&session(&stage, 1))]).await;
    let first = asked(&stage, "one/judge").await;
    assert_eq!(kinds(&first), ["done", "done"]);
    let (no, yes) = first.split_at(1);
    stage.score(vec![says(&stage, "j-1", "one/judge", no, Some("no"))]).await;
    let second = asked(&stage, "one/judge").await;
    assert_eq!((kinds(&second), stage.books().await.waiting), (vec!["why"], 2));
    stage.score(vec![says(&stage, "j-2", "one/judge", yes, Some("yes"))]).await;
    assert!(asked(&stage, "one/judge").await.is_empty());
    stage.score(vec![says(&stage, "j-3", "one/judge", &second, Some("forgot"))]).await;
    let mut found = found(&stage).await;
    found.sort_by_key(ToString::to_string);
    assert_eq!(found, [json!({"done": ["no"], "why": ["forgot"]}), json!({"done": ["yes"]})]);
    assert_eq!(stage.books().await.waiting, 0);
}

#[tokio::test(start_paused = true)]
async fn what_a_verdict_leads_to_is_asked_although_it_could_not_be_sent_at_first() {
    let mut stage = stage(r#""one/judge""#).await.in_memory().await;
    stage.score(vec![report(&session(&stage, 0))]).await;
    let first = asked(&stage, "one/judge").await;
    // A broker that does not have the judge's queue refuses to take jobs for it.
    stage.queue = Queue::memory();
    let (scorer, metrics) = stage.scorer(512);
    stage.queue.publish_reports(vec![says(&stage, "j-1", "one/judge", &first, Some("no"))]).await.unwrap();
    let scorer = Running::of(scorer);
    until(async || metrics.failed_batches.get() >= 1).await;
    stage.queue.declare_jobs(&stage.judge_queue()).await.unwrap();
    until(async || stage.queue.depth(&stage.judge_queue()).await.unwrap() > 0).await;
    scorer.end().await;
    assert_eq!(kinds(&asked(&stage, "one/judge").await), ["why"]);
}

#[tokio::test]
async fn verdicts_of_both_rounds_that_are_known_are_not_asked_for_again() {
    let stage = stage(r#""one/judge""#).await;
    let digest =
        |kind| AskedQuestion { digest: question(kind, ItemIndex(0)).digest(), question: question(kind, ItemIndex(0)) };
    let known = [says(&stage, "j-1", "one/judge", &[digest("done")], Some("no"))];
    let more = says(&stage, "j-2", "one/judge", &[digest("why")], Some("forgot"));
    stage.score(known.into_iter().chain([more]).collect()).await;
    stage.score(vec![report(&session(&stage, 0))]).await;
    assert!(asked(&stage, "one/judge").await.is_empty());
    assert_eq!(found(&stage).await, [json!({"done": ["no"], "why": ["forgot"]})]);
}

#[tokio::test]
async fn a_judge_that_stays_away_in_the_second_round_is_asked_again_for_that_alone() {
    let stage = stage(r#""one/judge""#).await;
    stage.score(vec![report(&session(&stage, 0))]).await;
    let first = asked(&stage, "one/judge").await;
    stage.score(vec![says(&stage, "j-1", "one/judge", &first, Some("no"))]).await;
    let second = asked(&stage, "one/judge").await;
    stage.score(vec![says(&stage, "j-2", "one/judge", &second, None)]).await;
    let outcomes = stage.books().await.outcomes();
    assert_eq!(outcomes, [Outcome::NotMeasured { cause: Cause::JudgeUnavailable }]);
    stage.ledger.reopen_unmeasured(&stage.sweep.id, Quota::default()).await.unwrap();
    stage.score(vec![Report::Rejudge { sweep: stage.sweep.id.clone(), lock: stage.sweep.digest }]).await;
    let again = asked(&stage, "one/judge").await;
    assert_eq!(again, second);
    stage.score(vec![says(&stage, "j-3", "one/judge", &again, Some("forgot"))]).await;
    assert_eq!(found(&stage).await, [json!({"done": ["no"], "why": ["forgot"]})]);
}

const PANEL: &str =
    r#"{"panel": ["one/judge", {"id": "two/judge", "temperature": 0.5}], "rule": "majority", "repeats": 2}"#;

#[tokio::test]
async fn every_member_of_a_panel_is_asked_every_question_as_often_as_it_says() {
    let stage = stage(PANEL).await;
    stage.score(vec![report(&session(&stage, 0))]).await;
    let (one, two) = (asked(&stage, "one/judge").await, asked(&stage, "two/judge").await);
    assert_eq!((kinds(&one), kinds(&two)), (vec!["done"; 2], vec!["done"; 2]));
    let own = question("done", ItemIndex(0)).digest();
    assert_eq!(one.iter().filter(|asked| asked.digest == own).count(), 1, "without parameters, the first time");
    assert!(two.iter().all(|asked| asked.digest != own), "it has parameters");

    let first = one.iter().position(|asked| asked.digest == own).unwrap();
    stage.score(vec![says(&stage, "j-1", "one/judge", &one[first..=first], Some("yes"))]).await;
    stage.score(vec![says(&stage, "j-2", "one/judge", &one[1 - first..2 - first], Some("maybe"))]).await;
    assert_eq!(stage.books().await.waiting, 1, "half of the panel has spoken");
    stage.score(vec![says(&stage, "j-3", "two/judge", &two, Some("no"))]).await;
    let why = [asked(&stage, "one/judge").await, asked(&stage, "two/judge").await];
    assert_eq!(why.each_ref().map(|asked| kinds(asked)), [vec!["why"; 2], vec!["why"; 2]]);
    stage.score(vec![says(&stage, "j-4", "one/judge", &why[0], Some("x"))]).await;
    stage.score(vec![says(&stage, "j-5", "two/judge", &why[1], Some("y"))]).await;
    let expected = json!({"done": ["yes", "maybe", "no", "no"], "why": ["x", "x", "y", "y"]});
    assert_eq!(found(&stage).await, [expected]);
}

#[tokio::test]
async fn a_member_that_stays_away_leaves_the_session_unmeasured_until_it_alone_is_asked_again() {
    let stage = stage(PANEL).await;
    stage.score(vec![report(&session(&stage, 0))]).await;
    let (one, two) = (asked(&stage, "one/judge").await, asked(&stage, "two/judge").await);
    stage.score(vec![says(&stage, "j-1", "one/judge", &one, Some("yes"))]).await;
    stage.score(vec![says(&stage, "j-2", "two/judge", &two, None)]).await;
    let outcomes = stage.books().await.outcomes();
    assert_eq!(outcomes, [Outcome::NotMeasured { cause: Cause::JudgeUnavailable }]);
    stage.ledger.reopen_unmeasured(&stage.sweep.id, Quota::default()).await.unwrap();
    stage.score(vec![Report::Rejudge { sweep: stage.sweep.id.clone(), lock: stage.sweep.digest }]).await;
    assert!(asked(&stage, "one/judge").await.is_empty());
    let again = asked(&stage, "two/judge").await;
    assert_eq!(again.len(), 2);
    stage.score(vec![says(&stage, "j-3", "two/judge", &again, Some("yes"))]).await;
    assert_eq!(found(&stage).await, [json!({"done": vec!["yes"; 4]})]);
}

#[tokio::test]
async fn what_is_no_whole_session_is_not_measured_and_nobody_is_asked_about_it() {
    let stage = stage(r#""one/judge""#).await;
    let nothing = SessionOutcome { transcript: Transcript::default(), ..session(&stage, 0) };
    stage.score(vec![report(&nothing)]).await;
    assert_eq!(stage.books().await.outcomes(), [Outcome::NotMeasured { cause: Cause::TranscriptUnfit }]);
    assert_eq!((found(&stage).await, stage.books().await.waiting), (vec![Value::Null], 0));
    assert!(asked(&stage, "one/judge").await.is_empty());
}

#[tokio::test]
async fn a_session_is_scored_by_each_repeat_of_a_panel_alone_too() {
    let stage = stage(r#"{"panel": ["one/judge"], "rule": "majority", "repeats": 2}"#).await;
    stage.score(vec![report(&session(&stage, 0))]).await;
    let both = asked(&stage, "one/judge").await;
    let own = question("done", ItemIndex(0)).digest();
    let (first, second): (Vec<_>, Vec<_>) = both.into_iter().partition(|asked| asked.digest == own);
    stage.score(vec![says(&stage, "j-1", "one/judge", &second, Some("hardly"))]).await;
    stage.score(vec![says(&stage, "j-2", "one/judge", &first, Some("yes"))]).await;
    let score = &stage.books().await.sessions[0][0].scores["official"];
    assert_eq!(score["values"], json!({"yes": 0.5}));
    assert_eq!(score["repeats"], json!([{"yes": 1.0}, {"yes": 0.0}]));
}

#[tokio::test]
async fn a_judge_that_is_asked_once_leaves_no_repeats() {
    let stage = stage(r#""one/judge""#).await;
    stage.score(vec![report(&session(&stage, 0))]).await;
    let once = asked(&stage, "one/judge").await;
    stage.score(vec![says(&stage, "j-1", "one/judge", &once, Some("yes"))]).await;
    assert_eq!(stage.books().await.sessions[0][0].scores["official"].get("repeats"), None);
}

/// By another model: two endpoints that are served alike give the verdicts of a model of one name in common.
const AUDIT: &str = r#"{"judge": "two/auditor", "share": 0.5}"#;

/// Flat values of the settled sessions by the judge whose score counts, and by that of the audit.
async fn values(stage: &Stage) -> Vec<[Value; 2]> {
    let rows = stage.books().await.sessions.swap_remove(0);
    rows.iter().map(|row| ["values", "audited"].map(|key| row.scores["official"][key].clone())).collect()
}

#[tokio::test]
async fn an_audited_session_is_judged_by_both_and_has_the_score_of_its_own_judge() {
    let stage = Stage::of(audited_sweep(r#""one/judge""#, Some(AUDIT), 1)).await;
    stage.score(vec![report(&session(&stage, 0))]).await;
    let (one, two) = (asked(&stage, "one/judge").await, asked(&stage, "two/auditor").await);
    assert_eq!((kinds(&one), kinds(&two)), (vec!["done"], vec!["done"]));
    stage.score(vec![says(&stage, "j-1", "two/auditor", &two, Some("hardly"))]).await;
    assert_eq!(stage.books().await.waiting, 1, "the audit alone gives no score");
    stage.score(vec![says(&stage, "j-2", "one/judge", &one, Some("yes"))]).await;
    assert_eq!(stage.books().await.waiting, 0);
    assert_eq!(values(&stage).await, [[json!({"yes": 1.0}), json!({"yes": 0.0})]]);
    assert_eq!(found(&stage).await, [json!({"done": ["yes"]})]);
}

#[tokio::test]
async fn both_judges_of_an_audited_session_are_asked_the_same_further_question_whoever_comes_to_it_first() {
    let stage = Stage::of(audited_sweep(r#""one/judge""#, Some(AUDIT), 1)).await;
    stage.score(vec![report(&session(&stage, 0))]).await;
    let (one, two) = (asked(&stage, "one/judge").await, asked(&stage, "two/auditor").await);
    stage.score(vec![says(&stage, "j-1", "one/judge", &one, Some("no"))]).await;
    let why_of_one = asked(&stage, "one/judge").await;
    assert_eq!(kinds(&why_of_one), ["why"]);
    assert!(asked(&stage, "two/auditor").await.is_empty(), "it has not answered the first one");
    stage.score(vec![says(&stage, "j-2", "two/auditor", &two, Some("no"))]).await;
    let why_of_two = asked(&stage, "two/auditor").await;
    assert_eq!(kinds(&why_of_two), ["why"], "the same question to another judge");
    assert!(asked(&stage, "one/judge").await.is_empty(), "nobody is asked twice");
    stage.score(vec![says(&stage, "j-3", "two/auditor", &why_of_two, Some("yes"))]).await;
    stage.score(vec![says(&stage, "j-4", "one/judge", &why_of_one, Some("forgot"))]).await;
    assert_eq!(stage.books().await.waiting, 0);
    assert_eq!(values(&stage).await, [[json!({"yes": 0.0}), json!({"yes": 0.0})]]);
}

#[tokio::test]
async fn verdicts_of_an_audit_that_are_known_are_not_asked_for_again() {
    let stage = Stage::of(audited_sweep(r#""one/judge""#, Some(AUDIT), 1)).await;
    let done = question("done", ItemIndex(0));
    let asked_of_both = [AskedQuestion { digest: done.digest(), question: done }];
    stage.score(vec![says(&stage, "j-1", "two/auditor", &asked_of_both, Some("yes"))]).await;
    stage.score(vec![report(&session(&stage, 0))]).await;
    assert!(asked(&stage, "two/auditor").await.is_empty());
    let one = asked(&stage, "one/judge").await;
    stage.score(vec![says(&stage, "j-2", "one/judge", &one, Some("hardly"))]).await;
    assert_eq!(values(&stage).await, [[json!({"yes": 0.0}), json!({"yes": 1.0})]]);
}

#[tokio::test]
async fn a_session_whose_audit_is_away_has_the_score_of_its_own_judge_and_is_not_audited() {
    let stage = Stage::of(audited_sweep(r#""one/judge""#, Some(AUDIT), 1)).await;
    stage.score(vec![report(&session(&stage, 0))]).await;
    let (one, two) = (asked(&stage, "one/judge").await, asked(&stage, "two/auditor").await);
    stage.score(vec![says(&stage, "j-1", "one/judge", &one, Some("yes"))]).await;
    stage.score(vec![says(&stage, "j-2", "two/auditor", &two, None)]).await;
    assert_eq!(stage.books().await.outcomes(), [Outcome::Measured]);
    assert_eq!(values(&stage).await, [[json!({"yes": 1.0}), Value::Null]]);
    assert_eq!(stage.books().await.waiting, 0);
}

#[tokio::test]
async fn an_audit_that_is_away_before_the_judge_has_spoken_is_asked_once_more_when_it_has() {
    let stage = Stage::of(audited_sweep(r#""one/judge""#, Some(AUDIT), 1)).await;
    stage.score(vec![report(&session(&stage, 0))]).await;
    let (one, two) = (asked(&stage, "one/judge").await, asked(&stage, "two/auditor").await);
    stage.score(vec![says(&stage, "j-1", "two/auditor", &two, None)]).await;
    assert_eq!(stage.books().await.waiting, 1, "its own judge is still at it");
    stage.score(vec![says(&stage, "j-2", "one/judge", &one, Some("no"))]).await;
    let why = asked(&stage, "one/judge").await;
    assert_eq!(kinds(&why), ["why"]);
    assert!(asked(&stage, "two/auditor").await.is_empty(), "not at every answer of the other judge");
    stage.score(vec![says(&stage, "j-4", "one/judge", &why, Some("forgot"))]).await;
    let last = asked(&stage, "two/auditor").await;
    assert_eq!(kinds(&last), ["done"]);
    stage.score(vec![says(&stage, "j-5", "two/auditor", &last, None)]).await;
    assert_eq!(stage.books().await.waiting, 0);
    assert_eq!(values(&stage).await, [[json!({"yes": 0.0}), Value::Null]]);
    assert!(asked(&stage, "two/auditor").await.is_empty());
}

#[tokio::test]
async fn a_session_whose_own_judge_is_away_is_unmeasured_although_its_audit_has_answered() {
    let stage = Stage::of(audited_sweep(r#""one/judge""#, Some(AUDIT), 1)).await;
    stage.score(vec![report(&session(&stage, 0))]).await;
    let (one, two) = (asked(&stage, "one/judge").await, asked(&stage, "two/auditor").await);
    stage.score(vec![says(&stage, "j-1", "two/auditor", &two, Some("yes"))]).await;
    stage.score(vec![says(&stage, "j-2", "one/judge", &one, None)]).await;
    assert_eq!(stage.books().await.outcomes(), [Outcome::NotMeasured { cause: Cause::JudgeUnavailable }]);
    stage.ledger.reopen_unmeasured(&stage.sweep.id, Quota::default()).await.unwrap();
    stage.score(vec![Report::Rejudge { sweep: stage.sweep.id.clone(), lock: stage.sweep.digest }]).await;
    assert!(asked(&stage, "two/auditor").await.is_empty());
    let again = asked(&stage, "one/judge").await;
    assert_eq!(again, one);
    stage.score(vec![says(&stage, "j-3", "one/judge", &again, Some("yes"))]).await;
    assert_eq!(values(&stage).await, [[json!({"yes": 1.0}), json!({"yes": 1.0})]]);
}

#[tokio::test]
async fn a_session_whose_judges_are_both_away_is_unmeasured() {
    let stage = Stage::of(audited_sweep(r#""one/judge""#, Some(AUDIT), 1)).await;
    stage.score(vec![report(&session(&stage, 0))]).await;
    let (one, two) = (asked(&stage, "one/judge").await, asked(&stage, "two/auditor").await);
    stage.score(vec![says(&stage, "j-1", "two/auditor", &two, None)]).await;
    stage.score(vec![says(&stage, "j-2", "one/judge", &one, None)]).await;
    assert_eq!(stage.books().await.outcomes(), [Outcome::NotMeasured { cause: Cause::JudgeUnavailable }]);
}

/// Panels may share a model: it answers a question once.
#[tokio::test]
async fn a_model_that_judges_and_audits_is_asked_once() {
    let audit = r#"{"judge": {"panel": ["one/judge", "two/auditor"], "rule": "majority"}, "share": 0.5}"#;
    let stage = Stage::of(audited_sweep(r#""one/judge""#, Some(audit), 1)).await;
    stage.score(vec![report(&session(&stage, 0))]).await;
    let (one, two) = (asked(&stage, "one/judge").await, asked(&stage, "two/auditor").await);
    assert_eq!((one.len(), two.len()), (1, 1));
    stage.score(vec![says(&stage, "j-1", "one/judge", &one, Some("yes"))]).await;
    stage.score(vec![says(&stage, "j-2", "two/auditor", &two, Some("hardly"))]).await;
    assert_eq!(values(&stage).await, [[json!({"yes": 1.0}), json!({"yes": 0.5})]]);
}
