//! Scorers as those of declared benchmarks.

use regex::Regex;
use serde_json::{Map, Value, json};

use super::format_string::literal;
use super::plan::{LETTERS, only};
use super::python_pattern::translated;
use super::sample::Sample;
use super::{Fields, InspectStep};

/// Scorers that have a counterpart, for messages.
const KNOWN: &str = "match, includes, exact, f1, pattern, answer, choice";
/// ASCII spaces and punctuation at the ends of a text.
const ENDS: &str = "^[[:space:][:punct:]]+|[[:space:][:punct:]]+$";
/// A number among signs of money, thousands and emphasis, as `match` of numbers reads a word.
const NUMBER: &str = r"[\\$£€,*_]*([+-]?\$?(?:[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[$£€,*_.]*";
/// Most scorers of a task: each prepares every sample.
const SCORERS_MAX: usize = 100;
/// Significant digits of numbers that `match` compares.
const DIGITS: u8 = 5;
/// Ways in which replies hold an answer, of which a simulated model takes the first that a pattern reads.
const REPLIES: [(&str, &str); 6] =
    [("", ""), ("ANSWER: ", ""), ("Answer: ", ""), ("#### ", ""), ("(", ")"), ("\\boxed{", "}")];

/// Answers and scorers by name, and what a simulated model replies.
#[derive(Debug, Default)]
pub(super) struct Mapped {
    pub(super) answers: Fields,
    pub(super) scorers: Fields,
    pub(super) reply: Option<String>,
}

/// A scorer that has a counterpart.
struct Counterpart {
    kind: &'static str,
    spec: Fields,
    /// Steps that read the answer; the whole reply is scored without any.
    steps: Option<Value>,
    /// Words before and after the gold of a right reply.
    reply: Option<(&'static str, &'static str)>,
    needs: Needs,
}

/// Form that a scorer needs the targets in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Texts,
    Number,
    Letter,
}

/// The counterparts of `scorers`; those without one are notes.
///
/// # Errors
/// When none has a counterpart, there are too many, or the targets are not what a scorer needs.
pub(super) fn map(scorers: &[InspectStep], samples: &mut [Sample], notes: &mut Vec<String>) -> Result<Mapped, String> {
    if scorers.len() > SCORERS_MAX {
        return Err(format!(
            "has {} scorers, at most {SCORERS_MAX} are read; name the ones that matter with --scorer",
            scorers.len()
        ));
    }
    let mut mapped = Mapped::default();
    let mut not_mapped = Vec::new();
    for scorer in scorers {
        let found = match counterpart(scorer, samples) {
            Ok(found) => found,
            Err(problem) => {
                not_mapped.push(format!("the scorer {} is not mapped: {problem}", scorer.name));
                continue;
            }
        };
        for sample in samples.iter_mut() {
            prepare(sample, found.needs).map_err(|problem| format!("{}: {problem}", sample.place))?;
        }
        let name = unused(&scorer.name, &mapped.scorers);
        let mut spec = found.spec;
        if let Some(steps) = found.steps {
            mapped.answers.insert(name.clone(), steps);
            spec.insert("answer".to_owned(), json!(name));
        }
        let (before, after) = found.reply.unwrap_or_default();
        if mapped.reply.is_none() && !before.is_empty() {
            mapped.reply = Some(format!("{}{{{{ gold }}}}{}", literal(before), literal(after)));
        }
        mapped.scorers.insert(name, json!({ found.kind: spec }));
        if found.reply.is_none() {
            notes.push(format!(
                "a simulated model replies with the gold alone, which the scorer {} cannot read; write `simulate.reply`",
                scorer.name
            ));
        }
    }
    if mapped.scorers.is_empty() {
        return Err(format!("{}; name others with --scorer (known: {KNOWN})", not_mapped.join("; ")));
    }
    // One answer would be that of all scorers, also of those that score the whole reply.
    if !mapped.answers.is_empty() {
        read_whole(&mut mapped);
    }
    notes.extend(not_mapped);
    Ok(mapped)
}

/// Gives scorers of the whole reply an answer that is the whole reply.
fn read_whole(mapped: &mut Mapped) {
    let mut is_used = false;
    for spec in mapped.scorers.values_mut().filter_map(Value::as_object_mut).flat_map(|scorer| scorer.values_mut()) {
        if let Some(spec) = spec.as_object_mut().filter(|spec| !spec.contains_key("answer")) {
            spec.insert("answer".to_owned(), json!("reply"));
            is_used = true;
        }
    }
    if is_used {
        mapped.answers.insert("reply".to_owned(), json!([{ "regex": { "pattern": "(?s)^.*$" } }]));
    }
}

