//! Benchmarks that are declared in files, in one process: played by simulated models, from the cache, graded, checked, imported.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;

use regatta_tests::regatta::{finish, regatta, workspace};
use serde_json::Value;

fn folder(name: &str) -> String {
    workspace().join("examples/benchmarks").join(name).display().to_string()
}

/// Runs regatta with `arguments`; its exit code, and what it said.
async fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = regatta().unwrap();
    command.args(arguments);
    let output = finish(command).await.unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.code(), said.concat())
}

fn read(directory: &Path, name: &str) -> String {
    std::fs::read_to_string(directory.join(name)).unwrap()
}

fn results(directory: &Path) -> Vec<Value> {
    read(directory, "results.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_runs_without_key_or_network_and_again_from_its_cache() {
    let place = tempfile::tempdir().unwrap();
    let (first, again, cache) = (place.path().join("first"), place.path().join("again"), place.path().join("cache"));
    let spec = workspace().join("examples/declared.yaml").display().to_string();
    let run_into = async |directory: &Path, mode: &str| {
        let (directory, cache) = (directory.to_str().unwrap(), cache.to_str().unwrap());
        run(&["run", &spec, "--output", directory, "--cache", mode, "--cache-dir", cache]).await
    };
    let (code, said) = run_into(&first, "read_write").await;
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = run_into(&again, "replay").await;
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(read(&first, "results.jsonl"), read(&again, "results.jsonl"));
    let (mut wrong, mut unreadable) = (0, 0);
    for line in results(&first).iter().filter(|line| line["model"] == "sim/noisy-0.3") {
        assert_eq!(line["outcome"], "measured", "{line}");
        if line["scores"]["declared"]["accuracy"] == 0.0 {
            let is_flagged = line["flags"].as_array().is_some_and(|flags| flags.contains(&"invalid_format".into()));
            (wrong, unreadable) = (wrong + u32::from(!is_flagged), unreadable + u32::from(is_flagged));
        }
    }
    assert!(wrong > 0 && unreadable > 0, "{wrong} wrong answers and {unreadable} that could not be read");
    let report = read(&first, "report.md");
    for words in ["arithmetic", "knowledge", "instructions", "functions", "pictures"] {
        assert!(report.contains(words), "{words} is missing in {report}");
    }
}

const JUDGED: &str = "v: 1
data: { test: test.jsonl }
prompt:
  turns: [user: \"{{ request }}\"]
scorers:
  polite:
    judge:
      rubric: Is the answer polite, and does it say the same as the reference?
      question: \"{{ request }}\"
      reference: \"{{ example }}\"
      grades: { no: 0, partly: 0.5, yes: 1 }
simulate: { reply: \"{{ example }}\" }
";

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_grades_by_a_rubric_and_a_benchmark_without_one_is_told_before_anything_runs() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("benchmark.yaml"), JUDGED).unwrap();
    let records: String = ["Thank you, gladly.", "I am sorry, I cannot.", "Good morning to you."]
        .iter()
        .map(|example| format!("{{\"request\": \"Say it kindly ({example})\", \"example\": \"{example}\"}}\n"))
        .collect();
    std::fs::write(place.path().join("test.jsonl"), records).unwrap();
    let spec = place.path().join("spec.yaml");
    let write = |judge: &str| {
        let text = format!(
            "name: polite\nbenchmarks: {{ polite: {{ data: .{judge} }} }}\nendpoints: {{ sim: {{ kind: simulated }} }}\n\
             models: [sim/oracle, sim/noisy-1]\n"
        );
        std::fs::write(&spec, text).unwrap();
    };
    write("");
    let (code, said) = run(&["check", spec.to_str().unwrap()]).await;
    assert_eq!(code, Some(78), "{said}");
    assert!(said.contains("benchmarks.polite.judge: is missing"), "{said}");
    write(", judge: sim/oracle");
    let directory = place.path().join("run");
    let (code, said) = run(&["run", spec.to_str().unwrap(), "--output", directory.to_str().unwrap()]).await;
    assert_eq!(code, Some(0), "{said}");
    let grades: Vec<f64> =
        results(&directory).iter().map(|line| line["scores"]["declared"]["polite"].as_f64().unwrap()).collect();
    assert_eq!(grades, [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
}

/// A question reaches the worker that asks it without the bytes of its images, and one that cannot be sent is not answered.
#[tokio::test(flavor = "multi_thread")]
async fn a_judge_is_sent_the_images_of_what_it_grades() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let shown = JUDGED.replace("      question:", "      images: \"{{ picture }}\"\n      question:");
    std::fs::write(at("benchmark.yaml"), shown).unwrap();
    std::fs::copy(Path::new(&folder("pictures")).join("pictures/square.png"), at("square.png")).unwrap();
    let record =
        "{\"request\": \"Describe it kindly.\", \"example\": \"A fine square it is.\", \"picture\": \"square.png\"}\n";
    std::fs::write(at("test.jsonl"), record).unwrap();
    let spec = "name: shown\nbenchmarks: { shown: { data: ., judge: sim/oracle } }\nendpoints: { sim: { kind: simulated } }\n\
                models: [sim/oracle]\n";
    std::fs::write(at("spec.yaml"), spec).unwrap();
    let (spec, directory) = (at("spec.yaml"), at("run"));
    let (code, said) = run(&["run", spec.to_str().unwrap(), "--output", directory.to_str().unwrap()]).await;
    assert_eq!(code, Some(0), "{said}");
    let grades: Vec<f64> =
        results(&directory).iter().map(|line| line["scores"]["declared"]["polite"].as_f64().unwrap()).collect();
    assert_eq!(grades, [1.0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_ends_a_run_a_larger_one_goes_on_and_a_gate_judges_what_came_of_it() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name).display().to_string();
    let (spec, directory) = (at("spec.yaml"), at("run"));
    let price = "price: { input_per_mtok: 1, output_per_mtok: 2 }";
    let text = format!(
        "name: poor\ntrials: 3\nbenchmarks: {{ knowledge: {{ data: {} }} }}\n\
         endpoints: {{ sim: {{ kind: simulated, limits: {{ concurrency: 1 }} }} }}\nbudget_usd: 0.001\n\
         models: [{{ id: sim/oracle, {price} }}, {{ id: sim/noisy-0.9, {price} }}]\n",
        folder("knowledge")
    );
    std::fs::write(&spec, text).unwrap();
    let measured = || {
        let lines = results(Path::new(&directory));
        lines.iter().filter(|line| line["outcome"] == "measured").count()
    };
    let (code, said) = run(&["run", &spec, "--output", &directory]).await;
    assert_eq!(code, Some(3), "{said}");
    let before = measured();
    let (code, said) = run(&["resume", &directory, "--budget", "+5"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(before < 72 && measured() == 72, "{before} before");
    std::fs::write(at("policy.yaml"), "metrics: { accuracy: { margin: 60pp } }\n").unwrap();
    std::fs::write(at("strict.yaml"), "metrics: { accuracy: { margin: 5pp } }\n").unwrap();
    let (policy, strict) = (at("policy.yaml"), at("strict.yaml"));
    let gate = async |policy: &str, model: &str| {
        let models = ["--model", model, "--baseline-model", "sim/oracle"];
        run(&[&["gate", &directory, "--baseline", &directory, "--policy", policy][..], &models].concat()).await
    };
    let (code, said) = gate(&policy, "sim/oracle").await;
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = gate(&strict, "sim/noisy-0.9").await;
    assert_eq!(code, Some(1), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_benchmark_over_parquet_is_checked_and_run() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name).display().to_string();
    let rows = workspace().join("benchmarks/declared/src/data/parquet_file/rows.parquet");
    std::fs::copy(rows, at("rows.parquet")).unwrap();
    let file = "v: 1\ndata: { test: rows.parquet }\nprompt: { turns: [user: \"Row {{ answer }} of {{ turns | length }} turns\"] }\n\
                scorers: { right: { number: { gold: \"{{ answer }}\" } } }\n";
    std::fs::write(at("benchmark.yaml"), file).unwrap();
    let (code, said) = run(&["check", place.path().to_str().unwrap()]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("3 items") && said.contains("Row 4 of 2 turns"), "{said}");
    let spec = "name: rows\nbenchmarks: { rows: { data: . } }\nendpoints: { sim: { kind: simulated } }\nmodels: [sim/oracle]\n";
    std::fs::write(at("spec.yaml"), spec).unwrap();
    let (code, said) = run(&["run", &at("spec.yaml"), "--output", &at("run")]).await;
    assert_eq!(code, Some(0), "{said}");
    let right: Vec<f64> = results(&place.path().join("run"))
        .iter()
        .map(|line| line["scores"]["declared"]["right"].as_f64().unwrap())
        .collect();
    assert_eq!(right, [1.0, 1.0, 1.0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn check_shows_the_first_prompt_or_the_line_of_what_is_wrong() {
    let (code, said) = run(&["check", &folder("arithmetic")]).await;
    assert_eq!(code, Some(0), "{said}");
    let expected = "12 items, 1 task, settings shots=0, shots=4, metrics accuracy\nfirst prompt (item bakery-1, shots=0):\n  --- system\n  \
                    Solve the problem step by step. End with a line \"#### \" and the number alone.\n  --- user\n  Mara bakes 4 trays of 12 \
                    rolls and sells 31 of them. How many rolls are left?\n";
    assert!(said.ends_with(expected), "{said}");
    let (code, said) = run(&["check", &folder("pictures")]).await;
    assert_eq!(code, Some(0), "{said}");
    let expected = "  --- user\n  (png image of 325 bytes, sha256 f4b6dc50)\n  How many dots are there?\n";
    assert!(said.ends_with(expected), "{said}");
    let place = tempfile::tempdir().unwrap();
    let broken = JUDGED.replace("{{ request }}", "{{ requset }}");
    std::fs::write(place.path().join("benchmark.yaml"), broken).unwrap();
    std::fs::write(place.path().join("test.jsonl"), "{\"request\": \"a\", \"example\": \"b\"}\n").unwrap();
    let (code, said) = run(&["check", place.path().join("benchmark.yaml").to_str().unwrap()]).await;
    assert_eq!(code, Some(78), "{said}");
    assert!(
        said.contains("benchmark.yaml, line 9, scorers.polite.judge.question: ") && said.contains("requset"),
        "{said}"
    );
    // What is neither a benchmark of this build nor a folder that declares one is told both.
    let (code, said) = run(&["check", &folder("../data")]).await;
    assert_eq!(code, Some(78), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_counts_images_as_tokens_and_a_recorded_session_has_their_digests_alone() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name).display().to_string();
    let text = format!(
        "name: seen\nbenchmarks: {{ pictures: {{ data: {}, settings: [shots=0] }} }}\nendpoints: {{ sim: {{ kind: simulated }} }}\n\
         models: [{{ id: sim/oracle, price: {{ input_per_mtok: 1, output_per_mtok: 1 }} }}]\n",
        folder("pictures")
    );
    std::fs::write(at("spec.yaml"), text).unwrap();
    let (code, said) = run(&["run", &at("spec.yaml"), "--dry-run", "--json"]).await;
    assert_eq!(code, Some(0), "{said}");
    let plan: Value = serde_json::from_str(&said[said.find('{').unwrap()..=said.rfind('}').unwrap()]).unwrap();
    let tokens = plan["cells"][0]["input_tokens"].as_u64().unwrap();
    // Eight sessions show ten images.
    assert!((12_000..13_000).contains(&tokens), "{tokens}");
    let (code, said) = run(&["run", &at("spec.yaml"), "--output", &at("run")]).await;
    assert_eq!(code, Some(0), "{said}");
    let mut images = 0;
    for segment in place.path().join("run/transcripts").read_dir().unwrap() {
        let bytes = std::fs::read(segment.unwrap().path()).unwrap();
        let text = String::from_utf8(zstd::decode_all(&bytes[..]).unwrap()).unwrap();
        assert!(!text.contains("iVBORw0KGgo"), "a PNG is among the transcripts: {text}");
        images += text.matches(r#"{"format":"png","digest":""#).count();
    }
    assert_eq!(images, 10);
}

const TASK: &str = "task: sums
test_split: test
doc_to_text: \"{{question}}\\nAnswer:\"
doc_to_target: \"{{answer.split('####')[-1].strip()}}\"
metric_list: [{ metric: exact_match, ignore_case: true, regexes_to_ignore: [','] }]
filter_list:
  - name: last
    filter: [{ function: regex, group_select: -1, regex_pattern: '(-?[0-9.,]*[0-9])' }, { function: take_first }]
";

#[tokio::test(flavor = "multi_thread")]
async fn a_task_of_another_harness_becomes_a_folder_that_scores_predictions() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name).display().to_string();
    std::fs::write(at("sums.yaml"), TASK).unwrap();
    let split = format!("test={}/test.jsonl", folder("arithmetic"));
    let import = ["import", "lm-eval", &at("sums.yaml"), "--split", &split, "--output", &at("sums")];
    let (code, said) = run(&import).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("12 items"), "{said}");
    let (code, said) = run(&import).await;
    assert_eq!(code, Some(78), "nothing is written over: {said}");
    std::fs::write(at("wrong.yaml"), TASK.replace("answer.split", "anwser.split")).unwrap();
    let (code, said) =
        run(&["import", "lm-eval", &at("wrong.yaml"), "--split", &split, "--output", &at("wrong")]).await;
    assert_eq!(code, Some(78), "{said}");
    assert!(said.contains("makes no benchmark that can be read; nothing is written: "), "{said}");
    assert!(!std::fs::exists(at("wrong")).unwrap(), "the next try may have the same folder");
    let predictions = "{\"item\": \"1\", \"output\": \"It is 17.\"}\n{\"item\": \"7\", \"output\": \"1,500\"}\n{\"item\": \"2\", \"output\": \"13\"}\n";
    std::fs::write(at("predictions.jsonl"), predictions).unwrap();
    let (code, said) = run(&[
        "score",
        "sums",
        "--data",
        &at("sums"),
        "--predictions",
        &at("predictions.jsonl"),
        "--out",
        &at("scores.json"),
    ])
    .await;
    assert_eq!(code, Some(0), "{said}");
    let scores: Value = serde_json::from_str(&std::fs::read_to_string(at("scores.json")).unwrap()).unwrap();
    let right = |item: &str| scores["items"][item]["scores"]["exact_match-last"].as_f64().unwrap();
    assert_eq!([right("1"), right("7"), right("2")], [1.0, 1.0, 0.0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn samples_of_inspect_become_a_folder_that_runs_and_scores_predictions() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name).display().to_string();
    let samples = "{\"id\": \"a\", \"question\": \"Which is a tea?\", \"options\": [\"sencha\", \"arabica\"], \"target\": \"A\"}\n\
                   {\"id\": \"b\", \"question\": \"Which is a fruit?\", \"options\": [\"leek\", \"quince\"], \"target\": \"B\"}\n";
    std::fs::write(at("plants.jsonl"), samples).unwrap();
    let import = [
        "import",
        "inspect",
        &at("plants.jsonl"),
        "--input",
        "question",
        "--choices",
        "options",
        "--output",
        &at("plants"),
    ];
    let (code, said) = run(&import).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("2 items") && said.contains("note: the file names no scorer: choice is used"), "{said}");
    let (code, said) = run(&import).await;
    assert_eq!(code, Some(78), "nothing is written over: {said}");
    let (code, said) = run(&["run", &at("plants/sweep.yaml"), "--output", &at("run")]).await;
    assert_eq!(code, Some(0), "{said}");
    let lines = results(&place.path().join("run"));
    let right = lines.iter().filter(|line| line["model"] == "sim/oracle");
    assert!(
        right.clone().count() == 2 && right.clone().all(|line| line["scores"]["declared"]["choice"] == 1.0),
        "{lines:?}"
    );
    std::fs::write(at("beyond.jsonl"), samples.replace("\"B\"", "\"C\"")).unwrap();
    let (code, said) = run(&[
        "import",
        "inspect",
        &at("beyond.jsonl"),
        "--input",
        "question",
        "--choices",
        "options",
        "--output",
        &at("beyond"),
    ])
    .await;
    assert_eq!(code, Some(78), "{said}");
    assert!(said.contains("line 2 (\"b\"): the target \"C\" is none of its 2 choices (AB)"), "{said}");
    assert!(!std::fs::exists(at("beyond")).unwrap(), "nothing is written");
}
