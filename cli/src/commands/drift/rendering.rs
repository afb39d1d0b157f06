//! Drift for a terminal: a block a night, a line a finding.

use regatta_proto::counted;
use regatta_report::rendered;

use super::canaries::Canaries;
use super::finding::{Evidence, Finding, Moved, Paced};
use super::{Drift, Night};
use crate::commands::compare::p_value;

pub(super) fn text(drift: &Drift) -> String {
    let mut lines = vec![format!("{}: {}", drift.of, counted(drift.nights.len() as u64, "night", "nights"))];
    let mut quiet = 0_usize;
    for (number, night) in drift.nights.iter().enumerate() {
        let told = self::lines(night);
        if told.is_empty() {
            quiet += usize::from(number > 0);
            continue;
        }
        lines.push(format!("\n{} · {}", night.ended_at, night.run));
        lines.extend(told);
    }
    if quiet > 0 {
        let nights = if quiet == 1 { "night is" } else { "nights are" };
        lines.push(format!("\n{quiet} {nights} like the one before"));
    }
    lines.join("\n")
}

/// Lines of what a night has that the one before had not.
pub(super) fn lines(night: &Night) -> Vec<String> {
    let mut lines: Vec<String> = night.findings.iter().map(finding).collect();
    lines.extend(night.scores.iter().map(moved));
    lines.extend(night.times.iter().map(paced));
    let canaries = night.canaries.iter().filter_map(Canaries::told);
    lines.extend(canaries.map(|told| format!("  {:<11}  {told}", "canaries")));
    lines
}

fn finding(of: &Finding) -> String {
    let how = match (of.evidence, of.p_holm) {
        (Evidence::Declared, _) => "declared".to_owned(),
        (Evidence::Served, _) => "served".to_owned(),
        (Evidence::Measured, Some(p)) => format!("measured, p {}", p_value(p)),
        (Evidence::Measured, None) => "measured".to_owned(),
    };
    format!("  {:<11}  {}: {} → {} ({how})", of.cause, of.what, of.before, of.now)
}

fn moved(of: &Moved) -> String {
    format!(
        "  {:<11}  {}: {} {} (p {})",
        "score",
        of.cell,
        of.what(),
        rendered(&of.difference, of.unit),
        p_value(of.p_holm)
    )
}

fn paced(of: &Paced) -> String {
    let known = of.before_s.zip(of.now_s).map(|(before, now)| {
        format!(
            "{before:.2} → {now:.2} s a session, medians of {} and {} (observed)",
            of.sessions_before, of.sessions_now
        )
    });
    let cached = [("the night before", &of.cached_before), ("now", &of.cached_now)];
    let cached = cached.into_iter().filter_map(|(when, note)| Some(format!("{when}, {}", note.as_ref()?)));
    let parts: Vec<String> =
        std::iter::once(known.unwrap_or_else(|| "not compared".to_owned())).chain(cached).collect();
    format!("  {:<11}  {}: {}", "time", of.cell, parts.join("; "))
}
