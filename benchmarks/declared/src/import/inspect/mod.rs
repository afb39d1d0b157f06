//! Tasks of Inspect: a data set of samples, or a log of an evaluation, which has the samples, the solvers and the scorers.
//!
//! A task is Python there, so that what can be imported is what its log or the command line says: solvers that are messages and templates,
//! and scorers that compare texts. What would change what is asked, or what is right, and has no counterpart is an error; what is left out
//! otherwise is a note.

mod document;
mod format_string;
mod log;
mod plan;
mod python_pattern;
mod records;
mod sample;
mod scorers;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use self::plan::Plan;
use self::sample::Sample;
use self::scorers::Mapped;
use crate::definition::VERSION;

/// An object of a JSON document.
type Fields = Map<String, Value>;

/// The file of the records.
const DATA: &str = "data.jsonl";
/// Names of fields that a note or an error has: no data set of people has more, and a damaged one may have any number.
const NAMES_SHOWN: usize = 40;

/// Names of the fields that hold the parts of a sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InspectFields {
    /// The text or the messages that the model is given.
    pub input: String,
    /// The right answer, or a list of them.
    pub target: String,
    /// The choices of a multiple choice.
    pub choices: String,
    /// The id.
    pub id: String,
    /// Fields that become metadata; without any, the field `metadata` has them.
    pub metadata: Vec<String>,
    /// The sandbox.
    pub sandbox: String,
    /// Files for the sandbox.
    pub files: String,
    /// Script that prepares the sandbox.
    pub setup: String,
}

impl Default for InspectFields {
    fn default() -> Self {
        let [input, target, choices, id, sandbox, files, setup] =
            ["input", "target", "choices", "id", "sandbox", "files", "setup"].map(str::to_owned);
        Self { input, target, choices, id, metadata: Vec::new(), sandbox, files, setup }
    }
}

/// A solver or a scorer with its parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct InspectStep {
    /// Name, as Inspect's log has it.
    pub name: String,
    /// Parameters by name.
    pub params: Map<String, Value>,
}

/// A field of samples that has no counterpart, and may be left out where a person says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum InspectField {
    /// The sandbox.
    Sandbox,
    /// Files for the sandbox.
    Files,
    /// Script that prepares the sandbox.
    Setup,
}

impl InspectField {
    /// Name of the field.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sandbox => "sandbox",
            Self::Files => "files",
            Self::Setup => "setup",
        }
    }
}

/// Choices of a person about an import.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InspectOptions {
    /// Names of the fields of a data set; logs have their own.
    pub fields: InspectFields,
    /// Solvers, in place of those of a log.
    pub solvers: Vec<InspectStep>,
    /// Scorers, in place of those of a log.
    pub scorers: Vec<InspectStep>,
    /// Fields that are left out where samples have them.
    pub leave_out: Vec<InspectField>,
}

/// A task as a benchmark.
#[derive(Debug, Clone, PartialEq)]
pub struct InspectBenchmark {
    /// Text of `benchmark.yaml`.
    pub yaml: String,
    /// Name of the file of the records, in the folder.
    pub data_file: &'static str,
    /// Text of that file.
    pub data: String,
    /// Notes on what was left out, or differs from Inspect.
    pub notes: Vec<String>,
    /// Times that each sample was run, as the trials of a sweep; 1 where nothing says so.
    pub epochs: u64,
}

/// Description of a task by a file.
struct Task {
    samples: Vec<Sample>,
    /// `None`: the file says nothing of solvers.
    solvers: Option<Vec<InspectStep>>,
    /// `None`: the file says nothing of scorers.
    scorers: Option<Vec<InspectStep>>,
    /// Parameters of calls.
    config: Fields,
    notes: Vec<String>,
    epochs: u64,
}

/// Turns the samples in `content` into a benchmark; `file` is their file's name, whose ending says what it is.
///
/// # Errors
/// When the file cannot be read, or something has no counterpart that would ask or score the same.
pub fn inspect(file: &str, content: &[u8], options: &InspectOptions) -> Result<InspectBenchmark, String> {
    let Task { mut samples, solvers, scorers, config, mut notes, epochs } = read(file, content, options)?;
    if samples.is_empty() {
        return Err("holds no samples".to_owned());
    }
    sample::check_ids(&samples)?;
    let has_choices = samples.iter().any(|sample| !sample.choices.is_empty());
    let solvers = match (given(&options.solvers), solvers) {
        (Some(given), _) => given,
        (None, Some(of_file)) => of_file,
        (None, None) => {
            vec![default_step(if has_choices { "multiple_choice" } else { "generate" }, "solver", &mut notes)]
        }
    };
    let scorers = match (given(&options.scorers), scorers) {
        (Some(given), _) => given,
        (None, Some(of_file)) => of_file,
        (None, None) => vec![default_step(if has_choices { "choice" } else { "match" }, "scorer", &mut notes)],
    };
    let plan = Plan::of(&solvers, &config, &samples)?;
    notes.extend(plan.notes.iter().cloned());
    if has_choices && !plan.shows_choices {
        notes.push("the choices of samples are in the data, but no solver shows them to the model".to_owned());
    }
    let mapped = scorers::map(&scorers, &mut samples, &mut notes)?;
    let has_messages = samples.iter().any(|sample| !sample.before.is_empty());
    let benchmark = benchmark(&plan, mapped, &samples, has_messages);
    let yaml = serde_yaml_ng::to_string(&benchmark).map_err(|error| error.to_string())?;
    let mut data = String::new();
    for sample in &samples {
        data += &sample.line(has_messages)?;
        data.push('\n');
    }
    Ok(InspectBenchmark { yaml, data_file: DATA, data, notes, epochs })
}

