//! Blocks that a report consists of, before they are written as Markdown or HTML.

use regatta_benchmarks::{Measured, Unit};
use regatta_proto::{BenchmarkName, Evaluator};

use crate::statistics::Estimate;

/// A part of a report with a title.
pub(crate) struct Section {
    /// Name in addresses within the document.
    pub(crate) id: &'static str,
    pub(crate) title: String,
    /// `true` if only its title is seen at first, where that is possible.
    pub(crate) is_folded: bool,
    pub(crate) blocks: Vec<Block>,
}

/// A part of a section.
pub(crate) enum Block {
    Text(String),
    /// Sentences that a reader must not miss.
    Notice(Vec<String>),
    /// Lines of equal weight below a few words.
    List(String, Vec<String>),
    Table(Sheet),
    /// A list of names and values.
    Facts(Vec<(String, String)>),
    /// Pictures beside each other; only where there can be some, so they never tell what no table does.
    Plots(Vec<Plot>),
    /// Sequences that close from round to round.
    Funnels(Vec<Funnel>),
    /// Another picture, that tells no more than a table either.
    Bars(Bars),
    /// A choice of the evaluator whose tables are seen, of one benchmark; all are seen where there can be no choice.
    Choice(BenchmarkName, Vec<Evaluator>),
    /// Blocks of which only the title is seen at first.
    Folded(String, Vec<Block>),
}

/// Horizontal bars in groups, on one axis that begins at zero.
pub(crate) struct Bars {
    pub(crate) caption: String,
    /// Labels of the series: one for each bar of a group.
    pub(crate) series: Vec<String>,
    pub(crate) unit: Unit,
    pub(crate) decimals: u8,
    /// Names, and values as in `series`.
    pub(crate) groups: Vec<(String, Vec<Measured>)>,
}

/// Lower and upper ends over what was bought, and the band within which a difference does not matter.
pub(crate) struct Funnel {
    pub(crate) caption: String,
    /// Ends in the unit of the picture, by clusters bought.
    pub(crate) points: Vec<(f64, f64, f64)>,
    pub(crate) margin: Option<f64>,
}

/// Points on two axes that are fitted to them: a good `y` at a small `x` is best.
pub(crate) struct Plot {
    pub(crate) caption: String,
    pub(crate) x_label: String,
    pub(crate) y_label: String,
    /// Unit of `y`.
    pub(crate) unit: Unit,
    /// `true` if a large `y` is better.
    pub(crate) is_higher_better: bool,
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
#[derive(Default)]
pub(crate) struct Sheet {
    pub(crate) caption: String,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<Field>>,
    /// Benchmark and evaluator whose numbers it has, where another evaluator has a table like it.
    pub(crate) of: Option<(BenchmarkName, Evaluator)>,
    /// `true` if each row is a card of its own where there is no room for a table.
    pub(crate) is_board: bool,
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
    /// The same beside several others: its interval is drawn and not written, where it can be drawn.
    Brief(Estimate, Unit),
    /// A value of a paper's table, with the digits it has behind the point.
    Measured(Measured, Unit, u8),
    /// Short remarks on the numbers before them.
    Tags(Vec<String>),
    /// A statement that stands out among others of its column.
    Strong(String),
    /// A number that stands out: a difference that is more than chance.
    Significant(String),
}

impl Field {
    pub(crate) fn name(text: impl ToString) -> Self {
        Self::Name(text.to_string())
    }

    pub(crate) fn number(text: impl ToString) -> Self {
        Self::Number(text.to_string())
    }

    /// True if the field is aligned to the right, as numbers are.
    pub(crate) const fn is_number(&self) -> bool {
        match self {
            Self::Number(_) | Self::Estimate(..) | Self::Brief(..) | Self::Measured(..) | Self::Significant(_) => true,
            Self::Name(_) | Self::Simulated(_) | Self::Tags(_) | Self::Strong(_) => false,
        }
    }
}
