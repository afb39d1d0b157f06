//! `regatta status`.

use std::process::ExitCode;

use comfy_table::{Table, presets};
use regatta_backends::SweepCost;
use regatta_coordinator::SweepStatus;
use regatta_proto::{Money, SweepState};
use regatta_report::render_decided_so_far;

use crate::args::StatusArgs;
use crate::client::Client;
use crate::output;
use crate::plain_table::fitted;
use crate::run_directory::no_sweep;

pub(crate) async fn run(args: StatusArgs) -> anyhow::Result<ExitCode> {
    let client = Client::new(&args.client)?;
    match &args.sweep {
        Some(sweep) => {
            let status = client.status(sweep).await.map_err(|error| no_sweep(sweep, &args.client, error))?;
            output::line(&if args.json { serde_json::to_string_pretty(&status)? } else { describe(&status) });
        }
        None => {
            let sweeps = client.sweeps().await?;
            if args.json {
                output::line(&serde_json::to_string_pretty(&sweeps)?);
            } else {
                let mut table = new_table(&["sweep", "state", "owner", "submitted", "ended"]);
                for row in sweeps {
                    let ended = row.ended_at.map(|at| at.to_string()).unwrap_or_default();
                    let owner = row.owner.map(String::from).unwrap_or_default();
                    let submitted = row.created_at.to_string();
                    let is_paused = row.is_paused && row.state == SweepState::Running;
                    let state = if is_paused { format!("{}, paused", row.state) } else { row.state.to_string() };
                    table.add_row([row.id.to_string(), state, owner, submitted, ended]);
                }
                output::line(&fitted(table));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn describe(status: &SweepStatus) -> String {
    let mut table = new_table(&[
        "cell",
        "sessions",
        "dispatched",
        "recorded",
        "settled",
        "measured",
        "model failures",
        "not measured",
        "cost",
        "wasted",
    ]);
    for cell in &status.cells {
        let name = &cell.cell;
        table.add_row([
            format!("{} {} {} t{}", name.benchmark, name.setting, name.model, name.trial),
            cell.items.to_string(),
            cell.dispatched.to_string(),
            cell.recorded.to_string(),
            cell.settled.to_string(),
            cell.measured.to_string(),
            cell.model_failures.to_string(),
            cell.not_measured.to_string(),
            cell.cost.to_string(),
            cell.wasted.to_string(),
        ]);
    }
    let mut lines = vec![format!(
        "{} · {}{} · submitted {}{}",
        status.id,
        status.state,
        if status.is_paused { ", paused" } else { "" },
        status.created_at,
        status.owner.as_ref().map(|owner| format!(" by {owner}")).unwrap_or_default()
    )];
    if let Some(budget) = &status.budget {
        lines.push(format!(
            "budget {}: {} spent, {} maybe spent, {} reserved, {} left",
            budget.cap, budget.spent, budget.maybe_spent, budget.reserved, budget.left
        ));
    }
    let lowered =
        status.concurrency.iter().map(|(endpoint, calls)| format!("{endpoint}: {calls} calls at once, lowered"));
    lines.extend(lowered);
    lines.extend(in_doubt(&status.cost));
    if let Some(forecast) = &status.forecast {
        lines.push(format!(
            "forecast: about {} at the end, {} to {} ({} interval)",
            forecast.expected, forecast.low, forecast.high, forecast.level
        ));
    }
    if let Some(least) = &status.at_least {
        lines.push(format!(
            "forecast: at least {least} at the end; of a model or a judge too little is known yet to tell more"
        ));
    }
    if let Some(deciding) = &status.deciding {
        let rendered = render_decided_so_far(deciding, status.cost.known);
        lines.push(rendered.headline);
        lines.extend(rendered.lines.iter().map(|line| format!("  {line}")));
    }
    lines.push(fitted(table));
    lines.join("\n")
}

/// Line about what may have been billed beyond what is known, if anything.
pub(super) fn in_doubt(cost: &SweepCost) -> Option<String> {
    (cost.in_doubt() > Money::ZERO).then(|| format!("cost {}, {}", cost.known, cost.known.bounded(cost.at_most)))
}

fn new_table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY).set_header(header.to_vec());
    table
}
