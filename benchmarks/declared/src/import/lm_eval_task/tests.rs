use regatta_benchmark_testing::drive;
use regatta_benchmarks::{Benchmark, Persona, RecordedVerdicts, Scoring, Step};
use regatta_proto::{Evaluator, FileSet, ItemIndex, Transcript};

use super::*;
use regatta_coded::Permissions;

use crate::Declared;

/// In the form of the harness's own task for word problems.
const WORD_PROBLEMS: &str = r#####"
tag: [math_word_problems]
task: word_problems
dataset_path: somewhere/word_problems
output_type: generate_until
training_split: train
fewshot_split: train
test_split: test
doc_to_text: "Question: {{question}}\nAnswer:"
doc_to_target: "{{answer}}"
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
    ignore_case: true
    ignore_punctuation: false
    regexes_to_ignore: [",", "\\$", "(?s).*#### ", "\\.$"]
generation_kwargs:
  until: ["Question:", "</s>"]
  do_sample: false
  temperature: 0.0
repeats: 1
num_fewshot: 1
filter_list:
  - name: strict-match
    filter:
      - { function: regex, regex_pattern: "#### (\\-?[0-9\\.\\,]+)" }
      - { function: take_first }
  - name: flexible-extract
    filter:
      - { function: regex, group_select: -1, regex_pattern: "(-?[$0-9.,]{2,})|(-?[0-9]+)" }
      - { function: take_first }
metadata: { version: 3.0 }
"#####;
const CHOICES: &str = r#"
task: letters
output_type: multiple_choice
validation_split: dev
description: "The following are questions about tea.\n\n"
doc_to_text: "{{question.strip()}}"
doc_to_choice: choices
doc_to_target: answer
metric_list: [{ metric: acc, aggregation: mean, higher_is_better: true }]
"#;

fn files() -> BTreeMap<String, String> {
    ["test", "train", "dev"].map(|split| (split.to_owned(), format!("{split}.jsonl"))).into()
}

fn folder(yaml: &str, records: &str) -> FileSet {
    let mut folder = FileSet::from_origin("folder");
    folder.insert("benchmark.yaml", yaml.to_owned());
    for file in files().into_values() {
        folder.insert(file, records.to_owned());
    }
    folder
}

