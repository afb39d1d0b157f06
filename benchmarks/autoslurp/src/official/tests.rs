//! All golden vectors of the official evaluators, and what holds for any input.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use regatta_benchmark_testing::lines;
use regatta_proto::{Digest, Evaluator, Question, Script};
use serde_json::{Map, Value};

use super::case::{self, Inputs};
use super::judge::{FINAL, SLOT};
use super::*;
use crate::data::Utterance;

/// The folder with data and golden cases beside the project, if there is one.
fn shared() -> Option<PathBuf> {
    regatta_benchmark_testing::shared("autoslurp")
}

fn rows(path: &Path) -> Vec<Utterance> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let rows = reader.records().map(|record| {
        let record = record.unwrap();
        let field = |at: usize| record.get(at).unwrap_or_default().to_owned();
        Utterance { iid: field(0), text: field(1), intent: field(2), slots: field(3), domain: field(4) }
    });
    rows.collect()
}

/// A case, its expected value, and what is computed.
struct Golden {
    name: String,
    expected: Value,
    computed: Value,
    folder: PathBuf,
}

fn golden(kinds: &[&str]) -> Vec<Golden> {
    let Some(shared) = shared() else { return Vec::new() };
    let datasets = ["data/test.csv", "data/train.csv", "data_5k/test_1k.csv", "data_5k/train_5k.csv"]
        .map(|path| (path, rows(&shared.join("data").join(path))));
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(shared.join("golden")).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    let mut cases = Vec::new();
    for folder in folders {
        let read = |name: &str| std::fs::read(folder.join(name)).ok();
        let case: Value = serde_json::from_slice(&read("case.json").unwrap()).unwrap();
        let kind = case["kind"].as_str().unwrap_or_default();
        if !kinds.contains(&kind) {
            continue;
        }
        let params: Map<String, Value> = case["params"].as_object().unwrap().clone();
        let (predictions, judge) = (read("predictions.jsonl").unwrap(), read("judge.jsonl"));
        let inputs = Inputs {
            origin: "golden",
            params: &params,
            predictions: &predictions,
            judge: judge.as_deref(),
            rows: &|path| datasets.iter().find(|(known, _)| *known == path).map(|(_, rows)| rows.as_slice()),
        };
        let script = || match case["outputs"]["expected.json"].as_str().unwrap().parse().unwrap() {
            Evaluator::OfficialOf(script) => Some(script),
            evaluator => {
                assert_eq!(evaluator, Evaluator::Official);
                None
            }
        };
        let computed = match kind {
            "logs" => case::logs(&inputs, script()),
            "crash" => case::crash(&inputs),
            "resolve" => case::resolve(&inputs),
            _ => case::stat_lines(&inputs),
        };
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let computed = computed.unwrap_or_else(|error| unreachable!("{name}: {error}"));
        let expected = serde_json::from_slice(&read("expected.json").unwrap()).unwrap();
        cases.push(Golden { name, expected, computed, folder });
    }
    cases
}

/// Differences, as the tool that compares golden cases finds them; and how many values were compared.
fn differences(want: &Value, got: &Value, at: &str, found: &mut Vec<String>) -> usize {
    match (want, got) {
        (Value::Object(want), Value::Object(got)) => want
            .iter()
            .map(|(key, want)| differences(want, got.get(key).unwrap_or(&Value::Null), &format!("{at}/{key}"), found))
            .sum(),
        (Value::Array(want), Value::Array(got)) if want.len() == got.len() => {
            want.iter().zip(got).enumerate().map(|(i, (w, g))| differences(w, g, &format!("{at}[{i}]"), found)).sum()
        }
        _ => {
            let close = |(want, got): (f64, f64)| (want - got).abs() <= 1e-9 * want.abs().max(1.0);
            let equal = want == got || want.as_f64().zip(got.as_f64()).is_some_and(close);
            if !equal {
                found.push(format!("{at}: want {want}, got {got}"));
            }
            1
        }
    }
}

fn assert_golden(kinds: &[&str], cases: usize) {
    let golden = golden(kinds);
    if shared().is_some() {
        assert_eq!(golden.len(), cases);
    }
    for Golden { name, expected, computed, .. } in golden {
        let mut found = Vec::new();
        let mut compared = 0;
        for part in ["aggregate", "items"] {
            compared += differences(&expected[part], &computed[part], part, &mut found);
        }
        eprintln!("{name}: {compared} values, {} differ", found.len());
        assert!(found.is_empty(), "{name}: {}\n{}", found.len(), found[..found.len().min(5)].join("\n"));
    }
}

#[test]
fn logs_are_scored_as_the_official_scripts_score_them() {
    assert_golden(&["logs"], 10);
}

