//! Golden cases of the official evaluators (docs/benchmarks/autoslurp.md §11): what the expected file of each kind must hold.

mod answers;
mod crash;
mod logs;
mod words;

use jiff::civil::Date;
use serde_json::{Map, Value};

pub(crate) use self::crash::score as crash;
pub(crate) use self::logs::score as logs;
pub(crate) use self::words::{resolve, stat_lines};
use crate::data::Utterance;
use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::SourceLocation;

/// Files and parameters of a case.
#[derive(Clone, Copy)]
pub(crate) struct Inputs<'a> {
    /// Origin of the files, in messages.
    pub(crate) origin: &'a str,
    /// `params` of `case.json`.
    pub(crate) params: &'a Map<String, Value>,
    /// `predictions.jsonl`.
    pub(crate) predictions: &'a [u8],
    /// `judge.jsonl`, where the case has it.
    pub(crate) judge: Option<&'a [u8]>,
    /// The rows of a data set, by its path.
    pub(crate) rows: &'a dyn Fn(&str) -> Option<&'a [Utterance]>,
}

impl<'a> Inputs<'a> {
    /// The place of `case.json`.
    fn case(&self) -> SourceLocation<'a> {
        SourceLocation::file(self.origin, "case.json")
    }

    /// A text among the parameters.
    fn param(&self, name: &str) -> Result<&'a str, DataError> {
        self.case().text_at(self.params.get(name), &format!("params.{name}"))
    }

    /// The day of the evaluation.
    fn today(&self) -> Result<Date, DataError> {
        let today = self.param("today")?;
        day(&self.case(), "params.today", today)
    }

    /// The rows of a data set that `place` names in `field`.
    fn rows_of(&self, place: &SourceLocation<'_>, field: &str, dataset: &str) -> Result<&'a [Utterance], DataError> {
        (self.rows)(dataset).ok_or_else(|| place.error(field, format!("no such data set: {dataset:?}")))
    }

    /// The predictions, a line each.
    fn predictions(&self) -> impl Iterator<Item = Result<(SourceLocation<'a>, Value), DataError>> {
        let file = SourceLocation::file(self.origin, "predictions.jsonl");
        let content = self.predictions;
        regatta_benchmarks::source_location::lines(&file, content).collect::<Vec<_>>().into_iter()
    }
}

/// A day in the form of ISO 8601.
fn day(place: &SourceLocation<'_>, field: &str, text: &str) -> Result<Date, DataError> {
    text.parse().map_err(|_| place.error(field, format!("must be a day like 2025-05-28, is {text:?}")))
}

/// A whole number in a field of a line.
fn whole(place: &SourceLocation<'_>, line: &Value, field: &str) -> Result<u32, DataError> {
    let number = line.get(field).and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| place.error(field, "must be a whole number"))
}

/// A text in a field of a line; nothing where it is `null` or not there.
fn text_or_null<'v>(place: &SourceLocation<'_>, line: &'v Value, field: &str) -> Result<Option<&'v str>, DataError> {
    match line.get(field) {
        None | Some(Value::Null) => Ok(None),
        value => place.text_at(value, field).map(Some),
    }
}
