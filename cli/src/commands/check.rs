//! `regatta check` and `regatta run --dry-run`: a plan, and what it takes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use comfy_table::{Table, presets};
use regatta_backends::Blobs;
use regatta_benchmarks::Registry;
use regatta_catalog::{Catalog, Sweep, store_dataset};
use regatta_coordinator::{CellEstimate, JudgeCalls, Pricing, estimate, plan, unpriced_judges};
use regatta_proto::{BenchmarkLock, Cell, Money, counted};
use regatta_report::{Aim, Outlook, outlooks};
use serde::Serialize;

use super::check_benchmark;
use super::first_prompt::first_prompt;
use super::outlook::aim;
use super::plan_money;
use super::rounds_outlook::{RoundsOutlook, rounds_outlooks};
use super::rounds_pilot::RoundsPilot;
use super::time_outlook;
use crate::args::CheckArgs;
use crate::benchmarks::BENCHMARKS;
use crate::exit::BadConfiguration;
use crate::output;
use crate::plain_table::fitted;
use crate::policy::of_person;
use crate::preflight;
use crate::spec::{Loaded, check_endpoints, load, not_planned};

/// Power at which a difference is to be seen.
const POWER: f64 = 0.8;
/// Sessions that a run plays through to say what it takes; a few seconds' work. Beyond, `--dry-run` says it.
const PLAYED_THROUGH: usize = 20_000;

