//! `regatta reprice`: what a run would have cost at other prices: call by call from its transcripts, and from sums what left none: attempts
//! that were lost, and judges. Nothing is called, and nothing in the run changes.

mod ledger;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use regatta_llm::PriceTable;
use regatta_proto::{BenchmarkLock, CostSum, Digest, Judge, ModelRef, Money, SweepLock, Usage, counted};
use regatta_report::{JudgeSpending, Judging, Summary};
use serde::{Deserialize, Serialize};

use self::ledger::{Bill, Ledger, Purpose, Sums};
use crate::args::RepriceArgs;
use crate::client::Client;
use crate::exit::bad_configuration;
use crate::fetched::fetch;
use crate::output;
use crate::plain_table::{fitted, plain_table};
use crate::price_tables::price_table;
use crate::results::read_lines;
use crate::run_directory;
use crate::transcripts;

pub(crate) async fn run(args: RepriceArgs) -> anyhow::Result<ExitCode> {
    let table = price_table(args.prices.as_deref())?;
    let Some(directory) = run_directory::find(Path::new(&args.run)) else {
        let sweep = run_directory::sweep_named(&args.run, &args.client)?;
        let folder = tempfile::tempdir().context("failed to create a folder for the sweep's files")?;
        let fetched = fetch(&Client::new(&args.client)?, &sweep, folder.path(), true).await;
        fetched.map_err(|error| run_directory::nor_a_sweep(&args.run, &args.client, error))?;
        return reprice(folder.path(), &table, &args);
    };
    reprice(&directory, &table, &args)
}

fn reprice(run: &Path, table: &PriceTable, args: &RepriceArgs) -> anyhow::Result<ExitCode> {
    let lock = lock(run).map_err(bad_configuration)?;
    let mut ledger = Ledger::new(&lock, table, args.on);
    transcripts::read(run, |session, transcript| ledger.add(session, transcript))?;
    let summary = summary(run)?;
    add_lost(&mut ledger, &lock, run)?;
    let has_judges = add_judges(&mut ledger, &lock, summary.as_ref());
    let bills = ledger.into_bills();
    if args.json {
        output::line(&serde_json::to_string_pretty(&Repriced::new(&lock, table, &bills, summary.as_ref()))?);
    } else {
        output::line(&render(&bills));
        output::note(&format!("prices of {}, digest {}", table.date(), table.digest()));
        notes(summary.as_ref(), has_judges).iter().for_each(|note| output::note(note));
    }
    Ok(ExitCode::SUCCESS)
}

/// The lock of the run in `run`.
pub(crate) fn lock(run: &Path) -> anyhow::Result<SweepLock> {
    run_directory::check_ended(run)?;
    let path = run.join("sweep.lock.yaml");
    let text = std::fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
    SweepLock::from_yaml(&text).with_context(|| format!("failed to read {}", path.display()))
}

/// The run's summary; `None` without one.
fn summary(run: &Path) -> anyhow::Result<Option<Summary>> {
    let path = run.join("summary.json");
    let Ok(json) = std::fs::read(&path) else { return Ok(None) };
    Summary::from_json(&json).map(Some).with_context(|| format!("failed to read {}", path.display()))
}

/// A line of `attempts.jsonl`, as far as it is about money.
#[derive(Deserialize)]
struct AttemptLine {
    cell: u32,
    started_at: Timestamp,
    usage: Option<Usage>,
    known_usage: Option<Usage>,
    known_cost_nanodollars: Money,
    unpriced_calls: u64,
    calls: u32,
    /// `None` where a version wrote the line that did not count them.
    #[serde(default)]
    cached_calls: Option<u32>,
}

/// Adds what attempts took that left no transcript, if the run says what its attempts took.
fn add_lost(ledger: &mut Ledger<'_>, lock: &SweepLock, run: &Path) -> anyhow::Result<()> {
    let path = run.join("attempts.jsonl");
    if !path.exists() {
        return Ok(());
    }
    let mut by_cell: BTreeMap<u32, (Sums, Date)> = BTreeMap::new();
    for attempt in read_lines::<AttemptLine>(&path)? {
        let (sums, last) = by_cell.entry(attempt.cell).or_insert_with(|| (Sums::default(), day(attempt.started_at)));
        sums.calls += u64::from(attempt.calls);
        sums.cached += u64::from(attempt.cached_calls.unwrap_or(0));
        sums.usage += Usage::of_fields(attempt.usage, attempt.known_usage);
        sums.cost += CostSum { known: attempt.known_cost_nanodollars, unknown_calls: attempt.unpriced_calls };
        *last = day(attempt.started_at).max(*last);
    }
    let cells = lock.cells();
    for (cell, (sums, day)) in by_cell {
        let of = cells.get(cell as usize);
        let of = of.with_context(|| format!("{} names cell {cell}, which the lock does not have", path.display()))?;
        ledger.add_lost(of, &sums, day);
    }
    Ok(())
}

