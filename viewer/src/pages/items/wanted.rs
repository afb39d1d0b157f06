//! The query of the page of items: filters, an order, a place in the list. Links to sessions carry it on.

use regatta_backends::{ItemOrder, ItemQuery, ScoreValue, Standing};
use regatta_proto::{Cell, Flag};
use serde::Deserialize;

use super::super::group::Group;
use crate::address;
use crate::conversation::Words;
use crate::problem::Problem;
use crate::selection::{Annotated, Sample};

/// Items on a page.
pub(super) const ITEMS: u32 = 50;

/// Longest text to search for, in bytes.
const TEXT_BYTES_MAX: usize = 200;
/// Largest sample of sessions.
const SAMPLE_MAX: usize = 10_000;

/// The query of an address; every field is optional.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Wanted {
    pub(super) benchmark: String,
    pub(super) setting: String,
    pub(super) model: String,
    pub(super) value: String,
    pub(super) outcome: String,
    pub(super) cause: String,
    pub(super) flag: String,
    pub(super) low: String,
    pub(super) high: String,
    pub(super) text: String,
    pub(super) said: String,
    pub(super) annotated: String,
    pub(super) sample: String,
    pub(super) seed: String,
    pub(super) sort: String,
    pub(super) page: u64,
    /// Sessions of the selection before those that a search looks into.
    pub(super) from: usize,
}

pub(super) const ORDERS: [(&str, &str, ItemOrder); 4] = [
    ("", "as in the data set", ItemOrder::Position),
    ("disagreement", "most disagreement first", ItemOrder::Disagreement),
    ("lowest", "lowest mean first", ItemOrder::Lowest),
    ("highest", "highest mean first", ItemOrder::Highest),
];

impl Wanted {
    /// Benchmark and setting, as far as the address names them.
    pub(crate) fn group(&self) -> (&str, &str) {
        (&self.benchmark, &self.setting)
    }

    /// `true` without a filter by the store and in the order of the data set, which then has all items.
    pub(super) fn is_plain(&self) -> bool {
        [&self.outcome, &self.cause, &self.flag, &self.low, &self.high, &self.sort].iter().all(|field| field.is_empty())
    }

    /// `true` if single sessions are selected, by what is not in the store.
    pub(super) fn is_of_sessions(&self) -> bool {
        [&self.said, &self.annotated, &self.sample].iter().any(|field| !field.trim().is_empty())
    }

