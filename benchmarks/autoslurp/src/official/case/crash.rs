//! Kind `crash`: runs that the official code does not survive. Its `stat.py` counts what was printed until then, and the item at which it
//! ended is the last.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::SourceLocation;
use regatta_proto::{Evaluator, Script};
use serde_json::{Map, Value, json};

use super::answers::{Answers, not_recorded};
use super::{Inputs, whole};
use crate::official::rules::Rules;
use crate::official::scoring::{judged, rowless};
use crate::official::stat::{Counts, DIVISOR, Said, Verdict};
use crate::official::subject::Subject;

/// A file of a scenario.
struct Position<'a> {
    place: SourceLocation<'a>,
    line: Value,
    number: u32,
    evaluator: Evaluator,
}

/// Verdicts and printed lines of each scenario of a case, with the counts at its end.
///
/// # Errors
/// When an input cannot be read, or an answer of a judge is missing.
pub(crate) fn score(inputs: &Inputs<'_>) -> Result<Value, DataError> {
    let answers = Answers::read(inputs)?;
    let mut scenarios: Vec<(String, Vec<Position<'_>>)> = Vec::new();
    for line in inputs.predictions() {
        let (place, line) = line?;
        let name = place.text(&line, "scenario")?.to_owned();
        let evaluator = place.text(&line, "evaluator")?.parse().map_err(|problem| place.error("evaluator", problem))?;
        let position = Position { number: whole(&place, &line, "position")?, place, line, evaluator };
        match scenarios.iter_mut().find(|(known, _)| *known == name) {
            Some((_, positions)) => positions.push(position),
            None => scenarios.push((name, vec![position])),
        }
    }
    let mut aggregate = Map::new();
    let mut items = Map::new();
    for (name, mut positions) in scenarios {
        positions.sort_by_key(|position| position.number);
        let run = run(inputs, &answers, &name, &positions)?;
        items.extend(run.items);
        aggregate.insert(name, run.summary);
    }
    Ok(
        json!({ "evaluator": Evaluator::Official, "today": inputs.param("today")?, "aggregate": aggregate, "items": items }),
    )
}

struct Run {
    summary: Value,
    items: Map<String, Value>,
}

fn run(inputs: &Inputs<'_>, answers: &Answers, name: &str, positions: &[Position<'_>]) -> Result<Run, DataError> {
    let evaluator = positions.first().map_or(Evaluator::Official, |position| position.evaluator);
    let rules = Rules::of(match evaluator {
        Evaluator::OfficialOf(script) => Some(script),
        _ => None,
    });
    let mut items = Map::new();
    let mut counted: Vec<(Verdict, u32)> = Vec::new();
    let mut crash: Option<(&str, u32)> = None;
    for position in positions {
        let id = position.place.text(&position.line, "item")?.to_owned();
        if crash.is_some() {
            items.insert(id, json!({ "section_printed": false }));
            continue;
        }
        let printed = printed(inputs, answers, name, &rules, position)?;
        crash = printed.crash.map(|error| (error, position.number));
        counted.push((printed.verdict.unwrap_or(Verdict::Error), printed.unparsable));
        items.insert(
            id,
            json!({
                "section_printed": true,
                "verdict": printed.verdict.map_or("none_printed", Verdict::as_str),
                "verdict_lines": printed.lines,
            }),
        );
    }
    // There are no logs behind the last position, but the scripts look for them.
    let printed = u32::try_from(counted.len()).unwrap_or(u32::MAX);
    if crash.is_none() && printed < rounds(rules.script) {
        crash = Some((FILE_NOT_FOUND, printed));
        counted.push((Verdict::Error, 0));
    }
    let counts = Counts::of_items(rules.first_separator_is_an_error, &counted);
    let summary = json!({
        "evaluator": evaluator,
        "crash": crash.map(|(error, _)| error),
        "sections": counted.len(),
        "crash_position": crash.map(|(_, position)| position),
        "acc": counts.accuracy(),
        "right": counts.right,
        "wrong": counts.wrong,
        "error_lines": counts.error_lines,
    });
    Ok(Run { summary, items })
}

const FILE_NOT_FOUND: &str = "FileNotFoundError";
const INDEX_ERROR: &str = "IndexError";

/// Number of items that the loop of a script goes through.
const fn rounds(script: Option<Script>) -> u32 {
    match script {
        Some(Script::AutogenDeepseek) => DIVISOR - 1,
        _ => DIVISOR,
    }
}

/// Output of the script for one item.
struct Printed {
    /// `None` where the run ended before the log was read.
    verdict: Option<Verdict>,
    lines: usize,
    unparsable: u32,
    crash: Option<&'static str>,
}

fn printed(
    inputs: &Inputs<'_>,
    answers: &Answers,
    scenario: &str,
    rules: &Rules,
    position: &Position<'_>,
) -> Result<Printed, DataError> {
    let Position { place, line, number, .. } = position;
    let nothing = |error| Ok(Printed { verdict: None, lines: 0, unparsable: 0, crash: Some(error) });
    let is_missing = line.get("missing").and_then(Value::as_bool).unwrap_or_default();
    if is_missing {
        return nothing(FILE_NOT_FOUND);
    }
    let log = match line.get("log_base64") {
        None => place.text(line, "log")?.to_owned(),
        value => {
            let bytes = STANDARD.decode(place.text_at(value, "log_base64")?);
            match String::from_utf8(bytes.map_err(|error| place.error("log_base64", error))?) {
                Ok(log) => log,
                Err(_) => return nothing("UnicodeDecodeError"),
            }
        }
    };
    let dataset = place.text(line, "dataset")?;
    let rows = inputs.rows_of(place, "dataset", dataset)?;
    let is_available = *number < whole(place, line, "rows_available")?;
    let utterance = usize::try_from(*number).ok().and_then(|row| rows.get(row)).filter(|_| is_available);
    let Some(utterance) = utterance else {
        let Some(line) = rowless(rules, &log) else { return nothing(INDEX_ERROR) };
        return Ok(Printed {
            verdict: Some(Verdict::of([line.said])),
            lines: 1,
            unparsable: u32::from(line.said == Said::Unparsable),
            crash: line.needs_a_row.then_some(INDEX_ERROR),
        });
    };
    let subject = Subject { item: &number.to_string(), utterance, today: inputs.today()?, log: &log };
    let judged = judged(rules, &subject, &|question| answers.to(scenario, *number, question))
        .map_err(|missing| not_recorded(place, &missing))?;
    Ok(Printed {
        verdict: Some(judged.verdict()),
        lines: judged.lines.len(),
        unparsable: judged.unparsable(),
        crash: judged.aborted.then_some("JudgeDown"),
    })
}
