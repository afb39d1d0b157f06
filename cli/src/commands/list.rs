//! `regatta list`: benchmarks, settings, evaluators and models that this build knows.

use std::process::ExitCode;

use comfy_table::Table;
use regatta_benchmarks::Benchmark;
use regatta_proto::{BenchmarkName, Meter, counted, implied_endpoints};

use crate::args::{ListArgs, Listed, ModelsArgs};
use crate::benchmarks::BENCHMARKS;
use crate::data::built_in;
use crate::exit::bad_configuration;
use crate::output;
use crate::plain_table::{fitted, plain_table};
use crate::price_tables::{price_table, today};

pub(crate) fn run(args: ListArgs) -> anyhow::Result<ExitCode> {
    let text = match args.what {
        Listed::Benchmarks => benchmarks(),
        Listed::Settings(of) => settings(&chosen(of.benchmark.as_ref())?),
        Listed::Evaluators(of) => evaluators(&chosen(of.benchmark.as_ref())?),
        Listed::Models(args) => models(&args)?,
    };
    output::line(&text);
    Ok(ExitCode::SUCCESS)
}

fn chosen(name: Option<&BenchmarkName>) -> anyhow::Result<Vec<&'static dyn Benchmark>> {
    match name {
        Some(name) => Ok(vec![built_in(name).map_err(bad_configuration)?]),
        None => Ok(BENCHMARKS.all().to_vec()),
    }
}

fn benchmarks() -> String {
    let mut table = table(&["benchmark", "settings", "default setting", "evaluators"]);
    for benchmark in BENCHMARKS.all() {
        let settings = benchmark.settings();
        table.add_row([
            benchmark.name().to_string(),
            settings.len().to_string(),
            settings.first().map(ToString::to_string).unwrap_or_default(),
            evaluators_of(*benchmark),
        ]);
    }
    fitted(table)
}

/// Some take more than they list, as days and casts: what a benchmark's settings may be is in its part of the README.
fn settings(of: &[&'static dyn Benchmark]) -> String {
    let mut table = table(&["benchmark", "setting"]);
    for benchmark in of {
        for setting in benchmark.settings() {
            table.add_row([benchmark.name().to_string(), setting.to_string()]);
        }
    }
    fitted(table)
}

fn evaluators(of: &[&'static dyn Benchmark]) -> String {
    let mut table = table(&["benchmark", "evaluator", "used when none is named"]);
    for benchmark in of {
        let usual = benchmark.usual_evaluators();
        for evaluator in benchmark.evaluators() {
            let is_usual = if usual.contains(&evaluator) { "yes" } else { "" };
            table.add_row([benchmark.name().to_string(), evaluator.to_string(), is_usual.to_owned()]);
        }
    }
    fitted(table)
}

fn evaluators_of(benchmark: &dyn Benchmark) -> String {
    benchmark.usual_evaluators().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn models(args: &ModelsArgs) -> anyhow::Result<String> {
    let prices = price_table(args.prices.as_deref())?;
    let text = args.text.as_deref().unwrap_or_default().to_lowercase();
    // A spec has models with their endpoint, the table most of them without.
    let exact = prices.find(&text, today()).map(|listed| listed.name);
    let is_asked = |name: &str| name.to_lowercase().contains(&text) || exact == Some(name);
    let mut table = table(&["model", "$ per million in", "out"]);
    let mut count: u64 = 0;
    for (name, dated) in prices.models().iter().filter(|(name, _)| is_asked(name)) {
        // The last one that has begun; the others are of days before.
        let Some(latest) = dated.last() else { continue };
        let rates = latest.price.rates();
        let figure = |meter| rates.stated(meter).map_or_else(String::new, |figure| figure.to_string());
        table.add_row([name.clone(), figure(Meter::Input), figure(Meter::Output)]);
        count += 1;
    }
    let providers: Vec<&str> = implied_endpoints().collect();
    let meant = if count == 0 { prices.guess(&text) } else { String::new() };
    Ok(format!(
        "{}\n{} with a price of {}{meant}. A spec names them as endpoint/model; endpoints that need no entry: {}. Any other \
         model works too, with a price of its own in the spec.",
        fitted(table),
        counted(count, "model", "models"),
        prices.date(),
        providers.join(", ")
    ))
}

fn table(header: &[&str]) -> Table {
    let mut table = plain_table();
    table.set_header(header.to_vec());
    table
}
