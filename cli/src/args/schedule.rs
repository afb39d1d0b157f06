//! Arguments of `regatta schedule`, `regatta drift` and `regatta gc`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use regatta_proto::{BenchmarkName, ScheduleName};

use super::{ClientArgs, name_and_directory};

#[derive(Debug, Args)]
pub(crate) struct ScheduleArgs {
    #[command(subcommand)]
    pub(crate) what: ScheduleCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ScheduleCommand {
    /// Hand a schedule to a coordinator; handing in the same again changes nothing
    Create(CreateScheduleArgs),
    /// List the schedules with their next and last ticks
    List(ScheduleListArgs),
    /// Show a schedule
    Show(ScheduleShowArgs),
    /// Start nothing but what is asked for by hand; a sweep that runs goes on
    Pause(ScheduleNameArgs),
    /// Go on after a pause; its ticks are not made up for
    Resume(ScheduleNameArgs),
    /// Ask for a sweep now; it waits for one that runs
    Run(ScheduleNameArgs),
    /// List the ticks of a schedule: sweeps, verdicts, money, and what was missed
    History(ScheduleHistoryArgs),
    /// Remove a schedule with its history; its sweeps stay
    Delete(ScheduleNameArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CreateScheduleArgs {
    /// The schedule (YAML); `spec` and `gate` name files beside it
    pub(crate) schedule: PathBuf,
    /// Data directory of a benchmark, as `worfbench=path/to/data`; its content now is what every night runs on
    #[arg(short = 'd', long = "data", value_name = "NAME=DIR", value_parser = name_and_directory)]
    pub(crate) data: Vec<(BenchmarkName, PathBuf)>,
    /// Replace another schedule of this name; its history stays
    #[arg(long)]
    pub(crate) replace: bool,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ScheduleListArgs {
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ScheduleNameArgs {
    /// The schedule
    pub(crate) name: ScheduleName,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ScheduleShowArgs {
    /// The schedule
    pub(crate) name: ScheduleName,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ScheduleHistoryArgs {
    /// The schedule
    pub(crate) name: ScheduleName,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Most ticks to show, from the newest
    #[arg(short = 'n', long, value_name = "N", default_value_t = 30)]
    pub(crate) limit: u32,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DriftArgs {
    /// A schedule of a coordinator; or two runs or more, directories or sweeps, from the oldest to the newest
    #[arg(required = true, value_name = "SCHEDULE|RUN")]
    pub(crate) of: Vec<String>,
    /// Most nights of a schedule to look at, from the newest
    #[arg(short = 'n', long, value_name = "N", default_value_t = 14, value_parser = clap::value_parser!(u32).range(2..=400))]
    pub(crate) nights: u32,
    /// Write a page with drawings of scores, tokens, times, money and canaries over the nights, too
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GcArgs {
    /// Keep sweeps that ended within so many days, of no schedule or of one without a retention of its own; all when left out
    #[arg(long, value_name = "DAYS")]
    pub(crate) days: Option<u32>,
    /// Keep at least so many of the last nights of each schedule without a retention of its own
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) nights: u32,
    /// Keep transcripts of sweeps that ended within so many days; as long as their sweep when left out
    #[arg(long, value_name = "DAYS")]
    pub(crate) transcripts_days: Option<u32>,
    /// Keep cached responses that were written within so many days; all when left out
    #[arg(long, value_name = "DAYS")]
    pub(crate) cached_days: Option<u32>,
    /// Remove cached responses of this directory, as of `regatta run --cache-dir`, and ask no coordinator
    #[arg(long, value_name = "DIR", requires = "cached_days", conflicts_with_all = ["days", "transcripts_days"])]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Remove it; otherwise only say what would go
    #[arg(long)]
    pub(crate) apply: bool,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
