//! Answers to judgements.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use regatta_proto::{AccountId, CostSum, Digest, Image, Money, Question, Reasoning, Thinking, Verdict};
use serde_json::{Value, json};

use super::*;
use crate::Interrupted;
use crate::scripted::Step;

fn judge() -> ModelSpec {
    ModelSpec::from("main/judge-1".parse::<ModelRef>().unwrap())
}

fn judgement(prompt: &str, replies_max: u8) -> AskedQuestion {
    asked(prompt, &["(?i)yes|no"], replies_max)
}

fn asked(prompt: &str, accept: &[&str], replies_max: u8) -> AskedQuestion {
    let question = Question::Judgement {
        kind: "completion".to_owned(),
        about: vec!["item-1".to_owned()],
        before: Vec::new(),
        prompt: prompt.to_owned(),
        swapped: None,
        accept: accept.iter().map(|text| (*text).to_owned()).collect(),
        replies_max,
    };
    AskedQuestion { digest: question.digest(), question }
}

fn says(text: &str) -> Step {
    let message = json!({"role": "assistant", "content": text});
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12});
    let choices = json!([{"index": 0, "message": message, "finish_reason": "stop"}]);
    Step::ok(json!({"id": "1", "model": "judge-1-2026", "choices": choices, "usage": usage}).to_string())
}

/// A server that returns its lines one after the other, for any request, and then the last one for ever.
async fn talking(lines: &'static [&'static str]) -> Server {
    let given = Arc::new(AtomicUsize::new(0));
    Server::with(move |_, _| says(lines[given.fetch_add(1, Ordering::Relaxed).min(lines.len() - 1)])).await
}

fn replies(answers: &Answers) -> Vec<Vec<String>> {
    let said = |(_, verdict): &(Digest, Verdict)| match verdict {
        Verdict::Replies { replies } => replies.clone(),
        other => panic!("not in words: {other:?}"),
    };
    answers.verdicts.iter().map(said).collect()
}

/// A dollar per million tokens, of input and of output.
fn price() -> Price {
    Price::per_mtok(1.0, 1.0)
}

async fn answer_by(bench: &Bench, judge: &ModelSpec, questions: &[AskedQuestion]) -> Answers {
    let price = price();
    bench.endpoint.answer(judge, questions, payer(&bench.sweep, Some(&price)), &bench.interrupt).await.unwrap()
}

#[tokio::test]
async fn a_judgement_is_one_message_with_no_parameters_but_the_judges_own() {
    let server = talking(&["Yes."]).await;
    let bench = open(&spec(&server));
    let answers = answer_by(&bench, &judge(), &[judgement("Was all done?", 10)]).await;
    assert_eq!(replies(&answers), [["Yes."]]);
    assert_eq!((answers.served.as_str(), answers.usage.input, answers.usage.output), ("judge-1-2026", 10, 2));
    assert_eq!(answers.cost, CostSum { known: Money(12_000), unknown_calls: 0 });
    let particular =
        ModelSpec { temperature: Some(0.0), max_tokens: Some(50), thinking: Some(Thinking::Low), ..judge() };
    answer_by(&bench, &particular, &[judgement("Was all done?", 10)]).await;
    let bodies: Vec<Value> = server.seen().iter().map(|seen| serde_json::from_str(&seen.body).unwrap()).collect();
    let plain = json!({"model": "judge-1", "messages": [{"role": "user", "content": "Was all done?"}]});
    assert_eq!(bodies[0], plain);
    assert_eq!((&bodies[1]["temperature"], &bodies[1]["max_tokens"]), (&json!(0.0), &json!(50)));
}

#[tokio::test]
async fn the_prompt_is_the_last_message_after_the_conversation_that_the_question_brings() {
    let server = talking(&["Hm.", "yes"]).await;
    let bench = open(&spec(&server));
    let AskedQuestion { mut question, .. } = judgement("Was all done?", 10);
    let thought = Reasoning { text: "a thought".into(), opaque: Some("sealed".into()) };
    let before = vec![
        ChatMessage::new(ChatRole::System, "Be strict."),
        ChatMessage::new(ChatRole::User, "책을 예약해 줘"),
        ChatMessage { reasoning: Some(thought), ..ChatMessage::new(ChatRole::Assistant, "네") },
    ];
    if let Question::Judgement { before: place, .. } = &mut question {
        before.clone_into(place);
    }
    let asked = AskedQuestion { digest: question.digest(), question };
    let answers = answer_by(&bench, &judge(), std::slice::from_ref(&asked)).await;
    assert_eq!(replies(&answers), [["Hm.", "yes"]]);
    let expected = json!([
        {"role": "system", "content": "Be strict."},
        {"role": "user", "content": "책을 예약해 줘"},
        {"role": "assistant", "content": "네"},
        {"role": "user", "content": "Was all done?"},
    ]);
    for seen in server.seen() {
        assert_eq!(serde_json::from_str::<Value>(&seen.body).unwrap()["messages"], expected);
    }
}

