//! `regatta check` and `regatta run --dry-run`: everything but running.

use std::process::ExitCode;

use regatta_backends::Blobs;
use regatta_catalog::{Catalog, Sweep, store_dataset};
use regatta_coordinator::plan;

use crate::args::CheckArgs;
use crate::exit::bad_configuration;
use crate::output;
use crate::spec::{Loaded, check_keys, load};

pub(crate) async fn run(args: CheckArgs) -> anyhow::Result<ExitCode> {
    let loaded = load(&args.spec)?;
    check_keys(&loaded.spec)?;
    plan_and_describe(loaded, args.print).await
}

/// Plans the sweep in a scratch directory and says what it would be.
pub(crate) async fn plan_and_describe(loaded: Loaded, print_lock: bool) -> anyhow::Result<ExitCode> {
    let scratch = Scratch::create()?;
    let catalog = Catalog::new(Blobs::directory(&scratch.0)?);
    let mut datasets = std::collections::BTreeMap::new();
    for (name, files) in &loaded.data {
        datasets.insert(name.clone(), store_dataset(catalog.blobs(), files).await?);
    }
    let mut recorded = std::collections::BTreeMap::new();
    for (name, bytes) in loaded.recorded {
        recorded.insert(name, catalog.blobs().put_content(bytes).await?);
    }
    let prices = crate::roles::coordinator::price_book()?;
    let lock = plan(loaded.spec, &datasets, &recorded, &catalog, &*prices).await.map_err(bad_configuration)?;
    if print_lock {
        output::line(serde_yaml_ng::to_string(&lock)?.trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let sweep = catalog.store(&lock).await?;
    describe(&sweep);
    Ok(ExitCode::SUCCESS)
}

fn describe(sweep: &Sweep) {
    let mut sessions = 0;
    for cell in sweep.cells() {
        let items = sweep.selected(cell).len();
        sessions += items;
        output::line(&format!(
            "{} {} {} trial {}: {items} sessions",
            cell.benchmark, cell.setting, cell.model, cell.trial
        ));
    }
    let most: regatta_proto::Money = regatta_coordinator::worst_cost(sweep);
    let unpriced = sweep.lock.models.iter().filter(|model| model.price.is_none()).count();
    let unknown = if unpriced > 0 { format!(", and {unpriced} models of unknown price") } else { String::new() };
    output::line(&format!(
        "{} cells, {sessions} sessions, at most {most} in one try each{unknown}",
        sweep.cells().len()
    ));
}

/// A directory that goes away again.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn create() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("regatta-check-{:x}", crate::roles::random_seed()));
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
