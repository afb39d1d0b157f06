//! `regatta check` and `regatta run --dry-run`: everything but running.

use std::collections::BTreeSet;
use std::process::ExitCode;

use comfy_table::{Table, presets};
use regatta_backends::Blobs;
use regatta_catalog::{Catalog, Sweep, store_dataset};
use regatta_coordinator::{CellEstimate, estimate, plan};
use regatta_proto::Money;

use crate::args::CheckArgs;
use crate::benchmarks::BENCHMARKS;
use crate::exit::bad_configuration;
use crate::output;
use crate::spec::{Loaded, check_endpoints, load};

pub(crate) async fn run(args: CheckArgs) -> anyhow::Result<ExitCode> {
    let loaded = load(&args.spec)?;
    check_endpoints(&loaded.spec)?;
    plan_and_describe(loaded, args.print, args.json).await
}

/// Plans the sweep in a scratch directory and says what it would be.
pub(crate) async fn plan_and_describe(loaded: Loaded, print_lock: bool, json: bool) -> anyhow::Result<ExitCode> {
    let scratch = Scratch::create()?;
    let catalog = Catalog::new(Blobs::directory(&scratch.0)?, BENCHMARKS);
    let mut datasets = std::collections::BTreeMap::new();
    for (name, files) in &loaded.data {
        datasets.insert(name.clone(), store_dataset(catalog.blobs(), files).await?);
    }
    let mut recorded = std::collections::BTreeMap::new();
    for (name, bytes) in loaded.recorded {
        recorded.insert(name, catalog.blobs().put_content(bytes).await?);
    }
    let prices = crate::price_tables::price_book(loaded.prices.as_deref())?;
    let lock = plan(loaded.spec, &datasets, &recorded, &catalog, &*prices).await.map_err(bad_configuration)?;
    if print_lock {
        output::line(lock.to_yaml()?.trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let sweep = catalog.store(&lock).await?;
    describe(&sweep, json)?;
    Ok(ExitCode::SUCCESS)
}

/// Calls, tokens and money of every cell, before anything is spent.
fn describe(sweep: &Sweep, json: bool) -> anyhow::Result<()> {
    let cells = estimate(sweep);
    if json {
        output::line(&serde_json::to_string_pretty(&cells)?);
        return Ok(());
    }
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["cell", "sessions", "calls", "input tokens", "output tokens", "about", "at most"]);
    let money = |money: Option<Money>| money.map_or_else(|| "unknown".to_owned(), |money| money.to_string());
    for one in &cells {
        let name = &one.cell;
        table.add_row([
            format!("{} {} {} t{}", name.benchmark, name.setting, name.model, name.trial),
            one.sessions.to_string(),
            one.calls.to_string(),
            one.input_tokens.to_string(),
            one.output_tokens.to_string(),
            money(one.cost),
            money(one.at_most),
        ]);
    }
    output::line(&table.to_string());
    let sum = |of: fn(&CellEstimate) -> u64| cells.iter().map(of).sum::<u64>();
    let total = |of: fn(&CellEstimate) -> Option<Money>| cells.iter().filter_map(of).sum::<Money>();
    let others = cells.iter().filter_map(|one| one.others_cost).sum::<Money>();
    let has_others = cells.iter().any(|one| one.others_cost.is_some());
    let others = if has_others { format!(" ({others} of it for users and environments)") } else { String::new() };
    let players = sweep.lock.benchmarks.values().flat_map(|benchmark| benchmark.roles.iter().map(|(_, model)| model));
    let models = sweep.lock.models.iter().chain(players);
    let unpriced: BTreeSet<_> = models.filter(|model| model.price.is_none()).map(|model| &model.id).collect();
    let unpriced = unpriced.len();
    let unknown = if unpriced > 0 { format!(", and {unpriced} models of unknown price") } else { String::new() };
    output::line(&format!(
        "{} cells, {} sessions, {} calls: about {}{others}, at most {} in one try each{unknown}; judges not counted",
        cells.len(),
        sum(|one| one.sessions),
        sum(|one| one.calls),
        total(|one| one.cost),
        total(|one| one.at_most),
    ));
    Ok(())
}

/// A directory that goes away again.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn create() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("regatta-check-{:x}", crate::process::random_seed()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing depends on it being gone.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
