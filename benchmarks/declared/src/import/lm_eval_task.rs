//! Tasks of lm-evaluation-harness: the subset that is a prompt, patterns and exact matches, or a choice of letters.
//!
//! The harness sends one text and may compare likelihoods; here a model is asked in a conversation and writes. So the description becomes
//! the system message, examples become turns (as with `--apply_chat_template --fewshot_as_multiturn`), and a multiple choice is answered by
//! its letter. What has no counterpart is an error where it would change scores, and a note where it would not.

use std::collections::BTreeMap;

use regatta_proto::read_yaml;
use serde_json::{Map, Value, json};

use crate::definition::VERSION;

/// An object of a YAML document.
type Fields = Map<String, Value>;

/// A task as a benchmark.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// Text of `benchmark.yaml`.
    pub yaml: String,
    /// Notes on what was left out, or differs from the harness.
    pub notes: Vec<String>,
}

/// Values of `output_type` that can be imported, for messages.
const OUTPUT_TYPES: &str = "generate_until, multiple_choice";

/// Fields that describe a task without a part in what is asked or scored.
const DESCRIPTIVE: [&str; 12] = [
    "task",
    "task_alias",
    "tag",
    "group",
    "metadata",
    "dataset_path",
    "dataset_name",
    "dataset_kwargs",
    "should_decontaminate",
    "doc_to_decontamination_query",
    "fewshot_delimiter",
    "target_delimiter",
];
/// Fields that are read here.
const READ: [&str; 15] = [
    "output_type",
    "test_split",
    "validation_split",
    "training_split",
    "fewshot_split",
    "fewshot_config",
    "num_fewshot",
    "description",
    "doc_to_text",
    "doc_to_target",
    "doc_to_choice",
    "generation_kwargs",
    "metric_list",
    "filter_list",
    "repeats",
];

/// Turns the task in `text` into a benchmark over `files`: paths by split, in the benchmark's folder.
///
/// # Errors
/// When the text is no task, a split has no file, or something has no counterpart that would score the same.
pub fn lm_eval(text: &str, files: &BTreeMap<String, String>) -> Result<Imported, String> {
    if text.contains("!function") {
        return Err(
            "the task calls Python (!function); only tasks in templates and patterns can be imported".to_owned()
        );
    }
    let task: Value = read_yaml(text).map_err(|error| format!("not the YAML of a task: {error}"))?;
    let fields = task.as_object().ok_or("not the YAML of a task: it must be a map")?;
    if let Some(unknown) =
        fields.keys().find(|name| !DESCRIPTIVE.contains(&name.as_str()) && !READ.contains(&name.as_str()))
    {
        return Err(format!("`{unknown}` has no counterpart; take it out of the task if it does not change scores"));
    }
    let mut task = Task { fields, files, notes: Vec::new() };
    let benchmark = task.benchmark()?;
    let yaml = serde_yaml_ng::to_string(&benchmark).map_err(|error| error.to_string())?;
    Ok(Imported { yaml, notes: task.notes })
}

/// Prompt and scoring of a task, by its kind.
struct Asked {
    /// Template of the user's message.
    question: String,
    /// Template of the answer that an example shows.
    example: String,
    /// Answers by name.
    answers: Fields,
    /// Scorers by name.
    scorers: Fields,
}

struct Task<'a> {
    fields: &'a Fields,
    files: &'a BTreeMap<String, String>,
    notes: Vec<String>,
}

