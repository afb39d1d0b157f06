//! Scoring of a row of a table of predictions as in the released code: the fields that it uses, and the exceptions
//! that unexpected values raise (docs/benchmarks/flowbench.md §5.3).

use regatta_benchmarks::Score;
use regatta_pycompat::{Json, Object};

use super::Crash;
use super::official::{self, Call, Turn};
use super::table::{Cell, Table};
use crate::extraction::{CALL_ERROR, is_call_error};
use crate::judge::Judge;

/// Checks the thoughts of a file, as the released code does before it scores anything.
///
/// # Errors
/// If there is gold content without a column of responses, or a thought is neither an object with a complete call or
/// none, nor a text or array without `Action`.
pub(super) fn check_thoughts(table: &Table) -> Result<(), Crash> {
    if table.has("gt_content") && !table.has("gt_response") {
        return Err(Crash::Key);
    }
    table.column("gt_thought").into_iter().flatten().try_for_each(|thought| call(thought).map(|_| ()))
}

/// Scores a row of a table that has all columns, as the official code does.
///
/// # Errors
/// The exception that ends the official code.
pub(super) fn score(row: &Object, prediction: Cell<'_>, judge: &mut Judge<'_>) -> Result<Score, Crash> {
    if says_call_error(prediction)? {
        return Ok(official::skipped().entry());
    }
    // A missing id is not a text; all other ids are converted to texts.
    if matches!(row.get("id"), None | Some(Json::Null)) {
        return Err(Crash::Attribute);
    }
    let system_prompt = system_prompt(row.get("messages"))?.as_str();
    let Cell::Value(Json::String(output)) = prediction else { return Err(Crash::Attribute) };
    let call = call(row.get("gt_thought").map_or(Cell::Absent, Cell::Value))?;
    Ok(official::score(&Turn { system_prompt, call }, output, judge)?.entry())
}

/// Scores a row with the repairs of `official_fixed`: unreadable values become an empty prediction, or a gold without
/// a call.
pub(super) fn score_repaired(row: &Object, prediction: Cell<'_>, judge: &mut Judge<'_>) -> Score {
    if says_call_error(prediction) == Ok(true) {
        return official::skipped().entry_fixed();
    }
    let output = match prediction {
        Cell::Value(Json::String(text)) => text,
        Cell::NumericText(text) => text,
        Cell::Value(_) | Cell::Absent => "",
    };
    let thought = row.get("gt_thought").map_or(Cell::Absent, Cell::Value);
    let (call, output) = call(thought).map_or((None, ""), |call| (call, output));
    let system_prompt = system_prompt(row.get("messages")).ok().and_then(Json::as_str);
    official::score_fixed(&Turn { system_prompt, call }, output, judge).entry_fixed()
}

/// Returns `true` if the prediction contains the error message: in a text, among the members of an array, or among
/// the keys of an object.
fn says_call_error(prediction: Cell<'_>) -> Result<bool, Crash> {
    match prediction {
        Cell::Value(Json::String(text)) => Ok(is_call_error(text)),
        Cell::Value(Json::List(members)) => Ok(members.iter().any(|member| member.as_str() == Some(CALL_ERROR))),
        Cell::Value(Json::Object(object)) => Ok(object.get(CALL_ERROR).is_some()),
        Cell::Value(Json::Null | Json::Bool(_) | Json::Int(_) | Json::Float(_)) => Err(Crash::Type),
        Cell::NumericText(_) | Cell::Absent => Err(Crash::Type),
    }
}

/// Returns the content of the first message, of any type.
fn system_prompt(messages: Option<&Json>) -> Result<&Json, Crash> {
    match messages {
        Some(Json::List(messages)) => match messages.first().ok_or(Crash::Index)? {
            Json::Object(message) => message.get("content").ok_or(Crash::Key),
            Json::Null | Json::Bool(_) | Json::Int(_) | Json::Float(_) | Json::String(_) | Json::List(_) => {
                Err(Crash::Type)
            }
        },
        Some(Json::String(text)) if text.is_empty() => Err(Crash::Index),
        // An object has text keys, and the code looks up the key 0.
        Some(Json::Object(_)) => Err(Crash::Key),
        Some(Json::Null | Json::Bool(_) | Json::Int(_) | Json::Float(_) | Json::String(_)) | None => Err(Crash::Type),
    }
}

/// Returns the gold call in a thought, if there is one.
fn call(thought: Cell<'_>) -> Result<Option<Call<'_>>, Crash> {
    let thought = match thought {
        Cell::Value(Json::Object(thought)) => thought,
        // A text or array that contains `Action` is then indexed by it, which raises an exception.
        Cell::Value(Json::String(text)) if !text.contains("Action") => return Ok(None),
        Cell::Value(Json::List(members)) if members.iter().all(|member| member.as_str() != Some("Action")) => {
            return Ok(None);
        }
        Cell::Value(_) | Cell::NumericText(_) | Cell::Absent => return Err(Crash::Type),
    };
    let Some(action) = thought.get("Action") else { return Ok(None) };
    let input = thought.get("Action Input").ok_or(Crash::Key)?;
    let is_empty = |value: &Json| value.as_str().is_some_and(str::is_empty);
    let is_call = !is_empty(action) && !is_empty(input);
    Ok(is_call.then(|| Call { action: action.as_str(), input: input.as_str() }))
}
