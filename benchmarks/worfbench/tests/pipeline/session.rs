//! Requests of a session, and scores of its answer.

use regatta_benchmark_testing::{ended, session_of_agent};
use regatta_benchmarks::{NoVerdicts, Scoring, Step, Suite};
use regatta_proto::{ChatRequest, Evaluator, ItemIndex, Question, Role, Transcript, Verdict};

use crate::harness::{BOTH, WordOverlap, index_of, miniature, official_files, scored, setting, shared, worfbench};

/// First request of the session of `item`.
pub(crate) fn first_request(suite: &dyn Suite, item: ItemIndex, name: &str) -> ChatRequest {
    match suite.next(item, &setting(name), &Transcript::default()) {
        Step::Ask(Role::Agent, request) => request,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_session_asks_once_with_the_published_parameters() {
    let suite = miniature();
    let item = index_of(&*suite, "os_mini1");
    insta::assert_json_snapshot!("zero_shot", first_request(&*suite, item, "zero-shot"));
    insta::assert_json_snapshot!("two_shot", first_request(&*suite, item, "two-shot"));
    let answered = Transcript::of_recorded(Some("anything"));
    assert_eq!(suite.next(item, &setting("zero-shot"), &answered), Step::Done);
}

#[test]
fn an_external_agent_is_given_the_messages_and_what_it_writes_is_scored_like_a_reply() {
    let suite = miniature();
    let (item, named) = (index_of(&*suite, "lumos_mini1"), setting("external/mine/two-shot"));
    let Step::Delegate(task) = suite.next(item, &named, &Transcript::default()) else { panic!() };
    let asked = first_request(&*suite, item, "two-shot").messages;
    assert_eq!((task.agent.as_str(), &task.input["messages"]), ("mine", &serde_json::to_value(asked).unwrap()));
    let reply = "Node:\n1: find the least common multiple of 12 and 18\nEdge: (START,1) (1,END)";
    let written = session_of_agent(&[ended(reply)]);
    assert_eq!(suite.next(item, &named, &written), Step::Done);
    let score = |transcript: &Transcript| suite.score(item, &BOTH, transcript, &WordOverlap);
    let recorded = Transcript::of_recorded(Some(reply));
    assert_eq!(score(&written), score(&recorded));
    let is_invalid = |transcript: &Transcript| suite.is_invalid_format(item, &named, transcript);
    assert_eq!(is_invalid(&written), is_invalid(&recorded));
}

#[test]
fn held_out_tasks_run_without_examples_in_the_two_shot_setting() {
    let suite = miniature();
    let item = index_of(&*suite, "seal_tools_mini1");
    assert_eq!(first_request(&*suite, item, "two-shot"), first_request(&*suite, item, "zero-shot"));
}

#[test]
fn the_official_messages_are_sent_unchanged_behind_the_prefix() {
    let Some(shared) = shared() else { return };
    let files = official_files(&shared);
    let suite = worfbench().load(&files).unwrap();
    for (task, shots) in [("seal_tools", 0), ("wikihow", 4)] {
        let records: Vec<serde_json::Value> =
            serde_json::from_slice(files.get(&format!("gold_traj/{task}/graph_eval.json")).unwrap()).unwrap();
        for record in &records {
            let item = index_of(&*suite, record["id"].as_str().unwrap());
            let request = first_request(&*suite, item, "two-shot");
            assert_eq!(request.messages.len(), 2 + shots);
            assert_eq!(*request.messages[0].content, *record["conversations"][0]["content"].as_str().unwrap());
            let user = format!("Now it's your turn.\n{}", record["conversations"][1]["content"].as_str().unwrap());
            assert_eq!(*request.messages[1 + shots].content, *user);
        }
    }
}

#[test]
fn one_question_covers_both_evaluators_with_distinct_texts_in_order_of_appearance() {
    let suite = miniature();
    let item = index_of(&*suite, "lumos_mini1");
    let reply = Transcript::of_recorded(Some("Node:\n1: b\n2: a\n3: b\n4) c\nEdge: (START,1)"));
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let gold = ["find the least common multiple of 12 and 18", "add that many minutes to noon"];
    let asked = |evaluators: &[Evaluator]| match suite.score(item, evaluators, &reply, &NoVerdicts) {
        Scoring::Needs(questions) => questions,
        other => panic!("scored without verdicts: {other:?}"),
    };
    assert_eq!(
        asked(&BOTH),
        [Question::Similarity {
            left: texts(&["START", "b", "a", "END", "c"]),
            right: texts(&["START", gold[0], gold[1], "END"]),
        }]
    );
    assert_eq!(
        asked(&[Evaluator::Paper]),
        [Question::Similarity { left: texts(&["b", "a", "c"]), right: texts(&gold) }]
    );
}

#[test]
fn an_answer_without_texts_is_scored_without_asking_and_as_a_failure_is() {
    let suite = miniature();
    let item = index_of(&*suite, "lumos_mini1");
    for reply in [None, Some("sorry"), Some("Node: (START,x)")] {
        let scores = match suite.score(item, &BOTH, &Transcript::of_recorded(reply), &NoVerdicts) {
            Scoring::Scored(scores) => scores,
            other => panic!("asked {other:?}"),
        };
        assert_eq!(scores, suite.score_failure(item, &BOTH));
    }
    insta::assert_json_snapshot!(suite.score_failure(item, &BOTH));
}

#[test]
fn a_verdict_that_does_not_fit_its_question_is_no_verdict() {
    struct Short;
    impl regatta_benchmarks::Verdicts for Short {
        fn answer(&self, _: &Question) -> Option<Verdict> {
            Some(Verdict::Similarity { micro: vec![vec![1]] })
        }
    }
    let suite = miniature();
    let reply = Transcript::of_recorded(Some("Node:\n1: a\n(START,1)"));
    assert!(
        matches!(suite.score(ItemIndex(0), &BOTH, &reply, &Short), Scoring::Needs(questions) if questions.len() == 1)
    );
}

#[test]
fn an_item_beyond_the_data_is_no_session() {
    let suite = miniature();
    let beyond = ItemIndex(9999);
    let nothing = Transcript::default();
    assert!(matches!(suite.next(beyond, &setting("zero-shot"), &nothing), Step::Unfit(_)));
    assert!(suite.score_failure(beyond, &BOTH).is_empty());
    assert!(matches!(suite.score(beyond, &BOTH, &nothing, &WordOverlap), Scoring::Unfit(_)));
}

#[test]
fn values_and_details_of_a_score_keep_their_shapes() {
    let suite = miniature();
    let item = index_of(&*suite, "os_mini2");
    let reply = "Node:\n1: make /opt/tidy.sh executable\n2: do something else\n3: finish the task\n\
                 Edge: (START,1) (1,2) (2,3) (3,END)";
    let both: Vec<_> = BOTH.iter().map(|evaluator| scored(&*suite, item, *evaluator, Some(reply))).collect();
    insta::assert_json_snapshot!(both);
}

#[test]
fn columns_are_those_of_the_main_table_and_the_held_out_tasks_stand_apart() {
    let suite = miniature();
    let items = ["wikihow_mini1", "os_mini1", "seal_tools_mini1"].map(|id| index_of(&*suite, id));
    let scores = items.map(|item| suite.score_failure(item, &BOTH).remove(&Evaluator::Paper).unwrap());
    let pairs: Vec<_> = items.into_iter().zip(&scores).collect();
    let table = suite.tabulate(Evaluator::Paper, &[pairs]);
    insta::assert_json_snapshot!(table.columns);
    assert!(suite.tabulate(Evaluator::Official, &[]).columns.iter().all(|(_, value)| value.is_none()));
}
