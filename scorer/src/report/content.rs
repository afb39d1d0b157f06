//! What a report consists of, before it is Markdown or HTML.

use regatta_benchmarks::{Measured, Unit};

use crate::statistics::Estimate;

/// A part of a report with a title.
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) blocks: Vec<Block>,
}

/// A part of a section.
pub(crate) enum Block {
    Text(String),
    /// Something a reader must not miss.
    Notice(Vec<String>),
    Table(Sheet),
    /// A list of names and values.
    Facts(Vec<(String, String)>),
    /// A picture; only where there can be one, so it never tells what no table does.
    Plot(Plot),
    /// Another picture, that tells no more than a table either.
    Bars(Bars),
}

/// Horizontal bars in groups, on one axis that begins at zero.
pub(crate) struct Bars {
    pub(crate) caption: String,
    /// What each bar of a group is of.
    pub(crate) series: Vec<String>,
    pub(crate) unit: Unit,
    pub(crate) decimals: u8,
    /// Names, and values as in `series`.
    pub(crate) groups: Vec<(String, Vec<Measured>)>,
}

/// Points on two axes that begin at zero.
pub(crate) struct Plot {
    pub(crate) caption: String,
    pub(crate) x_label: String,
    pub(crate) y_label: String,
    pub(crate) points: Vec<Point>,
}

/// A point with its name.
pub(crate) struct Point {
    pub(crate) name: String,
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// An interval around `y`.
    pub(crate) y_range: Option<(f64, f64)>,
}

/// A table.
pub(crate) struct Sheet {
    pub(crate) caption: String,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<Field>>,
}

/// A field of a table.
pub(crate) enum Field {
    /// A name; to the left.
    Name(String),
    /// A name of something simulated; said next to it.
    Simulated(String),
    /// A number; to the right.
    Number(String),
    /// A value with its interval, drawn where that is possible.
    Estimate(Estimate, Unit),
    /// A value of a paper's table, with the digits it has behind the point.
    Measured(Measured, Unit, u8),
}

impl Field {
    pub(crate) fn name(text: impl ToString) -> Self {
        Self::Name(text.to_string())
    }

    pub(crate) fn number(text: impl ToString) -> Self {
        Self::Number(text.to_string())
    }

    /// Whether it stands to the right.
    pub(crate) const fn is_number(&self) -> bool {
        matches!(self, Self::Number(_) | Self::Estimate(..) | Self::Measured(..))
    }
}
