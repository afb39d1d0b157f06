//! Whole runs with simulated models in every role.

use std::collections::BTreeMap;

use proptest::prelude::*;
use regatta_benchmark_testing::{SimulatedJudge, answered, drive};
use regatta_benchmarks::{NoVerdicts, Persona, Score, Scores, Scoring, Step, Suite};
use regatta_proto::{Evaluator, Event, ItemIndex, Question, Reply, Role, Transcript};

use crate::harness::{flowbench, miniature, published, setting};

const ALL: [Evaluator; 3] = [Evaluator::Official, Evaluator::OfficialFixed, Evaluator::Paper];

pub(crate) fn score(suite: &dyn Suite, item: ItemIndex, transcript: &Transcript) -> Scores {
    match suite.score(item, &ALL, transcript, &SimulatedJudge(suite)) {
        Scoring::Scored(scores) => scores,
        other => panic!("{other:?}"),
    }
}

/// Sums of the flat values of all items of a setting, by evaluator.
fn sums(suite: &dyn Suite, name: &str, agent: Persona) -> BTreeMap<(Evaluator, String), f64> {
    let setting = setting(name);
    let mut sums = BTreeMap::new();
    for item in suite.select(&setting, &[], None).unwrap() {
        let transcript = drive(suite, item, &setting, agent, 7);
        for (evaluator, Score { values, .. }) in score(suite, item, &transcript) {
            for (value, number) in values {
                *sums.entry((evaluator, value)).or_default() += number;
            }
        }
    }
    sums
}

fn sum(sums: &BTreeMap<(Evaluator, String), f64>, evaluator: Evaluator, value: &str) -> f64 {
    sums.get(&(evaluator, value.to_owned())).copied().unwrap_or_default()
}

#[test]
fn the_oracle_makes_every_gold_call_of_every_turn() {
    let suite = miniature();
    for format in ["none", "text", "code", "flowchart"] {
        let sums = sums(&*suite, &format!("turn/single/{format}"), Persona::Oracle);
        for evaluator in ALL {
            let of = |value| sum(&sums, evaluator, value);
            assert!(of("all_function") > 0.0);
            assert_eq!((of("right_function"), of("all_function_pred")), (of("all_function"), of("all_function")));
            assert_eq!((of("right_params"), of("all_params_pred")), (of("all_params"), of("all_params")));
        }
    }
}

#[test]
fn the_oracles_conversations_reach_every_goal() {
    let suite = miniature();
    for scope in ["single", "cross"] {
        for format in ["none", "text", "code", "flowchart", "none_wo_tool", "ensemble"] {
            let name = format!("session/{scope}/{format}");
            let sessions = suite.select(&setting(&name), &[], None).unwrap().len() as f64;
            let sums = sums(&*suite, &name, Persona::Oracle);
            for evaluator in [Evaluator::OfficialFixed, Evaluator::Paper] {
                let of = |value| sum(&sums, evaluator, value);
                assert_eq!(of("right_calls"), of("gold_calls"), "{name} {evaluator}");
                assert_eq!((of("success"), of("progress")), (sessions, sessions), "{name} {evaluator}");
            }
        }
    }
}

#[test]
fn conversations_under_the_limits_of_the_released_code_are_scored_as_they_ended() {
    let suite = miniature();
    let sums = sums(&*suite, "session/single/flowchart/code-limits", Persona::Oracle);
    let of = |value| sum(&sums, Evaluator::OfficialFixed, value);
    assert!(of("gold_calls") > 0.0 && of("right_calls") == of("gold_calls"));
}

#[test]
fn more_noise_scores_worse() {
    let suite = miniature();
    for (name, right) in [("turn/single/flowchart", "right_function"), ("session/single/text", "right_calls")] {
        let of = |p| sum(&sums(&*suite, name, Persona::Noisy(p)), Evaluator::OfficialFixed, right);
        let (little, much) = (of(0.1), of(0.9));
        assert!(little > much, "{name}: {little} {much}");
    }
}

#[test]
fn every_prefix_of_a_transcript_goes_on_in_the_same_way() {
    let suite = miniature();
    let setting = setting("session/cross/flowchart");
    let item = suite.select(&setting, &[], None).unwrap()[0];
    let whole = drive(&*suite, item, &setting, Persona::Noisy(0.4), 3);
    for length in 0..whole.events.len() {
        let prefix = Transcript { events: whole.events[..length].to_vec() };
        let Event::Call(next) = &whole.events[length] else { panic!("only calls") };
        assert_eq!(suite.next(item, &setting, &prefix), Step::Ask(next.role, next.request.clone()));
    }
}

