use regatta_proto::PanelRule;

use super::*;

fn judgement() -> Question {
    Question::Judgement {
        kind: "k".into(),
        about: Vec::new(),
        before: Vec::new(),
        prompt: "p".into(),
        swapped: None,
        accept: Vec::new(),
        replies_max: 1,
    }
}

fn similarity() -> Question {
    Question::Similarity { left: vec!["a".into()], right: vec!["b".into()] }
}

fn judge(json: &str) -> Judge {
    serde_json::from_str(json).unwrap()
}

fn knowing(judge: &Judge, question: &Question, replies: &[&str]) -> Known {
    let said = |text: &&str| Verdict::Replies { replies: vec![(*text).to_owned()] };
    let verdicts = puts(judge, question).into_iter().zip(replies.iter().map(said)).collect();
    Known { verdicts, looked_up: HashSet::new() }
}

#[test]
fn a_plain_judge_is_asked_every_question_as_what_it_is() {
    for question in [judgement(), similarity()] {
        let put = Put { to: "a/b".parse().unwrap(), digest: question.digest() };
        assert_eq!(puts(&judge(r#""a/b""#), &question), [put]);
    }
}

#[test]
fn a_judge_with_other_parameters_is_asked_anew() {
    let cold = puts(&judge(r#"{"id": "a/b", "temperature": 0}"#), &judgement());
    let warm = puts(&judge(r#"{"id": "a/b", "temperature": 1}"#), &judgement());
    assert_eq!(HashSet::from([judgement().digest(), cold[0].digest, warm[0].digest]).len(), 3);
}

#[test]
fn each_member_of_a_panel_is_asked_as_often_as_it_says_and_all_of_it_is_the_verdict() {
    let panel = judge(r#"{"panel": ["a/b", "c/d"], "rule": "mean", "repeats": 2}"#);
    let question = judgement();
    let asked: HashSet<Put> = puts(&panel, &question).into_iter().collect();
    assert_eq!(asked.len(), 4);
    let known = knowing(&panel, &question, &["1", "2", "3", "4"]);
    let members = ["1", "2", "3", "4"].map(|text| vec![text.to_owned()]).to_vec();
    assert_eq!(known.of(Some(&panel)).answer(&question), Some(Verdict::Panel { rule: PanelRule::Mean, members }));
    let partly = knowing(&panel, &question, &["1", "2", "3"]);
    assert_eq!(partly.of(Some(&panel)).answer(&question), None);
}

fn comparison() -> Question {
    match judgement() {
        Question::Judgement { kind, about, before, prompt, accept, replies_max, .. } => {
            let swapped = Some("p the other way round".to_owned());
            Question::Judgement { kind, about, before, prompt, swapped, accept, replies_max }
        }
        similarity => similarity,
    }
}

/// The prompts that the members of `judge` see, by what they are asked as, in the order of the members' answers.
fn prompts(judge: &Judge, question: &Question) -> Vec<String> {
    let mut open = Open::new();
    let puts = enter(&mut open, judge, std::slice::from_ref(question), &Known::default());
    let prompt = |put: &Put| match &open[&put.to][&put.digest].question {
        Question::Judgement { prompt, .. } => prompt.clone(),
        other => panic!("{other:?}"),
    };
    puts.iter().map(prompt).collect()
}

#[test]
fn every_second_time_a_comparison_is_asked_in_the_other_order_and_all_answers_are_the_verdict() {
    let panel = judge(r#"{"panel": ["a/b", "c/d"], "rule": "majority", "repeats": 3, "swap": true}"#);
    let (one, other) = ("p".to_owned(), "p the other way round".to_owned());
    let orders = [&one, &other, &one].map(Clone::clone);
    assert_eq!(prompts(&panel, &comparison()), [orders.clone(), orders].concat());
    let said = ["yes", "no", "yes", "no", "no", "no"];
    let known = knowing(&panel, &comparison(), &said);
    let members = said.map(|text| vec![text.to_owned()]).to_vec();
    let verdict = Verdict::Panel { rule: PanelRule::Majority, members };
    assert_eq!(known.of(Some(&panel)).answer(&comparison()), Some(verdict));
}

#[test]
fn what_compares_nothing_is_repeated_as_it_is() {
    let swapping = judge(r#"{"panel": ["a/b"], "rule": "mean", "repeats": 2, "swap": true}"#);
    let plain = judge(r#"{"panel": ["a/b"], "rule": "mean", "repeats": 2}"#);
    assert_eq!(prompts(&swapping, &judgement()), ["p", "p"]);
    assert_eq!(puts(&swapping, &judgement()), puts(&plain, &judgement()));
    assert_eq!(puts(&swapping, &similarity()).len(), 1);
}

#[test]
fn an_answer_in_one_order_is_none_in_the_other() {
    let swapping = judge(r#"{"panel": ["a/b"], "rule": "majority", "repeats": 2, "swap": true}"#);
    let plain = judge(r#"{"panel": ["a/b"], "rule": "majority", "repeats": 2}"#);
    let (swapping, plain) = (puts(&swapping, &comparison()), puts(&plain, &comparison()));
    assert_eq!(swapping[0], plain[0]);
    assert_ne!(swapping[1], plain[1]);
}

#[test]
fn similarities_come_from_the_first_member_of_a_panel_alone() {
    let panel = judge(r#"{"panel": ["a/b", "c/d"], "rule": "majority", "repeats": 3}"#);
    let asked = puts(&panel, &similarity());
    assert_eq!(asked, [Put { to: "a/b".parse().unwrap(), digest: similarity().digest() }]);
}

#[test]
fn the_verdict_of_one_judge_is_none_of_another() {
    let (one, other) = (judge(r#""a/b""#), judge(r#""c/d""#));
    let known = knowing(&one, &judgement(), &["yes"]);
    assert!(known.of(Some(&one)).answer(&judgement()).is_some());
    assert_eq!(known.of(Some(&other)).answer(&judgement()), None);
    assert_eq!(known.of(None).answer(&judgement()), None);
}

#[test]
fn what_is_answered_is_not_entered_again() {
    let panel = judge(r#"{"panel": ["a/b", "c/d"], "rule": "majority"}"#);
    let known = knowing(&panel, &judgement(), &["yes"]);
    let mut open = Open::new();
    let entered = enter(&mut open, &panel, &[judgement()], &known);
    assert_eq!((entered.len(), entered[0].to.to_string()), (1, "c/d".to_owned()));
    assert_eq!(open.len(), 1);
}
