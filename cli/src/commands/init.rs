//! `regatta init`: a spec to begin with, with a comment on everything that a person may want to change.

mod endpoints;
mod own;

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use regatta_benchmarks::{Benchmark, Dataset, default_setting};
use regatta_proto::{BenchmarkName, Evaluator, ModelRef, Question, Setting, SweepId};
use serde_json::Value;

use self::own::{Own, own};
use crate::args::InitArgs;
use crate::benchmarks::{BENCHMARKS, OF_PERSON};
use crate::data::unknown;
use crate::exit::{BadConfiguration, bad_configuration};
use crate::output;
use crate::price_tables::{misspelt, price_table};

/// Endpoint whose models are simulated.
const SIMULATED: &str = "sim";
/// Price of its models: with one a budget can be kept, and a run says $0 in the place of an unknown cost.
const FREE: &str = "price: { input_per_mtok: 0, output_per_mtok: 0 }";
/// Endpoint of sentence encoders in-process.
const ENCODER: &str = "minilm";

/// Kind of model that the evaluators of a benchmark ask.
enum Asked {
    Nobody,
    Encoder,
    Judge,
}

pub(crate) fn run(args: InitArgs) -> anyhow::Result<ExitCode> {
    let file = args.file.display();
    let there_already = || BadConfiguration(format!("{file} is there already; name another file, or remove it"));
    // Before a benchmark is begun for it.
    if args.file.exists() {
        return Err(there_already().into());
    }
    endpoints::check(&args)?;
    let own = own(&args)?;
    let text = spec(&args, &own)?;
    let opened = std::fs::OpenOptions::new().write(true).create_new(true).open(&args.file);
    let mut opened = match opened {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Err(there_already().into()),
        opened => opened.with_context(|| format!("failed to write {file}"))?,
    };
    opened.write_all(text.as_bytes()).with_context(|| format!("failed to write {file}"))?;
    output::line(&file.to_string());
    let prices = price_table(None)?;
    missing(&args, &own)?.iter().for_each(|note| output::note(note));
    args.models.iter().filter_map(|model| misspelt(&prices, model)).for_each(|note| output::note(&note));
    output::note(&format!("look at it, then: regatta run {file} --dry-run (plans and prices it), regatta run {file}"));
    Ok(ExitCode::SUCCESS)
}

/// Notes on what the spec needs and is not there.
fn missing(args: &InitArgs, own: &Own) -> anyhow::Result<Vec<String>> {
    let folder = args.file.parent().unwrap_or(Path::new("."));
    let mut notes = Vec::new();
    for name in names(args) {
        let directory = folder.join(data(args, name));
        if !directory.is_dir() {
            let at = directory.display();
            notes.push(format!(
                "there is no {at} yet: put the files of {name} there, or write their folder into the spec"
            ));
        }
        if judge(args, own, name)?.is_some_and(|judge| judge.endpoint.as_str() == ENCODER) {
            notes.push(format!(
                "{name} is judged by a sentence encoder: set REGATTA_MINILM to the folder of all-MiniLM-L6-v2, or write another judge into \
                 the spec"
            ));
        }
    }
    Ok(notes)
}

/// The spec as text.
fn spec(args: &InitArgs, own: &Own) -> anyhow::Result<String> {
    let mut judges: BTreeSet<ModelRef> = BTreeSet::new();
    let mut benchmarks = String::new();
    for name in names(args) {
        let judge = judge(args, own, name)?;
        match own.get(name) {
            Some(suite) => write_own(&mut benchmarks, args, name, &**suite, judge.as_ref())?,
            None => write_benchmark(&mut benchmarks, args, name, judge.as_ref()).map_err(bad_configuration)?,
        }
        judges.extend(judge);
    }
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_head(&mut out, args, &sweep_name(args)?);
    out += &benchmarks;
    let used: BTreeSet<&str> = args.models.iter().chain(&judges).map(|model| model.endpoint.as_str()).collect();
    let _ = endpoints::write(&mut out, args, &used);
    out += "\n# What is measured: endpoint/model, or a mapping with parameters and a price of your own.\nmodels:\n";
    for model in &args.models {
        let _ = writeln!(out, "  - {}", priced(model));
    }
    out += "  # - { id: openai/gpt-4o-mini, temperature: 0.0, max_tokens: 4096 }\n";
    Ok(out)
}

