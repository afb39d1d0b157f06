//! `regatta doctor`: what a deployment, or a run's directory, waits for, and the next step. Exit code 0 when nothing is wrong, 1 otherwise.

use std::path::PathBuf;
use std::process::ExitCode;

use regatta_coordinator::{Diagnosis, LeaseDiagnosis, RunningSession, SweepDiagnosis};

use crate::args::DoctorArgs;
use crate::client::Client;
use crate::embedded;
use crate::output;
use crate::run_directory;

pub(crate) async fn run(args: DoctorArgs) -> anyhow::Result<ExitCode> {
    let (seen, diagnosis) = match &args.run {
        Some(run) => {
            let directory = run_directory::named(run)?;
            let (is_at_work, diagnosis) = embedded::diagnose(&directory).await?;
            (Seen::Run { directory, is_at_work }, diagnosis)
        }
        None => (Seen::Coordinator, of_deployment(&args).await?),
    };
    let text = if args.json { serde_json::to_string_pretty(&diagnosis)? } else { describe(&diagnosis, &seen) };
    output::line(&text);
    Ok(if diagnosis.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn of_deployment(args: &DoctorArgs) -> anyhow::Result<Diagnosis> {
    let asked = Client::new(&args.client)?.diagnosis().await;
    #[cfg(feature = "cluster")]
    if let (Err(error), Some(stores)) = (&asked, args.stores.named()) {
        output::note(&format!("{}; asking the stores themselves", regatta_proto::causes(error.as_ref())));
        let mut diagnosis = crate::roles::diagnose(&stores).await?;
        diagnosis.findings.insert(0, no_coordinator());
        return Ok(diagnosis);
    }
    asked
}

#[cfg(feature = "cluster")]
fn no_coordinator() -> regatta_coordinator::Finding {
    regatta_coordinator::Finding {
        about: "coordinator".to_owned(),
        problem: "it does not answer: nothing is dispatched, and no sweep ends".to_owned(),
        next_step: "start one, and see its log (docs/runbooks/RegattaLeaderMissing.md); sessions under way are recorded meanwhile"
            .to_owned(),
    }
}

/// Source of a diagnosis.
enum Seen {
    Coordinator,
    Run { directory: PathBuf, is_at_work: bool },
}

fn describe(diagnosis: &Diagnosis, seen: &Seen) -> String {
    let mut lines = Vec::new();
    match seen {
        Seen::Run { directory, is_at_work: true } => {
            lines.push(format!("{}: a run is at work; its queues and permits are in its memory", directory.display()));
        }
        Seen::Run { directory, is_at_work: false } => lines.push(format!("{}: no run is at work", directory.display())),
        Seen::Coordinator => {
            lines.push(match diagnosis.term {
                Some(term) => format!("leader: this coordinator, in term {term}"),
                None => "leader: not the one that was asked".to_owned(),
            });
            let Diagnosis { reports_waiting, reports_set_aside, dead_letters, .. } = diagnosis;
            lines.push(format!("reports: {reports_waiting} wait for a scorer, {reports_set_aside} are set aside"));
            lines.push(format!("dead letters: {dead_letters}"));
        }
    }
    lines.extend(diagnosis.sweeps.iter().flat_map(of_sweep));
    lines.push(String::new());
    if diagnosis.findings.is_empty() {
        lines.push("nothing is wrong".to_owned());
    }
    for (number, finding) in (1..).zip(&diagnosis.findings) {
        lines.push(format!("{number}. {}: {}", finding.about, finding.problem));
        lines.push(format!("   next: {}", finding.next_step));
    }
    lines.join("\n")
}

fn of_sweep(sweep: &SweepDiagnosis) -> Vec<String> {
    let owner = sweep.owner.as_ref().map(|owner| format!(" · of {owner}")).unwrap_or_default();
    let SweepDiagnosis { id, state, sessions, recorded, settled, outstanding, .. } = sweep;
    let paused = if sweep.is_paused { ", paused" } else { "" };
    let mut lines = vec![
        String::new(),
        format!(
            "{id} · {state}{paused}{owner} · {recorded} of {sessions} sessions recorded, {settled} settled, {outstanding} outstanding"
        ),
    ];
    if let Some(running) = sweep.running {
        lines.push(format!("  {running} of the outstanding sessions are told of by workers"));
    }
    if let Some(oldest) = &sweep.oldest {
        let RunningSession { session, worker, started_at } = oldest;
        lines.push(format!("  oldest under way: session {session}, by {worker} since {started_at}"));
    }
    lines.extend(super::status::in_doubt(&sweep.cost).map(|cost| format!("  {cost}")));
    if let Some(budget) = &sweep.budget {
        lines.push(format!(
            "  budget {}: {} spent, {} reserved, {} left",
            budget.cap, budget.spent, budget.reserved, budget.left
        ));
    }
    for queue in &sweep.queues {
        let pool = queue.pool.as_ref().map(|pool| {
            format!("; uses {} % of its limits since {}: {}", (pool.factor * 100.0).round(), pool.at, pool.reason)
        });
        lines.push(format!(
            "  endpoint {}: {} jobs wait for a worker, {} are unacknowledged or not recorded; {} consumers{}",
            queue.endpoint,
            queue.ready,
            queue.unacknowledged,
            queue.consumers,
            pool.as_deref().unwrap_or_default()
        ));
        for lease in &queue.leases {
            let LeaseDiagnosis { holder, seen_at, slots, in_flight, waiting } = lease;
            lines.push(format!(
                "    {holder}: {slots} slots, {in_flight} calls in flight, {waiting} wait; heard of at {seen_at}"
            ));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a coordinator tells it.
    fn told(findings: serde_json::Value) -> Diagnosis {
        let diagnosis = serde_json::json!({
            "term": 7, "stalled": null, "reports_waiting": 12, "reports_set_aside": 3, "dead_letters": 0,
            "sweeps": [{
                "id": "nightly-0a1b2c3d", "state": "running", "sessions": 400, "recorded": 120, "settled": 118,
                "not_measured": 2, "outstanding": 64, "running": 0, "doubtful_shards": 1,
                "oldest": { "session": "3 17", "worker": "w-1", "started_at": "2026-01-02T03:00:00Z" },
                "queues": [{
                    "endpoint": "openai", "ready": 0, "consumers": 2, "unacknowledged": 64,
                    "pool": { "factor": 0.35, "at": "2026-01-02T03:04:05Z", "reason": "12 of 40 calls were refused" },
                    "leases": [
                        { "holder": "w-1.0", "seen_at": "2026-01-02T03:04:06Z", "slots": 12, "in_flight": 9, "waiting": 40 },
                    ],
                }],
                "cost": { "known": { "known": 1_250_000_000_u64, "unknown_calls": 0 }, "at_most": 1_310_000_000_u64 },
                "budget": { "cap": 5_000_000_000_u64, "spent": 1_250_000_000_u64, "maybe_spent": 0, "reserved": 40_000_000_u64,
                    "left": 3_710_000_000_u64 },
                "unreadable": null,
            }],
            "findings": findings,
        });
        serde_json::from_value(diagnosis).unwrap()
    }

    #[test]
    fn each_finding_has_its_next_step() {
        let diagnosis = told(serde_json::json!([
            { "about": "reports", "problem": "3 reports are set aside", "next_step": "bring back the lock" },
            { "about": "nightly-0a1b2c3d", "problem": "1 shards are in doubt", "next_step": "wait" },
        ]));
        insta::assert_snapshot!(describe(&diagnosis, &Seen::Coordinator));
    }

    #[test]
    fn a_directory_without_findings_says_so() {
        let diagnosis = Diagnosis { sweeps: Vec::new(), ..told(serde_json::json!([])) };
        let seen = Seen::Run { directory: PathBuf::from("runs/nightly"), is_at_work: false };
        insta::assert_snapshot!(describe(&diagnosis, &seen));
    }
}
