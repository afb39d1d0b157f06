//! `benchmark.yaml` of a benchmark whose functions a program answers.

use regatta_benchmarks::Better;
use serde::Deserialize;

use super::AxisValue;
use super::{MetricSpec, Named};

/// The whole file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Coded {
    /// [`super::VERSION`].
    pub(crate) v: u32,
    /// Program and arguments; it is started in the benchmark's folder.
    pub(crate) program: Vec<String>,
    /// Files of the folder that the program needs, beside its own words and the data.
    #[serde(default)]
    pub(crate) files: Vec<String>,
    /// Data files by split; paths are relative to the folder.
    #[serde(default)]
    pub(crate) data: Named<String>,
    /// Axes of the grid of settings, each with its values, the default first.
    #[serde(default)]
    pub(crate) settings: Named<Vec<AxisValue>>,
    /// Roles that models play beside the agent: `user`, `environment`.
    #[serde(default)]
    pub(crate) roles: Vec<String>,
    /// Values of a session's scores.
    pub(crate) values: Named<ValueSpec>,
    /// Numbers of a cell; the means of all values where there are none.
    #[serde(default)]
    pub(crate) metrics: Named<MetricSpec>,
    /// Limits of the program.
    #[serde(default)]
    pub(crate) limits: Limits,
}

/// A value that each session has.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ValueSpec {
    /// Smallest and largest value.
    pub(crate) range: (f64, f64),
    /// The value of a session that the model made impossible; the bad end of the range where it is left out.
    pub(crate) worst: Option<f64>,
    /// The better end.
    pub(crate) better: Better,
    /// Replies of a judge can change it, so an audit of the judge corrects it.
    pub(crate) judged: bool,
}

impl Default for ValueSpec {
    fn default() -> Self {
        Self { range: (0.0, 1.0), worst: None, better: Better::Higher, judged: false }
    }
}

impl ValueSpec {
    /// The value of a session that the model made impossible.
    pub(crate) fn worst(&self) -> f64 {
        self.worst.unwrap_or(match self.better {
            Better::Higher => self.range.0,
            Better::Lower => self.range.1,
        })
    }
}

/// Limits of the program.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Limits {
    /// Time of `load` and of `tabulate`, in seconds.
    pub(crate) load_s: u32,
    /// Time of any other call, in seconds.
    pub(crate) call_s: u32,
    /// Memory of a process, in MiB.
    pub(crate) memory_mb: u32,
    /// Largest answer, in MiB.
    pub(crate) answer_mb: u32,
    /// Most replies of a session.
    pub(crate) replies: u32,
    /// Most processes in each of Regatta's processes; as many as there are processors, at least 2 and at most 8, where it is left out.
    pub(crate) processes: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { load_s: 120, call_s: 30, memory_mb: 2048, answer_mb: 64, replies: 200, processes: None }
    }
}
