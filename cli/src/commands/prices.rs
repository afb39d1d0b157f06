//! `regatta prices`: price tables shown, checked, made out of what others publish, and brought up to date with it.

mod published;
mod update;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use regatta_llm::{CrossCheck, DatedPrice, Import, ImportError, ImportReport, PriceTable, Reading};
use regatta_proto::{Digest, Meter, Price, counted};
use serde::Serialize;

use crate::args::{PricesArgs, PricesCommand, PricesImportArgs, PricesShowArgs};
use crate::exit::{BadConfiguration, bad_configuration};
use crate::output;
use crate::plain_table::{fitted, plain_table};
use crate::price_tables::{GIVEN, price_table, read_bounded, today};

/// Models that are named in a line about many.
const EXAMPLES: usize = 3;

pub(crate) async fn run(args: PricesArgs) -> anyhow::Result<ExitCode> {
    match args.what {
        PricesCommand::Show(args) => show(&args)?,
        PricesCommand::Check(args) => {
            let table = price_table(Some(&args.file))?;
            output::line(&format!("{}: {}", args.file.display(), heading(&table)));
        }
        PricesCommand::Import(args) => import(&args)?,
        PricesCommand::Update(args) => update::update(&args).await?,
    }
    Ok(ExitCode::SUCCESS)
}

fn heading(table: &PriceTable) -> String {
    let models = counted(table.models().len() as u64, "model", "models");
    format!("{models}, prices of {}, digest {}", table.date(), table.digest())
}

fn show(args: &PricesShowArgs) -> anyhow::Result<()> {
    let table = price_table(args.prices.as_deref())?;
    let models = match &args.model {
        None => table.models().clone(),
        Some(model) => {
            let Some(listed) = table.find(model, today()) else {
                let meant = table.guess(model);
                return Err(BadConfiguration(format!(
                    "the table of {} has no price of {model} for today{meant} {GIVEN}",
                    table.date()
                ))
                .into());
            };
            BTreeMap::from([(listed.name.to_owned(), table.models()[listed.name].clone())])
        }
    };
    if args.json {
        #[derive(Serialize)]
        struct Shown<'a> {
            date: String,
            digest: Digest,
            sources: &'a [String],
            models: BTreeMap<String, Vec<DatedPrice>>,
            readings: Vec<Reading>,
        }
        let of_models = |reading: &Reading| {
            let shown = reading.models.iter().filter(|model| models.contains_key(*model)).cloned().collect();
            Reading { models: shown, ..reading.clone() }
        };
        let readings = table.readings().iter().map(of_models).filter(|reading| !reading.models.is_empty()).collect();
        let (date, digest, sources) = (table.date().to_string(), table.digest(), table.sources());
        let shown = Shown { date, digest, sources, models, readings };
        output::line(&serde_json::to_string_pretty(&shown)?);
        return Ok(());
    }
    output::line(&heading(&table));
    for source in table.sources() {
        output::line(&format!("from {source}"));
    }
    output::line(&render(&models));
    if args.model.is_some() {
        for reading in models.keys().filter_map(|model| table.reading(model)) {
            output::line(&format!("read from {reading}"));
        }
        for dated in models.values().flatten() {
            output::line(serde_yaml_ng::to_string(&dated)?.trim_end());
        }
    }
    Ok(())
}

/// Dollars per million tokens, a line a price.
fn render(models: &BTreeMap<String, Vec<DatedPrice>>) -> String {
    let mut table = plain_table();
    table.set_header([
        "$ per million tokens",
        "from",
        "input",
        "cached",
        "write 5 min",
        "write 1 h",
        "output",
        "reasoning",
        "also",
    ]);
    for (model, prices) in models {
        for dated in prices {
            let rates = dated.price.rates();
            let mut row = vec![model.clone(), dated.from.map_or_else(String::new, |from| from.to_string())];
            row.extend(
                Meter::ALL.map(|meter| rates.stated(meter).map_or_else(String::new, |figure| figure.to_string())),
            );
            row.push(also(&dated.price));
            table.add_row(row);
        }
    }
    fitted(table)
}

/// Features of a price besides its plain figures, comma-separated.
fn also(price: &Price) -> String {
    let mut parts = Vec::new();
    parts.extend(price.per_request.map(|fee| format!("${fee} a request")));
    parts.extend(price.tiers.iter().map(|tier| format!("above {} tokens", tier.above_input_tokens)));
    if !price.windows.is_empty() {
        parts.push(format!("{} windows", price.windows.len()));
    }
    parts.extend(price.variants.keys().cloned());
    parts.join(", ")
}

#[derive(Serialize)]
struct ImportedJson<'a> {
    litellm: Option<&'a ImportReport>,
    genai_prices: Option<&'a ImportReport>,
    cross_check: Option<&'a CrossCheck>,
    models: usize,
    digest: Digest,
}