/// Adds what judges took. `false` where the run does not say which judge took what.
fn add_judges(ledger: &mut Ledger<'_>, lock: &SweepLock, summary: Option<&Summary>) -> bool {
    let Some(summary) = summary else { return false };
    let day = day(summary.ended_at);
    summary.judges.iter().for_each(|judge| ledger.add_judge(judge, day));
    if !summary.judges.is_empty() || summary.judging == Judging::default() {
        return true;
    }
    // Older runs have one sum; of a single judge it is clear whose.
    let judges: BTreeSet<&ModelRef> =
        lock.benchmarks.values().flat_map(BenchmarkLock::judges).flat_map(Judge::ids).collect();
    let [judge] = judges.into_iter().collect::<Vec<_>>()[..] else { return false };
    let Judging { usage, cost } = summary.judging;
    ledger.add_judge(&JudgeSpending { judge: judge.clone(), served: Vec::new(), usage, cost }, day);
    true
}

/// Money that may have been billed beyond what is known. A summary of an older build knows of it by attempts alone.
fn more_at_most(summary: &Summary) -> Money {
    let of_attempts = summary.spending.lost_calls_at_most + summary.spending.maybe_spent;
    summary.in_doubt().max(of_attempts)
}

fn day(at: Timestamp) -> Date {
    at.to_zoned(TimeZone::UTC).date()
}

/// Lines on spending that the table cannot show.
fn notes(summary: Option<&Summary>, has_judges: bool) -> Vec<String> {
    let Some(summary) = summary else {
        return vec!["the run has no summary.json: what its judges took is not counted".to_owned()];
    };
    let spending = &summary.spending;
    let mut notes = Vec::new();
    if spending.wasted_attempts > 0 {
        notes.push(format!(
            "{} of what was recorded went into {} that {} repeated or lost",
            spending.wasted,
            counted(spending.wasted_attempts, "attempt", "attempts"),
            if spending.wasted_attempts == 1 { "was" } else { "were" }
        ));
    }
    if !has_judges {
        notes.push(format!(
            "judges took {} together; nobody knows which took what, so that is not counted",
            summary.judging.cost
        ));
    }
    let more = more_at_most(summary);
    if more > Money::ZERO {
        notes.push(format!(
            "{more} more, reserved for {}, may have been billed; it is not counted",
            summary.reserved_for()
        ));
    }
    notes
}

/// The whole result for programs. Money is in nano-dollars.
#[derive(Serialize)]
struct Repriced<'a> {
    sweep: &'a str,
    table: UsedTable,
    models: &'a [Bill],
    recorded: CostSum,
    repriced: CostSum,
    /// Difference in nanodollars over the calls whose cost is known both times; `None` when there is no such call.
    difference: Option<i128>,
    /// The part of `recorded` that attempts took which were repeated or lost.
    wasted: Option<CostSum>,
    /// Reserved beyond what is known, in nano-dollars: for calls of unknown cost, failed tries and calls in flight when a process died. Calls
    /// without a price may cost more.
    at_most_more: Option<Money>,
}

#[derive(Serialize)]
struct UsedTable {
    date: String,
    digest: Digest,
}

impl<'a> Repriced<'a> {
    fn new(lock: &'a SweepLock, table: &PriceTable, bills: &'a [Bill], summary: Option<&Summary>) -> Self {
        Self {
            sweep: lock.name.as_str(),
            table: UsedTable { date: table.date().to_string(), digest: table.digest() },
            models: bills,
            recorded: sum(bills, |bill| bill.recorded),
            repriced: sum(bills, |bill| bill.repriced),
            difference: difference_of_all(bills),
            wasted: summary.map(|summary| summary.spending.wasted),
            at_most_more: summary.map(more_at_most),
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
    let mut table = plain_table();
    table.set_header([
        "model",
        "for",
        "calls",
        "billed tries",
        "from cache",
        "priced by",
        "recorded",
        "at these prices",
        "difference",
    ]);
    for bill in bills {
        table.add_row([
            bill.model.to_string(),
            purpose(bill.purpose).to_owned(),
            if bill.calls == 0 && bill.purpose == Purpose::Judging { String::new() } else { bill.calls.to_string() },
            match bill.purpose {
                Purpose::Sessions => bill.billed_tries.to_string(),
                // Known by sums alone, which do not count failed tries.
                Purpose::Lost | Purpose::Judging => String::new(),
            },
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
        String::new(),
        bills.iter().map(|bill| bill.calls).sum::<u64>().to_string(),
        bills.iter().map(|bill| bill.billed_tries).sum::<u64>().to_string(),
        bills.iter().map(|bill| bill.from_cache).sum::<u64>().to_string(),
        String::new(),
        recorded.to_string(),
        sum(bills, |bill| bill.repriced).to_string(),
        difference(difference_of_all(bills), bills.iter().map(|bill| bill.comparable).sum()),
    ]);
    fitted(table)
}

const fn purpose(of: Purpose) -> &'static str {
    match of {
        Purpose::Sessions => "sessions",
        Purpose::Lost => "lost attempts",
        Purpose::Judging => "judging",
    }
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