#[test]
fn runs_that_abort_are_counted_as_the_official_code_counts_them() {
    assert_golden(&["crash"], 1);
}

#[test]
fn slots_are_resolved_as_the_official_code_resolves_them() {
    assert_golden(&["resolve"], 1);
}

#[test]
fn printed_lines_are_counted_as_the_official_code_counts_them() {
    assert_golden(&["stat_lines"], 1);
}

/// The prompt that a recorded judge was shown has this length and hash. What DeepSeek's judge for AutoGen is shown in its second try is
/// known in content alone.
#[test]
fn judges_are_shown_what_the_official_judges_were_shown() {
    let Some(shared) = shared() else { return };
    let mut checked = 0;
    for Golden { expected, folder, .. } in golden(&["logs"]) {
        let lines = |name: &str| lines(&folder.join(name));
        let script = match expected["evaluator"].as_str().unwrap().parse().unwrap() {
            Evaluator::OfficialOf(script) => Some(script),
            _ => None,
        };
        let today = expected["today"].as_str().unwrap().parse().unwrap();
        let rows = rows(&shared.join("data").join(expected["dataset"].as_str().unwrap()));
        let recorded = lines("judge.jsonl");
        for line in lines("predictions.jsonl") {
            let item = &line["item"];
            let utterance = &rows[usize::try_from(item.as_u64().unwrap()).unwrap()];
            let subject = Subject { item: "x", utterance, today, log: line["log"].as_str().unwrap() };
            let asked = std::cell::RefCell::new(Vec::new());
            let answers = |question: &Question| {
                let Question::Judgement { kind, about, prompt, .. } = question else { return None };
                let is_meant = |line: &&Value| {
                    line["item"] == *item
                        && line["stage"] == **kind
                        && line["attempt"].as_u64() == about[2].parse().ok()
                };
                let line = recorded.iter().find(is_meant)?;
                asked.borrow_mut().push((prompt.clone(), line.clone()));
                let text = |field: &str| line[field].as_str().map(str::to_owned);
                let said = Answer::Said { content: text("content"), refusal: text("refusal") };
                Some(if line["error"].is_null() { said } else { Answer::Raised })
            };
            score(script, &subject, &answers).unwrap();
            for (prompt, line) in asked.into_inner() {
                if script == Some(Script::AutogenDeepseek) && line["branch"] == "final_external" && line["attempt"] == 2
                {
                    assert!(prompt.contains("Today is 2025-05-28."));
                    continue;
                }
                assert_eq!(line["user_chars"], prompt.chars().count());
                assert_eq!(line["user_sha256"], Digest::of(prompt.as_bytes()).to_string());
                checked += 1;
            }
        }
    }
    eprintln!("{checked} prompts");
    assert!(checked > 1200, "{checked}");
}

fn utterance() -> Utterance {
    Utterance {
        iid: "7".to_owned(),
        text: "say the list".to_owned(),
        intent: "lists_query".to_owned(),
        slots: "[]".to_owned(),
        domain: "lists".to_owned(),
    }
}

fn subject<'a>(utterance: &'a Utterance, log: &'a str) -> Subject<'a> {
    Subject { item: "4", utterance, today: jiff::civil::date(2025, 5, 28), log }
}

const LOG: &str = "http://h:3008/lists?intent=lists_query\n{\"code\":\"SUCCESS\",\"data\":{},\"msg\":\"success\"}\n";

fn about(question: &Question) -> (&str, &[String]) {
    match question {
        Question::Judgement { kind, about, .. } => (kind, about),
        Question::Similarity { .. } => ("", &[]),
    }
}

#[test]
fn both_judges_are_asked_at_once() {
    let utterance = utterance();
    let missing = score(None, &subject(&utterance, LOG), &|_| None).unwrap_err();
    let asked: Vec<_> = missing.iter().map(about).collect();
    let named = |attempt: &str| ["4", "official", attempt].map(str::to_owned);
    assert_eq!(asked, [(SLOT, &named("1")[..]), (FINAL, &named("1")[..])]);
}

fn said(content: &str) -> Option<Answer> {
    Some(Answer::Said { content: Some(content.to_owned()), refusal: None })
}

#[test]
fn a_judge_that_could_not_be_asked_is_asked_again_with_less_of_the_log() {
    let utterance = utterance();
    let log = format!("{}\n{LOG}", "é".repeat(40_000));
    let second = |script, gold: &Utterance| {
        let answers = |question: &Question| match about(question) {
            (FINAL, [_, _, attempt]) if attempt == "2" => None,
            (FINAL, _) => Some(Answer::Raised),
            _ => said("right"),
        };
        let missing = score(script, &subject(gold, &log), &answers).unwrap_err();
        let Some(Question::Judgement { prompt, .. }) = missing.first() else { return 0 };
        let shown = prompt.split_once('\n').and_then(|(_, rest)| rest.strip_suffix("\nyour answer is :"));
        shown.map_or(0, |shown| shown.chars().count())
    };
    let external = Utterance { intent: "qa_stock".to_owned(), ..utterance.clone() };
    assert_eq!((second(None, &utterance), second(None, &external)), (16_000, 16_000));
    let script = Some(Script::AutogenDeepseek);
    assert_eq!((second(script, &utterance), second(script, &external)), (16_000, 32_000));
}