pub(crate) async fn run(args: CheckArgs) -> anyhow::Result<ExitCode> {
    if let Some(folder) = check_benchmark::folder(&args.spec.spec) {
        return check_benchmark::run(&folder);
    }
    let loaded = load(&args.spec)?;
    let policy = of_person(args.policy.file.as_deref())?;
    let access = check_endpoints(&loaded.spec, &policy);
    // A spec that cannot be planned comes first: no key mends it.
    let planned = Planned::from(loaded, BENCHMARKS).await?;
    access?;
    preflight::of_spec(&planned.sweep.lock, &policy, args.try_endpoints).await?;
    if args.print {
        output::line(planned.sweep.lock.to_yaml()?.trim_end());
    } else {
        describe(&planned.sweep, None, args.json)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Plans the sweep in a scratch directory and says what it would be.
pub(crate) async fn plan_and_describe(loaded: Loaded, pilot: Option<&Path>, json: bool) -> anyhow::Result<ExitCode> {
    let pilot = pilot.map(RoundsPilot::read).transpose()?;
    let planned = Planned::from(loaded, BENCHMARKS).await?;
    if pilot.is_some() && planned.sweep.lock.decide.is_none() {
        let plan = "`regatta plan SPEC --detect 2pp --pilot RUN` says what a sweep without one needs";
        return Err(BadConfiguration(format!(
            "the spec has no question (decide) whose rounds a --pilot could tell; {plan}"
        ))
        .into());
    }
    describe(&planned.sweep, pilot.as_ref(), json)?;
    Ok(ExitCode::SUCCESS)
}

/// A sweep that is planned in a directory of its own, to be looked at and thrown away.
pub(crate) struct Planned {
    pub(crate) sweep: Arc<Sweep>,
    _scratch: Scratch,
}

impl Planned {
    pub(crate) async fn from(loaded: Loaded, benchmarks: Registry) -> anyhow::Result<Self> {
        let scratch = Scratch::create()?;
        let catalog = Catalog::new(Blobs::directory(&scratch.0)?, benchmarks);
        let mut datasets = BTreeMap::new();
        for (name, files) in &loaded.data {
            datasets.insert(name.clone(), store_dataset(catalog.blobs(), files).await?);
        }
        let mut recorded = BTreeMap::new();
        for (name, bytes) in loaded.recorded {
            recorded.insert(name, catalog.blobs().put_content(bytes).await?);
        }
        let prices = crate::price_tables::price_book(loaded.prices.as_deref())?;
        let lock = plan(loaded.spec, &datasets, &recorded, &catalog, Pricing::of_specs(&*prices))
            .await
            .map_err(|error| not_planned(loaded.file.as_deref(), error))?;
        Ok(Self { sweep: catalog.store(&lock).await?, _scratch: scratch })
    }
}

/// The estimate, for programs.
#[derive(Serialize)]
struct Description<'a> {
    cells: &'a [CellEstimate],
    /// The smallest differences that comparisons can see.
    sees: &'a [Outlook],
    /// Expected rounds, sessions and cost of a sweep with a question; empty for others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rounds: Vec<RoundsOutlook>,
    /// Reasons to think again before anything is spent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// Calls, tokens and money of every cell, and the smallest differences that can be seen, before anything is spent.
fn describe(sweep: &Sweep, pilot: Option<&RoundsPilot>, json: bool) -> anyhow::Result<()> {
    let cells = estimate(sweep);
    let sees = outlooks(sweep, None, Aim { power: POWER, level: sweep.lock.level.alpha() });
    let rounds = rounds_outlooks(sweep, &cells, pilot)?;
    let warnings: Vec<String> = scarce(sweep.lock.budget_usd, &cells).into_iter().collect();
    if json {
        output::line(&serde_json::to_string_pretty(&Description { cells: &cells, sees: &sees, rounds, warnings })?);
        return Ok(());
    }
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["cell", "sessions", "calls", "input tokens", "output tokens", "about", "at most", "judges"]);
    for one in &cells {
        let name = &one.cell;
        let judges = one.judges.map_or_else(|| "unknown".to_owned(), |judges| judges.calls.to_string());
        table.add_row([
            format!("{} {} {} t{}", name.benchmark, name.setting, name.model, name.trial),
            one.sessions.to_string(),
            known(one.calls),
            known(one.input_tokens),
            known(one.output_tokens),
            money(one.cost),
            money(one.at_most),
            judges,
        ]);
    }
    output::line(&fitted(table));
    output::line(&totals(sweep, &cells));
    beside(sweep, &cells).iter().for_each(|line| output::line(line));
    warnings.iter().for_each(|warning| output::line(&format!("warning: {warning}")));
    if !rounds.is_empty() {
        output::line(&super::rounds_outlook::basis(pilot));
    }
    rounds.iter().map(RoundsOutlook::line).for_each(|line| output::line(&line));
    if !sees.is_empty() {
        output::line(&aim(POWER, sweep.lock.level.alpha()));
        output::line(
            "without a pilot, variances are assumed; `regatta plan SPEC --detect 2pp --pilot RUN` takes those of a run",
        );
    }
    sees.iter().map(super::outlook::sees).for_each(|line| output::line(&line));
    first_prompts(sweep).iter().for_each(|prompt| output::line(prompt));
    Ok(())
}

/// Lines on judges, external agents and time, as far as there are any.
fn beside(sweep: &Sweep, cells: &[CellEstimate]) -> Vec<String> {
    let time = time_outlook::line(&sweep.lock, cells);
    judging(sweep, cells).into_iter().chain(growing_audits(sweep)).chain(agents(cells)).chain(time).collect()
}

/// Sessions, calls, money and time of a sweep that begins, in two lines at most. None of one that is too large to be played through beforehand,
/// and none where programs would answer for its benchmark.
pub(super) fn in_short(sweep: &Sweep) -> Vec<String> {
    let Some(cells) = played_through(sweep) else { return Vec::new() };
    let beside = beside(sweep, &cells);
    let beside = (!beside.is_empty()).then(|| beside.join(" · "));
    [totals(sweep, &cells)].into_iter().chain(beside).collect()
}

/// Money that all sessions of a sweep are expected to take, without its judges; `None` where it is unknown, or nobody plays them through.
pub(super) fn expected_cost(sweep: &Sweep) -> Option<Money> {
    played_through(sweep)?.iter().map(|one| one.cost).sum()
}

/// Estimates of the cells; `None` of a sweep that is too large to be played through, and where programs would answer for its benchmark.
fn played_through(sweep: &Sweep) -> Option<Vec<CellEstimate>> {
    let sessions: usize = sweep.cells().iter().map(|cell| sweep.selected(cell).len()).sum();
    let has_program = |cell: &Cell| sweep.suite(cell).is_some_and(|suite| suite.calls_at_once().is_some());
    let is_short = sessions <= PLAYED_THROUGH && !sweep.cells().iter().any(has_program);
    is_short.then(|| estimate(sweep))
}

fn known(figure: Option<u64>) -> String {
    figure.map_or_else(|| "unknown".to_owned(), |figure| figure.to_string())
}

/// The first prompt of each benchmark that is declared in a file, whose author wants to see it.
fn first_prompts(sweep: &Sweep) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut prompts = Vec::new();
    for cell in sweep.cells().iter().filter(|cell| seen.insert(&cell.benchmark)) {
        let Some(suite) = sweep.suite(cell).filter(|suite| !suite.declared_settings().is_empty()) else { continue };
        let first = sweep.selected(cell).first();
        let prompt = first.and_then(|item| first_prompt(&**suite, &cell.setting, *item));
        prompts.extend(prompt.map(|prompt| format!("{}: {prompt}", cell.benchmark)));
    }
    prompts
}