#[tokio::test]
async fn images_without_a_text_before_the_prompt_are_sent_in_one_message_with_it() {
    let server = talking(&["yes"]).await;
    let bench = open(&spec(&server));
    let image = Image::of_base64("iVBORw0KGgo=").unwrap();
    for (text, messages) in [("", 1), ("Look.", 2)] {
        let AskedQuestion { mut question, .. } = judgement("Was all done?", 1);
        if let Question::Judgement { before, .. } = &mut question {
            *before = vec![ChatMessage { images: vec![image.clone()], ..ChatMessage::new(ChatRole::User, text) }];
        }
        let asked = [AskedQuestion { digest: question.digest(), question }];
        assert_eq!(replies(&answer_by(&bench, &judge(), &asked).await), [["yes"]]);
        let sent: Value = serde_json::from_str(&server.seen().last().unwrap().body).unwrap();
        let sent = sent["messages"].as_array().unwrap();
        assert_eq!(sent.len(), messages);
        let last = if text.is_empty() { &sent[0]["content"][1]["text"] } else { &sent[1]["content"] };
        assert_eq!(*last, "Was all done?");
    }
}

#[tokio::test]
async fn a_judge_is_asked_again_until_a_reply_can_be_taken_and_every_reply_is_paid() {
    let server = talking(&["Hm.", "Well.", "no, not at all", "yes"]).await;
    let bench = open(&spec(&server));
    let answers = answer_by(&bench, &judge(), &[judgement("Was all done?", 10)]).await;
    assert_eq!(replies(&answers), [["Hm.", "Well.", "no, not at all"]]);
    assert_eq!(answers.cost.known, Money(36_000));
}

#[tokio::test]
async fn at_the_limit_the_last_reply_is_taken_as_it_is() {
    let server = talking(&["Hm."]).await;
    let bench = open(&spec(&server));
    let answers = answer_by(&bench, &judge(), &[judgement("a?", 3), judgement("b?", 1), judgement("c?", 0)]).await;
    assert_eq!(replies(&answers), [vec!["Hm.", "Hm.", "Hm."], vec!["Hm."], vec!["Hm."]]);
}

#[tokio::test]
async fn a_question_whose_expression_cannot_be_used_is_unanswered_and_never_sent() {
    let server = talking(&["yes"]).await;
    let bench = open(&spec(&server));
    let answers = answer_by(&bench, &judge(), &[asked("a?", &["("], 10), judgement("b?", 10)]).await;
    assert_eq!((answers.verdicts.len(), answers.unanswered.len(), server.seen().len()), (1, 1, 1));
    assert!(answers.unanswered[0].reason.contains("cannot be used"), "{}", answers.unanswered[0].reason);
}

