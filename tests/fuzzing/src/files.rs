//! Files of people: data sets, declared benchmarks, predictions, imports, prices, recorded verdicts.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bytes::Bytes;
use regatta_benchmark_testing::{examples, miniature, read_folder};
use regatta_benchmarks::{Benchmark, RecordedVerdicts};
use regatta_declared::{Declared, InspectOptions, Permissions, inspect, lm_eval};
use regatta_export::predictions::{FieldPath, Predictions};
use regatta_llm::{Import, PriceTable};
use regatta_proto::{FileSet, Question, Verdict};

use crate::answers::LOADED;
use crate::benchmarks::BUILT_IN;
use crate::input::Input;
use crate::runs;

/// Most further bytes of a file that an edit keeps, so that a small input stays a small file.
const KEPT_MAX: usize = 64 << 10;

pub(crate) static BENCHMARKS: LazyLock<Vec<(&'static dyn Benchmark, FileSet)>> =
    LazyLock::new(|| BUILT_IN.iter().map(|benchmark| (*benchmark, miniature(*benchmark))).collect());

pub(crate) static DECLARED: LazyLock<Vec<FileSet>> = LazyLock::new(|| {
    let names = ["arithmetic", "functions", "instructions", "knowledge"];
    names.map(|name| read_folder(&examples().join("benchmarks").join(name), None)).into()
});

pub(crate) fn run(data: &[u8]) {
    let mut input = Input(data);
    match input.byte() % 11 {
        0 => data_set(input),
        1 => declared(input),
        2 => definition(input),
        3 => predictions(input),
        4 => task(input),
        5 => log(input),
        6 => lines(input),
        7 => prices(input),
        8 => verdicts(input),
        9 => runs::run(input),
        _ => runs::summary(input),
    }
}

/// A published data set with an edit in one of its files.
fn data_set(mut input: Input<'_>) {
    let (benchmark, files) = input.choose(&BENCHMARKS);
    let files = edited(files, &mut input);
    if let Ok(suite) = benchmark.load(&files) {
        for setting in benchmark.settings() {
            let Ok(items) = suite.select(&setting, &[], Some(1)) else { continue };
            if let Some(item) = items.first() {
                suite.next(*item, &setting, &regatta_proto::Transcript::default());
            }
        }
    }
}

/// A declared benchmark with an edit in one of its files.
fn declared(mut input: Input<'_>) {
    let files = input.choose(&DECLARED);
    load_declared(&edited(files, &mut input));
}

/// A definition of one's own, and its data.
fn definition(input: Input<'_>) {
    let (definition, data) = input.halves();
    let mut files = FileSet::from_origin("input");
    files.insert("benchmark.yaml", definition.to_vec());
    for name in ["test.jsonl", "test.csv", "test.json"] {
        files.insert(name, data.to_vec());
    }
    load_declared(&files);
}

fn load_declared(files: &FileSet) {
    let benchmark = Declared::new(Permissions::none());
    // A program that the definition names is none that may be started.
    let _ = benchmark.further_files(files);
    if let Ok(suite) = benchmark.load(files) {
        assert!(!suite.items().is_empty(), "a benchmark without items was loaded");
    }
}

/// Replaces a part of one file: bytes for the file, the position and the length, then the new part.
fn edited(files: &FileSet, input: &mut Input<'_>) -> FileSet {
    let all: Vec<(&str, &Bytes)> = files.iter().collect();
    let number = usize::from(input.byte()) % all.len();
    let position = usize::from(u16::from_le_bytes([input.byte(), input.byte()]));
    let length = usize::from(input.byte());
    let mut out = FileSet::from_origin("input");
    for (at, (path, content)) in all.into_iter().enumerate() {
        if at != number {
            out.insert(path, content.clone());
            continue;
        }
        let begin = position.min(content.len());
        let end = (begin + length).min(content.len());
        let rest = &content[end..];
        out.insert(path, [&content[..begin], input.0, &rest[..rest.len().min(KEPT_MAX)]].concat());
    }
    out
}

/// Predictions of other systems; what was read can be scored.
fn predictions(mut input: Input<'_>) {
    let loaded = input.choose(&LOADED);
    let file =
        *input.choose(&["predictions.jsonl", "predictions.json", "predictions.csv", "log.jsonl", "results.yaml"]);
    if let Ok(predictions) = loaded.suite.read_predictions(file, input.0) {
        for (item, transcript) in predictions.iter().take(3) {
            for evaluator in loaded.evaluators() {
                loaded.suite.score(*item, &[*evaluator], transcript, &regatta_benchmarks::RecordedVerdicts::default());
            }
        }
    }
}

/// A task of another harness, and a template file beside it. What it becomes is YAML that can be read.
fn task(input: Input<'_>) {
    for file in ["samples.jsonl", "log.json", "samples.csv"] {
        if let Ok(imported) = inspect(file, input.0, &InspectOptions::default()) {
            let mut set = FileSet::from_origin("input");
            set.insert("benchmark.yaml", imported.yaml.into_bytes());
            set.insert(imported.data_file, imported.data.into_bytes());
            let _ = Declared::new(Permissions::none()).load(&set);
        }
    }
    let (task, other) = input.halves();
    let files = BTreeMap::from([("other.yaml".to_owned(), String::from_utf8_lossy(other).into_owned())]);
    if let Ok(imported) = lm_eval(&String::from_utf8_lossy(task), &files) {
        let mut set = FileSet::from_origin("input");
        set.insert("benchmark.yaml", imported.yaml.into_bytes());
        let _ = Declared::new(Permissions::none()).further_files(&set);
    }
}

fn log(mut input: Input<'_>) {
    let epoch = *input.choose(&[None, Some(1), Some(2)]);
    // A log whose samples all failed has no prediction, and lines without one are refused.
    if let Ok(read) = Predictions::of_log(input.0, epoch)
        && !read.predictions.is_empty()
    {
        assert_lines(&read);
    }
}

fn lines(mut input: Input<'_>) {
    let paths = ["id", "output", "doc.id", "a.b.c", "resps.0.0", ""];
    let [item, output] = [*input.choose(&paths), *input.choose(&paths)];
    let (Ok(item), Ok(output)) = (item.parse::<FieldPath>(), output.parse::<FieldPath>()) else { return };
    if let Ok(read) = Predictions::of_lines(input.0, &item, &output) {
        assert_lines(&read);
    }
}

/// Predictions that are written are read as the same.
fn assert_lines(read: &Predictions) {
    let (item, output) = ("item".parse().unwrap(), "output".parse().unwrap());
    let again = Predictions::of_lines(read.to_lines().as_bytes(), &item, &output).unwrap();
    assert_eq!(again.predictions, read.predictions);
}

/// Lists of prices. Every table that is read is written as it can be read again.
fn prices(mut input: Input<'_>) {
    match input.byte() % 3 {
        0 => {
            if let Ok(import) = Import::litellm(input.0) {
                let _ = import.prices();
            }
        }
        1 => {
            if let Ok(import) = Import::genai_prices(input.0) {
                let _ = import.prices();
            }
            if let Ok((_, import)) = Import::any(input.0) {
                let _ = import.prices();
            }
        }
        _ => {
            if let Ok(table) = PriceTable::parse(&input.text()) {
                let again = PriceTable::parse(&table.to_yaml().unwrap()).unwrap();
                assert_eq!(again.digest(), table.digest());
            }
        }
    }
}

/// Recorded verdicts, as predictions and endpoints read them. The similarity of two texts is that of the same two turned around.
fn verdicts(input: Input<'_>) {
    let _ = RecordedVerdicts::read("verdicts.json", input.0);
    let Ok(recorded) = regatta_llm::RecordedVerdicts::parse("verdicts.jsonl", input.0) else { return };
    let similarity = |left: &str, right: &str| {
        let question = Question::Similarity { left: vec![left.to_owned()], right: vec![right.to_owned()] };
        recorded.verdict(&question).ok()
    };
    let verdict = similarity("a", "b");
    assert_eq!(verdict, similarity("b", "a"));
    if let Some(Verdict::Similarity { micro }) = verdict {
        assert!(micro[0][0].abs() <= 1_000_000, "{micro:?}");
    }
}