fn money(money: Option<Money>) -> String {
    money.map_or_else(|| "unknown".to_owned(), |money| money.to_string())
}

fn totals(sweep: &Sweep, cells: &[CellEstimate]) -> String {
    let sum = |of: fn(&CellEstimate) -> u64| cells.iter().map(of).sum::<u64>();
    // What external agents ask is told beside these sums.
    let foreseen = || cells.iter().filter(|one| one.calls.is_some());
    let others = cells.iter().filter_map(|one| one.others_cost).sum::<Money>();
    let has_others = cells.iter().any(|one| one.others_cost.is_some());
    let others = if has_others { format!(" ({others} of it for users and environments)") } else { String::new() };
    let players = sweep.lock.benchmarks.values().flat_map(BenchmarkLock::players);
    let models = sweep.lock.models.iter().chain(players);
    let unpriced: BTreeSet<_> = models.filter(|model| model.price.is_none()).map(|model| &model.id).collect();
    let at_most = foreseen().map(|one| one.at_most).sum::<Option<Money>>();
    let is_known = foreseen().any(|one| one.cost.is_some());
    let beside = if cells.iter().any(|one| one.calls.is_none()) { " beside those of external agents" } else { "" };
    format!(
        "{}, {}, {}{beside}: {}{others}{}{}",
        counted(cells.len() as u64, "cell", "cells"),
        counted(sum(|one| one.sessions), "session", "sessions"),
        counted(sum(|one| one.calls.unwrap_or_default()), "call", "calls"),
        plan_money::about(foreseen().map(|one| one.cost)),
        plan_money::bound(at_most, is_known, " in one try each"),
        plan_money::unpriced(&unpriced, "price"),
    )
}

/// A line on judges' calls, where there are any.
fn judging(sweep: &Sweep, cells: &[CellEstimate]) -> Option<String> {
    let mut all = JudgeCalls::NONE;
    cells.iter().filter_map(|one| one.judges).for_each(|judges| all += judges);
    let asked = || cells.iter().filter_map(|one| one.judges).filter(|judges| judges.calls > 0);
    let is_known = asked().any(|judges| judges.cost.is_some());
    let unknown = cells.iter().filter(|one| one.judges.is_none()).count();
    let beside = match unknown {
        0 => String::new(),
        cells => format!("; those of {} of external agents are unknown", counted(cells as u64, "cell", "cells")),
    };
    (all.calls > 0 || unknown > 0).then(|| {
        format!(
            "judges: {}, {} tokens in, {} out: {}{}{}{beside}",
            counted(all.calls, "call", "calls"),
            all.input_tokens,
            all.output_tokens,
            plan_money::about(asked().map(|judges| judges.cost)),
            plan_money::bound(all.at_most, is_known, ""),
            plan_money::unpriced(&unpriced_judges(sweep), "judge_price"),
        )
    })
}

/// A line on audits that are estimated at their first size, where there are any that grow.
fn growing_audits(sweep: &Sweep) -> Option<String> {
    let audits = sweep.lock.benchmarks.iter().filter_map(|(name, benchmark)| Some((name, benchmark.audit.as_ref()?)));
    let growing: Vec<String> = audits
        .filter_map(|(name, audit)| {
            let most = 100.0 * audit.at_most.unwrap_or(1.0);
            Some(format!("that of {name} until ±{}, to {most:.0} % of the items at most", audit.until?))
        })
        .collect();
    (!growing.is_empty()).then(|| format!("audits are counted as they begin, and may grow: {}", growing.join("; ")))
}

/// A budget that is less than what is known of the estimate, judges included.
fn scarce(budget_usd: Option<f64>, cells: &[CellEstimate]) -> Option<String> {
    let budget = budget_usd.and_then(Money::from_dollars)?;
    let known = |one: &CellEstimate| [one.cost, one.judges.and_then(|judges| judges.cost)];
    let estimated: Money = cells.iter().flat_map(known).flatten().sum();
    (budget < estimated).then(|| {
        format!("the budget of {budget} is less than the estimate of {estimated}: it is likely to stop the run before its end")
    })
}

/// A line on starts of external agents, where there are any.
fn agents(cells: &[CellEstimate]) -> Option<String> {
    let starts: u64 = cells.iter().map(|one| one.agent_starts).sum();
    (starts > 0).then(|| {
        format!(
            "external agents: {}; what they ask is unknown until they are started",
            counted(starts, "start", "starts")
        )
    })
}

/// A directory that goes away again.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn create() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("regatta-check-{:x}", crate::process::random_seed()));
        // Not one that somebody has prepared.
        std::fs::create_dir(&path).with_context(|| format!("failed to create {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing depends on it being gone.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
