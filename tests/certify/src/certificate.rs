//! The certificate: what was survived, what it cost, and what did not hold.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use serde::Serialize;

use crate::checks::Finding;
use crate::evidence::{Evidence, Reference, Struck};
use crate::history::Options;

/// Result of one seed.
#[derive(Debug, Clone, Serialize)]
pub struct SeedReport {
    /// The seed, which makes the same plan again.
    pub seed: u64,
    /// From submission to end, in seconds.
    pub took_s: f64,
    /// Faults that struck, in order.
    pub faults: Vec<Struck>,
    /// Sessions, and calls that were answered for them; those of judges are not among them.
    pub sessions: usize,
    /// See `sessions`.
    pub calls: u64,
    /// Calls beyond those of the undisturbed run.
    pub waste_calls: u64,
    /// Cost of these, in nano-dollars.
    pub waste_nanodollars: u64,
    /// Calls that were in flight in processes that were killed or cut off: as many may be made again.
    pub calls_in_flight: u64,
    /// Checks that failed; empty when the seed passed.
    pub findings: Vec<Finding>,
}

impl SeedReport {
    pub(crate) fn new(
        seed: u64,
        took: Duration,
        reference: &Reference,
        evidence: &Evidence,
        findings: Vec<Finding>,
    ) -> Self {
        let answered: Vec<_> = evidence.books.iter().filter(|call| !call.was_refused && !call.is_judges).collect();
        let undisturbed: u64 = reference.calls.values().sum();
        let cost: u64 = answered.iter().map(|call| call.cost).sum();
        let in_flight = evidence.struck.iter().flat_map(|struck| struck.calls_in_flight.values());
        Self {
            seed,
            took_s: (took.as_secs_f64() * 10.0).round() / 10.0,
            faults: evidence.struck.clone(),
            sessions: evidence.results.lines().count(),
            calls: answered.len() as u64,
            waste_calls: (answered.len() as u64).saturating_sub(undisturbed),
            waste_nanodollars: cost.saturating_sub(reference.cost),
            calls_in_flight: in_flight.sum(),
            findings,
        }
    }

    /// `true` if every check held.
    #[must_use]
    pub const fn has_passed(&self) -> bool {
        self.findings.is_empty()
    }

    /// One line.
    #[must_use]
    pub fn line(&self) -> String {
        let faults: Vec<&str> = self.faults.iter().map(|struck| struck.fault.name()).collect();
        let verdict = if self.has_passed() { "passed" } else { "FAILED" };
        format!(
            "seed {} {verdict}: {} sessions, {} calls, {} of them waste, {:.0} s; {}",
            self.seed,
            self.sessions,
            self.calls,
            self.waste_calls,
            self.took_s,
            faults.join(", ")
        )
    }
}

/// Results of all seeds.
#[derive(Debug, Clone, Serialize)]
pub struct Certificate {
    /// The version of the program.
    pub version: &'static str,
    /// Trials of every cell.
    pub trials: u16,
    /// Faults of each seed.
    pub faults_per_seed: usize,
    /// Sessions and calls of the undisturbed run.
    pub sessions: usize,
    /// See `sessions`.
    pub calls: u64,
    /// Result of each seed.
    pub seeds: Vec<SeedReport>,
}

impl Certificate {
    pub(crate) fn new(options: &Options, reference: &Reference, seeds: Vec<SeedReport>) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            trials: options.trials,
            faults_per_seed: options.faults,
            sessions: reference.results.lines().count(),
            calls: reference.calls.values().sum(),
            seeds,
        }
    }

    /// `true` if every seed passed.
    #[must_use]
    pub fn has_passed(&self) -> bool {
        self.seeds.iter().all(SeedReport::has_passed)
    }

    /// As a person reads it.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = String::from("# Crash certificate\n\n");
        let passed = self.seeds.iter().filter(|seed| seed.has_passed()).count();
        let faults: usize = self.seeds.iter().map(|seed| seed.faults.len()).sum();
        // Writing to a text does not fail.
        let _ = writeln!(
            text,
            "Regatta {}. {passed} of {} seeds passed; {faults} faults struck a deployment of 2 coordinators, 3 workers and 2 scorers over \
             RabbitMQ, PostgreSQL and an S3 server, in a sweep of {} sessions and {} calls, not counting those of judges. Passed means: the same \
             `results.jsonl` as one undisturbed process, one result an item, calls and money equal to the endpoint's books session by \
             session, nothing above budget, rate or concurrency, nothing left in queues and tables.\n",
            self.version,
            self.seeds.len(),
            self.sessions,
            self.calls,
        );
        text.push_str(&self.by_fault());
        text.push_str(&self.by_seed());
        let findings = self.seeds.iter().flat_map(|seed| seed.findings.iter().map(move |finding| (seed.seed, finding)));
        for (number, (seed, finding)) in findings.enumerate() {
            if number == 0 {
                text.push_str("\n## What does not hold\n\n");
            }
            let _ = writeln!(text, "- seed {seed}, {}: {}: {}", finding.check, finding.item, finding.message);
        }
        text
    }

    fn by_fault(&self) -> String {
        let mut recoveries: BTreeMap<&str, Vec<Option<u64>>> = BTreeMap::new();
        for struck in self.seeds.iter().flat_map(|seed| &seed.faults) {
            recoveries.entry(struck.fault.name()).or_default().push(struck.recovered_after_ms);
        }
        let mut text = String::from("| fault | times | recovered after, median | worst |\n|---|--:|--:|--:|\n");
        for (fault, mut times) in recoveries {
            // Never is last.
            times.sort_by_key(|time| time.unwrap_or(u64::MAX));
            let told = |time: Option<&Option<u64>>| match time {
                Some(Some(ms)) => format!("{:.1} s", *ms as f64 / 1000.0),
                Some(None) | None => "never".to_owned(),
            };
            let (median, worst) = (told(times.get((times.len() - 1) / 2)), told(times.last()));
            let _ = writeln!(text, "| {fault} | {} | {median} | {worst} |", times.len());
        }
        text
    }

    fn by_seed(&self) -> String {
        let mut text = String::from(
            "\n| seed | verdict | time | faults | waste, calls | calls in flight that were cut off | waste, dollars |\n\
             |--:|---|--:|---|--:|--:|--:|\n",
        );
        for seed in &self.seeds {
            let faults: Vec<&str> = seed.faults.iter().map(|struck| struck.fault.name()).collect();
            let _ = writeln!(
                text,
                "| {} | {} | {:.0} s | {} | {} | {} | {:.6} |",
                seed.seed,
                if seed.has_passed() { "passed" } else { "**failed**" },
                seed.took_s,
                faults.join(", "),
                seed.waste_calls,
                seed.calls_in_flight,
                seed.waste_nanodollars as f64 / 1e9
            );
        }
        text
    }
}