/// The name of a scorer, with a number where it is there already.
fn unused(name: &str, taken: &Fields) -> String {
    (1..)
        .map(|number| if number == 1 { name.to_owned() } else { format!("{name}_{number}") })
        .find(|name| !taken.contains_key(name))
        .unwrap_or_else(|| name.to_owned())
}

fn counterpart(scorer: &InspectStep, samples: &[Sample]) -> Result<Counterpart, String> {
    let params = &scorer.params;
    match scorer.name.as_str() {
        "match" => matched(params),
        "includes" => {
            only(params, &["ignore_case"])?;
            let spec = json!({ "golds": "target", "match_case": !flag(params, "ignore_case", true)? });
            Ok(texts("contains", spec))
        }
        "exact" => {
            only(params, &[])?;
            Ok(texts("normalised", json!({ "golds": "target", "as": "inspect" })))
        }
        "f1" => {
            only(params, &[])?;
            Ok(texts("f1", json!({ "golds": "target", "as": "inspect" })))
        }
        "pattern" => pattern(params, samples),
        "answer" => answer(params),
        "choice" => {
            only(params, &[])?;
            // The last line that is an answer, or the last place that has one; then the one letter of it.
            let steps = json!([
                { "any_of": [
                    [{ "regex": { "pattern": r"(?im)^ANSWER\s*:\s*([a-z\d ,]+)\s*(?:$|\.)" } }],
                    [{ "regex": { "pattern": r"(?i)ANSWER\s*:\s*([a-z\d ,]+)(?:\W|$)" } }],
                ] },
                { "regex": { "pattern": "^,*([A-Za-z]),*$" } },
            ]);
            let spec = object(json!({ "gold": "{{ letter }}" }));
            Ok(Counterpart {
                kind: "choice",
                spec,
                steps: Some(steps),
                reply: Some(("ANSWER: ", "")),
                needs: Needs::Letter,
            })
        }
        "model_graded_qa" | "model_graded_fact" => {
            Err("a model grades; write a scorer `judge` with its rubric and grades into benchmark.yaml".to_owned())
        }
        _ => Err(format!(
            "it has no counterpart (known: {KNOWN}); write a scorer of benchmark.yaml, or a benchmark in code"
        )),
    }
}

/// A scorer of the whole reply against all targets.
fn texts(kind: &'static str, spec: Value) -> Counterpart {
    Counterpart { kind, spec: object(spec), steps: None, reply: Some(("", "")), needs: Needs::Texts }
}

fn matched(params: &Fields) -> Result<Counterpart, String> {
    only(params, &["location", "ignore_case", "numeric"])?;
    let location = match params.get("location") {
        None | Some(Value::Null) => "end",
        Some(Value::String(location)) => location.as_str(),
        Some(other) => return Err(format!("location must be a text, is {other}")),
    };
    let is_case_ignored = flag(params, "ignore_case", true)?;
    if flag(params, "numeric", false)? {
        // The first or the last word that is a number, or all of the reply.
        let pattern = match location {
            "begin" => format!(r"(?s)^(?:.*?\s)??{NUMBER}(?:\s.*)?$"),
            "end" => format!(r"(?s)^(?:.*\s)?{NUMBER}(?:\s.*)?$"),
            "exact" => format!("^{NUMBER}$"),
            other => {
                return Err(format!("the location {other} of numbers has no counterpart; known: begin, end, exact"));
            }
        };
        return Ok(Counterpart {
            kind: "number",
            spec: object(json!({ "gold": "{{ number }}", "digits": DIGITS })),
            steps: Some(json!([{ "regex": { "pattern": pattern, "group": 1 } }])),
            reply: Some(("", "")),
            needs: Needs::Number,
        });
    }
    let at = match location {
        "begin" => "start",
        "end" => "end",
        "any" => "anywhere",
        "exact" => {
            let spec = json!({ "golds": "target", "ignore_case": is_case_ignored, "ignore": [ENDS] });
            return Ok(texts("exact", spec));
        }
        other => return Err(format!("the location {other} has no counterpart; known: begin, end, any, exact")),
    };
    let spec = json!({ "golds": "target", "at": at, "ignore_ends": true, "match_case": !is_case_ignored });
    Ok(texts("contains", spec))
}