#[test]
fn camelai_gives_up_at_once_on_local_items() {
    let utterance = utterance();
    let log = "intent:lists_query,\n{\"code\":\"SUCCESS\",\"data\":1}";
    let answers = |question: &Question| if about(question).0 == SLOT { said("right") } else { Some(Answer::Raised) };
    let score = score(Some(Script::Camelai), &subject(&utterance, log), &answers).unwrap();
    assert_eq!((&score.detail["verdict"], &score.detail["aborted"]), (&Value::from("right"), &Value::from(true)));
}

#[test]
fn without_a_judge_of_slots_nothing_is_said_of_the_item() {
    let utterance = utterance();
    let score = score(None, &subject(&utterance, LOG), &|_| Some(Answer::Raised)).unwrap();
    assert_eq!((&score.detail["verdict"], &score.detail["aborted"]), (&Value::from("error"), &Value::from(true)));
    assert_eq!(score.values["error"], 1.0);
}

#[test]
fn what_was_not_understood_is_an_error_officially_and_wrong_in_the_paper() {
    let utterance = utterance();
    let mut score = score(None, &subject(&utterance, LOG), &|_| said("hm")).unwrap();
    assert_eq!(["right", "wrong", "error"].map(|name| score.values[name]), [0.0, 0.0, 1.0]);
    assert_eq!(["unparsable_slot", "unparsable_final", "static_wrong"].map(|name| score.values[name]), [1.0, 1.0, 0.0]);
    let paper = paper::of_official(&score);
    score.detail = Value::Null;
    assert_eq!(tabulate(None, &[vec![(0, &score)]]).aggregate["acc"], 0.01, "the last item");
    assert_eq!(paper::tabulate(&[vec![(0, &paper)]]).aggregate["acc"], 0.0);
}

#[test]
fn every_score_has_the_values_of_a_failure() {
    let utterance = utterance();
    let names = |score: &regatta_benchmarks::Score| score.values.keys().cloned().collect::<Vec<_>>();
    for log in ["", LOG, "general_quirky"] {
        let scored = score(None, &subject(&utterance, log), &|_| said("right")).unwrap();
        assert_eq!(names(&scored), names(&failure()));
    }
    assert_eq!((failure().values["wrong"], paper::failure().values["right"]), (1.0, 0.0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_log_is_scored_by_every_script(
        parts in proptest::collection::vec(prop_oneof![
            Just("http://h/"), Just("intent="), Just("intent:"), Just("\"intent\": \""), Just("lists_query"), Just("qa"), Just(","),
            Just("\n"), Just("\r"), Just("{\"code\":\"SUCCESS\",\"data\""), Just("}"), Just("\"data\""), Just("\u{1b}"), Just("\\n"),
            Just("======"), Just("2025-01-02"), Just("domain:lists,"), Just("é"), Just(" "),
        ], 0..40),
        reply in "(|right|wrong|<Right>|<Wrong>|hm)", is_external: bool, noise in any::<String>(),
    ) {
        let mut utterance = utterance();
        if is_external {
            utterance.intent = "qa_maths".to_owned();
        }
        for log in [parts.concat(), noise.clone() + &parts.concat()] {
            for script in Script::ALL.map(Some).into_iter().chain([None]) {
                let score = score(script, &subject(&utterance, &log), &|_| said(&reply)).unwrap();
                let verdicts: f64 = ["right", "wrong", "error"].iter().map(|name| score.values[*name]).sum();
                prop_assert_eq!(verdicts, 1.0);
                tabulate(script, &[vec![(0, &score)]]);
            }
        }
    }
}

/// Texts in which every search finds a beginning everywhere, and no end: if one began anew each time, this would take hours.
#[test]
fn long_logs_are_searched_in_one_pass() {
    let utterance = utterance();
    for part in
        ["http://intent:intent=", "http://x\n", "intent:a", "{\"code\":\"SUCCESS\",\"data\":1", "\"intent\": \"a", "\r"]
    {
        let log = part.repeat((256 << 10) / part.len());
        for script in Script::ALL.map(Some).into_iter().chain([None]) {
            let score = score(script, &subject(&utterance, &log), &|_| said("right")).unwrap();
            assert!(score.detail["resolved_slot"].is_string());
        }
    }
}
