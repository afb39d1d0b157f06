//! The command line of `regatta import`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use regatta_declared::{InspectField, InspectStep};
use regatta_export::predictions::FieldPath;
use serde_json::{Map, Value};

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    pub(crate) from: ImportFrom,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImportFrom {
    /// A task of lm-evaluation-harness, as far as it is templates, patterns and exact matches, or a multiple choice
    LmEval(LmEvalArgs),
    /// A data set of Inspect (.jsonl, .json, .csv), or a log as JSON with its samples, solvers and scorers
    Inspect(Box<InspectArgs>),
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

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// The data set, or a log that `inspect log dump` has written
    pub(crate) file: PathBuf,
    /// Folder of the benchmark; it must not be there yet
    #[arg(short = 'o', long)]
    pub(crate) output: PathBuf,
    /// Of a data set: field of the text or the messages that the model is given
    #[arg(long, value_name = "FIELD", default_value = "input")]
    pub(crate) input: String,
    /// Of a data set: field of the right answer, or of a list of them
    #[arg(long, value_name = "FIELD", default_value = "target")]
    pub(crate) target: String,
    /// Of a data set: field of the choices
    #[arg(long, value_name = "FIELD", default_value = "choices")]
    pub(crate) choices: String,
    /// Of a data set: field of the id
    #[arg(long, value_name = "FIELD", default_value = "id")]
    pub(crate) id: String,
    /// Of a data set: fields that become metadata, in place of the field metadata
    #[arg(long, value_name = "FIELD", value_delimiter = ',')]
    pub(crate) metadata: Vec<String>,
    /// Of a data set: field of the sandbox
    #[arg(long, value_name = "FIELD", default_value = "sandbox")]
    pub(crate) sandbox: String,
    /// Of a data set: field of the files
    #[arg(long, value_name = "FIELD", default_value = "files")]
    pub(crate) files: String,
    /// Of a data set: field of the script that prepares the sandbox
    #[arg(long, value_name = "FIELD", default_value = "setup")]
    pub(crate) setup: String,
    /// Solver, in place of those of a log, as 'system_message={"template": "Be brief."}'; several go in their order
    #[arg(long = "solver", value_name = "NAME[=JSON]", value_parser = step)]
    pub(crate) solvers: Vec<InspectStep>,
    /// Scorer, in place of those of a log, as includes, or 'match={"numeric": true}'
    #[arg(long = "scorer", value_name = "NAME[=JSON]", value_parser = step)]
    pub(crate) scorers: Vec<InspectStep>,
    /// Fields to leave out of samples that have them: sandbox, files, setup
    #[arg(long, value_name = "FIELD", value_delimiter = ',', value_parser = left_out)]
    pub(crate) leave_out: Vec<InspectField>,
}

fn step(text: &str) -> Result<InspectStep, String> {
    let (name, params) = match text.split_once('=') {
        Some((name, params)) => {
            let params: Map<String, Value> =
                serde_json::from_str(params).map_err(|error| format!("write NAME=JSON, an object: {error}"))?;
            (name, params)
        }
        None => (text, Map::new()),
    };
    if name.is_empty() {
        return Err("write NAME, or NAME=JSON".to_owned());
    }
    Ok(InspectStep { name: name.to_owned(), params })
}

fn left_out(text: &str) -> Result<InspectField, String> {
    let known = [InspectField::Sandbox, InspectField::Files, InspectField::Setup];
    known.into_iter().find(|field| field.as_str() == text).ok_or_else(|| "write sandbox, files or setup".to_owned())
}

fn split(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => Ok((name.to_owned(), file.into())),
        _ => Err("write NAME=FILE, as test=data/test.jsonl".to_owned()),
    }
}
