//! One annotation, which is one line of the file.

use jiff::Timestamp;
use regatta_proto::{BenchmarkName, Cell, ItemId, ModelRef, Setting};
use serde::{Deserialize, Serialize};

use super::{Annotator, Note};

/// A person's judgement of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// The session did what was asked.
    Right,
    /// It did not.
    Wrong,
    /// The person cannot tell.
    Unsure,
}

impl Mark {
    /// All marks, in the order of forms.
    pub const ALL: [Self; 3] = [Self::Right, Self::Wrong, Self::Unsure];

    /// Name in files and addresses.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wrong => "wrong",
            Self::Unsure => "unsure",
        }
    }

    /// A character that stands for it in lists.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Right => "✓",
            Self::Wrong => "✗",
            Self::Unsure => "?",
        }
    }
}

/// A session by the names that `results.jsonl` has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionName {
    /// The benchmark.
    pub benchmark: BenchmarkName,
    /// The setting of the cell.
    pub setting: Setting,
    /// Model under test.
    pub model: ModelRef,
    /// Number of the repetition, from 0.
    pub trial: u16,
    /// The benchmark's id of the item.
    pub item: ItemId,
}

impl SessionName {
    /// The session of `item` in `cell`.
    #[must_use]
    pub fn of(cell: &Cell, item: &ItemId) -> Self {
        Self {
            benchmark: cell.benchmark.clone(),
            setting: cell.setting.clone(),
            model: cell.model.clone(),
            trial: cell.trial.0,
            item: item.clone(),
        }
    }
}

/// An annotation of a session by a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Line", into = "Line")]
pub struct Annotation {
    /// Time at which it was made; lines that come from elsewhere may have none.
    pub at: Option<Timestamp>,
    /// The person.
    pub by: Annotator,
    /// The session.
    pub session: SessionName,
    /// The mark.
    pub mark: Option<Mark>,
    /// A number in the scale of a score of the benchmark's judge.
    pub rating: Option<f64>,
    /// The note.
    pub note: Option<Note>,
}

impl Annotation {
    /// `true` if it says nothing, and so takes the person's earlier ones back.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.mark.is_none() && self.rating.is_none() && self.note.is_none()
    }
}

/// The line as it is written: flat, so that a table has a column for each field.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
    by: Annotator,
    benchmark: BenchmarkName,
    setting: Setting,
    model: ModelRef,
    #[serde(default)]
    trial: u16,
    item: ItemId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mark: Option<Mark>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rating: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<Note>,
}

impl From<Line> for Annotation {
    fn from(line: Line) -> Self {
        let Line { at, by, benchmark, setting, model, trial, item, mark, rating, note } = line;
        let session = SessionName { benchmark, setting, model, trial, item };
        Self { at, by, session, mark, rating, note }
    }
}

impl From<Annotation> for Line {
    fn from(annotation: Annotation) -> Self {
        let Annotation { at, by, session, mark, rating, note } = annotation;
        let SessionName { benchmark, setting, model, trial, item } = session;
        Self { at, by, benchmark, setting, model, trial, item, mark, rating, note }
    }
}
