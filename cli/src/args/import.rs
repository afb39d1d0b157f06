//! The command line of `regatta import`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use regatta_export::predictions::FieldPath;

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    pub(crate) from: ImportFrom,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImportFrom {
    /// A task of lm-evaluation-harness, as far as it is templates, patterns and exact matches, or a multiple choice
    LmEval(LmEvalArgs),
    /// Answers that another harness has recorded, as predictions for `score`: a log of Inspect (.eval), or lines of JSON
    Predictions(PredictionsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PredictionsArgs {
    /// The file
    pub(crate) file: PathBuf,
    /// Of lines: way to the id of the item, as doc.id
    #[arg(long, value_name = "FIELD", default_value = "item")]
    pub(crate) item: FieldPath,
    /// Of lines: way to the answer, as resps.0.0
    #[arg(long = "answer", value_name = "FIELD", default_value = "output")]
    pub(crate) answer: FieldPath,
    /// Of a log with several epochs: which one
    #[arg(long, value_name = "N")]
    pub(crate) epoch: Option<u64>,
    /// File to write
    #[arg(short = 'o', long)]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct LmEvalArgs {
    /// The task (YAML)
    pub(crate) task: PathBuf,
    /// File of a split, .jsonl or .csv, as test=gsm8k/test.jsonl; it is copied into the benchmark's folder
    #[arg(long = "split", value_name = "NAME=FILE", value_parser = split, required = true)]
    pub(crate) splits: Vec<(String, PathBuf)>,
    /// Folder of the benchmark; it must not be there yet
    #[arg(short = 'o', long)]
    pub(crate) output: PathBuf,
}

fn split(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => Ok((name.to_owned(), file.into())),
        _ => Err("write NAME=FILE, as test=data/test.jsonl".to_owned()),
    }
}