fn pattern(params: &Fields, samples: &[Sample]) -> Result<Counterpart, String> {
    only(params, &["pattern", "ignore_case", "match_all"])?;
    let written = params.get("pattern").and_then(Value::as_str).ok_or("it has no pattern")?;
    let is_case_ignored = flag(params, "ignore_case", true)?;
    flag(params, "match_all", false)?;
    let translated = translated(written)?;
    let pattern = if is_case_ignored { format!("(?i){translated}") } else { translated };
    let regex = Regex::new(&pattern).map_err(|_| {
        format!("its pattern {written:?} cannot be read here: there is no look-around, and no reference back")
    })?;
    match regex.captures_len() - 1 {
        1 => {}
        0 => return Err(format!("its pattern {written:?} has no group, so that nothing is ever right")),
        groups => {
            return Err(format!(
                "its pattern {written:?} has {groups} groups, and one has a counterpart; write (?:…) for the others"
            ));
        }
    }
    // A right reply, if it is one of the usual ones.
    let gold = samples.iter().find_map(|sample| sample.target.first());
    let reads = |(before, after): &&(&str, &str)| {
        let Some(gold) = gold.map(|gold| gold.trim()) else { return false };
        let found = regex
            .captures(&format!("{before}{gold}{after}"))
            .and_then(|found| found.get(1).map(|group| group.as_str() == gold));
        found == Some(true)
    };
    let reply = REPLIES.iter().find(reads).copied();
    Ok(Counterpart {
        kind: "exact",
        spec: object(json!({ "golds": "target", "ignore_case": is_case_ignored })),
        steps: Some(json!([{ "regex": { "pattern": pattern, "group": 1, "take": "first" } }])),
        reply,
        needs: Needs::Texts,
    })
}

/// Text after the last `ANSWER:`.
fn answer(params: &Fields) -> Result<Counterpart, String> {
    only(params, &["pattern"])?;
    let last = json!({ "regex": { "pattern": r"(?is)^.*ANSWER\s*:\s*(.*)$", "group": 1 } });
    let steps = match params.get("pattern").and_then(Value::as_str) {
        Some("letter") => json!([last, { "regex": { "pattern": r"^([A-Za-z])(?:\W|$)" } }]),
        Some("word") => json!([last, { "regex": { "pattern": r"^(\S+?)[.,;:!?]?\s*(?:\n|$)" } }]),
        Some("line") => json!([{ "regex": { "pattern": r"(?i)ANSWER\s*:\s*([^\n]+)\s*\z" } }]),
        other => {
            return Err(format!("its pattern is {}; known: letter, word, line", other.unwrap_or("missing")));
        }
    };
    Ok(Counterpart {
        kind: "exact",
        spec: object(json!({ "golds": "target", "ignore_case": true })),
        steps: Some(steps),
        reply: Some(("ANSWER: ", "")),
        needs: Needs::Texts,
    })
}

/// Makes the column that a scorer compares with.
fn prepare(sample: &mut Sample, needs: Needs) -> Result<(), String> {
    if sample.target.is_empty() {
        return Err("has no target, so that nothing says what is right".to_owned());
    }
    match needs {
        Needs::Texts => Ok(()),
        Needs::Number => {
            let number = number(&sample.target)?;
            sample.more.insert("number".to_owned(), json!(number));
            Ok(())
        }
        Needs::Letter => {
            let letter = letter(&sample.target, sample.choices.len())?;
            sample.more.insert("letter".to_owned(), json!(letter));
            Ok(())
        }
    }
}

fn number(target: &[String]) -> Result<String, String> {
    let [text] = target else {
        return Err(format!("has {} targets, and a number is compared with one", target.len()));
    };
    let mut bare: String = text.trim().chars().filter(|c| !matches!(c, '$' | ',' | '£' | '€' | '*' | '_')).collect();
    if bare.ends_with('.') {
        bare.pop();
    }
    match bare.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(bare),
        Ok(_) | Err(_) => Err(format!("the target {text:?} is no number, and the scorer compares numbers")),
    }
}

/// The one letter of the target, which is one of the choices.
fn letter(target: &[String], choices: usize) -> Result<String, String> {
    let joined = target.concat();
    let mut letters = joined.chars().filter(|c| !matches!(c, ',' | ' '));
    let (Some(letter), None) = (letters.next(), letters.next()) else {
        return Err(format!("the target {joined:?} must be one letter: several right choices have no counterpart"));
    };
    let letter = letter.to_ascii_uppercase();
    let known: String = LETTERS.chars().take(choices).collect();
    if known.contains(letter) {
        Ok(letter.to_string())
    } else {
        Err(format!("the target {joined:?} is none of its {choices} choices ({known})"))
    }
}

fn flag(params: &Fields, name: &str, default: bool) -> Result<bool, String> {
    match params.get(name) {
        None | Some(Value::Null) => Ok(default),
        Some(Value::Bool(value)) => Ok(*value),
        Some(other) => Err(format!("{name} must be true or false, is {other}")),
    }
}

fn object(value: Value) -> Fields {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