impl Task<'_> {
    fn benchmark(&mut self) -> Result<Value, String> {
        let items = self.text("test_split").or_else(|| self.text("validation_split"));
        let items = items.ok_or("the task names no test_split and no validation_split")?;
        let shots = self.fields.get("num_fewshot").and_then(Value::as_u64).unwrap_or(0);
        let examples =
            self.text("fewshot_split").or_else(|| self.text("training_split")).unwrap_or_else(|| items.clone());
        let mut data = Map::new();
        for split in [Some(&items), (shots > 0).then_some(&examples)].into_iter().flatten() {
            let file = self.files.get(split);
            let file =
                file.ok_or_else(|| format!("the split {split:?} has no file; give it as --split {split}=FILE"))?;
            data.insert(split.clone(), json!(file));
        }
        let question = self.template("doc_to_text")?;
        let target = self.template("doc_to_target")?;
        let is_choice = match self.text("output_type").as_deref() {
            None | Some("generate_until") => false,
            Some("multiple_choice") => true,
            Some(other @ ("loglikelihood" | "loglikelihood_rolling")) => {
                return Err(format!(
                    "output_type {other} compares likelihoods, which providers of chat models do not give; known: {OUTPUT_TYPES}"
                ));
            }
            Some(other) => return Err(format!("output_type {other} is unknown; known: {OUTPUT_TYPES}")),
        };
        let Asked { question, example, answers, scorers } =
            if is_choice { self.choice(&question, &target)? } else { self.generation(question, target)? };
        let mut prompt = Map::new();
        if let Some(description) = self.text("description").filter(|text| !text.trim().is_empty()) {
            prompt.insert("system".to_owned(), json!(description.trim()));
            self.note("the description is the system message");
        }
        if shots > 0 {
            let choose = match self.fields.get("fewshot_config").and_then(|config| config.get("sampler")) {
                None => "each_item",
                Some(sampler) if sampler == "first_n" => "first",
                Some(sampler) => {
                    return Err(format!("the sampler {sampler} of fewshot_config has no counterpart; known: first_n"));
                }
            };
            let turns = json!([{ "user": question }, { "assistant": example }]);
            prompt.insert(
                "few_shot".to_owned(),
                json!({ "split": examples, "count": shots, "choose": choose, "turns": turns }),
            );
            self.note("examples are turns of the conversation, drawn by another generator than the harness's");
        }
        prompt.insert("turns".to_owned(), json!([{ "user": question }]));
        self.generation_kwargs(&mut prompt)?;
        if self.fields.get("repeats").and_then(Value::as_u64).is_some_and(|repeats| repeats > 1) {
            self.note("`repeats` are trials of a sweep; write `trials` into its spec");
        }
        let mut benchmark = Map::new();
        benchmark.insert("v".to_owned(), json!(VERSION));
        benchmark.insert("data".to_owned(), Value::Object(data));
        benchmark.insert("items".to_owned(), json!({ "split": items }));
        benchmark.insert("prompt".to_owned(), Value::Object(prompt));
        if !answers.is_empty() {
            benchmark.insert("answers".to_owned(), Value::Object(answers));
        }
        benchmark.insert("scorers".to_owned(), Value::Object(scorers));
        Ok(Value::Object(benchmark))
    }

    fn note(&mut self, note: &str) {
        self.notes.push(note.to_owned());
    }

    fn text(&self, field: &str) -> Option<String> {
        self.fields.get(field).and_then(Value::as_str).map(str::to_owned)
    }

    /// A template; a bare name is a column.
    fn template(&self, field: &str) -> Result<String, String> {
        let value = self.fields.get(field).ok_or_else(|| format!("`{field}` is missing"))?;
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return Err(format!("`{field}` must be a template or the name of a column")),
        };
        let is_name = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let is_column = is_name && !text.starts_with(|c: char| c.is_ascii_digit());
        Ok(if is_column { format!("{{{{ {text} }}}}") } else { text })
    }

    /// A letter in place of the likeliest continuation.
    fn choice(&mut self, question: &str, target: &str) -> Result<Asked, String> {
        const LETTERS: &str = "ABCDEFGHIJ";
        let metrics = self.metrics()?;
        if let Some((other, _)) = metrics.iter().find(|(name, _)| !matches!(name.as_str(), "acc" | "acc_norm")) {
            return Err(format!("the metric {other} of a multiple choice has no counterpart; known: acc, acc_norm"));
        }
        self.note("the choice is written as a letter; the harness compares likelihoods, so scores are comparable with its generative variants only");
        let choices = self.fields.get("doc_to_choice").ok_or("`doc_to_choice` is missing")?;
        let literal: Option<Vec<&str>> =
            choices.as_array().map(|list| list.iter().filter_map(Value::as_str).collect::<Vec<_>>());
        let (letters, question) = match literal {
            Some(list) if list.iter().zip(LETTERS.chars()).all(|(one, letter)| one.chars().eq([letter])) => {
                (list.concat(), question.to_owned())
            }
            Some(list) => {
                let shown: String =
                    list.iter().zip(LETTERS.chars()).map(|(one, letter)| format!("\n{letter}. {one}")).collect();
                (LETTERS.chars().take(list.len()).collect(), format!("{question}{shown}"))
            }
            None => {
                let column = self.template("doc_to_choice")?;
                let inside = column.trim().trim_start_matches("{{").trim_end_matches("}}").trim();
                let shown = format!(
                    "{{% for one in {inside} %}}\n{{{{ '{LETTERS}'[loop.index0] }}}}. {{{{ one }}}}{{% endfor %}}"
                );
                (LETTERS.to_owned(), format!("{question}{shown}"))
            }
        };
        let question = format!("{question}\nEnd with \"Answer: X\", where X is the letter of your choice.");
        // A position becomes its letter where an example shows it.
        let shown = format!(
            "{{% set at = {} %}}Answer: {{{{ '{letters}'[at | int] if at is not string or at in '0123456789' else at }}}}",
            expression(target)
        );
        let answers = json!({ "letter": [{ "choice": letters }] });
        let scorers = json!({ "acc": { "choice": { "gold": target } } });
        Ok(Asked { question, example: shown, answers: object(answers), scorers: object(scorers) })
    }

    /// Patterns and exact matches.
    fn generation(&mut self, question: String, target: String) -> Result<Asked, String> {
        let metrics = self.metrics()?;
        let filters = match self.fields.get("filter_list") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(filters)) => filters.clone(),
            Some(other) => return Err(format!("filter_list must be a list, is {other}")),
        };
        let (mut answers, mut scorers) = (Map::new(), Map::new());
        for filter in &filters {
            let name = filter.get("name").and_then(Value::as_str).ok_or("a filter of filter_list has no name")?;
            let steps = filter
                .get("filter")
                .and_then(Value::as_array)
                .ok_or_else(|| format!("the filter {name} is no list"))?;
            let steps: Vec<Value> = steps
                .iter()
                .map(|step| self.step(name, step))
                .collect::<Result<Vec<_>, _>>()?
                .into_iter()
                .flatten()
                .collect();
            if !steps.is_empty() {
                answers.insert(word(name), Value::Array(steps));
            }
            for (metric, options) in &metrics {
                let mut exact = object(exact(options, &target));
                if let Some((answer, _)) = answers.get_key_value(&word(name)) {
                    exact.insert("answer".to_owned(), json!(answer));
                }
                scorers.insert(word(&format!("{metric}-{name}")), json!({ "exact": exact }));
            }
        }
        if filters.is_empty() {
            for (metric, options) in &metrics {
                scorers.insert(word(metric), json!({ "exact": exact(options, &target) }));
            }
        }
        Ok(Asked { question, example: target, answers, scorers })
    }

    fn step(&mut self, name: &str, step: &Value) -> Result<Option<Value>, String> {
        match step.get("function").and_then(Value::as_str) {
            Some("regex") => {
                let pattern = step
                    .get("regex_pattern")
                    .and_then(Value::as_str)
                    .ok_or_else(|| format!("the filter {name} has no regex_pattern"))?;
                let take = match step.get("group_select").and_then(Value::as_i64).unwrap_or(0) {
                    0 => "first",
                    -1 => "last",
                    other => {
                        return Err(format!(
                            "the filter {name} selects match {other}; only 0 and -1 have counterparts"
                        ));
                    }
                };
                Ok(Some(json!({ "regex": { "pattern": pattern, "take": take } })))
            }
            Some("take_first" | "remove_whitespace") => Ok(None),
            other => Err(format!(
                "the filter {name} calls {}; known: regex, take_first, remove_whitespace",
                other.unwrap_or("nothing")
            )),
        }
    }

    /// Metrics by name, with their options.
    fn metrics(&self) -> Result<Vec<(String, Fields)>, String> {
        let list = self.fields.get("metric_list").and_then(Value::as_array).ok_or("the task names no metric_list")?;
        let is_choice = self.text("output_type").as_deref() == Some("multiple_choice");
        let read = |entry: &Value| {
            let options = entry.as_object().ok_or("an entry of metric_list is no map")?;
            let name = options.get("metric").and_then(Value::as_str).ok_or("an entry of metric_list has no metric")?;
            match name {
                "exact_match" if !is_choice => {}
                "acc" | "acc_norm" if is_choice => {}
                other => {
                    return Err(format!(
                        "the metric {other} has no counterpart here; known: exact_match, and acc of a multiple choice"
                    ));
                }
            }
            if options.get("aggregation").is_some_and(|aggregation| aggregation != "mean") {
                return Err(format!("the metric {name} is aggregated otherwise than by the mean"));
            }
            Ok((name.to_owned(), options.clone()))
        };
        list.iter().map(read).collect()
    }

    fn generation_kwargs(&mut self, prompt: &mut Fields) -> Result<(), String> {
        let Some(options) = self.fields.get("generation_kwargs").and_then(Value::as_object) else { return Ok(()) };
        let mut sampling = Map::new();
        for (name, value) in options {
            match name.as_str() {
                "until" => {
                    let stop: Vec<&Value> = value.as_array().map_or_else(|| vec![value], |list| list.iter().collect());
                    prompt.insert("stop".to_owned(), json!(stop));
                }
                "max_gen_toks" => {
                    sampling.insert("max_tokens".to_owned(), value.clone());
                }
                "temperature" | "top_p" => {
                    sampling.insert(name.clone(), value.clone());
                }
                "do_sample" if value == &json!(false) => {
                    sampling.insert("temperature".to_owned(), json!(0));
                }
                "do_sample" => {}
                other => {
                    return Err(format!(
                        "generation_kwargs.{other} has no counterpart; take it out of the task if it does not change scores"
                    ));
                }
            }
        }
        if !sampling.is_empty() {
            prompt.insert("sampling".to_owned(), Value::Object(sampling));
        }
        Ok(())
    }
}

/// The expression of a template that is one, or its text in quotes.
fn expression(template: &str) -> String {
    let inside = template.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
    inside
        .filter(|inside| !inside.contains("{{"))
        .map_or_else(|| format!("{template:?}"), |inside| inside.trim().to_owned())
}

fn exact(options: &Fields, target: &str) -> Value {
    let mut exact = object(json!({ "gold": target }));
    for name in ["ignore_case", "ignore_punctuation"] {
        if options.get(name) == Some(&Value::Bool(true)) {
            exact.insert(name.to_owned(), Value::Bool(true));
        }
    }
    if let Some(patterns) = options.get("regexes_to_ignore") {
        exact.insert("ignore".to_owned(), patterns.clone());
    }
    Value::Object(exact)
}

fn object(value: Value) -> Fields {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// A name of ours: other characters become `_`.
fn word(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests;
