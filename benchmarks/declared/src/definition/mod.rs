//! `benchmark.yaml`: all that a declared benchmark says. What it must be beyond its form is checked where it is used.

mod axis_value;
mod coded;
mod data_file;
mod locate;
mod metrics;
mod named;
mod prompt;
mod scorers;
mod source;

use serde::Deserialize;

pub(crate) use self::axis_value::AxisValue;
pub(crate) use self::coded::{Coded, Limits, ValueSpec};
pub(crate) use self::data_file::DataFile;
pub(crate) use self::metrics::MetricSpec;
pub(crate) use self::named::{Name, Named};
pub(crate) use self::prompt::{Choose, Count, FewShot, Prompt, Turn, check_axis};
pub(crate) use self::scorers::{
    ChoiceSpec, ChrfSpec, ContainsSpec, ExactSpec, Form, JudgeSpec, NumberSpec, Place, RougeKind, RougeSpec,
    SchemaSpec, Scorer,
};
pub(crate) use self::source::Source;
use crate::answer::Step;
use crate::template::Template;

/// The file that makes a folder a benchmark.
pub(crate) const FILE: &str = "benchmark.yaml";
/// The form of the file that this build reads.
pub(crate) const VERSION: u32 = 1;

/// The whole file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Definition {
    /// [`VERSION`].
    pub(crate) v: u32,
    /// Files by split; paths are relative to the folder.
    pub(crate) data: Named<DataFile>,
    /// Mapping of records to items.
    #[serde(default)]
    pub(crate) items: Items,
    /// Axes of the grid of settings, each with its values, the default first.
    #[serde(default)]
    pub(crate) settings: Named<Vec<AxisValue>>,
    /// The conversation.
    pub(crate) prompt: Prompt,
    /// Readers of answers from the last reply.
    #[serde(default)]
    pub(crate) answers: Named<Vec<Step>>,
    /// Scorers of answers.
    pub(crate) scorers: Named<Scorer>,
    /// Numbers of a cell; the scorers' own where there are none.
    #[serde(default)]
    pub(crate) metrics: Named<MetricSpec>,
    /// Replies of simulated models.
    #[serde(default)]
    pub(crate) simulate: Simulate,
}

/// Mapping of records to items.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Items {
    /// Split whose records are the items.
    pub(crate) split: String,
    /// Column of the id; the record's number, from 1, where there is none.
    pub(crate) id: Option<String>,
    /// Column of the task.
    pub(crate) task: Option<String>,
    /// Column of what items share so that their scores are not independent.
    pub(crate) group: Option<String>,
    /// Columns for whose values the report has metrics of their own.
    pub(crate) parts: Vec<String>,
}

impl Default for Items {
    fn default() -> Self {
        Self { split: "test".to_owned(), id: None, task: None, group: None, parts: Vec::new() }
    }
}

/// Replies of simulated models.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Simulate {
    /// A right reply, from the record; the first scorer's gold where there is none.
    pub(crate) reply: Option<Template>,
}