#[tokio::test]
async fn a_question_that_the_endpoint_refuses_is_unanswered_with_its_reason() {
    let server = Server::with(|_, seen| match seen.body.contains("b?") {
        true => Step::status(400, r#"{"error": {"message": "not that one"}}"#),
        false => says("yes"),
    })
    .await;
    let bench = open(&spec(&server));
    let answers = answer_by(&bench, &judge(), &[judgement("a?", 10), judgement("b?", 10), judgement("c?", 10)]).await;
    assert_eq!(replies(&answers).len(), 2);
    let reason = &answers.unanswered[0].reason;
    assert!(reason.contains("HTTP 400") && reason.contains("not that one"), "{reason}");
}

#[tokio::test]
async fn kept_replies_are_given_again_in_their_order_and_cost_nothing() {
    let server = talking(&["Hm.", "yes", "no"]).await;
    let bench = open(&spec(&server));
    let price = price();
    let mut first = None;
    for mode in [CacheMode::ReadWrite, CacheMode::ReadWrite, CacheMode::Replay] {
        let paying = Payer { cache: mode, ..payer(&bench.sweep, Some(&price)) };
        let answers = bench.endpoint.answer(&judge(), &[judgement("a?", 10)], paying, &bench.interrupt).await.unwrap();
        assert_eq!(replies(&answers), [["Hm.", "yes"]]);
        let paid = first.replace(()).map_or(Money(24_000), |()| Money::ZERO);
        assert_eq!(answers.cost.known, paid);
    }
    assert_eq!(server.seen().len(), 2);
    let paying = Payer { cache: CacheMode::Replay, ..payer(&bench.sweep, Some(&price)) };
    let answers = bench.endpoint.answer(&judge(), &[judgement("b?", 10)], paying, &bench.interrupt).await.unwrap();
    assert_eq!(answers.unanswered[0].class, ErrorClass::CacheMiss);
}

#[tokio::test]
async fn the_same_question_under_another_name_is_another_sample() {
    let server = talking(&["yes", "no"]).await;
    let bench = open(&spec(&server));
    let price = price();
    let paying = Payer { cache: CacheMode::ReadWrite, ..payer(&bench.sweep, Some(&price)) };
    let once = judgement("a?", 10);
    let again = AskedQuestion { digest: Digest::of(b"again"), ..once.clone() };
    for asked in [once, again] {
        bench.endpoint.answer(&judge(), &[asked], paying, &bench.interrupt).await.unwrap();
    }
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_comparison_in_the_other_order_is_asked_with_its_other_prompt_and_kept_apart() {
    let server = talking(&["yes", "no"]).await;
    let bench = open(&spec(&server));
    let price = price();
    let paying = Payer { cache: CacheMode::ReadWrite, ..payer(&bench.sweep, Some(&price)) };
    let AskedQuestion { digest, mut question } = judgement("A then B?", 10);
    if let Question::Judgement { swapped, .. } = &mut question {
        *swapped = Some("B then A?".to_owned());
    }
    let other = AskedQuestion { digest, question: question.in_other_order().unwrap() };
    let one = AskedQuestion { digest, question };
    let mut said = Vec::new();
    for asked in [&one, &other, &one, &other] {
        let asked = std::slice::from_ref(asked);
        said.extend(replies(&bench.endpoint.answer(&judge(), asked, paying, &bench.interrupt).await.unwrap()));
    }
    assert_eq!(said, [["yes"], ["no"], ["yes"], ["no"]]);
    let bodies: Vec<String> = server.seen().into_iter().map(|seen| seen.body).collect();
    assert!(bodies.len() == 2 && bodies[0].contains("A then B?") && bodies[1].contains("B then A?"), "{bodies:?}");
}

#[tokio::test]
async fn endpoints_that_are_told_hear_of_the_judge_and_a_seed_for_each_asking() {
    let server = talking(&["Hm.", "yes"]).await;
    let bench = open(&EndpointSpec { identify_sessions: true, ..spec(&server) });
    answer_by(&bench, &judge(), &[judgement("a?", 10)]).await;
    let told = |index: usize, name: &str| {
        let line = server.seen()[index].head.lines().find(|line| line.starts_with(name)).map(str::to_owned);
        line.unwrap_or_default()
    };
    assert_eq!(told(0, "x-regatta-role"), "x-regatta-role: judge");
    assert_ne!(told(0, "x-regatta-seed"), told(1, "x-regatta-seed"));
    assert!(told(0, "x-regatta-item").is_empty());
}

#[tokio::test]
async fn a_judge_that_nobody_can_pay_is_not_asked() {
    let server = talking(&["yes"]).await;
    let bench = open(&spec(&server));
    let account = [AccountId { sweep: bench.sweep.clone(), model: None }];
    let unpriced = Payer { accounts: &account, ..payer(&bench.sweep, None) };
    let answers = bench.endpoint.answer(&judge(), &[judgement("a?", 10)], unpriced, &bench.interrupt).await.unwrap();
    assert_eq!((answers.unanswered[0].class, server.seen().len()), (ErrorClass::Budget, 0));
}

#[tokio::test]
async fn what_comes_before_the_prompt_counts_into_what_a_judgement_may_cost() {
    let server = talking(&["yes"]).await;
    let store = FakeStore::default();
    let bench = open_with(&spec(&server), &store);
    let account = [AccountId { sweep: bench.sweep.clone(), model: None }];
    // A thousandth of a dollar: a thousand tokens.
    store.budget(&account[0], Money(1_000_000));
    let terse = ModelSpec { max_tokens: Some(1), ..judge() };
    let price = price();
    let paying = Payer { accounts: &account, ..payer(&bench.sweep, Some(&price)) };
    let AskedQuestion { mut question, .. } = judgement("a?", 1);
    for (length, sent) in [(500, 1), (1000, 1)] {
        if let Question::Judgement { before, .. } = &mut question {
            *before = vec![ChatMessage::new(ChatRole::System, "x".repeat(length))];
        }
        let asked = [AskedQuestion { digest: question.digest(), question: question.clone() }];
        let answers = bench.endpoint.answer(&terse, &asked, paying, &bench.interrupt).await.unwrap();
        let refused: Vec<ErrorClass> = answers.unanswered.iter().map(|unanswered| unanswered.class).collect();
        assert_eq!(refused, if length > 500 { vec![ErrorClass::Budget] } else { Vec::new() });
        assert_eq!(server.seen().len(), sent);
    }
}

#[tokio::test]
async fn an_interrupted_judge_is_not_asked_again() {
    let server = talking(&["yes"]).await;
    let bench = open(&spec(&server));
    bench.interrupt.cancel();
    let answers =
        bench.endpoint.answer(&judge(), &[judgement("a?", 10)], payer(&bench.sweep, None), &bench.interrupt).await;
    assert!(answers.is_err());
}

#[tokio::test]
async fn an_interrupted_list_has_the_answers_that_were_complete_and_what_all_its_calls_cost() {
    let interrupt = CancellationToken::new();
    let fires = interrupt.clone();
    let server = Server::with(move |_, seen| {
        fires.cancel();
        // It takes a further reply, which is asked for no more.
        says(if seen.body.contains("question 1?") { "Hm." } else { "yes" })
    })
    .await;
    let bench = open(&spec(&server));
    let questions: Vec<AskedQuestion> = (0..30).map(|number| judgement(&format!("question {number}?"), 10)).collect();
    let price = price();
    let answered = bench.endpoint.answer(&judge(), &questions, payer(&bench.sweep, Some(&price)), &interrupt).await;
    let Err(Interrupted(answers)) = answered else { panic!("{answered:?}") };
    let asked = |name: &str| server.seen().iter().filter(|seen| seen.body.contains(name)).count();
    let (calls, vain) = (asked("question"), asked("question 1?"));
    assert_eq!(answers.verdicts.len(), calls - vain);
    assert!((1..30).contains(&answers.verdicts.len()) && answers.unanswered.is_empty(), "{answers:?}");
    assert_eq!(answers.cost.known, Money(12_000 * calls as u64));
    assert_eq!(answers.served, "judge-1-2026");
}

#[tokio::test]
async fn one_list_may_hold_questions_of_both_kinds() {
    let server = Server::with(|_, seen| match seen.body.contains("input") {
        true => {
            let data: Vec<Value> =
                (0..2).map(|index| json!({"object": "embedding", "index": index, "embedding": [1, index]})).collect();
            Step::ok(json!({"data": data, "model": "vectors", "usage": {"prompt_tokens": 3}}).to_string())
        }
        false => says("yes"),
    })
    .await;
    let bench = open(&spec(&server));
    let similarity = Question::Similarity { left: vec!["x".to_owned()], right: vec!["y".to_owned()] };
    let similarity = AskedQuestion { digest: similarity.digest(), question: similarity };
    let questions = [judgement("a?", 10), similarity, judgement("b?", 10)];
    let answers = answer_by(&bench, &judge(), &questions).await;
    let order: Vec<Digest> = answers.verdicts.iter().map(|(digest, _)| *digest).collect();
    assert_eq!(order, questions.map(|asked| asked.digest));
    assert_eq!((answers.served.as_str(), answers.usage.input), ("judge-1-2026, vectors", 23));
}

#[tokio::test]
async fn recorded_judgements_are_found_by_what_they_are_about_whatever_the_prompt() {
    let lines = concat!(
        r#"{"kind": "completion", "item": "item-1", "responses": ["Hm.", "Yes", "no"]}"#,
        "\n",
        r#"{"kind": "fuzzy", "api": "a", "parameter": "p", "input_a": "x", "input_b": "y", "responses": ["perhaps"]}"#
    );
    let spec = EndpointSpec { path: Some("judge.jsonl".into()), ..EndpointSpec::of_kind(EndpointKind::Recorded) };
    let endpoint = try_open(&spec, Path::new("/nowhere"), Some(lines.as_bytes()), &Registry::new()).unwrap();
    let mut fuzzy = judgement("Alike?", 3).question;
    if let Question::Judgement { kind, about, .. } = &mut fuzzy {
        *kind = "fuzzy".to_owned();
        *about = ["a", "p", "x", "y"].map(str::to_owned).to_vec();
    }
    let fuzzy = AskedQuestion { digest: fuzzy.digest(), question: fuzzy };
    let mut unknown = judgement("What?", 3).question;
    if let Question::Judgement { about, .. } = &mut unknown {
        about.push("more".to_owned());
    }
    let unknown = AskedQuestion { digest: unknown.digest(), question: unknown };
    let questions = [judgement("Was all done?", 10), fuzzy, unknown];
    let answers =
        endpoint.answer(&judge(), &questions, payer(&sweep(), None), &CancellationToken::new()).await.unwrap();
    assert_eq!(replies(&answers), [vec!["Hm.", "Yes"], vec!["perhaps"; 3]]);
    assert_eq!(answers.unanswered[0].reason, r#"no judgement "completion" about ["item-1", "more"] is recorded"#);
}
