//! The command lines that read what runs have left.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use regatta_proto::{BenchmarkName, Evaluator, Flag, ModelRef};

use super::{ClientArgs, PolicyArgs, TrustArgs, name_and_directory};

/// Filters of the sessions that are listed: each must let a session through.
#[derive(Debug, Default, Args)]
pub(crate) struct ShowFilters {
    /// Only sessions that were not measured, or that the model made impossible
    #[arg(long)]
    pub(crate) failed: bool,
    /// Only sessions with this flag; given several times, with all of them
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Flag::ALL.map(Flag::as_str)))]
    flag: Vec<String>,
    /// Only sessions that ended for this cause, as auth or timeout; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) cause: Vec<String>,
    /// Only sessions in which somebody says this text, or a failed try does, in capitals or not
    #[arg(long, value_name = "TEXT")]
    pub(crate) grep: Option<String>,
}

impl ShowFilters {
    /// The flags that were named.
    pub(crate) fn flags(&self) -> Vec<Flag> {
        Flag::ALL.into_iter().filter(|flag| self.flag.iter().any(|name| name == flag.as_str())).collect()
    }
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Directory of the run, with its sweep.lock.yaml and transcripts
    pub(crate) run: PathBuf,
    /// A session, by cell and item; or one word: the id of an item, in all cells, or a cell. All sessions are listed when left out
    #[arg(num_args = 0..=2, value_names = ["CELL", "ITEM"])]
    pub(crate) session: Vec<String>,
    #[command(flatten)]
    pub(crate) filters: ShowFilters,
    /// Print all transcripts, a line of JSON each, for programs
    #[arg(long, conflicts_with_all = ["session", "output"])]
    pub(crate) jsonl: bool,
    /// Write the session to this file, as one page of HTML
    #[arg(short = 'o', long, value_name = "FILE", requires = "session")]
    pub(crate) output: Option<PathBuf>,
    /// Data directory of a benchmark, for the pictures of a run that was exported; an embedded run has its data with it
    #[arg(short = 'd', long = "data", value_name = "NAME=DIR", value_parser = name_and_directory)]
    pub(crate) data: Vec<(BenchmarkName, PathBuf)>,
}

#[derive(Debug, Args)]
pub(crate) struct AlignArgs {
    /// Directory of the run, with its results.jsonl
    pub(crate) run: PathBuf,
    /// Ratings by people, one JSON object a line: setting, model, trial, item, and ratings (numbers by the name of who gave them) [default:
    /// those of the run's annotations.jsonl]
    #[arg(long, value_name = "FILE", conflicts_with = "marks")]
    pub(crate) ratings: Option<PathBuf>,
    /// Take the marks of the run's annotations instead of their ratings: 1 for right, 0 for wrong; for a score that is 0 or 1, as success
    #[arg(long)]
    pub(crate) marks: bool,
    /// The judge's score that people's ratings are compared with, as results.jsonl names it
    #[arg(long, value_name = "NAME", default_value = "progress")]
    pub(crate) score: String,
    /// Scoring rule; needed where the run has several
    #[arg(long)]
    pub(crate) evaluator: Option<Evaluator>,
    /// Take the rated sessions for a random sample: estimate what these people would have said of all, with the judge's bias
    #[arg(long)]
    pub(crate) audit: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Two runs, and which of their models are compared.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Directory of a run that has ended, or a sweep of a coordinator
    #[arg(value_name = "RUN_A")]
    pub(crate) a: String,
    /// The run that is compared with it
    #[arg(value_name = "RUN_B")]
    pub(crate) b: String,
    /// Model of RUN_A; otherwise models of the same name are compared, or the only ones
    #[arg(long, value_name = "MODEL")]
    pub(crate) model_a: Option<ModelRef>,
    /// Model of RUN_B
    #[arg(long, value_name = "MODEL")]
    pub(crate) model_b: Option<ModelRef>,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GateArgs {
    /// Directory of the run that is judged, or a sweep of a coordinator
    pub(crate) run: String,
    /// The run that it is held against
    #[arg(long, value_name = "RUN", required_unless_present = "decided")]
    pub(crate) baseline: Option<String>,
    /// Policy: margins and limits that must hold (YAML)
    #[arg(long, value_name = "FILE", required_unless_present = "decided")]
    pub(crate) policy: Option<PathBuf>,
    /// Judge the run by its own question, `against ENDPOINT/MODEL`: each other model against that one, by the question's margin
    #[arg(long, conflicts_with_all = ["baseline", "policy", "model", "baseline_model"])]
    pub(crate) decided: bool,
    /// Model of the run; otherwise models of the same name are compared, or the only ones
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<ModelRef>,
    /// Model of the baseline
    #[arg(long, value_name = "MODEL")]
    pub(crate) baseline_model: Option<ModelRef>,
    /// Write the checks as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write a summary for a pull request, in Markdown
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Directory of the run, with its sweep.lock.yaml and transcripts
    pub(crate) run: PathBuf,
    /// Cell and item, as they are listed when left out
    #[arg(num_args = 2, value_names = ["CELL", "ITEM"])]
    pub(crate) session: Vec<u32>,
    /// Only print the request, as JSON
    #[arg(long)]
    pub(crate) print: bool,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    /// Send it to this address instead of the endpoint's own
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
}
