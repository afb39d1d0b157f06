//! `regatta reprice`: what a run would have cost at other prices, from the usage that its transcripts hold. Nothing is called, and nothing
//! in the run changes.

mod ledger;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use comfy_table::{Table, TableComponent, presets};
use regatta_llm::PriceTable;
use regatta_proto::{CostSum, Digest, Money, SweepLock};
use regatta_scorer::Summary;
use serde::Serialize;

use self::ledger::{Bill, Ledger};
use crate::args::RepriceArgs;
use crate::exit::bad_configuration;
use crate::output;
use crate::price_tables::price_table;
use crate::transcripts;

pub(crate) fn run(args: RepriceArgs) -> anyhow::Result<ExitCode> {
    let table = price_table(args.prices.as_deref())?;
    let lock = lock(&args.run).map_err(bad_configuration)?;
    let mut ledger = Ledger::new(&lock, &table, args.on);
    transcripts::read(&args.run, |session, transcript| ledger.add(session, transcript))?;
    let bills = ledger.into_bills();
    let beyond = beyond_transcripts(&args.run, &bills)?;
    if args.json {
        output::line(&serde_json::to_string_pretty(&Repriced::new(&lock, &table, &bills, beyond))?);
    } else {
        output::line(&render(&bills));
        output::note(&format!("prices of {}, digest {}", table.date(), table.digest()));
        if let Some(beyond) = beyond.filter(|beyond| *beyond > Money::ZERO) {
            output::note(&format!(
                "the run recorded {beyond} more than its transcripts hold, for judges and for attempts that were lost; that is not \
                 counted here"
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The lock of the run in `run`.
pub(crate) fn lock(run: &Path) -> anyhow::Result<SweepLock> {
    let path = run.join("sweep.lock.yaml");
    let text = std::fs::read_to_string(&path).with_context(|| {
        format!("{} is not the directory of an ended run: it has no sweep.lock.yaml", run.display())
    })?;
    SweepLock::from_yaml(&text).with_context(|| format!("failed to read {}", path.display()))
}

/// Money that the run's summary has and its transcripts do not; `None` without a summary.
fn beyond_transcripts(run: &Path, bills: &[Bill]) -> anyhow::Result<Option<Money>> {
    let path = run.join("summary.json");
    let Ok(json) = std::fs::read(&path) else { return Ok(None) };
    let summary: Summary = Summary::from_json(&json).with_context(|| format!("failed to read {}", path.display()))?;
    let in_all = summary.spending.cost.known + summary.judging.cost.known;
    let held: Money = bills.iter().map(|bill| bill.recorded.known).sum();
    Ok(Some(Money(in_all.0.saturating_sub(held.0))))
}

/// The whole result for programs. Money is in nano-dollars.
#[derive(Serialize)]
struct Repriced<'a> {
    sweep: &'a str,
    table: UsedTable,
    models: &'a [Bill],
    recorded: CostSum,
    repriced: CostSum,
    /// Of the calls whose cost is known both times.
    difference: Option<i128>,
    /// Recorded for judges and lost attempts, which have no transcripts.
    beyond_transcripts: Option<Money>,
}

#[derive(Serialize)]
struct UsedTable {
    date: String,
    digest: Digest,
}

impl<'a> Repriced<'a> {
    fn new(lock: &'a SweepLock, table: &PriceTable, bills: &'a [Bill], beyond_transcripts: Option<Money>) -> Self {
        Self {
            sweep: lock.name.as_str(),
            table: UsedTable { date: table.date().to_string(), digest: table.digest() },
            models: bills,
            recorded: sum(bills, |bill| bill.recorded),
            repriced: sum(bills, |bill| bill.repriced),
            difference: difference_of_all(bills),
            beyond_transcripts,
        }
    }
}

fn sum(bills: &[Bill], of: impl Fn(&Bill) -> CostSum) -> CostSum {
    bills.iter().fold(CostSum::default(), |mut sum, bill| {
        sum += of(bill);
        sum
    })
}

/// `None` when no call's cost is known both times.
fn difference_of_all(bills: &[Bill]) -> Option<i128> {
    bills.iter().filter_map(Bill::difference).reduce(|sum, one| sum + one)
}

fn render(bills: &[Bill]) -> String {
    let mut table = Table::new();
    table
        .load_preset(presets::UTF8_HORIZONTAL_ONLY)
        .remove_style(TableComponent::HorizontalLines)
        .remove_style(TableComponent::MiddleIntersections);
    table.set_header(["model", "calls", "from cache", "priced by", "recorded", "at these prices", "difference"]);
    for bill in bills {
        table.add_row([
            bill.model.to_string(),
            bill.calls.to_string(),
            bill.from_cache.to_string(),
            bill.priced_by.clone(),
            bill.recorded.to_string(),
            bill.repriced.to_string(),
            difference(bill.difference(), bill.comparable),
        ]);
    }
    let recorded = sum(bills, |bill| bill.recorded);
    table.add_row([
        "all".to_owned(),
        bills.iter().map(|bill| bill.calls).sum::<u64>().to_string(),
        bills.iter().map(|bill| bill.from_cache).sum::<u64>().to_string(),
        String::new(),
        recorded.to_string(),
        sum(bills, |bill| bill.repriced).to_string(),
        difference(difference_of_all(bills), bills.iter().map(|bill| bill.comparable).sum()),
    ]);
    table.to_string()
}

/// `+$0.25 (+10.0 %)`, of what was recorded for the calls whose cost is known both times.
fn difference(nanos: Option<i128>, of: Money) -> String {
    let Some(nanos) = nanos else { return "unknown".to_owned() };
    let amount = Money(u64::try_from(nanos.unsigned_abs()).unwrap_or(u64::MAX));
    let sign = if nanos < 0 { "-" } else { "+" };
    match (nanos, of) {
        (0, _) => "$0".to_owned(),
        (_, Money::ZERO) => format!("{sign}{amount}"),
        _ => format!("{sign}{amount} ({:+.1} %)", 100.0 * nanos as f64 / of.0 as f64),
    }
}

#[cfg(test)]
mod tests;