fn given(steps: &[InspectStep]) -> Option<Vec<InspectStep>> {
    (!steps.is_empty()).then(|| steps.to_vec())
}

/// The step of a task about which nothing is said.
fn default_step(name: &str, kind: &str, notes: &mut Vec<String>) -> InspectStep {
    notes.push(format!("the file names no {kind}: {name} is used; --{kind} names another one"));
    InspectStep { name: name.to_owned(), params: Map::new() }
}

fn read(file: &str, content: &[u8], options: &InspectOptions) -> Result<Task, String> {
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    if content.starts_with(b"PK\x03\x04") {
        return Err("is an archive; write its log as JSON with: inspect log dump FILE.eval > log.json".to_owned());
    }
    if is_utf_16(content) {
        return Err("is text in UTF-16; write it in UTF-8, as with: iconv -f UTF-16 -t UTF-8".to_owned());
    }
    let suffix = file.rsplit_once('.').map(|(_, suffix)| suffix.to_ascii_lowercase());
    let mut not_finite = 0;
    let records = match suffix.as_deref() {
        Some("jsonl") => records::of_lines(content, &mut not_finite)?,
        Some("csv") => records::of_csv(content)?,
        Some("json") => {
            let document = document::parse(content, &mut not_finite).map_err(|error| {
                format!("not JSON that can be read: {error}; a file with a record in each line must end in .jsonl")
            })?;
            if log::is_log(&document) {
                let mut task = log::read(&document, options)?;
                note_not_finite(not_finite, &mut task.notes);
                return Ok(task);
            }
            records::of_document(document)?
        }
        _ => {
            return Err("must end in .jsonl, .json or .csv; a log in .eval is written as JSON by `inspect log dump`, \
                        and other data sets by what has made them"
                .to_owned());
        }
    };
    let mut notes = Vec::new();
    note_not_finite(not_finite, &mut notes);
    let samples = sample::of_records(&records, options, &mut notes)?;
    Ok(Task { samples, solvers: None, scorers: None, config: Map::new(), notes, epochs: 1 })
}

/// `true` of a text in UTF-16, with its mark or without: its first character, which data sets begin with, is one of ASCII.
fn is_utf_16(content: &[u8]) -> bool {
    match content {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => true,
        [first, second, ..] => (*first == 0) != (*second == 0),
        [] | [_] => false,
    }
}

fn note_not_finite(count: usize, notes: &mut Vec<String>) {
    if count > 0 {
        notes.push(format!("NaN and Infinity are no numbers of JSON, and are read as null: {count} of them"));
    }
}

fn benchmark(plan: &Plan, mapped: Mapped, samples: &[Sample], has_messages: bool) -> Value {
    let mut prompt = Map::new();
    if let Some(system) = &plan.system {
        prompt.insert("system".to_owned(), json!(system));
    }
    let before = has_messages.then(|| json!({ "messages": "messages" }));
    let turns: Vec<Value> = before.into_iter().chain(plan.turns.iter().map(plan::Turn::as_written)).collect();
    prompt.insert("turns".to_owned(), Value::Array(turns));
    if !plan.sampling.is_empty() {
        prompt.insert("sampling".to_owned(), Value::Object(plan.sampling.clone()));
    }
    if let Some(stop) = &plan.stop {
        prompt.insert("stop".to_owned(), stop.clone());
    }
    let mut benchmark = Map::new();
    benchmark.insert("v".to_owned(), json!(VERSION));
    benchmark.insert("data".to_owned(), json!({ "test": DATA }));
    if samples.iter().all(|sample| sample.id.is_some()) {
        benchmark.insert("items".to_owned(), json!({ "id": "id" }));
    }
    benchmark.insert("prompt".to_owned(), Value::Object(prompt));
    if !mapped.answers.is_empty() {
        benchmark.insert("answers".to_owned(), Value::Object(mapped.answers));
    }
    benchmark.insert("scorers".to_owned(), Value::Object(mapped.scorers));
    if let Some(reply) = mapped.reply {
        benchmark.insert("simulate".to_owned(), json!({ "reply": reply }));
    }
    Value::Object(benchmark)
}

/// Names with their counts, for a note: `a (3), b (1)`.
fn counts(of: &BTreeMap<String, usize>) -> String {
    listed(&of.iter().map(|(name, count)| format!("{name} ({count})")).collect::<Vec<String>>())
}

/// The first names, and the number of the others.
fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMES_SHOWN).map(|name| name.as_ref()).collect();
    match names.len().saturating_sub(NAMES_SHOWN) {
        0 => shown.join(", "),
        others => format!("{} and {others} others", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests;