fn values(suite: &dyn regatta_benchmarks::Suite, reply: &str) -> Vec<f64> {
    let transcript = Transcript::of_recorded(Some(reply));
    match suite.score(ItemIndex(0), &[Evaluator::Declared], &transcript, &RecordedVerdicts::default()) {
        Scoring::Scored(scores) => scores[&Evaluator::Declared].values.values().copied().collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_task_of_patterns_is_imported_and_scores_as_the_harness_does() {
    let imported = lm_eval(WORD_PROBLEMS, &files()).unwrap();
    insta::assert_snapshot!(format!("{}---\n{}", imported.yaml, imported.notes.join("\n")));
    let records =
        "{\"question\": \"a\", \"answer\": \"So\\n#### 1,200\"}\n{\"question\": \"b\", \"answer\": \"x\\n#### 3\"}\n";
    let suite = Declared::new(Permissions::trusting()).load(&folder(&imported.yaml, records)).unwrap();
    // [flexible-extract, strict-match], as the harness's filters and exact_match give them.
    for (reply, expected) in [
        ("It is\n#### 1200", [1.0, 1.0]),
        ("It is\n#### 1,200.", [1.0, 1.0]),
        ("It is $1,200", [1.0, 0.0]),
        ("#### 1200, or rather 1300", [0.0, 1.0]),
        ("none", [0.0, 0.0]),
    ] {
        assert_eq!(values(&*suite, reply), expected, "{reply}");
    }
}

/// Written by `tests/differential/peers.py`.
const VERDICTS: &str = include_str!("../../peers/verdicts.json");

#[test]
fn answers_to_word_problems_have_the_scores_of_the_harness() {
    let verdicts: Value = serde_json::from_str(VERDICTS).unwrap();
    let cases = verdicts["word_problems"].as_array().unwrap();
    let record = |case: &Value| serde_json::json!({ "question": "How many?", "answer": case["answer"] }).to_string();
    let records: Vec<String> = cases.iter().map(record).collect();
    let imported = lm_eval(WORD_PROBLEMS, &files()).unwrap();
    let suite = Declared::new(Permissions::trusting()).load(&folder(&imported.yaml, &records.join("\n"))).unwrap();
    for (item, case) in (0..).map(ItemIndex).zip(cases) {
        let transcript = Transcript::of_recorded(case["output"].as_str());
        let scoring = suite.score(item, &[Evaluator::Declared], &transcript, &RecordedVerdicts::default());
        let Scoring::Scored(scores) = scoring else { panic!("{scoring:?}") };
        let found = serde_json::json!(scores[&Evaluator::Declared].values);
        assert_eq!(found, case["verdicts"], "{case}");
    }
}

#[test]
fn a_multiple_choice_is_answered_by_its_letter() {
    let imported = lm_eval(CHOICES, &files()).unwrap();
    let records = "{\"question\": \" Green? \", \"choices\": [\"sencha\", \"assam\"], \"answer\": 1}\n";
    let suite = Declared::new(Permissions::trusting()).load(&folder(&imported.yaml, records)).unwrap();
    let setting = suite.declared_settings().remove(0);
    let Step::Ask(_, request) = suite.next(ItemIndex(0), &setting, &Transcript::default()) else { panic!() };
    let said: Vec<&str> = request.messages.iter().map(|message| &*message.content).collect();
    let question = "Green?\nA. sencha\nB. assam\nEnd with \"Answer: X\", where X is the letter of your choice.";
    assert_eq!(said, ["The following are questions about tea.", question]);
    assert_eq!((values(&*suite, "Answer: B"), values(&*suite, "Answer: A")), (vec![1.0], vec![0.0]));
    let oracle = drive(&*suite, ItemIndex(0), &setting, Persona::Oracle, 1);
    assert!(!suite.is_invalid_format(ItemIndex(0), &setting, &oracle));
}

#[test]
fn examples_of_a_multiple_choice_show_the_letter() {
    let text = CHOICES.replace("doc_to_text", "num_fewshot: 1\nfewshot_split: train\ndoc_to_text");
    let imported = lm_eval(&text, &files()).unwrap();
    let records = "{\"question\": \"Green?\", \"choices\": [\"sencha\", \"assam\"], \"answer\": 1}\n";
    let suite = Declared::new(Permissions::trusting()).load(&folder(&imported.yaml, records)).unwrap();
    let Step::Ask(_, request) = suite.next(ItemIndex(0), &"default".parse().unwrap(), &Transcript::default()) else {
        panic!()
    };
    assert_eq!(&*request.messages[2].content, "Answer: B");
}

#[test]
fn filters_that_are_no_list_are_refused_and_not_left_out() {
    let task = WORD_PROBLEMS.split("filter_list:").next().unwrap();
    let refused = lm_eval(&format!("{task}filter_list: 3\n"), &files()).unwrap_err();
    assert_eq!(refused, "filter_list must be a list, is 3");
}

#[test]
fn what_has_no_counterpart_is_refused_by_name() {
    let refused = |from: &str, to: &str| lm_eval(&WORD_PROBLEMS.replace(from, to), &files()).unwrap_err();
    let said = [
        refused("doc_to_text: ", "process_docs: !function utils.f\ndoc_to_text: "),
        refused("doc_to_text: ", "process_results: x\ndoc_to_text: "),
        refused("generate_until", "loglikelihood"),
        refused("generate_until", "generate_until_end"),
        refused("metric: exact_match", "metric: bleu"),
        refused("function: take_first", "function: majority_vote"),
        refused("group_select: -1", "group_select: 2"),
        refused("do_sample: false", "num_beams: 4"),
        refused("test_split: test", "test_split: all"),
        refused("num_fewshot: 1", "num_fewshot: 1\nfewshot_config: { sampler: balanced }"),
        lm_eval("[1]", &files()).unwrap_err(),
    ];
    insta::assert_snapshot!(said.join("\n"));
}