    /// The filters that the store applies, about `value`.
    pub(crate) fn query(&self, group: &Group<'_>, value: Option<ScoreValue>) -> Result<ItemQuery, Problem> {
        let standing = one_of("outcome", &self.outcome, Standing::ALL, Standing::as_str)?;
        let flag = one_of("flag", &self.flag, Flag::ALL, Flag::as_str)?;
        let order = ORDERS.iter().find(|(name, ..)| *name == self.sort).map(|(.., order)| *order);
        let order = order.ok_or_else(|| unknown("order", &self.sort, &ORDERS.map(|(name, ..)| name).join(", ")))?;
        let number = |what: &str, text: &str| match text.trim() {
            "" => Ok(None),
            text => match text.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(Some(number)),
                Ok(_) | Err(_) => Err(Problem::wrong(format!("{what} must be a number, found {text:?}"))),
            },
        };
        let of_model = group.cells.iter().filter(|cell| self.model.is_empty() || cell.model.to_string() == self.model);
        Ok(ItemQuery {
            cells: of_model.map(|cell| cell.index).collect(),
            value,
            standing,
            cause: Some(self.cause.clone()).filter(|cause| !cause.is_empty()),
            flag,
            score: (number("the lowest value", &self.low)?, number("the highest value", &self.high)?),
            text: short(&self.text)?.trim().to_owned(),
            order,
            offset: self.page.saturating_mul(u64::from(ITEMS)),
            limit: ITEMS,
        })
    }

    /// Name of the value that is wanted.
    pub(crate) fn value(&self) -> &str {
        &self.value
    }

    /// The sample that is wanted; `None` for all sessions.
    pub(crate) fn sample(&self) -> Result<Option<Sample>, Problem> {
        let size = match self.sample.trim() {
            "" => return Ok(None),
            text => text.parse::<usize>().ok().filter(|size| (1..=SAMPLE_MAX).contains(size)),
        };
        let size = size.ok_or_else(|| {
            Problem::wrong(format!("the sample must be a whole number from 1 to {SAMPLE_MAX}, found {:?}", self.sample))
        })?;
        let seed = match self.seed.trim() {
            "" => 0,
            text => text.parse().map_err(|_| {
                Problem::wrong(format!("the seed must be a whole number of at least 0, found {:?}", self.seed))
            })?,
        };
        Ok(Some(Sample { size, seed }))
    }

    /// The annotations that sessions must have; `None` for any.
    pub(crate) fn annotated(&self) -> Result<Option<Annotated>, Problem> {
        one_of("annotation", &self.annotated, Annotated::ALL, Annotated::as_str)
    }

    /// The words that somebody must have said.
    pub(crate) fn said(&self) -> Result<Option<Words>, Problem> {
        let said = short(&self.said)?;
        Ok((!said.trim().is_empty()).then(|| Words::new(said)))
    }

    /// The same query for another page.
    pub(super) fn on_page(&self, page: u64) -> String {
        self.address(page, 0)
    }

    /// The same query for a search that goes on after so many sessions.
    pub(super) fn searching_from(&self, from: usize) -> String {
        self.address(0, from)
    }

    /// The filters for links to sessions, and back; empty if there are none.
    pub(crate) fn context(&self) -> String {
        Self { benchmark: String::new(), setting: String::new(), ..self.clone() }.address(0, 0)
    }

    /// The filters for the list of items.
    pub(super) fn list(&self) -> String {
        self.address(0, 0)
    }

    /// The filters for the list of items of the benchmark and setting of `cell`, which links to sessions leave out.
    pub(crate) fn list_of(&self, cell: &Cell) -> String {
        Self { benchmark: cell.benchmark.to_string(), setting: cell.setting.to_string(), ..self.clone() }.list()
    }

    fn address(&self, page: u64, from: usize) -> String {
        let unless_first = |number: String| if number == "0" { String::new() } else { number };
        address::query(&[
            ("benchmark", &self.benchmark),
            ("setting", &self.setting),
            ("model", &self.model),
            ("value", &self.value),
            ("outcome", &self.outcome),
            ("cause", &self.cause),
            ("flag", &self.flag),
            ("low", &self.low),
            ("high", &self.high),
            ("text", &self.text),
            ("said", &self.said),
            ("annotated", &self.annotated),
            ("sample", &self.sample),
            ("seed", &self.seed),
            ("sort", &self.sort),
            ("page", &unless_first(page.to_string())),
            ("from", &unless_first(from.to_string())),
        ])
    }
}

fn short(text: &str) -> Result<&str, Problem> {
    match text.len() <= TEXT_BYTES_MAX {
        true => Ok(text),
        false => Err(Problem::wrong(format!("the text to look for is longer than {TEXT_BYTES_MAX} bytes"))),
    }
}

/// The one of `all` that is `given` by its name; `None` if nothing is given.
fn one_of<T: Copy, const N: usize>(
    what: &str,
    given: &str,
    all: [T; N],
    name: impl Fn(T) -> &'static str,
) -> Result<Option<T>, Problem> {
    if given.is_empty() {
        return Ok(None);
    }
    match all.into_iter().find(|one| name(*one) == given) {
        Some(found) => Ok(Some(found)),
        None => Err(unknown(what, given, &all.map(name).join(", "))),
    }
}

fn unknown(what: &str, given: &str, known: &str) -> Problem {
    Problem::wrong(format!("unknown {what} {given:?} (known: {known})"))
}
