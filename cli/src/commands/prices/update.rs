//! `regatta prices update`: a person's table, brought up to date with what others publish.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::Path;

use anyhow::Context;
use regatta_llm::{Import, ImportReport, PriceChange, PriceTable, PriceUpdate};
use regatta_proto::{Digest, Meter, Price, counted};
use serde::Serialize;

use super::{describe, heading, is_wanted, published, some};
use crate::args::PricesUpdateArgs;
use crate::exit::{BadConfiguration, bad_configuration};
use crate::output;
use crate::price_tables::{price_table, today};

#[derive(Serialize)]
struct UpdatedJson<'a> {
    source: &'a str,
    at: &'a str,
    report: &'a ImportReport,
    #[serde(flatten)]
    update: &'a PriceUpdate,
    models: usize,
    digest: Digest,
}

pub(super) async fn update(args: &PricesUpdateArgs) -> anyhow::Result<()> {
    let path = &args.prices;
    let published = published::read(&args.from).await?;
    // Read after the source, which may take a while: what somebody writes into the table meanwhile stays.
    let _lock = (!args.dry_run).then(|| lock_folder(path)).transpose()?;
    let is_new = !path.try_exists().with_context(|| path.display().to_string()).map_err(bad_configuration)?;
    let table = if is_new { PriceTable::copy_of_shipped()? } else { price_table(Some(path))? };
    let (source, mut import) =
        Import::any(&published.bytes).with_context(|| published.at.clone()).map_err(bad_configuration)?;
    if import.prices().is_empty() {
        let problem = format!("{} has no price that Regatta can use; nothing is written", published.at);
        return Err(BadConfiguration(problem).into());
    }
    import.retain(|model| is_wanted(&args.only, model));
    let read = (source, published.at.as_str(), today());
    let mut update = PriceUpdate::of(&table, &import, read, args.replace_own)?;
    update.gone.retain(|model| is_wanted(&args.only, model));
    if import.prices().is_empty() && update.gone.is_empty() {
        let problem = format!("{} has no model that --only names; nothing is written", published.at);
        return Err(BadConfiguration(problem).into());
    }
    if args.json {
        let (models, digest) = (update.table.models().len(), update.table.digest());
        let shown = UpdatedJson { source, at: &published.at, report: &import.report, update: &update, models, digest };
        output::line(&serde_json::to_string_pretty(&shown)?);
    } else {
        output::line(describe(source, &import.report).trim_end());
        say(&update);
        output::line(&heading(&update.table));
    }
    let shown = path.display();
    if args.dry_run {
        output::note(&format!("nothing is written to {shown} with --dry-run"));
        return Ok(());
    }
    regatta_files::write(path, update.table.to_yaml()?).with_context(|| format!("failed to write {shown}"))?;
    let begun = if is_new { ", which begins as a copy of the shipped table" } else { "" };
    output::note(&format!("written to {shown}{begun}"));
    Ok(())
}

/// Keeps other updates of tables in the folder of `path` waiting, until it is dropped. The table itself is replaced, so that its lock would be
/// that of a file of before.
fn lock_folder(path: &Path) -> anyhow::Result<File> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let open = || -> io::Result<File> {
        let opened = File::open(folder)?;
        opened.lock()?;
        Ok(opened)
    };
    open().with_context(|| format!("failed to lock {}", folder.display()))
}

fn say(update: &PriceUpdate) {
    if !update.new.is_empty() {
        output::line(&format!("new ({})", some(&update.new)));
    }
    for change in &update.changed {
        output::line(&format!("changed: {}", told(change)));
    }
    for change in &update.kept {
        output::line(&format!("yours, kept: {}", told(change)));
    }
    if !update.kept.is_empty() {
        output::line("  --replace-own takes the source's");
    }
    for change in &update.doubtful {
        output::line(&format!("doubtful, not taken: {}", told(change)));
    }
    if !update.doubtful.is_empty() {
        output::line(
            "  figures a hundred times apart are rarely in the same unit; write the price into the table if it is right",
        );
    }
    if !update.gone.is_empty() {
        output::line(&format!("gone, kept for old runs ({})", some(&update.gone)));
    }
    output::line(&counted(update.unchanged as u64, "price is as it was", "prices are as they were"));
}

/// The model with its old and its new figures.
fn told(change: &PriceChange) -> String {
    let differences = match (&change.was, &change.is) {
        (Some(was), Some(is)) => differences(was, is),
        (Some(_), None) => vec!["no price for today any more".to_owned()],
        (None, Some(_)) => vec!["a price for today".to_owned()],
        (None, None) => Vec::new(),
    };
    let differences = if differences.is_empty() {
        "the same today, another on other days".to_owned()
    } else {
        differences.join(", ")
    };
    format!("{}: {differences}", change.model)
}

fn differences(was: &Price, is: &Price) -> Vec<String> {
    let figure = |figure: Option<f64>| figure.map_or_else(|| "none".to_owned(), |figure| figure.to_string());
    let (old, new) = (was.rates(), is.rates());
    let mut found = Vec::new();
    let meters = Meter::ALL.map(|meter| (meter.field(), old.stated(meter), new.stated(meter)));
    for (name, old, new) in meters.into_iter().chain([("per_request", was.per_request, is.per_request)]) {
        if old != new {
            found.push(format!("{name} {} → {}", figure(old), figure(new)));
        }
    }
    if was.tiers != is.tiers {
        found.push("the prices of long prompts".to_owned());
    }
    if was.windows != is.windows {
        found.push("the prices by time of day".to_owned());
    }
    let names: BTreeSet<&String> = was.variants.keys().chain(is.variants.keys()).collect();
    for name in names {
        match (was.variants.get(name), is.variants.get(name)) {
            (Some(was), Some(is)) if was != is => {
                found.push(format!("{name} ({})", differences(was, is).join(", ")));
            }
            (Some(_), None) => found.push(format!("{name} has no price of its own any more")),
            (None, Some(_)) => found.push(format!("{name} has a price of its own")),
            (Some(_), Some(_)) | (None, None) => {}
        }
    }
    found
}