/// Benchmarks in the order of the command line, each once.
fn names(args: &InitArgs) -> Vec<&BenchmarkName> {
    let mut names: Vec<&BenchmarkName> = Vec::new();
    for (name, _) in &args.benchmarks {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Name of the sweep: the one that is given, or that of the file, so that two specs have two folders in `runs`.
fn sweep_name(args: &InitArgs) -> anyhow::Result<SweepId> {
    if let Some(name) = &args.name {
        return Ok(name.clone());
    }
    let of_file = args.file.file_stem().and_then(|stem| stem.to_str()?.parse::<SweepId>().ok());
    of_file.map_or_else(|| "first".parse::<SweepId>().map_err(bad_configuration), Ok)
}

/// A model as the spec has it: one that is simulated costs nothing.
fn priced(model: &ModelRef) -> String {
    match model.endpoint.as_str() == SIMULATED {
        true => format!("{{ id: {model}, {FREE} }}"),
        false => model.to_string(),
    }
}

fn write_head(out: &mut String, args: &InitArgs, name: &SweepId) -> fmt::Result {
    writeln!(out, "# yaml-language-server: $schema=regatta.schema.json")?;
    writeln!(
        out,
        "# The line above is for editors; write the file that it names with: regatta schema > regatta.schema.json"
    )?;
    // A file may be called 2026.yaml, and YAML has numbers and words of its own.
    let is_plain = name.as_str().starts_with(|c: char| c.is_ascii_alphabetic());
    match is_plain && !matches!(name.as_str(), "true" | "false" | "null") {
        true => writeln!(out, "name: {name}")?,
        false => writeln!(out, "name: {:?}", name.as_str())?,
    }
    writeln!(out, "seed: 1                   # all randomness derives from it")?;
    writeln!(out, "trials: {:<17} # repetitions of every cell; more tell luck from skill", args.trials)?;
    match args.budget {
        Some(budget) => writeln!(out, "budget_usd: {budget:<13} # never overrun; models need a known price")?,
        None => writeln!(out, "# budget_usd: 5           # never overrun; models need a known price")?,
    }
    writeln!(out, "# cache: read_write       # keep answers, and use them again in later runs")?;
    writeln!(out, "\nbenchmarks:")
}

fn write_benchmark(
    out: &mut String,
    args: &InitArgs,
    name: &BenchmarkName,
    judge: Option<&ModelRef>,
) -> anyhow::Result<()> {
    let known = BENCHMARKS.find_built_in(name).ok_or_else(|| no_benchmark(name))?;
    let settings = settings(args, known);
    let listed: Vec<String> = settings.iter().map(Setting::to_string).collect();
    let evaluators: Vec<String> = known.usual_evaluators().iter().map(ToString::to_string).collect();
    writeln!(out, "  {name}:")?;
    writeln!(out, "    data: {}  # the files as the benchmark publishes them", quoted(&data(args, name)))?;
    writeln!(out, "    settings: [{}]  # all: regatta list settings {name}", listed.join(", "))?;
    writeln!(
        out,
        "    # evaluators: [{}]  # these are used anyway; all: regatta list evaluators {name}",
        evaluators.join(", ")
    )?;
    write_limit(out, args)?;
    if let Some(judge) = judge {
        let judge = priced(judge);
        writeln!(out, "    judge: {judge}  # answers what the evaluators ask")?;
        if settings.iter().any(|setting| setting.as_str().starts_with("session/")) {
            writeln!(
                out,
                "    roles: {{ user: {judge}, environment: {judge} }}  # who plays the others of a conversation"
            )?;
        }
    }
    Ok(())
}

/// The refusal of a benchmark that is not built in and has no folder.
fn no_benchmark(name: &BenchmarkName) -> BadConfiguration {
    BadConfiguration(format!(
        "{}; a benchmark of your own has a folder, which is begun where it is not there: --data {name}=DIR",
        unknown(name)
    ))
}

fn write_limit(out: &mut String, args: &InitArgs) -> fmt::Result {
    match args.limit {
        Some(limit) => {
            writeln!(out, "    limit: {limit}  # a sample with the weights of the tasks; leave it out for all items")
        }
        None => writeln!(out, "    # limit: 20  # a sample with the weights of the tasks, to begin with"),
    }
}

/// A benchmark of a person's own: its settings are those that its file declares.
fn write_own(
    out: &mut String,
    args: &InitArgs,
    name: &BenchmarkName,
    suite: &dyn Dataset,
    judge: Option<&ModelRef>,
) -> anyhow::Result<()> {
    let mut settings = named_settings(args, name);
    if settings.is_empty() {
        settings.extend(default_setting(&OF_PERSON, suite));
    }
    let listed: Vec<String> = settings.iter().map(Setting::to_string).collect();
    let folder = data(args, name);
    writeln!(out, "  {name}:")?;
    writeln!(out, "    data: {}  # the folder of its benchmark.yaml", quoted(&folder))?;
    writeln!(out, "    settings: [{}]  # all: regatta check {}", listed.join(", "), quoted(&folder))?;
    write_limit(out, args)?;
    if let Some(judge) = judge {
        writeln!(out, "    judge: {}  # answers what its scorers ask", priced(judge))?;
    }
    Ok(())
}

/// The settings that were named, or the default one.
fn settings(args: &InitArgs, of: &dyn Benchmark) -> Vec<Setting> {
    let named = named_settings(args, &of.name());
    if named.is_empty() { of.settings().into_iter().take(1).collect() } else { named }
}

fn named_settings(args: &InitArgs, name: &BenchmarkName) -> Vec<Setting> {
    args.benchmarks.iter().filter(|(known, _)| known == name).filter_map(|(_, setting)| setting.clone()).collect()
}

/// Kind of model that the evaluators of `name` ask. For a benchmark of a person's own its first item tells.
fn asked(own: &Own, name: &BenchmarkName) -> Asked {
    match own.get(name).map(|suite| suite.example_question(&[Evaluator::Declared])) {
        Some(None) => Asked::Nobody,
        Some(Some(Question::Similarity { .. })) => Asked::Encoder,
        Some(Some(_)) => Asked::Judge,
        None => match name.as_str() {
            // Its evaluators compute everything themselves.
            "appbench" => Asked::Nobody,
            "worfbench" => Asked::Encoder,
            _ => Asked::Judge,
        },
    }
}

/// Judge of `name`; `None` where nobody is asked anything.
fn judge(args: &InitArgs, own: &Own, name: &BenchmarkName) -> anyhow::Result<Option<ModelRef>> {
    let parsed = |text: &str| text.parse::<ModelRef>().map_err(bad_configuration);
    let is_simulated = args.models.iter().all(|model| model.endpoint.as_str() == SIMULATED);
    Ok(match (asked(own, name), &args.judge) {
        (Asked::Nobody, _) => None,
        (Asked::Encoder | Asked::Judge, Some(judge)) => Some(judge.clone()),
        (Asked::Encoder, None) if is_simulated => Some(parsed("sim/lexical")?),
        (Asked::Encoder, None) => Some(parsed("minilm/all-MiniLM-L6-v2")?),
        (Asked::Judge, None) if is_simulated => Some(parsed("sim/oracle")?),
        (Asked::Judge, None) => args.models.first().cloned(),
    })
}

/// The directory as the spec names it, which is from its own folder on.
fn data(args: &InitArgs, name: &BenchmarkName) -> PathBuf {
    let Some((_, given)) = args.data.iter().find(|(of, _)| of == name) else {
        return Path::new("data").join(name.as_str());
    };
    let beside = args.file.parent().is_none_or(|folder| folder.as_os_str().is_empty());
    // A relative path is meant from where the command is given.
    if beside { given.clone() } else { std::fs::canonicalize(given).unwrap_or_else(|_| given.clone()) }
}

/// Writes `path` as a YAML scalar. Quoted as JSON where needed, which is YAML too; the escapes of Rust's `Debug` are not.
pub(super) fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c)) && !text.starts_with('-');
    // `2024` and `null` are no texts.
    let is_text = matches!(serde_yaml_ng::from_str(&text), Ok(Value::String(_)));
    if is_plain && is_text { text.into_owned() } else { Value::from(text.into_owned()).to_string() }
}

#[cfg(test)]
mod tests;