fn import(args: &PricesImportArgs) -> anyhow::Result<()> {
    let mut sources = Vec::new();
    let litellm = read(args, args.litellm.as_deref(), "LiteLLM", Import::litellm, &mut sources)?;
    let genai_prices = read(args, args.genai_prices.as_deref(), "genai-prices", Import::genai_prices, &mut sources)?;
    let check = litellm.as_ref().zip(genai_prices.as_ref()).map(|(one, other)| CrossCheck::of(one, other, today()));
    let models = match &check {
        Some(check) if args.agreed => check.agreed().clone(),
        _ => {
            let mut models = litellm.as_ref().map(Import::prices).unwrap_or_default();
            models.extend(genai_prices.as_ref().map(Import::prices).unwrap_or_default());
            models
        }
    };
    let table = PriceTable::new(today(), sources, models)?;
    // The last goes before, as its prices do.
    let read = [("LiteLLM", &litellm, &args.litellm), ("genai-prices", &genai_prices, &args.genai_prices)];
    let readings = read
        .into_iter()
        .filter_map(|(source, import, path)| reading(&table, source, import.as_ref()?, path.as_deref()?));
    let readings = readings.collect();
    let table = table.with_readings(readings);
    if args.json {
        let report = ImportedJson {
            litellm: litellm.as_ref().map(|import| &import.report),
            genai_prices: genai_prices.as_ref().map(|import| &import.report),
            cross_check: check.as_ref(),
            models: table.models().len(),
            digest: table.digest(),
        };
        output::line(&serde_json::to_string_pretty(&report)?);
    } else {
        for (name, import) in [("LiteLLM", &litellm), ("genai-prices", &genai_prices)] {
            if let Some(import) = import {
                output::line(describe(name, &import.report).trim_end());
            }
        }
        if let Some(check) = &check {
            output::line(describe_check(check).trim_end());
        }
        output::line(&heading(&table));
    }
    match &args.out {
        Some(path) => {
            regatta_files::write(path, table.to_yaml()?)
                .with_context(|| format!("failed to write {}", path.display()))?;
            output::note(&format!("written to {}", path.display()));
        }
        None => output::note("nothing is written without --out FILE"),
    }
    Ok(())
}

/// The models of `table` that `import` has, as read from the file `path` of `source`.
fn reading(table: &PriceTable, source: &str, import: &Import, path: &Path) -> Option<Reading> {
    let models = import.prices().into_keys().filter(|model| table.models().contains_key(model));
    let (source, at) = (source.to_owned(), path.display().to_string());
    let reading = Reading { source, at, on: table.date(), models: models.collect() };
    (!reading.models.is_empty()).then_some(reading)
}

/// `true` if the model is of one of the names in `only`, or begins as one with a star.
fn is_wanted(only: &[String], model: &str) -> bool {
    only.is_empty()
        || only.iter().any(|name| match name.strip_suffix('*') {
            Some(prefix) => model.starts_with(prefix),
            None => model == name,
        })
}

/// The import of a file that was given, and the file as a source.
fn read(
    args: &PricesImportArgs,
    path: Option<&Path>,
    name: &str,
    import: impl Fn(&[u8]) -> Result<Import, ImportError>,
    sources: &mut Vec<String>,
) -> anyhow::Result<Option<Import>> {
    let Some(path) = path else { return Ok(None) };
    let place = || path.display().to_string();
    let bytes = read_bounded(path).with_context(place).map_err(bad_configuration)?;
    sources.push(format!("{name}, a file of the digest {}", Digest::of(&bytes)));
    let mut import = import(&bytes).with_context(place).map_err(bad_configuration)?;
    import.retain(|model| is_wanted(&args.only, model));
    Ok(Some(import))
}

fn describe(name: &str, report: &ImportReport) -> String {
    let mut text =
        format!("{name}: {} of {} entries are prices that Regatta can use\n", report.imported, report.entries);
    for (title, lines) in [("skipped", &report.skipped), ("left out", &report.left_out), ("assumed", &report.assumed)] {
        for (what, models) in lines {
            // Writing to a text cannot fail.
            let _ = writeln!(text, "  {title}: {what} ({})", some(models));
        }
    }
    for problem in &report.problems {
        let _ = writeln!(text, "  problem: {}: {}: {}", problem.model, problem.field, problem.problem);
    }
    text
}

fn describe_check(check: &CrossCheck) -> String {
    let mut text = format!(
        "Cross-check of {}: {} models and {} figures that both state, {} disagreements over 1 %; only LiteLLM has {} models, only \
         genai-prices {}\n",
        check.on,
        check.compared,
        check.figures,
        check.disagreements.len(),
        check.only_litellm.len(),
        check.only_genai_prices.len(),
    );
    for (what, models) in &check.stated_by_one {
        let _ = writeln!(text, "  stated by one: {what} ({})", some(models));
    }
    for found in &check.disagreements {
        let _ = writeln!(
            text,
            "  disagreement: {} ({}) {}: LiteLLM {}, genai-prices {} ({:.1} %)",
            found.model, found.price, found.meter, found.litellm, found.genai_prices, found.percent
        );
    }
    text
}

/// Number of `models`, with the names of the first few.
fn some(models: &[String]) -> String {
    let named = models.iter().take(EXAMPLES).cloned().collect::<Vec<_>>().join(", ");
    let more = if models.len() > EXAMPLES { ", …" } else { "" };
    format!("{}: {named}{more}", models.len())
}
