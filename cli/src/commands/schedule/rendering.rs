//! Schedules and their ticks for a terminal.

use comfy_table::{Table, presets};
use jiff::Timestamp;
use regatta_backends::{PutSchedule, TickState};
use regatta_coordinator::{SchedulePut, ScheduleStatus, TickStatus};

use crate::plain_table::fitted;

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY).set_header(header.to_vec());
    table
}

fn moment(at: Option<Timestamp>) -> String {
    at.map_or_else(|| "–".to_owned(), |at| at.to_string())
}

/// Effect of handing a schedule in.
pub(super) fn put(put: &SchedulePut) -> String {
    let effect = match put.effect {
        PutSchedule::Created => "created",
        PutSchedule::Unchanged => "was there already",
        PutSchedule::Replaced => "replaced; its history stays",
        PutSchedule::Differs | PutSchedule::Overtaken => "left alone",
    };
    format!("{effect} · next tick {}", moment(put.next))
}

/// One line a schedule.
pub(super) fn list(schedules: &[ScheduleStatus]) -> String {
    let mut table = table(&["schedule", "cron", "zone", "next", "last", "verdict", "this month"]);
    for status in schedules {
        let schedule = &status.schedule;
        let next = if status.is_paused { "paused".to_owned() } else { moment(status.next) };
        let last = status.last.as_ref().map_or_else(|| "–".to_owned(), |tick| format!("{} {}", tick.at, tick.state));
        let verdict = status.last.as_ref().map_or_else(String::new, verdict);
        let month = match schedule.budget_usd.month {
            Some(budget) => format!("{} of ${budget}", status.spent_this_month),
            None => status.spent_this_month.to_string(),
        };
        table.add_row([
            schedule.name.to_string(),
            schedule.cron.clone(),
            schedule.time_zone.clone(),
            next,
            last,
            verdict,
            month,
        ]);
    }
    fitted(table)
}

/// A schedule, field by field.
pub(super) fn one(status: &ScheduleStatus) -> anyhow::Result<String> {
    let next = if status.is_paused { "paused".to_owned() } else { format!("next tick {}", moment(status.next)) };
    let last = status
        .last
        .as_ref()
        .map_or_else(|| "no tick yet".to_owned(), |tick| format!("last {} {}", tick.at, tick.state));
    let declared = serde_yaml_ng::to_string(&status.schedule)?;
    Ok(format!(
        "{} · {next} · {last} · {} this month\nplanned from {} · since {}{}\n\n{}",
        status.schedule.name,
        status.spent_this_month,
        status.submission.short(),
        status.created_at,
        status.owner.as_ref().map(|owner| format!(" · of {owner}")).unwrap_or_default(),
        declared.trim_end()
    ))
}

/// A row a tick. What there is to say of it stands below its sweep: names of sweeps are long, and lines of terminals are not.
pub(super) fn history(ticks: &[TickStatus]) -> String {
    let mut table = table(&["tick", "state", "verdict", "cost", "sweep"]);
    for tick in ticks {
        let sweep = tick.sweep.as_ref().map_or_else(String::new, ToString::to_string);
        let spent = tick.spent.map_or_else(String::new, |spent| spent.to_string());
        let said = [sweep, remark(tick)].into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
        table.add_row([tick.at.to_string(), tick.state.to_string(), verdict(tick), spent, said]);
    }
    fitted(table)
}

fn verdict(tick: &TickStatus) -> String {
    let verdict = tick.outcome.as_ref().and_then(|outcome| outcome.verdict);
    verdict.map_or_else(String::new, |verdict| verdict.to_string())
}

fn remark(tick: &TickStatus) -> String {
    let mut parts = Vec::new();
    if tick.by_hand {
        parts.push("by hand".to_owned());
    }
    if tick.stands_for > 1 {
        parts.push(format!("{} ticks from {}", tick.stands_for, tick.since));
    }
    parts.extend(tick.reason.clone());
    if let Some(outcome) = &tick.outcome {
        if outcome.state != regatta_proto::SweepState::Complete {
            parts.push(outcome.state.to_string());
        }
        parts.extend(outcome.baseline.as_ref().map(|baseline| format!("against {baseline}")));
        parts.extend(outcome.unjudged.clone());
    }
    if tick.state == TickState::Due && parts.is_empty() {
        parts.push("waits for its turn".to_owned());
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ticks() -> Vec<TickStatus> {
        serde_json::from_value(json!([
            { "at": "2026-11-25T02:00:00Z", "since": "2026-11-25T02:00:00Z", "state": "running", "by_hand": false, "stands_for": 1,
              "sweep": "nightly-20261125T020000Z-0a1b2c3d" },
            { "at": "2026-11-24T15:12:01Z", "since": "2026-11-24T15:12:01Z", "state": "ended", "by_hand": true, "stands_for": 1,
              "sweep": "nightly-20261124T151201Z-0a1b2c3d", "spent": 1_250_000_000_u64,
              "outcome": { "state": "complete", "verdict": "no_go", "baseline": "nightly-20261123T020000Z-0a1b2c3d", "score": 0.5 } },
            { "at": "2026-11-24T02:00:00Z", "since": "2026-11-22T02:00:00Z", "state": "missed", "by_hand": false, "stands_for": 3,
              "reason": "no coordinator looked after it in time" },
            { "at": "2026-11-21T02:00:00Z", "since": "2026-11-21T02:00:00Z", "state": "ended", "by_hand": false, "stands_for": 1,
              "sweep": "nightly-20261121T020000Z-0a1b2c3d", "spent": 0,
              "outcome": { "state": "stopped_by_budget", "unjudged": "there is no night to hold it against yet" } },
        ]))
        .unwrap()
    }

    #[test]
    fn a_history_has_a_line_for_each_tick() {
        insta::assert_snapshot!(history(&ticks()));
    }

    #[test]
    fn a_schedule_is_shown_with_its_next_and_last_ticks() {
        let status: ScheduleStatus = serde_json::from_value(json!({
            "schedule": { "name": "nightly", "cron": "0 2 * * *", "time_zone": "Europe/Berlin", "catch_up": "all:3",
                          "budget_usd": { "month": 100.0 }, "notify": { "webhooks": ["ci"] }, "gate": "metrics: {}\n" },
            "submission": regatta_proto::Digest::of(b""), "is_paused": false, "created_at": "2026-11-20T10:00:00Z",
            "next": "2026-11-26T01:00:00Z", "spent_this_month": 1_250_000_000_u64, "last": ticks()[1],
        }))
        .unwrap();
        insta::assert_snapshot!(format!("{}\n\n{}", list(std::slice::from_ref(&status)), one(&status).unwrap()));
    }
}