#[test]
fn who_takes_part_depends_on_the_level() {
    let suite = miniature();
    assert_eq!(suite.roles(&setting("turn/single/text")), [Role::Agent]);
    assert_eq!(suite.roles(&setting("session/single/text")), [Role::Agent, Role::User, Role::Environment]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_noise_ends_and_is_scored(noise in 0.0_f64..=1.0, seed: u64, at: prop::sample::Index) {
        let suite = miniature();
        for name in ["turn/cross/flowchart", "session/single/none"] {
            let setting = setting(name);
            let items = suite.select(&setting, &[], None).unwrap();
            let item = *at.get(&items);
            let transcript = drive(&*suite, item, &setting, Persona::Noisy(noise), seed);
            prop_assert_eq!(&transcript, &drive(&*suite, item, &setting, Persona::Noisy(noise), seed));
            let failure = suite.score_failure(item, &ALL);
            for (evaluator, score) in score(&*suite, item, &transcript) {
                for (value, number) in &score.values {
                    prop_assert!(number.is_finite());
                    prop_assert!(failure[&evaluator].values.contains_key(value), "{} {}", evaluator, value);
                }
            }
        }
    }
}

/// The oracle's answers are right in every call, parameter and node, through the whole interface.
#[test]
fn the_oracle_scores_what_the_gold_scores_on_all_synthetic_turns() {
    let Some(suite) = published() else { return };
    let mut totals: BTreeMap<&str, f64> = BTreeMap::new();
    for name in ["turn/single/flowchart", "turn/cross/flowchart"] {
        let sums = sums(&*suite, name, Persona::Oracle);
        for value in ["all_function", "right_function", "all_params", "right_params", "node_right"] {
            *totals.entry(value).or_default() += sum(&sums, Evaluator::Paper, value);
        }
    }
    let expected = [
        ("all_function", 1203.0),
        ("all_params", 2655.0),
        ("node_right", 5313.0),
        ("right_function", 1203.0),
        ("right_params", 2655.0),
    ];
    assert_eq!(totals.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn an_oracle_is_drawn_on_its_flowcharts_and_never_leaves_them() {
    let suite = miniature();
    for name in ["turn/single/flowchart", "turn/cross/flowchart", "session/single/flowchart", "session/cross/flowchart"]
    {
        let setting = setting(name);
        let mut drawn = 0;
        for item in suite.select(&setting, &[], None).unwrap() {
            let transcript = drive(&*suite, item, &setting, Persona::Oracle, 1);
            for picture in suite.pictures(item, &setting, &transcript) {
                drawn += 1;
                assert!(
                    !picture.title.is_empty() && picture.svg.starts_with("<svg") && picture.svg.contains("visited")
                );
                assert!(!picture.text.contains("goes to"), "{name} {item:?}: {}", picture.text);
            }
        }
        assert!(drawn > 0, "{name}");
    }
}

#[test]
fn nodes_that_nobody_drew_are_shown_as_such_and_nothing_said_is_no_picture() {
    let suite = miniature();
    let setting = setting("session/single/flowchart");
    let item = suite.select(&setting, &[], Some(1)).unwrap()[0];
    assert!(suite.pictures(item, &setting, &Transcript::default()).is_empty());
    let said = r#"[{"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Thought: intent=x, current_node=<b>ZZ999</b>.\nResponse: r"}]"#;
    let pictures = suite.pictures(item, &setting, &Transcript::of_recorded(Some(said)));
    assert_eq!(pictures.len(), 1);
    assert!(pictures[0].text.contains("there is no such node") && !pictures[0].svg.contains("<b>"), "{pictures:?}");
}

#[test]
fn a_transcript_that_is_none_of_its_session_is_neither_gone_on_with_nor_scored() {
    let suite = miniature();
    for name in ["turn/single/flowchart", "session/single/flowchart", "session/cross/text/code-limits"] {
        let setting = setting(name);
        let item = suite.select(&setting, &[], Some(1)).unwrap()[0];
        let whole = drive(&*suite, item, &setting, Persona::Oracle, 1);
        let Some(Event::Call(first)) = whole.events.first() else { panic!("nothing was asked") };
        let stranger = answered(Role::Environment, first.request.clone(), Reply::said("{}"));
        for at in [0, whole.events.len()] {
            let mut events = whole.events.clone();
            events.insert(at, stranger.clone());
            let transcript = Transcript { events };
            let Step::Unfit(reason) = suite.next(item, &setting, &transcript) else { panic!("{name} {at}") };
            assert!(reason.contains(&format!("call {} is with the environment", at + 1)), "{name}: {reason}");
            let scoring = suite.score(item, &ALL, &transcript, &SimulatedJudge(&*suite));
            assert!(matches!(scoring, Scoring::Unfit(_)), "{name} {at}: {scoring:?}");
        }
    }
}

#[test]
fn a_session_that_is_not_at_its_end_is_not_scored() {
    let suite = miniature();
    for name in ["turn/single/flowchart", "session/single/flowchart"] {
        let setting = setting(name);
        let item = suite.select(&setting, &[], Some(1)).unwrap()[0];
        let mut transcript = drive(&*suite, item, &setting, Persona::Oracle, 1);
        transcript.events.pop();
        let scoring = suite.score(item, &ALL, &transcript, &SimulatedJudge(&*suite));
        assert_eq!(scoring, Scoring::Unfit("the session is not at its end".to_owned()), "{name}");
    }
}

#[test]
fn a_prediction_that_holds_no_messages_is_no_conversation() {
    let suite = miniature();
    let item = suite.select(&setting("session/single/text"), &[], Some(1)).unwrap()[0];
    let predictions = [(item, Transcript::of_recorded(Some("not a list")))];
    let verdicts = regatta_benchmarks::RecordedVerdicts::default();
    let error =
        regatta_benchmarks::score_predictions(&*suite, None, Evaluator::Paper, &predictions, &verdicts).unwrap_err();
    let id = &suite.items()[item.0 as usize].id;
    assert!(error.to_string().starts_with(&format!("failed to score item {id}: ")), "{error}");
}

/// A module in the form of the official `utils/eval_utils.py`, with other texts.
const OFFICIAL: &str = r#"USER_PROMPT_INSTRUCTION_IN = """
Play a user. ${instruction} Now: ${datetime}. Say ${done} at the end.
""".strip()
USER_PROMPT_CONTEXT = """
${instruction}
Until now:
${context}
"""
USER_INSTRUCTION_HINT = "Your part: ${hint}\n"
PROMPT_FUNCTION_INSTRUCTION = """Answer for the tool.
"""
PROMPT_FUNCTION_INPUT = """Name: ${name}
Takes ${param_def}, gives ${resp_def} at ${datetime}
${dial}
Called with: ${args}
"""
class FunctionAgent:
    def prepare_prompt(self, name, args, msg_list):
        prompt_system = PROMPT_FUNCTION_INSTRUCTION
        prompt_system += "Known:\n"
        prompt_system += self.func_prompt + "\n"
def contruct_eval_prompt(key, gt_val, pred_val, eval_prompt, action):
    return_prompt = "Compare for " + action + "\n"
    return_prompt += ret_info + "\n" + time_info + "\n"
    return_prompt += "the " + key + ", yes or no:\n"
    return_prompt += "one = " + gt_val + "\n"
    return_prompt += "two = " + pred_val + "\n"
    return return_prompt
def construct_judge_prompt(target, workflow_info, dialog_str):
    success_prompt = "Reached?\n"
    success_prompt += target + "\n=== workflow\n"
    success_prompt += workflow_info + "\n=== dialogue\n"
    success_prompt += dialog_str + "\n=== end\n"
    return success_prompt
"#;

/// The miniature with the official module beside it.
fn miniature_with_official() -> std::sync::Arc<dyn Suite> {
    let mut files = regatta_benchmark_testing::miniature(flowbench());
    assert!(flowbench().wants("FlowBench/utils/eval_utils.py"));
    files.insert("FlowBench/utils/eval_utils.py", OFFICIAL.as_bytes());
    flowbench().load(&files).unwrap()
}

#[test]
fn beside_the_official_module_simulators_are_told_what_it_says_and_conversations_go_as_well() {
    let suite = miniature_with_official();
    let setting = setting("session/single/flowchart");
    let item = suite.select(&setting, &[], Some(1)).unwrap()[0];
    let transcript = drive(&*suite, item, &setting, Persona::Oracle, 1);
    let told = |role: Role| {
        let call = transcript.calls().find(|call| call.role == role).unwrap();
        call.request.messages.iter().map(|message| message.content.to_string()).collect::<Vec<_>>()
    };
    let [system, text] = &told(Role::User)[..] else { panic!("two messages") };
    assert!(system.starts_with("Play a user. ") && system.ends_with("Say [DONE] at the end."), "{system}");
    assert!(text.starts_with("\nYour part: ") && text.ends_with("\nUntil now:\n\n"), "{text}");
    let [system, text] = &told(Role::Environment)[..] else { panic!("two messages") };
    assert!(system.starts_with("Answer for the tool.\nKnown:\nAction: "), "{system}");
    assert!(text.starts_with("Name: ") && text.contains("\nUser: ") && text.contains("Called with: {"), "{text}");
    let values = &score(&*suite, item, &transcript)[&Evaluator::Paper].values;
    assert!(values["gold_calls"] > 0.0 && values["right_calls"] == values["gold_calls"], "{values:?}");
}

#[test]
fn beside_the_official_module_judges_are_told_what_it_says_and_all_else_stays() {
    let (own, official) = (miniature(), miniature_with_official());
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for name in ["turn/single/flowchart", "session/single/flowchart"] {
        let setting = setting(name);
        for item in own.select(&setting, &[], None).unwrap() {
            let transcript = drive(&*own, item, &setting, Persona::Noisy(0.5), 5);
            assert_eq!(score(&*own, item, &transcript), score(&*official, item, &transcript));
            let asked = |suite: &dyn Suite| match suite.score(item, &ALL, &transcript, &NoVerdicts) {
                Scoring::Needs(questions) => questions,
                _ => Vec::new(),
            };
            let (ours, theirs) = (asked(&*own), asked(&*official));
            assert_eq!(ours.len(), theirs.len());
            for (own, official) in ours.into_iter().zip(theirs) {
                let Question::Judgement { kind, prompt, swapped, .. } = &official else { panic!("no judgement") };
                *kinds.entry(kind.clone()).or_default() += 1;
                match kind.as_str() {
                    "fuzzy" => {
                        let swapped = swapped.as_deref().unwrap();
                        assert!(prompt.starts_with("Compare for ") && swapped.starts_with("Compare for "), "{prompt}");
                        let lines = |text: &str| {
                            let (one, two) = text.rsplit_once("\none = ").unwrap().1.split_once("\ntwo = ").unwrap();
                            (one.to_owned(), two.trim_end_matches('\n').to_owned())
                        };
                        let (one, two) = lines(prompt);
                        assert_eq!(lines(swapped), (two, one));
                    }
                    "completion" => {
                        assert!(prompt.starts_with("Reached?\n") && prompt.ends_with("\n=== end\n"), "{prompt}");
                    }
                    _ => assert_eq!(own, official),
                }
                assert_eq!(without_words(own), without_words(official));
            }
        }
    }
    assert!(["fuzzy", "completion", "response_score"].iter().all(|kind| kinds.contains_key(*kind)), "{kinds:?}");
}

/// The question without the texts of its prompts.
fn without_words(question: Question) -> Question {
    match question {
        Question::Judgement { kind, about, before, accept, replies_max, .. } => {
            Question::Judgement { kind, about, before, prompt: String::new(), swapped: None, accept, replies_max }
        }
        other => other,
    }
}

#[test]
fn a_setting_runs_the_sessions_of_every_length() {
    let suite = miniature();
    let count = |name: &str| suite.select(&setting(name), &[], None).unwrap().len();
    for scope in ["single", "cross"] {
        let longer = count(&format!("session/{scope}/text"));
        assert!(count(&format!("session/{scope}/text/all-lengths")) >= longer && longer > 0);
    }
    let Some(suite) = published() else { return };
    let count = |name: &str| suite.select(&setting(name), &[], None).unwrap().len();
    assert_eq!((count("session/single/none"), count("session/cross/none")), (262, 149));
    let all = ["session/single/none/all-lengths", "session/cross/none/code-limits/all-lengths"].map(count);
    assert_eq!(all, [335, 201]);
}
